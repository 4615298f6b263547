// SPDX-License-Identifier: BSD-3-Clause
//
// Posting a receive, to whichever queue.

#ifndef RPMA_CORE_RECEIVE_H_
#define RPMA_CORE_RECEIVE_H_

#include <cstddef>

#include "core/mr_local.h"
#include "core/peer.h"
#include "core/rc.h"
#include "core/request_failure.h"
#include "core/transport.h"
#include "core/work_request.h"

namespace rpma {

// Posts a receive into a part of `dst` (without a buffer if that is nullptr)
// with `post`, a function from ibv_recv_wr* to Errno, which is the call `call`.
// kInval: the part is not inside the region. kProvider: the call failed.
template <typename Post>
Rc PostReceive(const Peer& peer, const char* call, const MrLocal* dst,
               size_t offset, size_t length, const void* op_context,
               Post post) {
  if (!Fits(dst, offset, length)) [[unlikely]] {
    return RangeFailure("receive", "local", offset, length, dst->size());
  }
  RecvRequest request(dst, offset, length, op_context);
  const Errno error = post(request.get());
  if (error != Errno::kOk) [[unlikely]] {
    return PostFailure(call, "receive", length, peer.caps(), error);
  }
  return Rc::kOk;
}

// The same to the queue of `qp` itself. kProvider: it has a shared one.
inline Rc PostReceive(const Peer& peer, Transport& transport, ibv_qp* qp,
                      const MrLocal* dst, size_t offset, size_t length,
                      const void* op_context) {
  if (qp->srq != nullptr && Fits(dst, offset, length)) [[unlikely]] {
    return SharedQueueFailure();
  }
  return PostReceive(
      peer, "ibv_post_recv", dst, offset, length, op_context,
      [&](ibv_recv_wr* wr) { return transport.PostRecv(qp, wr); });
}

}  // namespace rpma

#endif  // RPMA_CORE_RECEIVE_H_
