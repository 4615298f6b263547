// SPDX-License-Identifier: BSD-3-Clause
// What the functions of librpma.h are in a program that links this: they call
// the function itself, in the process where its objects live.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/pages.h"
#include "tests/support/two_processes/real.h"
#include "tests/support/two_processes/route.h"

namespace rpma::test::two_processes {
namespace {

// Completions that cross at a time; a call may always give fewer than it is
// asked for.
constexpr int kMostCompletions = 64;
using Completions = std::array<ibv_wc, kMostCompletions>;

int DoNothing() { return 0; }

int GetCompletions(rpma_cq* cq, int num_entries, Completions* wc,
                   int* num_entries_got) {
  return __real_rpma_cq_get_wc(
      cq, num_entries, wc == nullptr ? nullptr : wc->data(), num_entries_got);
}

}  // namespace
}  // namespace rpma::test::two_processes

using namespace rpma::test::two_processes;  // NOLINT

extern "C" {

#define ROUTED_IN_PARENTHESES(...) , __VA_ARGS__
#define ROUTED(function, parameters, arguments)     \
  int __wrap_##function parameters;                 \
  int __wrap_##function parameters {                \
    return Route<&__real_##function>(               \
        #function ROUTED_IN_PARENTHESES arguments); \
  }
#include "tests/support/two_processes/wrapped.inc"
#undef ROUTED

// Those that put a descriptor of their process somewhere.
#define ROUTED_FD(function, object)                                 \
  int __wrap_##function(const object* of, int* fd);                 \
  int __wrap_##function(const object* of, int* fd) {                \
    if (!IsForHelper(of)) return __real_##function(of, fd);         \
    return CallInHelper<&__real_##function>(#function, of, Fd{fd}); \
  }
ROUTED_FD(rpma_conn_get_compl_fd, rpma_conn)
ROUTED_FD(rpma_conn_get_event_fd, rpma_conn)
ROUTED_FD(rpma_cq_get_fd, rpma_cq)
ROUTED_FD(rpma_ep_get_fd, rpma_ep)
#undef ROUTED_FD

decltype(rpma_cq_get_wc) __wrap_rpma_cq_get_wc;
int __wrap_rpma_cq_get_wc(rpma_cq* cq, int num_entries, ibv_wc* wc,
                          int* num_entries_got) {
  if (!IsForHelper(cq)) {
    return __real_rpma_cq_get_wc(cq, num_entries, wc, num_entries_got);
  }
  Completions completions = {};
  const int rc = CallInHelper<&GetCompletions>(
      "rpma_cq_get_wc", cq, std::min(num_entries, kMostCompletions),
      wc == nullptr ? nullptr : &completions, num_entries_got);
  if (rc == 0) {
    std::copy_n(completions.begin(),
                num_entries_got == nullptr ? 1 : *num_entries_got, wc);
  }
  return rc;
}

decltype(rpma_mr_reg) __wrap_rpma_mr_reg;
int __wrap_rpma_mr_reg(rpma_peer* peer, void* ptr, size_t size, int usage,
                       rpma_mr_local** mr_ptr) {
  if (IsForHelper(peer) && ptr != nullptr &&
      !rpma::test::AreShared(ptr, size)) {
    ADD_FAILURE() << "the helper does not see the memory to be registered";
    return RPMA_E_UNKNOWN;
  }
  return Route<&__real_rpma_mr_reg>("rpma_mr_reg", peer, ptr, size, usage,
                                    mr_ptr);
}

decltype(rpma_mr_get_descriptor) __wrap_rpma_mr_get_descriptor;
int __wrap_rpma_mr_get_descriptor(const rpma_mr_local* mr, void* desc) {
  if (!IsForHelper(mr)) return __real_rpma_mr_get_descriptor(mr, desc);
  return CallInHelper<&__real_rpma_mr_get_descriptor>("rpma_mr_get_descriptor",
                                                      mr, Bytes<21>{desc});
}

decltype(rpma_atomic_write) __wrap_rpma_atomic_write;
int __wrap_rpma_atomic_write(rpma_conn* conn, rpma_mr_remote* dst,
                             size_t dst_offset, const char src[8], int flags,
                             const void* op_context) {
  if (!IsForHelper(conn)) {
    return __real_rpma_atomic_write(conn, dst, dst_offset, src, flags,
                                    op_context);
  }
  return CallInHelper<&__real_rpma_atomic_write>("rpma_atomic_write", conn, dst,
                                                 dst_offset, ConstBytes<8>{src},
                                                 flags, op_context);
}

decltype(rpma_mr_remote_from_descriptor) __wrap_rpma_mr_remote_from_descriptor;
int __wrap_rpma_mr_remote_from_descriptor(const void* desc, size_t desc_size,
                                          rpma_mr_remote** mr_ptr) {
  const int rc = __real_rpma_mr_remote_from_descriptor(desc, desc_size, mr_ptr);
  if (rc == 0 && IsRunning()) Remember(*mr_ptr, desc);
  return rc;
}

decltype(rpma_mr_remote_delete) __wrap_rpma_mr_remote_delete;
int __wrap_rpma_mr_remote_delete(rpma_mr_remote** mr_ptr) {
  if (mr_ptr != nullptr && IsRunning()) ForgetRemote(*mr_ptr);
  return __real_rpma_mr_remote_delete(mr_ptr);
}

decltype(rpma_log_set_function) __wrap_rpma_log_set_function;
int __wrap_rpma_log_set_function(rpma_log_function* log_function) {
  // What the helper logged between calls is still for the function before.
  if (IsRunning()) CallInHelper<&DoNothing>("rpma_log_set_function");
  SetLogFunction(log_function);
  return __real_rpma_log_set_function(log_function);
}

decltype(rpma_log_set_threshold) __wrap_rpma_log_set_threshold;
int __wrap_rpma_log_set_threshold(rpma_log_threshold threshold,
                                  rpma_log_level level) {
  const int rc = __real_rpma_log_set_threshold(threshold, level);
  if (rc != 0 || !IsRunning()) return rc;
  return CallInHelper<&__real_rpma_log_set_threshold>("rpma_log_set_threshold",
                                                      threshold, level);
}

}  // extern "C"
