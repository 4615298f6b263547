// SPDX-License-Identifier: BSD-3-Clause
// The table of calls.

#include "backends/fault/call.h"

#include <iterator>

namespace rpma::fault {
namespace {

enum Trait : unsigned { kFrees = 1u << 0, kCanHaveNoCause = 1u << 1 };

struct Info {
  std::string_view name;
  unsigned traits = 0;
};

// In the order of the enumerators.
constexpr Info kInfos[] = {
    {"ibv_post_send"},
    {"ibv_post_recv"},
    {"ibv_post_srq_recv"},
    {"ibv_wr_flush"},
    {"ibv_wr_atomic_write"},
    {"ibv_poll_cq", kCanHaveNoCause},
    {"ibv_query_device_ex"},
    {"ibv_alloc_pd", kCanHaveNoCause},
    {"ibv_dealloc_pd", kFrees},
    {"ibv_reg_mr", kCanHaveNoCause},
    {"ibv_dereg_mr", kFrees},
    {"ibv_advise_mr"},
    {"ibv_create_comp_channel", kCanHaveNoCause},
    {"ibv_destroy_comp_channel", kFrees},
    {"ibv_create_cq", kCanHaveNoCause},
    {"ibv_destroy_cq", kFrees},
    {"ibv_req_notify_cq"},
    {"ibv_get_cq_event", kCanHaveNoCause},
    {"ibv_create_srq", kCanHaveNoCause},
    {"ibv_destroy_srq", kFrees},
    {"rdma_getaddrinfo"},
    {"rdma_create_event_channel", kCanHaveNoCause},
    {"rdma_get_cm_event", kCanHaveNoCause},
    {"rdma_ack_cm_event", kFrees | kCanHaveNoCause},
    {"rdma_create_id", kCanHaveNoCause},
    {"rdma_destroy_id", kFrees | kCanHaveNoCause},
    {"rdma_migrate_id", kCanHaveNoCause},
    {"rdma_bind_addr", kCanHaveNoCause},
    {"rdma_listen", kCanHaveNoCause},
    {"rdma_resolve_addr", kCanHaveNoCause},
    {"rdma_resolve_route", kCanHaveNoCause},
    {"rdma_connect", kCanHaveNoCause},
    {"rdma_accept", kCanHaveNoCause},
    {"rdma_reject", kCanHaveNoCause},
    {"rdma_disconnect", kCanHaveNoCause},
    {"rdma_create_qp_ex", kCanHaveNoCause},
    {"ibv_destroy_qp", kFrees},
    {"ibv_ack_cq_events"},
    {"rdma_freeaddrinfo", kFrees},
    {"rdma_destroy_event_channel", kFrees},
};
static_assert(std::size(kInfos) == kCalls);
static_assert(static_cast<size_t>(Call::kDestroyEventChannel) + 1 == kCalls);
static_assert(!CanFail(Call::kAckCqEvents) && CanFail(Call::kDestroyQp));

const Info& InfoOf(Call call) { return kInfos[static_cast<size_t>(call)]; }

}  // namespace

std::string_view NameOf(Call call) { return InfoOf(call).name; }

std::optional<Call> FindCall(std::string_view name) {
  if (name == "rdma_destroy_qp") return Call::kDestroyQp;
  for (size_t i = 0; i < kCalls; ++i) {
    if (kInfos[i].name == name) return static_cast<Call>(i);
  }
  return std::nullopt;
}

bool Frees(Call call) { return (InfoOf(call).traits & kFrees) != 0; }

bool CanHaveNoCause(Call call) {
  return (InfoOf(call).traits & kCanHaveNoCause) != 0;
}

}  // namespace rpma::fault
