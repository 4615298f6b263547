// SPDX-License-Identifier: BSD-3-Clause
//
// What there is to say when a request cannot be posted. Cold: kept out of the
// functions that post.

#ifndef RPMA_CORE_REQUEST_FAILURE_H_
#define RPMA_CORE_REQUEST_FAILURE_H_

#include <cstddef>
#include <cstdint>

#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// The range is not inside its region, or too long. Returns kInval.
[[gnu::cold]] Rc RangeFailure(const char* operation, const char* side,
                              size_t offset, size_t length, size_t region_size);

// `call` refused a request of `length` bytes. Returns kProvider.
[[gnu::cold]] Rc PostFailure(const char* call, const char* operation,
                             size_t length, const DeviceCaps& caps,
                             Errno error);

// A receive for the own queue of a connection that has a shared one. Returns
// kProvider. This is not left to the provider: that of siw does not look, and
// writes to where the queue would be.
[[gnu::cold]] Rc SharedQueueFailure();

}  // namespace rpma

#endif  // RPMA_CORE_REQUEST_FAILURE_H_
