// SPDX-License-Identifier: BSD-3-Clause
// What has to be done for wires when the process forks or exits.

#ifndef RPMA_EMULATOR_WIRE_PROCESS_HOOKS_H_
#define RPMA_EMULATOR_WIRE_PROCESS_HOOKS_H_

namespace rpma::emu::wire {

class Wire;

// From now on `wire` is abandoned in children of fork(2), and its files are
// removed at exit(3). The caller holds no lock of it. Throws std::bad_alloc.
void AddToHooks(Wire& wire);
void RemoveFromHooks(Wire& wire);

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_PROCESS_HOOKS_H_
