// SPDX-License-Identifier: BSD-3-Clause

#include "tests/differential/side.h"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rpma::differential {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kAllUsages = 0xff;
constexpr size_t kDescriptor = 21;  // bytes
constexpr size_t kSizeAt = 8;
constexpr size_t kUsageAt = 20;

bool Readable(int fd, milliseconds time_out) {
  pollfd readable = {fd, POLLIN, 0};
  return poll(&readable, 1, static_cast<int>(time_out.count())) == 1;
}

const char* NameOf(ibv_wc_opcode opcode) {
  switch (opcode) {
    case IBV_WC_SEND:
      return "SEND";
    case IBV_WC_RDMA_WRITE:
      return "RDMA_WRITE";
    case IBV_WC_RDMA_READ:
      return "RDMA_READ";
    case IBV_WC_RECV:
      return "RECV";
    case IBV_WC_RECV_RDMA_WITH_IMM:
      return "RECV_RDMA_WITH_IMM";
    default:
      return "another opcode";
  }
}

std::string ImmediateOf(const ibv_wc& wc) {
  char text[32];
  std::snprintf(text, sizeof(text), ", immediate 0x%08x", ntohl(wc.imm_data));
  return text;
}

}  // namespace

void Must(int result, const char* call) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: %s\n", call, rpma_err_2str(result));
  std::exit(2);
}

Side::Side(std::string name, World* in)
    : world(in), name_(std::move(name)), memory_(kRegion) {
  const size_t first = name_ == "client" ? 'A' : 'a';
  for (size_t i = 0; i < kRegion; ++i) {
    memory_[i] = static_cast<char>(first + i % 26);
  }
  Must(rpma_peer_new(world->context, &peer_), "rpma_peer_new");
  Must(rpma_mr_reg(peer_, memory(), kRegion, kAllUsages, &region_),
       "rpma_mr_reg");
}

Side::~Side() {
  Must(rpma_conn_delete(&connection_), "rpma_conn_delete");
  Must(rpma_mr_remote_delete(&remote_), "rpma_mr_remote_delete");
  Must(rpma_mr_dereg(&region_), "rpma_mr_dereg");
  Must(rpma_peer_delete(&peer_), "rpma_peer_delete");
}

void Side::Say(const std::string& what) {
  world->history.push_back(name_ + ": " + what);
}

int Side::Result(const std::string& call, int result) {
  Say(call + ": " + rpma_err_2str(result));
  return result;
}

// --- Events and completions --------------------------------------------------

bool Side::HasEvent() const {
  int fd = -1;
  Must(rpma_conn_get_event_fd(connection_, &fd), "rpma_conn_get_event_fd");
  return Readable(fd, milliseconds(0));
}

void Side::Event() {
  if (connection_ == nullptr) return Say("has no connection");
  int fd = -1;
  Must(rpma_conn_get_event_fd(connection_, &fd), "rpma_conn_get_event_fd");
  if (!Readable(fd, kDeadline)) return Say("no event");
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  const int result = rpma_conn_next_event(connection_, &event);
  Say(result == 0 ? rpma_utils_conn_event_2str(event) : rpma_err_2str(result));
}

void Side::Tell(const ibv_wc& wc) {
  const auto request = names_.find(wc.wr_id);
  std::string line = request == names_.end() ? "unknown" : request->second;
  line += std::string(" completes: ") + ibv_wc_status_str(wc.status);
  if (wc.qp_num != qp_num_) line += ", of another queue pair";
  if (wc.status == IBV_WC_SUCCESS) {
    line += std::string(", ") + NameOf(wc.opcode);
    const bool receive = (wc.opcode & IBV_WC_RECV) != 0;
    if (receive || wc.opcode == IBV_WC_RDMA_READ) {
      line += ", " + std::to_string(wc.byte_len) + " bytes";
    }
    if (receive && (wc.wc_flags & IBV_WC_WITH_IMM)) line += ImmediateOf(wc);
  }
  Say(line);
}

bool Side::TakeCompletion() {
  ibv_wc wc = {};
  const int result = rpma_cq_get_wc(cq_, 1, &wc, nullptr);
  if (result == RPMA_E_NO_COMPLETION) return false;
  if (result != 0) {
    Result("rpma_cq_get_wc", result);
    return false;
  }
  --pending_;
  Tell(wc);
  return true;
}

