// SPDX-License-Identifier: BSD-3-Clause

#include "api/process.h"

#include <atomic>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "core/log.h"

namespace rpma {
namespace {

constexpr char kVariable[] = "RPMA_TRANSPORT";

constinit std::atomic<Transport*> verbs = nullptr;
constinit std::atomic<EmulatorSource*> emulator = nullptr;
constinit std::atomic<uint64_t> refused_abi = 0;  // 0: none was refused
constinit std::atomic<bool (*)()> emulator_loader = nullptr;
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

Rc Verbs(Transport** transport) {
  Transport* const found = verbs.load(std::memory_order_acquire);
  if (found == nullptr) {
    RPMA_LOG(ERROR,
             "the verbs transport is not part of this build; set "
             "%s=emulator or select a fabric with librpma_emu.h",
             kVariable);
    return Rc::kProvider;
  }
  *transport = found;
  return Rc::kOk;
}

// False, logged: the emulator in this process is of another build.
bool EmulatorFits() {
  const uint64_t abi = refused_abi.load(std::memory_order_acquire);
  if (abi == 0) return true;
  RPMA_LOG(ERROR,
           "the emulator was built for another librpma (%016" PRIx64
           ", this one is %016" PRIx64 "); install both from one build",
           abi, kEmulatorAbi);
  return false;
}

EmulatorSource* LoadEmulator() {
  const auto load = emulator_loader.load(std::memory_order_acquire);
  if (load == nullptr) {
    RPMA_LOG(ERROR, "the emulator is not linked into this program");
    return nullptr;
  }
  if (!load() || !EmulatorFits()) return nullptr;
  EmulatorSource* const loaded = emulator.load(std::memory_order_acquire);
  if (loaded == nullptr) {
    RPMA_LOG(ERROR,
             "what was loaded as the emulator is none: it has registered no "
             "transport; install librpma.so.0 and librpma_emu.so.0 from one "
             "build");
  }
  return loaded;
}

Rc Emulator(EmulatorSource* source, Transport** transport) {
  if (source == nullptr) source = LoadEmulator();
  Transport* const found = source != nullptr ? source->Default() : nullptr;
  if (found == nullptr) return Rc::kProvider;
  *transport = found;
  return Rc::kOk;
}

}  // namespace

void RegisterVerbs(Transport* transport) {
  verbs.store(transport, std::memory_order_release);
}

void RegisterEmulator(EmulatorSource* source, uint64_t abi) {
  const bool fits = abi == kEmulatorAbi;
  refused_abi.store(fits ? 0 : abi, std::memory_order_release);
  if (fits) emulator.store(source, std::memory_order_release);
}

void RegisterEmulatorLoader(bool (*load)()) {
  emulator_loader.store(load, std::memory_order_release);
}

Rc CurrentTransport(Transport** transport) {
  EmulatorSource* const source = emulator.load(std::memory_order_acquire);
  if (Transport* const selected =
          source != nullptr ? source->Selected() : nullptr) {
    *transport = selected;
    return Rc::kOk;
  }
  if (!EmulatorFits()) return Rc::kProvider;
  const char* const name = TransportName();
  if (std::strcmp(name, "verbs") == 0) return Verbs(transport);
  if (std::strcmp(name, "emulator") == 0) return Emulator(source, transport);
  RPMA_LOG(ERROR, "%s=%s names no transport; the names are verbs and emulator",
           kVariable, name);
  return Rc::kProvider;
}

Rc TransportOf(const ibv_context* context, Transport** transport) {
  EmulatorSource* const source = emulator.load(std::memory_order_acquire);
  Transport* found = source != nullptr ? source->Of(context) : nullptr;
  if (found == nullptr) found = verbs.load(std::memory_order_acquire);
  if (found == nullptr) {
    RPMA_LOG(ERROR,
             "the ibv_context %p is no emulated device's, and the verbs "
             "transport is not part of this build; take one from "
             "rpma_utils_get_ibv_context()",
             static_cast<const void*>(context));
    return Rc::kProvider;
  }
  *transport = found;
  return Rc::kOk;
}

}  // namespace rpma
