// SPDX-License-Identifier: BSD-3-Clause
// One rule of a plan: which calls of a Transport fail, and how.

#ifndef RPMA_BACKENDS_FAULT_CALL_FAULT_H_
#define RPMA_BACKENDS_FAULT_CALL_FAULT_H_

#include <cerrno>
#include <cstdint>
#include <optional>

#include "backends/fault/call.h"
#include "core/transport.h"

namespace rpma::fault {

// What a failing call does.
enum class Outcome : uint8_t {
  kNoEffect,  // nothing; the same call can be made again and may succeed
  kFreed,     // all that it does when it succeeds; only calls for which Frees()
  kExcess,    // only Call::kPollCq: nothing, and it returns one completion more
              // than it was asked for; the real ones stay for the next poll
};

struct CallFault {
  std::optional<Call> call = std::nullopt;  // whatever can fail
  // The number, from 1, of the call that fails: among the calls of its name, or
  // for nullopt among all that can fail.
  uint64_t nth = 1;
  bool and_later = false;  // all calls after that fail, too
  // Not kOk. kNoCause only where CanHaveNoCause(). Not used with kExcess.
  Errno error = Errno{EIO};
  Outcome outcome = Outcome::kNoEffect;

  friend bool operator==(const CallFault&, const CallFault&) = default;
};

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_CALL_FAULT_H_
