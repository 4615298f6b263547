// SPDX-License-Identifier: BSD-3-Clause
// A scope in which the calling thread cannot be cancelled.

#ifndef RPMA_EMULATOR_NO_CANCELLATION_H_
#define RPMA_EMULATOR_NO_CANCELLATION_H_

#include <pthread.h>

namespace rpma::emu {

// For owners in the middle of a change that call read(2), write(2) or other
// cancellation points.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_NO_CANCELLATION_H_
