// SPDX-License-Identifier: BSD-3-Clause
//
// librpma.so.0 loads the emulator when a program asks for it, and not before.

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "api/process.h"
#include "core/log.h"

namespace rpma {
namespace {

constexpr char kEmulator[] = "librpma_emu.so.0";

bool Load();

const bool registered = (RegisterEmulatorLoader(&Load), true);

// The emulator's file in the folder of this library.
std::string BesideThisLibrary() {
  Dl_info info = {};
  if (dladdr(&registered, &info) == 0) return kEmulator;
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? kEmulator
                                    : path.substr(0, slash + 1) + kEmulator;
}

// Its initialiser registers it. It stays loaded: its objects may live as long
// as the process.
bool Load() {
  const std::string beside = BesideThisLibrary();
  const bool is_beside = access(beside.c_str(), F_OK) == 0;
  const char* const name = is_beside ? beside.c_str() : kEmulator;
  if (dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr)
    return true;
  RPMA_LOG(ERROR,
           "the emulator is asked for, but cannot be loaded: %s; install %s in "
           "the folder of librpma.so.0 or where the loader looks "
           "(LD_LIBRARY_PATH)",
           dlerror(), kEmulator);
  return false;
}

}  // namespace
}  // namespace rpma