bool Side::Completion(int count, std::chrono::seconds time_out) {
  if (connection_ == nullptr) return false;
  int fd = -1;
  Must(rpma_cq_get_fd(cq_, &fd), "rpma_cq_get_fd");
  const auto deadline = steady_clock::now() + time_out;
  while (count > 0) {
    if (TakeCompletion()) {
      --count;
      continue;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(
        deadline - steady_clock::now());
    if (!Readable(fd, std::max(left, milliseconds(0)))) {
      Say("no completion");
      return false;
    }
    Must(rpma_cq_wait(cq_), "rpma_cq_wait");
  }
  return true;
}

void Side::Queued() {
  while (TakeCompletion()) {
  }
}

void Side::Rest(int lost, std::chrono::seconds time_out) {
  while (pending_ > lost && Completion(1, time_out)) {
  }
  if (lost > 0) Say(std::to_string(pending_) + " without a completion");
}

// --- Requests ----------------------------------------------------------------

std::string Side::NewRequest(const std::string& name) {
  std::string request = name + " " + std::to_string(++counts_[name]);
  names_[++requests_] = request;
  return request;
}

int Side::Write(size_t dst, size_t src, size_t length, int flags) {
  return Post(
      "write",
      [&](const void* id) {
        return rpma_write(connection_, remote_, dst, region_, src, length,
                          flags, id);
      },
      flags == RPMA_F_COMPLETION_ALWAYS);
}

int Side::WriteWithImm(size_t dst, size_t src, size_t length) {
  return Post("write with immediate", [&](const void* id) {
    return rpma_write_with_imm(connection_, remote_, dst, region_, src, length,
                               RPMA_F_COMPLETION_ALWAYS, kImmediate, id);
  });
}

int Side::Read(size_t dst, size_t src, size_t length) {
  return Post("read", [&](const void* id) {
    return rpma_read(connection_, region_, dst, remote_, src, length,
                     RPMA_F_COMPLETION_ALWAYS, id);
  });
}

int Side::AtomicWrite(size_t dst) {
  return Post("atomic write", [&](const void* id) {
    return rpma_atomic_write(connection_, remote_, dst, "8 bytes",
                             RPMA_F_COMPLETION_ALWAYS, id);
  });
}

int Side::Flush(size_t dst, size_t length) {
  return Post("flush", [&](const void* id) {
    return rpma_flush(connection_, remote_, dst, length,
                      RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS, id);
  });
}

int Side::Send(size_t src, size_t length) {
  return Post("send", [&](const void* id) {
    return rpma_send(connection_, region_, src, length,
                     RPMA_F_COMPLETION_ALWAYS, id);
  });
}

int Side::SendWithImm(size_t src, size_t length) {
  return Post("send with immediate", [&](const void* id) {
    return rpma_send_with_imm(connection_, region_, src, length,
                              RPMA_F_COMPLETION_ALWAYS, kImmediate, id);
  });
}

int Side::Recv(size_t dst, size_t length) {
  return Post("receive", [&](const void* id) {
    return rpma_recv(connection_, region_, dst, length, id);
  });
}

void Side::Disconnect() {
  Result("disconnect", rpma_conn_disconnect(connection_));
}

void Side::Delete() { Result("delete", rpma_conn_delete(&connection_)); }

// --- Memory ------------------------------------------------------------------

void Side::Bytes(size_t offset, size_t length) {
  constexpr size_t kShown = 16;
  uint32_t hash = 2166136261;  // FNV-1a
  for (size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(memory_[offset + i])) * 16777619;
  }
  const char* const from = memory_.data() + offset;
  std::string line(from, std::min(length, kShown));
  std::replace(line.begin(), line.end(), '\0', '.');
  Say("has \"" + line + "\"" +
      (length > kShown ? " ... " + std::to_string(hash) : ""));
}

void Side::AwaitByte(size_t offset, char value) {
  const auto deadline = steady_clock::now() + kBrief;
  volatile char* const byte = memory() + offset;
  while (*byte != value && steady_clock::now() < deadline) poll(nullptr, 0, 1);
  Say(*byte == value ? "the last one has arrived"
                     : "the last one has not arrived");
}

void Side::Learn(const Side& other) {
  Learn(other.region_, kRegion, kAllUsages);
}

void Side::Learn(const rpma_mr_local* region, uint64_t size, int usage) {
  unsigned char descriptor[kDescriptor];
  Must(rpma_mr_get_descriptor(region, descriptor), "rpma_mr_get_descriptor");
  std::memcpy(descriptor + kSizeAt, &size, sizeof(size));
  descriptor[kUsageAt] = static_cast<unsigned char>(usage);
  Must(rpma_mr_remote_delete(&remote_), "rpma_mr_remote_delete");
  Must(rpma_mr_remote_from_descriptor(descriptor, kDescriptor, &remote_),
       "rpma_mr_remote_from_descriptor");
}

void Side::Deregister() { Result("deregister", rpma_mr_dereg(&region_)); }

void Side::Adopt(rpma_conn* connection) {
  connection_ = connection;
  Must(rpma_conn_get_cq(connection_, &cq_), "rpma_conn_get_cq");
  Must(rpma_conn_get_qp_num(connection_, &qp_num_), "rpma_conn_get_qp_num");
}

}  // namespace rpma::differential
