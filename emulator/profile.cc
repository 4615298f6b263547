// SPDX-License-Identifier: BSD-3-Clause
// The three profiles. Device limits and flags are what rxe, mlx5 and siw report
// with kernel 6.1 and rdma-core 44, rounded where a driver reports "no limit".

#include "emulator/profile.h"

#include <algorithm>

namespace rpma::emu {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// The unit of IBTA's timer fields: the field is an exponent of two.
constexpr nanoseconds Exponential(unsigned exponent) {
  return nanoseconds(4096) * (int64_t{1} << exponent);
}

// Kernel 6.1, drivers/infiniband/core: cma.c assumes a packet life time of 18
// (CMA_IBOE_PACKET_LIFETIME); the local ACK timeout is one more, and cm.c keeps
// a connection in time-wait as long. CMA_CM_RESPONSE_TIMEOUT is 20,
// CMA_MAX_CM_RETRIES 15. cm.c leaves min_rnr_timer 0, which IBTA table 45
// decodes as 655.36 ms. CMA_CM_MRA_SETTING is 24. TCP's are TCP_RTO_MIN,
// TCP_RTO_MAX and net.ipv4.tcp_retries2.
constexpr TimerValues kCmaTimers = {
    .ack_timeout = Exponential(19),
    .min_rnr = microseconds(655360),
    .cm_response = Exponential(20),
    .cm_retries = 15,
    .time_wait = Exponential(19),
    .cm_service = Exponential(24),
    .tcp_retransmit = std::chrono::milliseconds(200),
    .max_tcp_retransmit = std::chrono::seconds(120),
    .tcp_retries = 15,
};

// As rxe by the specification: drivers/infiniband/sw/rxe/rxe_param.h.
constexpr Profile kRoce = {
    .name = "roce",
    .transport = IBV_TRANSPORT_IB,
    .link_layer = IBV_LINK_LAYER_ETHERNET,
    .limits = {.max_qp = 65535,
               .max_qp_wr = 16384,
               .max_sge = 32,
               .max_sge_rd = 32,
               .max_inline_data = 512,
               .max_cq = 65536,
               .max_cqe = 32767,
               .max_mr = 1u << 19,
               .max_mr_size = UINT64_MAX,
               .max_pd = 65536,
               .max_srq = 65536,
               .max_srq_wr = 16384,
               .max_qp_rd_atom = 128,
               .max_qp_init_rd_atom = 128,
               .max_msg_sz = 1u << 30},
    .private_data = {.connect = 56, .accept = 196, .reject = 148},
    .timers = kCmaTimers,
};

// As mlx5 on InfiniBand.
constexpr Profile kIb = {
    .name = "ib",
    .transport = IBV_TRANSPORT_IB,
    .link_layer = IBV_LINK_LAYER_INFINIBAND,
    .on_demand_paging = true,
    .advise_mr = true,
    .cq_rounding = CqRounding::kPowerOfTwoMinusOne,
    .limits = {.max_qp = 65535,
               .max_qp_wr = 32768,
               .max_sge = 30,
               .max_sge_rd = 30,
               .max_inline_data = 828,
               .max_cq = 1u << 24,
               .max_cqe = 4194303,
               .max_mr = 1u << 20,
               .max_mr_size = UINT64_MAX,
               .max_pd = 1u << 24,
               .max_srq = 1u << 23,
               .max_srq_wr = 32767,
               .max_qp_rd_atom = 16,
               .max_qp_init_rd_atom = 16,
               .max_msg_sz = 1u << 30},
    .private_data = {.connect = 56, .accept = 196, .reject = 148},
    .timers = kCmaTimers,
};

// As siw: drivers/infiniband/sw/siw/siw.h. MPA private data may have 512 bytes
// (RFC 5044 7.1), of which struct rdma_conn_param can say 255. siw takes four
// of these for the read depths (RFC 6581 9) and loses messages that have more.
constexpr Profile kIwarp = {
    .name = "iwarp",
    .transport = IBV_TRANSPORT_IWARP,
    .link_layer = IBV_LINK_LAYER_ETHERNET,
    .iwarp = true,
    .write_with_imm = false,
    .send_with_imm = false,
    .read_sink_needs_remote_write = true,
    .receive_access_status = IBV_WC_GENERAL_ERR,
    .cq_overrun = CqOverrun::kDrop,
    .limits = {.max_qp = 65535,
               .max_qp_wr = 32768,
               .max_sge = 6,
               .max_sge_rd = 1,
               .max_inline_data = 96,
               .max_cq = 102400,
               .max_cqe = 3276800,
               .max_mr = 1u << 20,
               .max_mr_size = UINT64_MAX,
               .max_pd = 102400,
               .max_srq = 102400,
               .max_srq_wr = 327680,
               .max_qp_rd_atom = 128,
               .max_qp_init_rd_atom = 128,
               .max_msg_sz = UINT32_MAX},
    .private_data = {.connect = 251,
                     .accept = 251,
                     .reject = 255,
                     .padded = false},
    .timers = kCmaTimers,
};

constexpr const Profile* kProfiles[] = {&kRoce, &kIb, &kIwarp};

}  // namespace

std::chrono::nanoseconds TcpTimeout(const TimerValues& timers, uint32_t tries) {
  constexpr uint32_t kMaxDoublings = 20;
  return std::min<nanoseconds>(
      timers.tcp_retransmit * (int64_t{1} << std::min(tries, kMaxDoublings)),
      timers.max_tcp_retransmit);
}

const Profile* FindProfile(std::string_view name) {
  for (const Profile* profile : kProfiles) {
    if (profile->name == name) return profile;
  }
  return nullptr;
}

}  // namespace rpma::emu
