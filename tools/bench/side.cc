// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/side.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rpma::bench {
namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr const char* kPort = "7204";  // of the emulator alone
constexpr uint32_t kQueueSize = 16;
constexpr size_t kMessage = 8;  // bytes

using Config = std::unique_ptr<rpma_conn_cfg, void (*)(rpma_conn_cfg*)>;

Config MakeConfig() {
  rpma_conn_cfg* made = nullptr;
  BENCH_CHECK(rpma_conn_cfg_new(&made));
  Config config(made, [](rpma_conn_cfg* old) { rpma_conn_cfg_delete(&old); });
  BENCH_CHECK(rpma_conn_cfg_set_sq_size(made, kQueueSize));
  BENCH_CHECK(rpma_conn_cfg_set_rq_size(made, kQueueSize));
  BENCH_CHECK(rpma_conn_cfg_set_cq_size(made, kQueueSize));
  BENCH_CHECK(rpma_conn_cfg_set_rcq_size(made, kQueueSize));
  BENCH_CHECK(rpma_conn_cfg_set_compl_channel(made, true));
  return config;
}

// What a side tells the other: its region.
struct Descriptor {
  explicit Descriptor(const Registered& memory) {
    BENCH_CHECK(rpma_mr_get_descriptor_size(memory.region(), &size));
    if (size > sizeof(bytes)) throw std::runtime_error("a long descriptor");
    BENCH_CHECK(rpma_mr_get_descriptor(memory.region(), bytes));
  }
  rpma_conn_private_data as_private_data() {
    return {.ptr = bytes, .len = static_cast<uint8_t>(size)};
  }

  size_t size = 0;
  char bytes[56] = {};
};

}  // namespace

void Check(int result, const char* call) {
  if (result == 0) return;
  throw std::runtime_error(std::string(call) + ": " + rpma_err_2str(result));
}

Registered::Registered() {
  void* const mapped = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  memory_ = static_cast<std::byte*>(mapped);
  std::memset(memory_ + kSource, 1, kBulk);
  ibv_context* device = nullptr;
  BENCH_CHECK(rpma_utils_get_ibv_context(kAddress, RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                         &device));
  BENCH_CHECK(rpma_peer_new(device, &peer_));
  BENCH_CHECK(rpma_mr_reg(peer_, memory_, kMemory,
                          RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
                              RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
                          &region_));
}

Registered::~Registered() {
  rpma_mr_dereg(&region_);
  rpma_peer_delete(&peer_);
  munmap(memory_, kMemory);
}

Endpoint::Endpoint(const Registered& memory) {
  BENCH_CHECK(rpma_ep_listen(memory.peer(), kAddress, kPort, &endpoint_));
}

Endpoint::~Endpoint() { rpma_ep_shutdown(&endpoint_); }

Side::~Side() {
  if (remote_ != nullptr) rpma_mr_remote_delete(&remote_);
  if (connection_ != nullptr) rpma_conn_delete(&connection_);
}

void Side::LearnQueues() {
  BENCH_CHECK(rpma_conn_get_cq(connection_, &cq_));
  BENCH_CHECK(rpma_conn_get_rcq(connection_, &rcq_));
}

void Side::Connect() {
  Descriptor own(memory_);
  const rpma_conn_private_data data = own.as_private_data();
  rpma_conn_req* request = nullptr;
  BENCH_CHECK(rpma_conn_req_new(memory_.peer(), kAddress, kPort,
                                MakeConfig().get(), &request));
  BENCH_CHECK(rpma_conn_req_connect(&request, &data, &connection_));
  LearnQueues();
}

void Side::Accept(const Endpoint& endpoint) {
  Descriptor own(memory_);
  const rpma_conn_private_data data = own.as_private_data();
  rpma_conn_req* request = nullptr;
  BENCH_CHECK(
      rpma_ep_next_conn_req(endpoint.get(), MakeConfig().get(), &request));
  BENCH_CHECK(rpma_conn_req_connect(&request, &data, &connection_));
  LearnQueues();
}

void Side::AwaitEstablished() {
  rpma_conn_event event;
  BENCH_CHECK(rpma_conn_next_event(connection_, &event));
  if (event != RPMA_CONN_ESTABLISHED) {
    throw std::runtime_error("the connection is not established: " +
                             std::string(rpma_utils_conn_event_2str(event)));
  }
  Descriptor own(memory_);
  rpma_conn_private_data data{};
  BENCH_CHECK(rpma_conn_get_private_data(connection_, &data));
  // Devices pad what they give.
  BENCH_CHECK(rpma_mr_remote_from_descriptor(data.ptr, own.size, &remote_));
}

void Side::Disconnect() { BENCH_CHECK(rpma_conn_disconnect(connection_)); }

void Side::AwaitClosed() {
  rpma_conn_event event;
  BENCH_CHECK(rpma_conn_next_event(connection_, &event));
  if (event != RPMA_CONN_CLOSED) {
    throw std::runtime_error(std::string("instead of RPMA_CONN_CLOSED came ") +
                             rpma_utils_conn_event_2str(event));
  }
}

void Side::Write(size_t length) {
  BENCH_CHECK(rpma_write(connection_, remote_, kTarget, memory_.region(),
                         kSource, length, RPMA_F_COMPLETION_ALWAYS, nullptr));
  ++num_writes_;
}

void Side::Poll() {
  ibv_wc completion;
  const int result = rpma_cq_get_wc(cq_, 1, &completion, nullptr);
  if (result == RPMA_E_NO_COMPLETION) return;
  Check(result, "rpma_cq_get_wc");
  if (completion.status != IBV_WC_SUCCESS) {
    throw std::runtime_error("a request failed with status " +
                             std::to_string(completion.status));
  }
  --num_writes_;
}

void Side::AwaitCompletions() {
  while (num_writes_ > 0) Poll();
}

void Side::Send() {
  BENCH_CHECK(rpma_send(connection_, memory_.region(), kSource, kMessage,
                        RPMA_F_COMPLETION_ALWAYS, nullptr));
}

void Side::PostReceive() {
  BENCH_CHECK(
      rpma_recv(connection_, memory_.region(), kTarget, kMessage, nullptr));
}

void Side::SleepUntilReceived() {
  for (bool is_received = false; !is_received;) {
    rpma_cq* cq = nullptr;
    BENCH_CHECK(rpma_conn_wait(connection_, 0, &cq, &is_received));
    ibv_wc completion;
    const int result = rpma_cq_get_wc(cq, 1, &completion, nullptr);
    if (result == RPMA_E_NO_COMPLETION) {
      is_received = false;
      continue;
    }
    Check(result, "rpma_cq_get_wc");
  }
}

}  // namespace rpma::bench
