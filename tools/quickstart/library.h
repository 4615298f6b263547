// SPDX-License-Identifier: BSD-3-Clause
// librpma from C++: owners for its objects, and failures that say why.

#ifndef RPMA_TOOLS_QUICKSTART_LIBRARY_H_
#define RPMA_TOOLS_QUICKSTART_LIBRARY_H_

#include <librpma.h>

#include <memory>
#include <string_view>

namespace rpma::quickstart {

// Keeps what librpma logs off stderr and syslog, and remembers the thread's
// last error for Check(). Call it before any other call of librpma.
void CaptureLog();

// Throws unless `result`, which a call of librpma returned, is 0: "cannot
// <action>: <what librpma logged>", and behind it the advice, if there is any.
void Check(int result, std::string_view action, std::string_view advice = "");

// For where nothing can be thrown: warns on stderr and goes on.
void WarnIfFailed(int result, std::string_view action);

template <auto Delete>
struct Deleter {
  template <typename Object>
  void operator()(Object* object) const {
    WarnIfFailed(Delete(&object), "release an object of librpma");
  }
};

template <typename Object, auto Delete>
using Owned = std::unique_ptr<Object, Deleter<Delete>>;

using PeerPtr = Owned<rpma_peer, rpma_peer_delete>;
using PeerCfgPtr = Owned<rpma_peer_cfg, rpma_peer_cfg_delete>;
using MrLocalPtr = Owned<rpma_mr_local, rpma_mr_dereg>;
using MrRemotePtr = Owned<rpma_mr_remote, rpma_mr_remote_delete>;
using EndpointPtr = Owned<rpma_ep, rpma_ep_shutdown>;
using ConnCfgPtr = Owned<rpma_conn_cfg, rpma_conn_cfg_delete>;
using ConnReqPtr = Owned<rpma_conn_req, rpma_conn_req_delete>;
using ConnPtr = Owned<rpma_conn, rpma_conn_delete>;

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_LIBRARY_H_
