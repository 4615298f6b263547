// SPDX-License-Identifier: BSD-3-Clause
// What differs between real RDMA providers, as data. Code of the emulator asks
// a Profile; it never asks which profile it is.

#ifndef RPMA_EMULATOR_PROFILE_H_
#define RPMA_EMULATOR_PROFILE_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace rpma::emu {

// What a completion queue does when a completion finds it full.
enum class CqOverrun {
  kError,  // IBTA 11.6.3.1: CQ_ERR, later completions are lost, QPs to ERR
  kDrop,   // the completion is lost silently; the QP goes on (siw)
};

// How the size asked for becomes the size of a completion queue.
enum class CqRounding {
  kExact,
  kPowerOfTwoMinusOne,  // mlx5: the next power of two above the size, less one
};

// When a READ takes effect at the responder.
enum class ReadOrder {
  kPosted,  // in posting order
  kLate,    // as late as IBTA 10.8.3.3 allows: after later WRITEs and SENDs
};

// Upper bounds of ibv_device_attr that the device enforces.
struct DeviceLimits {
  uint32_t max_qp = 65536;
  uint32_t max_qp_wr = 16384;
  uint32_t max_sge = 30;
  uint32_t max_sge_rd = 30;         // of a READ
  uint32_t max_inline_data = 1024;  // bytes
  uint32_t max_cq = 65536;
  uint32_t max_cqe = 65536;
  uint32_t max_mr = 1u << 20;
  uint64_t max_mr_size = UINT64_MAX;  // bytes
  uint32_t max_pd = 65536;
  uint32_t max_srq = 65536;
  uint32_t max_srq_wr = 32768;
  uint8_t max_qp_rd_atom = 16;       // as responder
  uint8_t max_qp_init_rd_atom = 16;  // as requester
  uint32_t max_msg_sz = 1u << 30;    // bytes
};

// Largest private data, in bytes, that a consumer can send with each CM
// message (rdma_connect(3), rdma_accept(3), rdma_reject(3)).
struct PrivateDataLimits {
  uint8_t connect = 56;
  uint8_t accept = 196;
  uint8_t reject = 148;
  bool padded = true;  // the receiver sees the whole field, padded with zeros
};

// Times as on hardware. A fabric divides them by 1000 unless it was made with
// timers=hardware.
struct TimerValues {
  std::chrono::nanoseconds ack_timeout;  // one try of a request
  std::chrono::nanoseconds min_rnr;      // one RNR NAK to the next try
  std::chrono::nanoseconds cm_response;  // one try of a CM message
  uint8_t cm_retries;                    // tries after the first
  std::chrono::nanoseconds time_wait;    // DREP to TIMEWAIT_EXIT
  // The CM response time of a peer that has said it will take longer (MRA).
  std::chrono::nanoseconds cm_service;
  // iWARP: the first retransmission of TCP, later ones after twice the time
  // each, and how many there are before the connection ends.
  std::chrono::nanoseconds tcp_retransmit;
  std::chrono::nanoseconds max_tcp_retransmit;
  uint8_t tcp_retries;
};

// What TCP waits for an acknowledgement after so many tries without one: twice
// as long each time (RFC 6298).
std::chrono::nanoseconds TcpTimeout(const TimerValues& timers, uint32_t tries);

struct Profile {
  std::string_view name;
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;

  // iWARP semantics (RFC 5040, 5041, 5044): no RNR NAK, sends complete when
  // sent, a QP error ends the connection, no RTU, no time-wait event.
  bool iwarp = false;
  bool write_with_imm = true;
  bool send_with_imm = true;
  bool read_sink_needs_remote_write = false;
  // Of a receive whose buffer the device may not write to.
  ibv_wc_status receive_access_status = IBV_WC_LOC_PROT_ERR;
  bool on_demand_paging = false;  // RC READ and WRITE
  // Memory can be pinned. If not (file systems with DAX), regions have to be
  // registered for on-demand paging.
  bool pinning = true;
  // Bytes that regions may lock, in whole pages (RLIMIT_MEMLOCK).
  uint64_t memlock_limit = UINT64_MAX;
  bool advise_mr = false;
  bool native_atomic_write = false;
  bool native_flush = false;
  CqOverrun cq_overrun = CqOverrun::kError;
  CqRounding cq_rounding = CqRounding::kExact;
  ReadOrder reads = ReadOrder::kPosted;
  // Replaces the connection's rnr_retry of 7 (for ever); negative: does not.
  int rnr_retry = -1;

  DeviceLimits limits;
  PrivateDataLimits private_data;
  TimerValues timers;
};

// The profile called `name` ("roce", "ib", "iwarp"), or nullptr.
const Profile* FindProfile(std::string_view name);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_PROFILE_H_
