// SPDX-License-Identifier: BSD-3-Clause
// Every operation that succeeds: bytes, completions of both sides, and what the
// fields of a completion hold.

#include "emulator/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
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

}  // namespace
}  // namespace rpma::emu
