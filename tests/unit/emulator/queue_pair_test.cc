// SPDX-License-Identifier: BSD-3-Clause
// Every operation that succeeds: bytes, completions of both sides, and what the
// fields of a completion hold.

#include "emulator/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What ibv_poll_cq(3) leaves undefined for every RC completion.
void ExpectNeverDefinedFieldsPoisoned(const ibv_wc& wc) {
  EXPECT_EQ(wc.src_qp, kPoison);
  EXPECT_EQ(wc.pkey_index, 0xa5a5);
  EXPECT_EQ(wc.slid, 0xa5a5);
  EXPECT_EQ(wc.sl, kPoisonByte);
  EXPECT_EQ(wc.dlid_path_bits, kPoisonByte);
}

void ExpectSent(const ibv_wc& wc, uint64_t wr_id, ibv_wc_opcode opcode,
                const End& by) {
  EXPECT_EQ(wc.wr_id, wr_id);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, opcode);
  EXPECT_EQ(wc.qp_num, by.qp->qp_num);
  EXPECT_EQ(wc.vendor_err, kPoison);
  EXPECT_EQ(wc.imm_data, kPoison);
  EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, 0u);
  ExpectNeverDefinedFieldsPoisoned(wc);
}

void ExpectReceived(const ibv_wc& wc, uint64_t wr_id, ibv_wc_opcode opcode,
                    uint32_t byte_len, const End& by) {
  EXPECT_EQ(wc.wr_id, wr_id);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, opcode);
  EXPECT_EQ(wc.byte_len, byte_len);
  EXPECT_EQ(wc.qp_num, by.qp->qp_num);
  EXPECT_EQ(wc.vendor_err, kPoison);
  ExpectNeverDefinedFieldsPoisoned(wc);
}

TEST(QueuePairTest, SendFillsThePostedReceiveAndCompletesBothSides) {
  ConnectedPair pair;
  pair.client.SetText(0, "hello, server");
  ASSERT_EQ(pair.server.Recv(7, 64, 32), 0);
  ASSERT_EQ(pair.client.Send(8, 0, 13), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 8, IBV_WC_SEND, pair.client);
  EXPECT_EQ(sent[0].byte_len, kPoison);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV, 13, pair.server);
  EXPECT_EQ(received[0].imm_data, kPoison);
  EXPECT_EQ(received[0].wc_flags & IBV_WC_WITH_IMM, 0u);
  EXPECT_EQ(pair.server.Text(64, 14), std::string("hello, server\0", 14));
  EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
}

TEST(QueuePairTest, WriteStoresBytesWithoutTellingTheResponder) {
  ConnectedPair pair;
  pair.client.SetText(0, "written remotely");
  ASSERT_EQ(pair.client.Write(1, 0, 16, pair.server, 100), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 1, IBV_WC_RDMA_WRITE, pair.client);
  EXPECT_EQ(sent[0].byte_len, kPoison);
  EXPECT_EQ(pair.server.Text(100, 16), "written remotely");
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
}

TEST(QueuePairTest, ReadFetchesBytesAndSaysHowMany) {
  ConnectedPair pair;
  pair.server.SetText(200, "read remotely");
  ASSERT_EQ(pair.client.Read(2, 50, 13, pair.server, 200), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 2, IBV_WC_RDMA_READ, pair.client);
  EXPECT_EQ(sent[0].byte_len, 13u);
  EXPECT_EQ(pair.client.Text(50, 13), "read remotely");
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
}

TEST(QueuePairTest, ImmediateDataArrivesAsSentInNetworkOrder) {
  ConnectedPair pair;
  pair.client.SetText(0, "abc");
  ASSERT_EQ(pair.server.Recv(7, 64, 32), 0);
  ibv_sge sge = pair.client.Sge(0, 3);
  auto wr = End::Request(8, IBV_WR_SEND_WITH_IMM, &sge, IBV_SEND_SIGNALED);
  wr.imm_data = 0x12345678;
  ASSERT_EQ(pair.client.Post(wr), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 8, IBV_WC_SEND, pair.client);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV, 3, pair.server);
  EXPECT_NE(received[0].wc_flags & IBV_WC_WITH_IMM, 0u);
  EXPECT_EQ(received[0].imm_data, 0x12345678u);
  EXPECT_EQ(pair.server.Text(64, 3), "abc");
}

class WriteWithImmTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(WriteWithImmTest, ConsumesAReceiveButLeavesItsBufferAlone) {
  const uint32_t length = GetParam();
  ConnectedPair pair;
  pair.client.SetText(0, "payload");
  pair.server.SetText(64, "untouched");
  ASSERT_EQ(pair.server.Recv(7, 64, 9), 0);
  ibv_sge sge = pair.client.Sge(0, length);
  auto wr = End::RdmaRequest(8, IBV_WR_RDMA_WRITE_WITH_IMM, &sge,
                             IBV_SEND_SIGNALED, pair.server, 128);
  wr.imm_data = 0x99;
  ASSERT_EQ(pair.client.Post(wr), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 8, IBV_WC_RDMA_WRITE, pair.client);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV_RDMA_WITH_IMM, length,
                 pair.server);
  EXPECT_NE(received[0].wc_flags & IBV_WC_WITH_IMM, 0u);
  EXPECT_EQ(received[0].imm_data, 0x99u);
  EXPECT_EQ(pair.server.Text(64, 9), "untouched");
  EXPECT_EQ(pair.server.Text(128, length), pair.client.Text(0, length));
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutBytes, WriteWithImmTest,
                         ::testing::Values(7u, 0u));

TEST(QueuePairTest, IwarpRefusesImmediateDataWhenPosted) {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  ConnectedPair pair(options);
  ASSERT_EQ(pair.server.Recv(7, 64, 32), 0);
  for (const auto opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
    EXPECT_EQ(pair.client.Post(End::RdmaRequest(
                  8, opcode, nullptr, IBV_SEND_SIGNALED, pair.server, 0)),
              EOPNOTSUPP);
  }
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
}

TEST(QueuePairTest, ZeroLengthOperationsCheckNoKeyAndComplete) {
  ConnectedPair pair;
  ASSERT_EQ(pair.server.Recv(7, 64, 32), 0);
  for (const auto opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    auto wr = End::RdmaRequest(opcode, opcode, nullptr, IBV_SEND_SIGNALED,
                               pair.server, 0);
    wr.wr.rdma.rkey = 0;
    wr.wr.rdma.remote_addr = 0;
    ASSERT_EQ(pair.client.Post(wr), 0);
  }
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 3u);
  ExpectSent(sent[0], IBV_WR_SEND, IBV_WC_SEND, pair.client);
  ExpectSent(sent[1], IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, pair.client);
  ExpectSent(sent[2], IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, pair.client);
  EXPECT_EQ(sent[2].byte_len, 0u);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV, 0, pair.server);
}

TEST(QueuePairTest, SeveralBuffersGatherAndScatter) {
  ConnectedPair pair;
  pair.client.SetText(0, "abcdefghij");
  ibv_sge into[] = {pair.server.Sge(100, 2), pair.server.Sge(200, 0),
                    pair.server.Sge(300, 30)};
  ibv_recv_wr receive{7, nullptr, into, 3};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(pair.server.qp->PostRecv(&receive, &bad_receive), 0);
  ibv_sge from[] = {pair.client.Sge(5, 5), pair.client.Sge(0, 1),
                    pair.client.Sge(1, 2)};
  auto wr = End::Request(8, IBV_WR_SEND, from, IBV_SEND_SIGNALED);
  wr.num_sge = 3;
  ASSERT_EQ(pair.client.Post(wr), 0);

  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV, 8, pair.server);
  EXPECT_EQ(pair.server.Text(100, 2) + pair.server.Text(300, 6), "fghijabc");
}

TEST(QueuePairTest, ABadBufferBeyondTheMessageDoesNotMatter) {
  ConnectedPair pair;
  ibv_sge into[] = {pair.server.Sge(100, 8), pair.server.Sge(200, 8)};
  into[1].lkey = 0;
  ibv_recv_wr receive{7, nullptr, into, 2};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(pair.server.qp->PostRecv(&receive, &bad_receive), 0);
  ASSERT_EQ(pair.client.Send(8, 0, 8), 0);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  ExpectReceived(received[0], 7, IBV_WC_RECV, 8, pair.server);
}

