// SPDX-License-Identifier: BSD-3-Clause
// The ways in which calls of libibverbs and librdmacm report failure, folded
// into Errno: NULL and errno (ibv_alloc_pd), -1 and errno (rdma_connect), the
// errno itself (ibv_dealloc_pd), and a bare NULL or -1 that leaves errno alone.

#ifndef RPMA_BACKENDS_VERBS_PROVIDER_RESULT_H_
#define RPMA_BACKENDS_VERBS_PROVIDER_RESULT_H_

#include <cerrno>

#include "core/transport.h"

namespace rpma::verbs {

// What a failed call left in errno, which was 0 before it.
inline Errno LastErrno() {
  return errno > 0 ? static_cast<Errno>(errno) : Errno::kNoCause;
}

// Of a call that returns an int; `call` makes it.
template <typename Call>
Errno Done(Call call) {
  errno = 0;
  const int result = call();
  if (result == 0) return Errno::kOk;
  return result > 0 ? static_cast<Errno>(result) : LastErrno();
}

// Of a call that returns a new object, which goes to `out`; `call` makes it.
template <typename Object, typename Call>
Errno Made(Object** out, Call call) {
  errno = 0;
  Object* const object = call();
  if (object == nullptr) return LastErrno();
  *out = object;
  return Errno::kOk;
}

// Of a call of the data path, which returns the errno, siw's the errno negated,
// and seldom enters the kernel: does without touching errno. A -1 may be a bare
// one.
inline Errno Posted(int result) {
  if (__builtin_expect(result == 0, 1)) return Errno::kOk;
  if (result == -1) return Errno::kNoCause;
  return static_cast<Errno>(result > 0 ? result : -result);
}

}  // namespace rpma::verbs

#endif  // RPMA_BACKENDS_VERBS_PROVIDER_RESULT_H_
