// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/pair.h"

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "tests/support/emulation.h"

namespace rpma::test {
namespace {

constexpr std::chrono::milliseconds kDeadline = std::chrono::seconds(60);

bool PollsReadable(int fd, std::chrono::milliseconds timeout) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, static_cast<int>(timeout.count())) == 1;
}

}  // namespace

void End::Own(Conn connection) {
  conn = std::move(connection);
  EXPECT_THAT(rpma_conn_get_cq(conn, &cq), IsOk());
  EXPECT_THAT(rpma_conn_get_rcq(conn, &rcq), IsOk());
  EXPECT_THAT(rpma_conn_get_qp_num(conn, &qp_num), IsOk());
}

int End::Send(uint64_t wr_id, size_t offset, size_t len, int flags) const {
  return rpma_send(conn, region->mr(), offset, len, flags, Context(wr_id));
}

int End::SendWithImm(uint64_t wr_id, size_t offset, size_t len, uint32_t imm,
                     int flags) const {
  return rpma_send_with_imm(conn, region->mr(), offset, len, flags, imm,
                            Context(wr_id));
}

int End::Recv(uint64_t wr_id, size_t offset, size_t len) const {
  return rpma_recv(conn, region->mr(), offset, len, Context(wr_id));
}

int End::Write(uint64_t wr_id, size_t remote_offset, size_t offset, size_t len,
               int flags) const {
  return rpma_write(conn, remote, remote_offset, region->mr(), offset, len,
                    flags, Context(wr_id));
}

int End::WriteWithImm(uint64_t wr_id, size_t remote_offset, size_t offset,
                      size_t len, uint32_t imm, int flags) const {
  return rpma_write_with_imm(conn, remote, remote_offset, region->mr(), offset,
                             len, flags, imm, Context(wr_id));
}

int End::AtomicWrite(uint64_t wr_id, size_t remote_offset, uint64_t value,
                     int flags) const {
  char source[sizeof(value)];
  std::memcpy(source, &value, sizeof(value));
  return rpma_atomic_write(conn, remote, remote_offset, source, flags,
                           Context(wr_id));
}

int End::Read(uint64_t wr_id, size_t offset, size_t remote_offset, size_t len,
              int flags) const {
  return rpma_read(conn, region->mr(), offset, remote, remote_offset, len,
                   flags, Context(wr_id));
}

int End::Flush(uint64_t wr_id, size_t remote_offset, size_t len,
               rpma_flush_type type, int flags) const {
  return rpma_flush(conn, remote, remote_offset, len, type, flags,
                    Context(wr_id));
}

void ApplyPeerCfg(const End& end, uint8_t descriptor) {
  PeerCfg cfg;
  EXPECT_THAT(rpma_peer_cfg_from_descriptor(&descriptor, 1, cfg.address()),
              IsOk());
  EXPECT_THAT(rpma_conn_apply_remote_peer_cfg(end.conn, cfg), IsOk());
}

bool IsReadable(int fd) {
  return PollsReadable(fd, std::chrono::milliseconds(0));
}

bool BecomesReadable(int fd) {
  if (!Emulation::IsStepped()) return PollsReadable(fd, kDeadline);
  while (!IsReadable(fd)) {
    if (!Emulation::Step()) return false;
  }
  return true;
}

int EventFd(const rpma_conn* conn) {
  int fd = -1;
  EXPECT_THAT(rpma_conn_get_event_fd(conn, &fd), IsOk());
  return fd;
}

int EndpointFd(const rpma_ep* endpoint) {
  int fd = -1;
  EXPECT_THAT(rpma_ep_get_fd(endpoint, &fd), IsOk());
  return fd;
}

int CompletionFd(const rpma_cq* cq) {
  int fd = -1;
  EXPECT_THAT(rpma_cq_get_fd(cq, &fd), IsOk());
  return fd;
}

rpma_conn_event NextEvent(rpma_conn* conn) {
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  if (BecomesReadable(EventFd(conn))) {
    EXPECT_THAT(rpma_conn_next_event(conn, &event), IsOk());
  } else {
    ADD_FAILURE() << "no connection event came";
  }
  return event;
}

bool HasEvent(const rpma_conn* conn) { return IsReadable(EventFd(conn)); }

void ExpectEventIff(bool expected, const rpma_conn* conn) {
  const int fd = EventFd(conn);
  EXPECT_EQ(expected ? BecomesReadable(fd) : IsReadable(fd), expected);
}

ibv_wc Poll(rpma_cq* cq) {
  ibv_wc wc = {};
  int rc = rpma_cq_get_wc(cq, 1, &wc, nullptr);
  // A wake-up may find the queue empty: its completion was fetched before.
  while (rc == RPMA_E_NO_COMPLETION && BecomesReadable(CompletionFd(cq))) {
    if (rc = rpma_cq_wait(cq); rc != 0) break;
    rc = rpma_cq_get_wc(cq, 1, &wc, nullptr);
  }
  EXPECT_THAT(rc, IsOk());
  if (rc != 0) wc.wr_id = UINT64_MAX;
  return wc;
}

bool IsEmpty(rpma_cq* cq) {
  ibv_wc wc = {};
  return rpma_cq_get_wc(cq, 1, &wc, nullptr) == RPMA_E_NO_COMPLETION;
}

Conn Connect(ConnReq request, std::vector<uint8_t> private_data) {
  const rpma_conn_private_data data = {
      private_data.data(), static_cast<uint8_t>(private_data.size())};
  Conn conn;
  EXPECT_THAT(rpma_conn_req_connect(request.address(),
                                    private_data.empty() ? nullptr : &data,
                                    conn.address()),
              IsOk());
  return conn;
}

namespace {

std::vector<uint8_t> Copy(const rpma_conn_private_data& data) {
  const auto* bytes = static_cast<const uint8_t*>(data.ptr);
  return {bytes, bytes + data.len};
}

}  // namespace

std::vector<uint8_t> PrivateData(const rpma_conn_req* request) {
  rpma_conn_private_data data = {};
  EXPECT_THAT(rpma_conn_req_get_private_data(request, &data), IsOk());
  return Copy(data);
}

std::vector<uint8_t> PrivateData(const rpma_conn* conn) {
  rpma_conn_private_data data = {};
  EXPECT_THAT(rpma_conn_get_private_data(conn, &data), IsOk());
  return Copy(data);
}

}  // namespace rpma::test
