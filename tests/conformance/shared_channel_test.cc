// SPDX-License-Identifier: BSD-3-Clause
// Where completions of receives go, and which call waits for them: every
// combination of a receive CQ, a shared completion channel and a shared receive
// queue with or without a receive CQ of its own.

#include <string>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

enum class SrqKind { kNone, kWithoutRcq, kWithRcq };

// Which queue gets the completions of receives.
enum class Receiver { kCq, kRcq, kSrqRcq };

struct Combination {
  uint32_t rcq_size;
  bool shared;
  SrqKind srq;
  Receiver receiver;
};

constexpr Combination kCombinations[] = {
    {0, false, SrqKind::kNone, Receiver::kCq},
    {8, false, SrqKind::kNone, Receiver::kRcq},
    {0, true, SrqKind::kNone, Receiver::kCq},
    {8, true, SrqKind::kNone, Receiver::kRcq},
    {0, false, SrqKind::kWithoutRcq, Receiver::kCq},
    {8, false, SrqKind::kWithoutRcq, Receiver::kRcq},
    {0, true, SrqKind::kWithoutRcq, Receiver::kCq},
    {8, true, SrqKind::kWithoutRcq, Receiver::kRcq},
    {0, false, SrqKind::kWithRcq, Receiver::kSrqRcq},
    {8, false, SrqKind::kWithRcq, Receiver::kSrqRcq},
};

std::string Describe(const Combination& combination) {
  std::string text = "rcq_size " + std::to_string(combination.rcq_size);
  if (combination.shared) text += ", shared channel";
  if (combination.srq == SrqKind::kWithoutRcq) text += ", SRQ without RCQ";
  if (combination.srq == SrqKind::kWithRcq) text += ", SRQ with RCQ";
  return text;
}

class SharedChannelTest : public ConformanceTest {
 protected:
  Srq NewSrq(rpma_peer* peer, SrqKind kind) {
    Srq srq;
    if (kind == SrqKind::kNone) return srq;
    SrqCfg cfg;
    EXPECT_THAT(rpma_srq_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(
        rpma_srq_cfg_set_rcq_size(cfg, kind == SrqKind::kWithRcq ? 8 : 0),
        IsOk());
    EXPECT_THAT(rpma_srq_new(peer, cfg, srq.address()), IsOk());
    return srq;
  }

  ConnCfg NewCfg(const Combination& combination, rpma_srq* srq) {
    ConnCfg cfg;
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_rcq_size(cfg, combination.rcq_size), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_compl_channel(cfg, combination.shared),
                IsOk());
    if (srq != nullptr) {
      EXPECT_THAT(rpma_conn_cfg_set_srq(cfg, srq), IsOk());
    }
    return cfg;
  }
};