TEST(QueuePairTest, InlineBytesAreThoseOfTheCallAndNeedNoKey) {
  ConnectedPair pair;
  char bytes[] = "inline";
  ASSERT_EQ(pair.client.qp->ToSendQueueDrained(), 0);  // executes later
  ibv_sge parts[] = {{reinterpret_cast<uint64_t>(bytes), 3, 0},
                     {0, 0, 0},
                     {reinterpret_cast<uint64_t>(bytes + 3), 3, 0xdead}};
  auto wr =
      End::RdmaRequest(1, IBV_WR_RDMA_WRITE, parts,
                       IBV_SEND_SIGNALED | IBV_SEND_INLINE, pair.server, 32);
  wr.num_sge = 3;
  ASSERT_EQ(pair.client.Post(wr), 0);
  std::fill(std::begin(bytes), std::end(bytes), '!');
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  ASSERT_EQ(pair.client.qp->FromSendQueueDrained(), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 1, IBV_WC_RDMA_WRITE, pair.client);
  EXPECT_EQ(pair.server.Text(32, 6), "inline");
}

TEST(QueuePairTest, RequestsThatTheQueuePairCannotHoldAreRefusedWhenPosted) {
  PairOptions options;
  options.max_sge = 2;
  options.max_inline_data = 8;
  ConnectedPair pair(options);
  ibv_sge sges[3] = {pair.client.Sge(0, 8), pair.client.Sge(8, 1),
                     pair.client.Sge(16, 8)};
  auto wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, sges, IBV_SEND_SIGNALED,
                             pair.server, 0);
  wr.num_sge = 3;
  EXPECT_EQ(pair.client.Post(wr), EINVAL);
  wr.num_sge = -1;
  EXPECT_EQ(pair.client.Post(wr), EINVAL);
  wr.num_sge = 2;
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(pair.client.Post(wr), EINVAL);  // 9 bytes
  wr.num_sge = 1;
  EXPECT_EQ(pair.client.Post(wr), 0);
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(pair.client.Post(wr), EINVAL);
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  EXPECT_EQ(pair.client.Post(wr), EOPNOTSUPP);

  ibv_recv_wr receive{1, nullptr, sges, 3};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(pair.client.qp->PostRecv(&receive, &bad), EINVAL);
  EXPECT_EQ(bad, &receive);
}

TEST(QueuePairTest, IwarpReadsIntoOneBufferOnly) {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  ConnectedPair pair(options);
  ibv_sge sges[2] = {pair.client.Sge(0, 8), pair.client.Sge(8, 8)};
  auto wr = End::RdmaRequest(1, IBV_WR_RDMA_READ, sges, IBV_SEND_SIGNALED,
                             pair.server, 0);
  wr.num_sge = 2;
  EXPECT_EQ(pair.client.Post(wr), EINVAL);
}

TEST(QueuePairTest, AChainStopsAtTheRequestThatIsRefused) {
  ConnectedPair pair;
  ibv_sge sge = pair.client.Sge(0, 8);
  auto third = End::RdmaRequest(3, IBV_WR_RDMA_WRITE, &sge, IBV_SEND_SIGNALED,
                                pair.server, 0);
  auto second = third;
  second.wr_id = 2;
  second.num_sge = 100;
  second.next = &third;
  auto first = third;
  first.wr_id = 1;
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(pair.client.qp->PostSend(&first, &bad), EINVAL);
  EXPECT_EQ(bad, &second);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 1, IBV_WC_RDMA_WRITE, pair.client);
}

// --- Native operations

PairOptions WithNativeOperations() {
  PairOptions options;
  options.profile.native_atomic_write = true;
  options.profile.native_flush = true;
  return options;
}

TEST(QueuePairTest, DevicesWithoutNativeOperationsRefuseThem) {
  ConnectedPair pair;
  const uint64_t value = 1;
  EXPECT_EQ(pair.client.qp->PostFlush({.rkey = pair.server.mr->rkey}),
            EOPNOTSUPP);
  EXPECT_EQ(pair.client.qp->PostAtomicWrite({.source = &value}), EOPNOTSUPP);
}

