// SPDX-License-Identifier: BSD-3-Clause
// Requests that fail: with which status on both sides, in which order what was
// posted besides is flushed, who hears of it, and how the device explains it.

#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class StatusTest : public ConformanceTest {
 protected:
  // A pair with the receives 101 and 102 on the client, 201 and 202 on the
  // server.
  Pair PairWithReceives() {
    Pair pair = ConnectedPair();
    for (uint64_t i = 1; i <= 2; ++i) {
      EXPECT_THAT(pair.client.Recv(100 + i, 0, 8), IsOk());
      EXPECT_THAT(pair.server.Recv(200 + i, 8, 8), IsOk());
    }
    return pair;
  }

  // `end` has failed: its receives are flushed in order, and so is what it
  // posts now.
  void ExpectFailed(const End& end, const std::vector<uint64_t>& receives) {
    for (const uint64_t wr_id : receives) {
      EXPECT_THAT(Poll(end.cq), Flushed(wr_id, end.qp_num));
    }
    ASSERT_THAT(end.Write(1, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR), IsOk());
    if (provider().flushes_late_sends) {
      EXPECT_THAT(Poll(end.cq), Flushed(1, end.qp_num));
    }
    ASSERT_THAT(end.Recv(2, 0, 8), IsOk());
    if (provider().flushes_late_receives) {
      EXPECT_THAT(Poll(end.cq), Flushed(2, end.qp_num));
    }
    EXPECT_TRUE(IsEmpty(end.cq));
  }

  // Both sides are told by the end of the connection, or by nothing.
  void ExpectEndOfConnection(const Pair& pair) {
    ExpectEventIff(provider().error_ends_connection, pair.client.conn);
    ExpectEventIff(provider().error_ends_connection, pair.server.conn);
  }

  // The request `wr_id` of the client ended with `status`, and both sides of a
  // PairWithReceives() failed, the server's without a completion of its own.
  void ExpectRefused(const Pair& pair, uint64_t wr_id, ibv_wc_status status) {
    EXPECT_THAT(Poll(pair.client.cq),
                EndedRefused(wr_id, status, pair.client.qp_num));
    ExpectFailed(pair.client, {101, 102});
    ExpectFailed(pair.server, {201, 202});
    ExpectEndOfConnection(pair);
  }

  // The same if only the client's side failed: the server learns of it when it
  // sends, or by the end of the connection.
  void ExpectFailedAlone(const Pair& pair, uint64_t wr_id,
                         ibv_wc_status status) {
    const End& server = pair.server;
    EXPECT_THAT(Poll(pair.client.cq),
                FailedWith(wr_id, status, pair.client.qp_num));
    ExpectFailed(pair.client, {101, 102});
    ExpectEndOfConnection(pair);
    EXPECT_EQ(IsReadable(CompletionFd(server.cq)),
              provider().error_ends_connection);
  }
};

