// SPDX-License-Identifier: BSD-3-Clause
// The parsers of the two kinds of rules.

#ifndef RPMA_BACKENDS_FAULT_PLAN_RULES_H_
#define RPMA_BACKENDS_FAULT_PLAN_RULES_H_

#include "backends/fault/call_fault.h"
#include "backends/fault/plan_words.h"
#include "emulator/faults.h"

namespace rpma::fault {

// These read the rest of a rule after its verb. false: the reader has said what
// is wrong.
bool ParseCallFault(RuleReader& reader, CallFault* fault);
bool ParseFault(RuleReader& reader, emu::FaultAction action, emu::Fault* fault);
// What happens at once has no number.
// REQUIRES: `action` is kLink, kExit, kPowerOff or kRemove.
bool ParseDeviceFault(RuleReader& reader, emu::FaultAction action, bool at_once,
                      emu::Fault* fault);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_PLAN_RULES_H_