TEST(QueuePairTest, AtomicWriteStoresTheValueOfTheCall) {
  ConnectedPair pair(WithNativeOperations());
  const uint64_t value = 0x1122334455667788;
  ASSERT_EQ(
      pair.client.qp->PostAtomicWrite({.wr_id = 5,
                                       .remote_addr = pair.server.Address(8),
                                       .source = &value,
                                       .rkey = pair.server.mr->rkey,
                                       .send_flags = IBV_SEND_SIGNALED}),
      0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectSent(sent[0], 5, kWcAtomicWrite, pair.client);
  EXPECT_EQ(*reinterpret_cast<const uint64_t*>(pair.server.Address(8)), value);
}

TEST(QueuePairTest, MisalignedAtomicWriteIsAnInvalidRequest) {
  ConnectedPair pair(WithNativeOperations());
  const uint64_t value = 1;
  ASSERT_EQ(
      pair.client.qp->PostAtomicWrite({.wr_id = 5,
                                       .remote_addr = pair.server.Address(4),
                                       .source = &value,
                                       .rkey = pair.server.mr->rkey}),
      0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(pair.server.AsyncEvents(), ElementsAre(IBV_EVENT_QP_REQ_ERR));
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("the remote address is not a multiple of 8"));
}

class FlushTest : public ::testing::TestWithParam<bool> {
 protected:
  // A flush of `length` bytes of a region with `access`; its completion.
  static ibv_wc Flush(ConnectedPair& pair, unsigned access, uint64_t length) {
    End& server = pair.server;
    EXPECT_EQ(server.device.DeregMr(server.mr), 0);
    EXPECT_EQ(server.device.RegMr(server.pd,
                                  reinterpret_cast<void*>(server.Address()),
                                  End::kSize, access, &server.mr),
              0);
    EXPECT_EQ(pair.client.qp->PostFlush({.wr_id = 6,
                                         .remote_addr = server.Address(),
                                         .length = length,
                                         .rkey = server.mr->rkey,
                                         .persistent = GetParam(),
                                         .send_flags = IBV_SEND_SIGNALED}),
              0);
    return pair.client.AwaitSend();
  }
  unsigned Right() const {
    return GetParam() ? kAccessFlushPersistent : kAccessFlushGlobal;
  }
};

INSTANTIATE_TEST_SUITE_P(BothKinds, FlushTest, ::testing::Bool());

TEST_P(FlushTest, NeedsItsOwnRightOnly) {
  ConnectedPair pair(WithNativeOperations());
  ExpectSent(Flush(pair, Right(), End::kSize), 6, kWcFlush, pair.client);
}

TEST_P(FlushTest, IsRefusedWithoutItsRight) {
  ConnectedPair pair(WithNativeOperations());
  const unsigned other =
      GetParam() ? kAccessFlushGlobal : kAccessFlushPersistent;
  EXPECT_EQ(Flush(pair, kAllAccess | other, 8).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_THAT(
      pair.client.Explanation(),
      HasSubstr(GetParam() ? "lacks FLUSH_PERSISTENT" : "lacks FLUSH_GLOBAL"));
}

TEST_P(FlushTest, IsRefusedPastTheRegion) {
  ConnectedPair pair(WithNativeOperations());
  EXPECT_EQ(Flush(pair, Right(), End::kSize + 1).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_P(FlushTest, LongerThanItsFieldIsRefusedWhenPosted) {
  ConnectedPair pair(WithNativeOperations());
  EXPECT_EQ(pair.client.qp->PostFlush({.length = uint64_t{1} << 32}), EINVAL);
}

// --- States

TEST(QueuePairStateTest, MovesOnlyAlongTheStateMachine) {
  ConnectedPair pair;
  const std::shared_ptr<QueuePair> qp = pair.client.MakeQp();
  const std::shared_ptr<QueuePair> remote = pair.server.MakeQp();
  EXPECT_EQ(qp->State(), IBV_QPS_INIT);
  EXPECT_EQ(qp->ToInit(), EINVAL);
  EXPECT_EQ(qp->ToReadyToSend(), EINVAL);
  EXPECT_EQ(qp->ToSendQueueDrained(), EINVAL);
  EXPECT_EQ(qp->ToReadyToReceive({}, {}), EINVAL);
  EXPECT_EQ(qp->ToReadyToReceive(remote, {}), 0);
  EXPECT_EQ(qp->State(), IBV_QPS_RTR);
  EXPECT_EQ(qp->ToReadyToReceive(remote, {}), EINVAL);
  EXPECT_EQ(qp->ToReadyToSend(), 0);
  EXPECT_EQ(qp->State(), IBV_QPS_RTS);
  EXPECT_EQ(qp->FromSendQueueDrained(), EINVAL);
  EXPECT_EQ(qp->ToSendQueueDrained(), 0);
  EXPECT_EQ(qp->State(), IBV_QPS_SQD);
  EXPECT_EQ(qp->FromSendQueueDrained(), 0);
  EXPECT_EQ(qp->ToError(), 0);
  EXPECT_EQ(qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(qp->ToReadyToSend(), EINVAL);
  EXPECT_EQ(qp->ToReset(), 0);
  EXPECT_EQ(qp->State(), IBV_QPS_RESET);
  EXPECT_EQ(qp->ToError(), EINVAL);
  EXPECT_EQ(pair.client.device.DestroyQp(qp.get()), 0);
  EXPECT_EQ(pair.server.device.DestroyQp(remote.get()), 0);
}

TEST(QueuePairStateTest, TakesReceivesFromInitAndSendsFromReadyToSend) {
  ConnectedPair pair;
  const std::shared_ptr<QueuePair> connected = pair.client.qp;
  pair.client.qp = pair.client.MakeQp();
  const std::shared_ptr<QueuePair> remote = pair.server.MakeQp();
  const std::shared_ptr<QueuePair> qp = pair.client.qp;
  EXPECT_EQ(pair.client.Recv(1, 0, 8), 0);
  EXPECT_EQ(pair.client.Send(2, 0, 8), EINVAL);
  EXPECT_EQ(qp->ToReadyToReceive(remote, {}), 0);
  EXPECT_EQ(pair.client.Send(3, 0, 8), EINVAL);
  EXPECT_EQ(qp->ToReset(), 0);
  EXPECT_EQ(pair.client.Recv(4, 0, 8), EINVAL);
  EXPECT_EQ(pair.client.Send(5, 0, 8), EINVAL);
  EXPECT_EQ(qp->ToInit(), 0);
  EXPECT_EQ(qp->ToError(), 0);
  EXPECT_THAT(pair.client.PollRecv(), IsEmpty());  // ToReset() forgot it
  EXPECT_EQ(pair.client.device.DestroyQp(qp.get()), 0);
  EXPECT_EQ(pair.server.device.DestroyQp(remote.get()), 0);
  pair.client.qp = connected;
}

TEST(QueuePairStateTest, FirstMessageInReadyToReceiveEstablishesCommunication) {
  ConnectedPair pair;
  const auto client_qp = pair.client.MakeQp();
  const auto server_qp = pair.server.MakeQp();
  ASSERT_EQ(server_qp->ToReadyToReceive(client_qp, {}), 0);
  ASSERT_EQ(client_qp->ToReadyToReceive(server_qp, {}), 0);
  ASSERT_EQ(client_qp->ToReadyToSend(), 0);
  ibv_sge sge = pair.client.Sge(0, 8);
  for (int i = 0; i < 2; ++i) {
    auto wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, &sge, IBV_SEND_SIGNALED,
                               pair.server, 0);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(client_qp->PostSend(&wr, &bad), 0);
    EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  }
  EXPECT_THAT(pair.server.AsyncEvents(), ElementsAre(IBV_EVENT_COMM_EST));
  EXPECT_EQ(pair.client.device.DestroyQp(client_qp.get()), 0);
  EXPECT_EQ(pair.server.device.DestroyQp(server_qp.get()), 0);
}

TEST(QueuePairStateTest, AQueuePairConnectedToItselfServesItself) {
  ConnectedPair pair;
  const auto qp = pair.client.MakeQp();
  ASSERT_EQ(qp->ToReadyToReceive(qp, {}), 0);
  ASSERT_EQ(qp->ToReadyToSend(), 0);
  pair.client.SetText(0, "loop");
  ibv_sge sge = pair.client.Sge(0, 4);
  auto wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, &sge, IBV_SEND_SIGNALED,
                             pair.client, 64);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(qp->PostSend(&wr, &bad), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.Text(64, 4), "loop");
  EXPECT_EQ(pair.client.device.DestroyQp(qp.get()), 0);
}

}  // namespace
}  // namespace rpma::emu
