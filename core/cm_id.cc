// SPDX-License-Identifier: BSD-3-Clause

#include "core/cm_id.h"

#include "core/log.h"

namespace rpma {

Rc CreateEventChannel(Transport& transport, OwnedEventChannel* out) {
  rdma_event_channel* channel = nullptr;
  const Errno error = transport.CreateEventChannel(&channel);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_create_event_channel() failed: %s",
             log::Reason(error));
    return Rc::kProvider;
  }
  *out = OwnedEventChannel(transport, channel);
  return Rc::kOk;
}

Rc CreateId(Transport& transport, rdma_event_channel* channel, OwnedId* out) {
  rdma_cm_id* id = nullptr;
  const Errno error = transport.CreateId(channel, &id);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_create_id() failed: %s", log::Reason(error));
    return Rc::kProvider;
  }
  *out = OwnedId(transport, id);
  return Rc::kOk;
}

Rc CmId::Establish(rdma_conn_param* param) {
  const bool active = role_ == Role::kActive;
  const Errno error = active ? transport_->Connect(id_.get(), param)
                             : transport_->Accept(id_.get(), param);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "%s(private_data_len=%u) failed: %s",
             active ? "rdma_connect" : "rdma_accept", param->private_data_len,
             log::Reason(error));
    return Rc::kProvider;
  }
  answered_ = true;
  return Rc::kOk;
}

Rc CmId::Close() {
  Rc rc = Rc::kOk;
  if (id_ && role_ == Role::kPassive && !answered_) {
    const Errno error = transport_->Reject(id_.get(), nullptr, 0);
    if (error != Errno::kOk) {
      RPMA_LOG(ERROR, "rdma_reject() failed: %s", log::Reason(error));
      rc = Rc::kProvider;
    }
  }
  return FirstError(rc, id_.DestroyOrAbandon());
}

}  // namespace rpma
