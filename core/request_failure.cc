// SPDX-License-Identifier: BSD-3-Clause

#include "core/request_failure.h"

#include <cerrno>

#include "core/log.h"

namespace rpma {

Rc RangeFailure(const char* operation, const char* side, size_t offset,
                size_t length, size_t region_size) {
  RPMA_LOG(ERROR,
           "%s of %zu bytes at offset %zu of a %s region of %zu bytes: %s",
           operation, length, offset, side, region_size,
           offset <= region_size && length <= region_size - offset
               ? "a request has less than 4 GiB"
               : "a request stays inside its region");
  return Rc::kInval;
}

Rc PostFailure(const char* call, const char* operation, size_t length,
               const DeviceCaps& caps, Errno error) {
  RPMA_LOG(ERROR,
           "%s(%s of %zu bytes) failed: %s%s; device %s takes messages of up "
           "to %u bytes",
           call, operation, length, log::Reason(error),
           error == Errno{ENOMEM}
               ? " (the queue is full: take completions, or make it larger)"
               : "",
           caps.name, caps.max_msg_size);
  return Rc::kProvider;
}

Rc SharedQueueFailure() {
  RPMA_LOG(ERROR,
           "a receive for a connection without a receive queue of its own: "
           "post to its shared receive queue");
  return Rc::kProvider;
}

}  // namespace rpma