INSTANTIATE_TEST_SUITE_P(, StatusTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, StatusTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

// --- The remote region refuses -----------------------------------------------

// A request for 8 bytes of the remote region.
struct Access {
  const char* name;
  int (*post)(const End& end, uint64_t wr_id, size_t remote_offset);
  ibv_wc_status (Provider::*refused)(ibv_wc_status) const;
};

const Access kAccesses[] = {
    {"write",
     [](const End& end, uint64_t wr_id, size_t remote_offset) {
       return end.Write(wr_id, remote_offset, 0, 8);
     },
     &Provider::RefusedSend},
    {"atomic write",
     [](const End& end, uint64_t wr_id, size_t remote_offset) {
       return end.AtomicWrite(wr_id, remote_offset, UINT64_MAX);
     },
     &Provider::RefusedAtomicWrite},
    {"read",
     [](const End& end, uint64_t wr_id, size_t remote_offset) {
       return end.Read(wr_id, 0, remote_offset, 8);
     },
     &Provider::RefusedRead},
    {"flush",
     [](const End& end, uint64_t wr_id, size_t remote_offset) {
       return end.Flush(wr_id, remote_offset, 8);
     },
     &Provider::RefusedRead},
};

// Fields of the descriptor of a region.
constexpr size_t kSizeField = 8;
constexpr size_t kKeyField = 16;

RemoteMr FromDescriptor(const MrDescriptor& descriptor) {
  RemoteMr remote;
  EXPECT_THAT(rpma_mr_remote_from_descriptor(
                  descriptor.data(), descriptor.size(), remote.address()),
              IsOk());
  return remote;
}

// A way in which the region that a client was told of can be wrong.
struct BadTarget {
  const char* why;  // as the device explains it
  size_t offset;    // of the access
  RemoteMr (*make)(Region& target, const Region& of_another_peer);
};

const BadTarget kBadTargets[] = {
    {"was never given out", 0,
     [](Region& target, const Region&) {
       MrDescriptor descriptor = target.Descriptor();
       for (size_t i = 0; i < 4; ++i) descriptor[kKeyField + i] ^= 0x55;
       return FromDescriptor(descriptor);
     }},
    {"was deregistered", 0,
     [](Region& target, const Region&) {
       RemoteMr remote = target.Remote();
       target.Deregister();
       return remote;
     }},
    {"ends 8 bytes past the region", 4096,
     [](Region& target, const Region&) {
       MrDescriptor descriptor = target.Descriptor();
       descriptor[kSizeField] = 8;  // 4096 + 8
       return FromDescriptor(descriptor);
     }},
    {"is in another protection domain", 0,
     [](Region&, const Region& of_another_peer) {
       return of_another_peer.Remote();
     }},
};

TEST_P(StatusTest, AccessToAWrongRemoteRegionFailsBothSides) {
  for (const BadTarget& bad : kBadTargets) {
    for (const Access& access : kAccesses) {
      SCOPED_TRACE(std::string(access.name) + ": " + bad.why);
      Region target(server_peer(), 4096);
      const Peer another_peer = NewServerPeer();
      const Region of_another_peer(another_peer, 4096);
      Pair pair = PairWithReceives();
      ApplyPeerCfg(pair.client, kDirectWriteAndNativeFlush);
      pair.client.region->Fill(0xff);
      pair.client.remote = bad.make(target, of_another_peer);

      ASSERT_THAT(access.post(pair.client, 3, bad.offset), IsOk());
      ExpectRefused(pair, 3,
                    (provider().*access.refused)(IBV_WC_REM_ACCESS_ERR));
      ExpectExplained(pair.client, HasSubstr(bad.why));
      ExpectExplained(pair.server, HasSubstr(bad.why));
      EXPECT_THAT(target.bytes(), Each(0));
      EXPECT_THAT(of_another_peer.bytes(), Each(0));
    }
  }
}

TEST_P(StatusTest, WriteOneByteTooFarWritesNothing) {
  Region target(server_peer(), 4096);
  MrDescriptor descriptor = target.Descriptor();
  descriptor[kSizeField] = 1;  // 4096 + 1
  Pair pair = PairWithReceives();
  pair.client.region->Fill(0xff);
  pair.client.remote = FromDescriptor(descriptor);
  ASSERT_THAT(pair.client.Write(3, 4033, 0, 64), IsOk());
  ExpectRefused(pair, 3, provider().RefusedSend(IBV_WC_REM_ACCESS_ERR));
  ExpectExplained(pair.client, HasSubstr("ends 1 bytes past the region"));
  EXPECT_THAT(target.bytes(), Each(0));
}

TEST_P(StatusTest, KeyOfARegionDoesNotOpenTheNextOneInItsPlace) {
  Region target(server_peer(), 4096);
  const MrDescriptor old = target.Descriptor();
  target.Deregister();
  LocalMr next;
  ASSERT_THAT(rpma_mr_reg(server_peer(), target.bytes().data(), 4096,
                          kAllUsages, next.address()),
              IsOk());
  Pair pair = PairWithReceives();
  pair.client.region->Fill(0xff);
  pair.client.remote = FromDescriptor(old);
  ASSERT_THAT(pair.client.Write(3, 0, 0, 64), IsOk());
  ExpectRefused(pair, 3, provider().RefusedSend(IBV_WC_REM_ACCESS_ERR));
  ExpectExplained(pair.client, HasSubstr("was deregistered"));
  EXPECT_THAT(target.bytes(), Each(0));
}

TEST_P(StatusTest, RequestOfNoBytesChecksNoKey) {
  Region target(server_peer(), 4096);
  Pair pair = ConnectedPair();
  pair.client.remote = target.Remote();
  target.Deregister();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 0), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  ASSERT_THAT(pair.client.Read(2, 0, 0, 0), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(2, 0, pair.client.qp_num));
}

