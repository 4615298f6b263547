// SPDX-License-Identifier: BSD-3-Clause
//
// Which core class stands behind each opaque struct of <librpma.h>, and how
// such objects are created and deleted. The handle a program holds is the
// address of the core object.

#ifndef RPMA_API_OPAQUE_H_
#define RPMA_API_OPAQUE_H_

#include <librpma.h>

#include <memory>

#include "api/boundary.h"
#include "core/completion_queue.h"
#include "core/conn_cfg.h"
#include "core/connection.h"
#include "core/connection_request.h"
#include "core/endpoint.h"
#include "core/mr_local.h"
#include "core/mr_remote.h"
#include "core/peer.h"
#include "core/peer_cfg.h"
#include "core/shared_receive_queue.h"
#include "core/srq_cfg.h"

namespace rpma {

template <typename Struct>
struct OpaqueTraits;
template <typename Class>
struct CoreTraits;

#define RPMA_PAIR(c_struct, core_class) \
  template <>                           \
  struct OpaqueTraits<c_struct> {       \
    using Core = core_class;            \
  };                                    \
  template <>                           \
  struct CoreTraits<core_class> {       \
    using Opaque = c_struct;            \
  }

RPMA_PAIR(rpma_conn, Connection);
RPMA_PAIR(rpma_conn_cfg, ConnCfg);
RPMA_PAIR(rpma_conn_req, ConnectionRequest);
RPMA_PAIR(rpma_cq, CompletionQueue);
RPMA_PAIR(rpma_ep, Endpoint);
RPMA_PAIR(rpma_mr_local, MrLocal);
RPMA_PAIR(rpma_mr_remote, MrRemote);
RPMA_PAIR(rpma_peer, Peer);
RPMA_PAIR(rpma_peer_cfg, PeerCfg);
RPMA_PAIR(rpma_srq, SharedReceiveQueue);
RPMA_PAIR(rpma_srq_cfg, SrqCfg);

#undef RPMA_PAIR

template <typename Struct>
using CoreOf = typename OpaqueTraits<Struct>::Core;

template <typename Struct>
CoreOf<Struct>* FromC(Struct* handle) {
  return reinterpret_cast<CoreOf<Struct>*>(handle);
}

template <typename Struct>
const CoreOf<Struct>* FromC(const Struct* handle) {
  return reinterpret_cast<const CoreOf<Struct>*>(handle);
}

template <typename Class>
typename CoreTraits<Class>::Opaque* ToC(Class* object) {
  return reinterpret_cast<typename CoreTraits<Class>::Opaque*>(object);
}

// The configuration that applies where the program may give none.
inline const ConnCfg& CfgOrDefault(const rpma_conn_cfg* cfg) {
  return cfg != nullptr ? *FromC(cfg) : ConnCfg::Default();
}

// Gives the program the object that `factory`, a function from
// std::unique_ptr<core class>* to Rc, makes.
template <typename Struct, typename Factory>
int Create(Struct** out, Factory factory) {
  return Guarded([&] {
    std::unique_ptr<CoreOf<Struct>> object;
    const Rc rc = factory(&object);
    if (rc == Rc::kOk) *out = ToC(object.release());
    return rc;
  });
}

// Takes the object back from the program, which may hold none.
template <typename Struct>
std::unique_ptr<CoreOf<Struct>> Take(Struct** handle) {
  std::unique_ptr<CoreOf<Struct>> object(FromC(*handle));
  *handle = nullptr;
  return object;
}

// Closes the object and deletes it; if closing fails the program keeps it.
template <typename Struct>
int DeleteIfClosed(Struct** handle) {
  if (*handle == nullptr) return 0;
  const Rc rc = FromC(*handle)->Close();
  if (rc == Rc::kOk) Take(handle);
  return ToC(rc);
}

// Closes the object and deletes it, whether or not closing fails.
template <typename Struct>
int CloseAndDelete(Struct** handle) {
  const auto object = Take(handle);
  return object != nullptr ? ToC(object->Close()) : 0;
}

}  // namespace rpma

#endif  // RPMA_API_OPAQUE_H_