INSTANTIATE_TEST_SUITE_P(, SharedChannelTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// Which completion queue of `end` receives, by way of the getters.
rpma_cq* ReceivingQueue(const Combination& combination, const End& end,
                        const rpma_srq* srq) {
  if (combination.receiver == Receiver::kCq) return end.cq;
  if (combination.receiver == Receiver::kRcq) return end.rcq;
  rpma_cq* rcq = nullptr;
  EXPECT_THAT(rpma_srq_get_rcq(srq, &rcq), IsOk());
  return rcq;
}

int PostReceive(const End& end, rpma_srq* srq, uint64_t wr_id) {
  if (srq == nullptr) return end.Recv(wr_id, 0, 8);
  return rpma_srq_recv(srq, end.region->mr(), 0, 8, Context(wr_id));
}

// Waits as the channel demands, and refuses the other way.
void ExpectWaitGives(const End& end, bool shared, rpma_cq* expected) {
  rpma_cq* cq = nullptr;
  bool is_rcq = false;
  int fd = -1;
  if (!shared) {
    EXPECT_THAT(rpma_conn_wait(end.conn, 0, &cq, &is_rcq),
                RcIs(RPMA_E_NOT_SHARED_CHNL));
    EXPECT_THAT(rpma_conn_get_compl_fd(end.conn, &fd),
                RcIs(RPMA_E_NOT_SHARED_CHNL));
    EXPECT_EQ(fd, -1);
    EXPECT_THAT(rpma_cq_wait(expected), IsOk());
    return;
  }
  EXPECT_THAT(rpma_cq_wait(expected), RcIs(RPMA_E_SHARED_CHANNEL));
  ASSERT_THAT(rpma_conn_get_compl_fd(end.conn, &fd), IsOk());
  EXPECT_EQ(CompletionFd(expected), fd);
  EXPECT_TRUE(BecomesReadable(fd));
  ASSERT_THAT(rpma_conn_wait(end.conn, 0, &cq, &is_rcq), IsOk());
  EXPECT_EQ(cq, expected);
  EXPECT_EQ(is_rcq, cq != end.cq);
}

TEST_P(SharedChannelTest, ReceivesCompleteOnTheQueueOfTheCombination) {
  for (const Combination& combination : kCombinations) {
    SCOPED_TRACE(Describe(combination));
    const Srq srq = NewSrq(server_peer(), combination.srq);
    const ConnCfg cfg = NewCfg(combination, srq);
    const Pair pair = ConnectedPair({.server_cfg = cfg});
    const End& server = pair.server;
    EXPECT_EQ(server.rcq != nullptr, combination.receiver == Receiver::kRcq);

    rpma_cq* const receiver = ReceivingQueue(combination, server, srq);
    ASSERT_NE(receiver, nullptr);
    ASSERT_THAT(PostReceive(server, srq, 1), IsOk());
    ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
    ExpectWaitGives(server, combination.shared, receiver);
    ibv_wc wc = {};
    ASSERT_THAT(rpma_cq_get_wc(receiver, 1, &wc, nullptr), IsOk());
    EXPECT_THAT(wc, Received(1, 8, server.qp_num));
  }
  log().Discard();
}

TEST_P(SharedChannelTest, SendsCompleteOnTheCompletionQueue) {
  for (const Combination& combination : kCombinations) {
    SCOPED_TRACE(Describe(combination));
    const Srq srq = NewSrq(client_peer(), combination.srq);
    const ConnCfg cfg = NewCfg(combination, srq);
    const Pair pair = ConnectedPair({.client_cfg = cfg});
    const End& client = pair.client;
    ASSERT_THAT(client.Write(1, 0, 0, 8), IsOk());
    ExpectWaitGives(client, combination.shared, client.cq);
    ibv_wc wc = {};
    ASSERT_THAT(rpma_cq_get_wc(client.cq, 1, &wc, nullptr), IsOk());
    EXPECT_THAT(wc, Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  }
  log().Discard();
}

TEST_P(SharedChannelTest, SharedChannelExcludesAnSrqWithARcq) {
  for (const uint32_t rcq_size : {0u, 8u}) {
    SCOPED_TRACE(rcq_size);
    const Combination combination = {rcq_size, true, SrqKind::kWithRcq,
                                     Receiver::kSrqRcq};
    const Srq client_srq = NewSrq(client_peer(), combination.srq);
    const Srq server_srq = NewSrq(server_peer(), combination.srq);
    const ConnCfg client_cfg = NewCfg(combination, client_srq);
    const ConnCfg server_cfg = NewCfg(combination, server_srq);
    const std::string port = NewPort();
    const Endpoint endpoint = Listen(port);

    rpma_conn_req* request = nullptr;
    EXPECT_THAT(rpma_conn_req_new(client_peer(), address(), port.c_str(),
                                  client_cfg, &request),
                RcIs(RPMA_E_INVAL));
    const Conn client = Connect(NewRequest(port));
    EXPECT_THAT(rpma_ep_next_conn_req(endpoint, server_cfg, &request),
                RcIs(RPMA_E_INVAL));
    EXPECT_EQ(request, nullptr);
    log().Discard();

    // Nothing was done: the request still waits.
    const Conn server = Connect(NextRequest(endpoint));
    EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
  }
}

TEST_P(SharedChannelTest, BothQueuesOfOneChannelAreServed) {
  const Combination combination = {8, true, SrqKind::kNone, Receiver::kRcq};
  const ConnCfg cfg = NewCfg(combination, nullptr);
  const Pair pair = ConnectedPair({.server_cfg = cfg});
  const End& server = pair.server;
  ASSERT_THAT(server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  ASSERT_THAT(server.Write(3, 0, 0, 8), IsOk());

  bool seen[2] = {false, false};
  for (int i = 0; i < 2; ++i) {
    rpma_cq* cq = nullptr;
    bool is_rcq = false;
    ASSERT_THAT(rpma_conn_wait(server.conn, 0, &cq, &is_rcq), IsOk());
    EXPECT_EQ(cq, is_rcq ? server.rcq : server.cq);
    seen[is_rcq ? 1 : 0] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1]);
}

// `flags` is reserved and accepted as it is.
TEST_P(SharedChannelTest, WaitAcceptsAnyFlagsAndNoIsRcq) {
  const Combination combination = {0, true, SrqKind::kNone, Receiver::kCq};
  const ConnCfg cfg = NewCfg(combination, nullptr);
  const Pair pair = ConnectedPair({.client_cfg = cfg});
  rpma_cq* cq = nullptr;
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(rpma_conn_wait(pair.client.conn, -1, &cq, nullptr), IsOk());
  EXPECT_EQ(cq, pair.client.cq);
}

TEST_P(SharedChannelTest, NullArgumentsAreInvalid) {
  const Combination combination = {0, true, SrqKind::kNone, Receiver::kCq};
  const ConnCfg cfg = NewCfg(combination, nullptr);
  const Pair pair = ConnectedPair({.client_cfg = cfg});
  rpma_cq* cq = nullptr;
  int fd = -1;
  EXPECT_THAT(rpma_conn_wait(nullptr, 0, &cq, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_wait(pair.client.conn, 0, nullptr, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_compl_fd(nullptr, &fd), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_compl_fd(pair.client.conn, nullptr),
              RcIs(RPMA_E_INVAL));
  log().Discard();
}

}  // namespace
}  // namespace rpma::test