// --- The local region refuses ------------------------------------------------

TEST_P(StatusTest, SourceOfAnotherPeerFailsTheRequesterAlone) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const Pair pair = PairWithReceives();
  ASSERT_THAT(
      rpma_write(pair.client.conn, pair.client.remote, 0, of_another_peer.mr(),
                 0, 8, RPMA_F_COMPLETION_ALWAYS, Context(3)),
      IsOk());
  ExpectFailedAlone(pair, 3, provider().unreadable_source);
  ExpectExplained(pair.client, HasSubstr("is in another protection domain"));
}

TEST_P(StatusTest, MessageOfAnotherPeerFailsTheRequesterAlone) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const Pair pair = PairWithReceives();
  ASSERT_THAT(rpma_send(pair.client.conn, of_another_peer.mr(), 0, 8,
                        RPMA_F_COMPLETION_ALWAYS, Context(3)),
              IsOk());
  ExpectFailedAlone(pair, 3, provider().unreadable_source);
}

TEST_P(StatusTest, DestinationOfAnotherPeerFailsTheRequesterAlone) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const Pair pair = PairWithReceives();
  pair.server.region->Fill(0xff);
  ASSERT_THAT(
      rpma_read(pair.client.conn, of_another_peer.mr(), 0, pair.client.remote,
                0, 8, RPMA_F_COMPLETION_ON_ERROR, Context(3)),
      IsOk());
  ExpectFailedAlone(pair, 3, IBV_WC_LOC_PROT_ERR);
  EXPECT_THAT(of_another_peer.bytes(), Each(0));
}

TEST_P(StatusTest, SideThatDidNotFailLearnsOfItWhenItSends) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const Pair pair = PairWithReceives();
  const End& server = pair.server;
  ASSERT_THAT(rpma_send(pair.client.conn, of_another_peer.mr(), 0, 8,
                        RPMA_F_COMPLETION_ALWAYS, Context(3)),
              IsOk());
  ExpectFailedAlone(pair, 3, provider().unreadable_source);

  ASSERT_THAT(server.Send(4, 0, 8), IsOk());
  const std::vector<ibv_wc> wcs = {Poll(server.cq), Poll(server.cq),
                                   Poll(server.cq)};
  EXPECT_THAT(wcs,
              UnorderedElementsAre(
                  FailedWith(4, provider().send_to_failed_peer, server.qp_num),
                  Flushed(201, server.qp_num), Flushed(202, server.qp_num)));
}

// --- The receive refuses -----------------------------------------------------

TEST_P(StatusTest, MessageLongerThanTheReceiveFailsBothSides) {
  const Pair pair = PairWithReceives();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0xff);
  ASSERT_THAT(client.Send(3, 0, 9), IsOk());
  EXPECT_THAT(Poll(server.cq),
              FailedWith(201, provider().short_receive, server.qp_num));
  EXPECT_THAT(Poll(client.cq),
              EndedRefused(3, provider().RefusedSend(provider().too_long_send),
                           client.qp_num));
  ExpectFailed(client, {101, 102});
  ExpectFailed(server, {202});
  ExpectEndOfConnection(pair);
  constexpr char kWhy[] = "the receive has room for 8 bytes";
  ExpectExplained(client, HasSubstr(kWhy));
  ExpectExplained(server, HasSubstr(kWhy));
}

TEST_P(StatusTest, MessageForAReceiveWithoutABufferFailsBothSides) {
  const Pair pair = ConnectedPair();
  const End& server = pair.server;
  ASSERT_THAT(rpma_recv(server.conn, nullptr, 0, 0, Context(1)), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 1), IsOk());
  EXPECT_THAT(Poll(server.cq),
              FailedWith(1, provider().short_receive, server.qp_num));
  EXPECT_THAT(Poll(pair.client.cq),
              EndedRefused(2, provider().RefusedSend(provider().too_long_send),
                           pair.client.qp_num));
}

