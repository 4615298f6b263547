// SPDX-License-Identifier: BSD-3-Clause
// Stands for the librpma_emu.so.0 of another build: it registers with the
// number of other classes.
#include <cstdint>

namespace rpma {

class EmulatorSource;

void RegisterEmulator(EmulatorSource* source, uint64_t abi);

namespace {

constexpr uint64_t kOtherAbi = 0x0123456789abcdef;

const bool registered = (RegisterEmulator(nullptr, kOtherAbi), true);

}  // namespace
}  // namespace rpma
