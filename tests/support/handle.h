// SPDX-License-Identifier: BSD-3-Clause
// Owners of librpma's handles for tests: what a test creates is deleted when it
// leaves the scope, and deleting it must succeed.

#ifndef RPMA_TESTS_SUPPORT_HANDLE_H_
#define RPMA_TESTS_SUPPORT_HANDLE_H_

#include <librpma.h>

#include <utility>

#include "tests/support/matchers.h"

namespace rpma::test {

template <auto Delete>
class Handle;

// Converts to the plain pointer that the functions of librpma take.
template <typename T, int (*Delete)(T**)>
class Handle<Delete> {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }
  ~Handle() { reset(); }

  operator T*() const { return ptr_; }

  // For functions that create or delete what the handle owns.
  T** address() { return &ptr_; }

  void reset() { EXPECT_THAT(Delete(&ptr_), IsOk()); }

 private:
  T* ptr_ = nullptr;
};

using Peer = Handle<rpma_peer_delete>;
using PeerCfg = Handle<rpma_peer_cfg_delete>;
using LocalMr = Handle<rpma_mr_dereg>;
using RemoteMr = Handle<rpma_mr_remote_delete>;
using ConnCfg = Handle<rpma_conn_cfg_delete>;
using SrqCfg = Handle<rpma_srq_cfg_delete>;
using Srq = Handle<rpma_srq_delete>;
using Endpoint = Handle<rpma_ep_shutdown>;
using ConnReq = Handle<rpma_conn_req_delete>;
using Conn = Handle<rpma_conn_delete>;

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_HANDLE_H_