// Lets a message arrive at a receive whose buffer the device may not write.
class UnwritableReceiveTest : public StatusTest {
 protected:
  void ExpectRefusedBy(rpma_mr_local* buffer, const char* why) {
    const Pair pair = ConnectedPair();
    const End& client = pair.client;
    const End& server = pair.server;
    ASSERT_THAT(rpma_recv(server.conn, buffer, 0, 8, Context(1)), IsOk());
    ASSERT_THAT(server.Recv(2, 0, 8), IsOk());
    ASSERT_THAT(client.Send(3, 0, 8), IsOk());
    EXPECT_THAT(Poll(server.cq),
                FailedWith(1, provider().unwritable_receive, server.qp_num));
    EXPECT_THAT(Poll(client.cq),
                EndedRefused(3, provider().RefusedSend(IBV_WC_REM_OP_ERR),
                             client.qp_num));
    ExpectFailed(client, {});
    ExpectFailed(server, {2});
    ExpectEndOfConnection(pair);
    ExpectExplained(client, HasSubstr(why));
    ExpectExplained(server, HasSubstr(why));
  }
};

INSTANTIATE_TEST_SUITE_P(, UnwritableReceiveTest,
                         ::testing::ValuesIn(Providers()), ProviderName);

TEST_P(UnwritableReceiveTest, RegionWithoutTheRightFailsBothSides) {
  const Region region(server_peer(), 64, RPMA_MR_USAGE_SEND);
  ExpectRefusedBy(region.mr(), "lacks LOCAL_WRITE");
}

TEST_P(UnwritableReceiveTest, RegionOfAnotherPeerFailsBothSides) {
  const Peer another_peer = NewServerPeer();
  const Region region(another_peer, 64);
  ExpectRefusedBy(region.mr(), "is in another protection domain");
}

TEST_P(UnwritableReceiveTest, RegionThatIsGoneFailsBothSides) {
  Region region(server_peer(), 64);
  const Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_recv(pair.server.conn, region.mr(), 0, 8, Context(1)),
              IsOk());
  region.Deregister();
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.server.cq),
              FailedWith(1, provider().unwritable_receive, pair.server.qp_num));
  EXPECT_THAT(Poll(pair.client.cq),
              EndedRefused(2, provider().RefusedSend(IBV_WC_REM_OP_ERR),
                           pair.client.qp_num));
  ExpectExplained(pair.server, HasSubstr("was deregistered"));
}

// --- What a failure does not tell --------------------------------------------

TEST_P(StatusTest, NoFailureNothingToExplain) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  ExpectExplained(pair.client, "");
  ExpectExplained(pair.server, "");
}

TEST_P(StatusTest, OtherConnectionsOfThePeersGoOn) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Region target(server_peer(), 4096);
  Pair failing = ConnectedPair(endpoint, port);
  const Pair other = ConnectedPair(endpoint, port);
  failing.client.remote = target.Remote();
  target.Deregister();
  ASSERT_THAT(failing.client.Read(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(failing.client.cq),
              EndedWith(1, provider().RefusedRead(IBV_WC_REM_ACCESS_ERR),
                        failing.client.qp_num));

  ASSERT_THAT(other.server.Recv(2, 0, 8), IsOk());
  ASSERT_THAT(other.client.Send(3, 0, 8), IsOk());
  EXPECT_THAT(Poll(other.server.cq), Received(2, 8, other.server.qp_num));
  EXPECT_FALSE(HasEvent(other.client.conn));
}

TEST_P(StatusTest, ANewConnectionWorksAfterAFailure) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  {
    const Pair pair = ConnectedPair();
    ASSERT_THAT(rpma_send(pair.client.conn, of_another_peer.mr(), 0, 8,
                          RPMA_F_COMPLETION_ALWAYS, Context(1)),
                IsOk());
    EXPECT_THAT(
        Poll(pair.client.cq),
        FailedWith(1, provider().unreadable_source, pair.client.qp_num));
  }
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
}

class PoisonTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, PoisonTest, ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(PoisonTest, UndefinedFieldsOfAFailureArePoisoned) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_send(pair.client.conn, of_another_peer.mr(), 0, 8,
                        RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  const ibv_wc wc = Poll(pair.client.cq);
  EXPECT_THAT(wc,
              FailedWith(1, provider().unreadable_source, pair.client.qp_num));
  EXPECT_NE(wc.opcode, IBV_WC_SEND);  // whoever reads it shall notice
  EXPECT_NE(wc.byte_len, 0u);
  EXPECT_NE(wc.byte_len, 8u);
}

}  // namespace
}  // namespace rpma::test
