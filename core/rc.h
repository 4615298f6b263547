// SPDX-License-Identifier: BSD-3-Clause
//
// The result of a core operation: one of the RPMA_E_* codes of <librpma.h>.

#ifndef RPMA_CORE_RC_H_
#define RPMA_CORE_RC_H_

#include <librpma.h>

namespace rpma {

// The values are those of the C API, so the boundary converts with a cast.
// Whoever decides which code it is has logged why; callers only pass it on.
enum class [[nodiscard]] Rc : int{
    kOk = 0,
    kUnknown = RPMA_E_UNKNOWN,
    kNoSupp = RPMA_E_NOSUPP,
    kProvider = RPMA_E_PROVIDER,
    kNoMem = RPMA_E_NOMEM,
    kInval = RPMA_E_INVAL,
    kNoCompletion = RPMA_E_NO_COMPLETION,
    kNoEvent = RPMA_E_NO_EVENT,
    kSharedChannel = RPMA_E_SHARED_CHANNEL,
    kNotSharedChannel = RPMA_E_NOT_SHARED_CHNL,
};

// The first of two results that is a failure: for tear-down, where every step
// runs and the first error is the one to report.
constexpr Rc FirstError(Rc first, Rc then) {
  return first != Rc::kOk ? first : then;
}

}  // namespace rpma

#endif  // RPMA_CORE_RC_H_
