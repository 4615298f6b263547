// SPDX-License-Identifier: BSD-3-Clause

#include "api/process.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core/log.h"

namespace rpma {
namespace {

constexpr char kVariable[] = "RPMA_TRANSPORT";

constinit std::atomic<EmulatorSource*> emulator = nullptr;
constinit std::atomic<bool> warned_of_ignored_variable = false;

const char* TransportName() {
  if (const char* name = secure_getenv(kVariable)) return name;
  if (std::getenv(kVariable) != nullptr &&
      !warned_of_ignored_variable.exchange(true)) {
    RPMA_LOG(WARNING,
             "%s is set but ignored: the process runs with raised privileges",
             kVariable);
  }
  return "verbs";
}

}  // namespace

void RegisterEmulator(EmulatorSource* source) {
  emulator.store(source, std::memory_order_release);
}

Rc CurrentTransport(Transport** transport) {
  EmulatorSource* source = emulator.load(std::memory_order_acquire);
  Transport* found = source != nullptr ? source->Selected() : nullptr;
  if (found == nullptr) {
    const char* name = TransportName();
    if (std::strcmp(name, "verbs") == 0) {
      RPMA_LOG(ERROR,
               "the verbs transport is not part of this build; set "
               "RPMA_TRANSPORT=emulator or select a fabric with "
               "librpma_emu.h");
      return Rc::kProvider;
    }
    if (std::strcmp(name, "emulator") != 0) {
      RPMA_LOG(ERROR,
               "%s=%s names no transport; the names are verbs and emulator",
               kVariable, name);
      return Rc::kProvider;
    }
    if (source == nullptr) {
      RPMA_LOG(ERROR, "the emulator is not linked into this program");
      return Rc::kProvider;
    }
    found = source->Default();
    if (found == nullptr) return Rc::kProvider;
  }
  *transport = found;
  return Rc::kOk;
}

Rc TransportOf(const ibv_context* context, Transport** transport) {
  EmulatorSource* source = emulator.load(std::memory_order_acquire);
  Transport* found = source != nullptr ? source->Of(context) : nullptr;
  if (found == nullptr) {
    RPMA_LOG(ERROR,
             "no transport of this build made the ibv_context %p; take one "
             "from rpma_utils_get_ibv_context()",
             static_cast<const void*>(context));
    return Rc::kProvider;
  }
  *transport = found;
  return Rc::kOk;
}

}  // namespace rpma
