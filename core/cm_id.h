// SPDX-License-Identifier: BSD-3-Clause
//
// CM ids: making them and their channels, and one side's id of a connection
// with the duty to answer the peer.

#ifndef RPMA_CORE_CM_ID_H_
#define RPMA_CORE_CM_ID_H_

#include <utility>

#include "core/owned.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// Creates an event channel. kProvider: the call failed.
Rc CreateEventChannel(Transport& transport, OwnedEventChannel* out);

// Creates an id on `channel`; a synchronous one if that is nullptr. kProvider:
// the call failed.
Rc CreateId(Transport& transport, rdma_event_channel* channel, OwnedId* out);

// An id that came with a connection request and has not been accepted is
// rejected before it is destroyed, on every way out: the peer is told and does
// not wait for its timeout.
class CmId {
 public:
  enum class Role { kActive, kPassive };

  CmId(Transport& transport, OwnedId id, Role role)
      : transport_(&transport), id_(std::move(id)), role_(role) {}
  CmId(CmId&&) = default;
  CmId& operator=(CmId&&) = delete;
  ~CmId() { (void)Close(); }

  // Asks the peer for the connection (active) or grants it (passive). The
  // outcome arrives as an event. kProvider: the call failed.
  Rc Establish(rdma_conn_param* param);

  // Rejects the request, if it is one that waits for its answer, and destroys
  // the id. Both are tried, once; kProvider: a call failed.
  Rc Close();

  rdma_cm_id* get() const { return id_.get(); }
  rdma_cm_id* operator->() const { return id_.get(); }
  Role role() const { return role_; }

 private:
  Transport* transport_;
  OwnedId id_;
  Role role_;
  bool answered_ = false;
};

}  // namespace rpma

#endif  // RPMA_CORE_CM_ID_H_
