// SPDX-License-Identifier: BSD-3-Clause
//
// Stands in for libibverbs, librdmacm and a provider's driver: notes each call
// and answers as it is told. Linked in place of the libraries.

#ifndef RPMA_TESTS_UNIT_VERBS_FAKE_RDMA_CORE_H_
#define RPMA_TESTS_UNIT_VERBS_FAKE_RDMA_CORE_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <sstream>
#include <string>
#include <vector>

namespace rpma::verbs {

// A call as text: "ibv_create_cq(0x7ffc0010, 5, 0, 0x7ffc0090, 0)". Strings
// appear as themselves, other pointers as addresses.
template <typename... Arguments>
std::string CallText(const char* function, Arguments... arguments) {
  std::ostringstream text;
  [[maybe_unused]] const char* separator = "";
  text << function << '(';
  ((text << separator << arguments, separator = ", "), ...);
  text << ')';
  return text.str();
}

class FakeRdmaCore {
 public:
  // The functions of C find the one fake, which must exist.
  FakeRdmaCore();
  ~FakeRdmaCore();
  FakeRdmaCore(const FakeRdmaCore&) = delete;
  FakeRdmaCore& operator=(const FakeRdmaCore&) = delete;

  // What every call returns. Those that return an object return nullptr unless
  // `result` is 0, and write to out-pointers only if it is.
  int result = 0;
  // What a call that fails leaves in errno; 0: it does not touch it.
  int error = 0;

  std::vector<std::string> calls;

  // The last structures that calls got through pointers.
  ibv_sge advised = {};
  ibv_srq_init_attr srq_attr = {};
  ibv_qp_init_attr_ex qp_attr = {};
  rdma_addrinfo hints = {};

  // What the device says of itself, and which of the operations that are wanted
  // of a queue pair it has.
  ibv_device_attr_ex device_attr = {};
  ibv_port_attr port_attr = {};
  uint64_t send_ops = ~uint64_t{0};

  // The objects that there are.
  ibv_device device = {};
  verbs_context extended = {};
  ibv_context& context = extended.context;
  ibv_pd pd = {};
  ibv_mr mr = {};
  ibv_comp_channel comp_channel = {};
  ibv_cq cq = {};
  ibv_srq srq = {};
  ibv_qp_ex qp_ex = {};
  ibv_qp& qp = qp_ex.qp_base;
  rdma_event_channel event_channel = {};
  rdma_cm_id id = {};
  rdma_cm_event event = {};
  rdma_addrinfo info = {};

  // Used by the functions of C.
  static FakeRdmaCore& Get();
  template <typename... Arguments>
  int Called(const char* function, Arguments... arguments);
};

}  // namespace rpma::verbs

#endif  // RPMA_TESTS_UNIT_VERBS_FAKE_RDMA_CORE_H_
