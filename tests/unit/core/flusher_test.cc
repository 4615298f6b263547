// SPDX-License-Identifier: BSD-3-Clause
//
// Flushing: by reading back and natively, and what may be flushed how.

#include "core/flusher.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "core/connection.h"
#include "core/peer_cfg.h"
#include "tests/unit/core/connection_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;

constexpr uint64_t kRemote = 0x900000000;
constexpr uint32_t kRkey = 0x1234;
constexpr size_t kSize = 4096;
constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
constexpr auto kVisible = RPMA_FLUSH_TYPE_VISIBILITY;
constexpr auto kPersistent = RPMA_FLUSH_TYPE_PERSISTENT;
void* const kContext = reinterpret_cast<void*>(0xC0FFEE00C0FFEE);

// A connection that flushes by reading.
class FlushTest : public test::ConnectionTestBase {
 protected:
  Rc Flush(size_t offset, size_t length, rpma_flush_type type = kVisible) {
    return connection_->Flush(*remote_, offset, length, type, kAlways,
                              kContext);
  }

  // A flush of this range must read `length` bytes at `offset` of the region.
  void ExpectRead(size_t offset, uint32_t length) {
    EXPECT_CALL(transport, PostSend)
        .WillOnce([this, offset, length](ibv_qp* qp, ibv_send_wr* wr) {
          EXPECT_EQ(qp->qp_num, connection_->qp_num());
          EXPECT_EQ(wr->next, nullptr);
          EXPECT_EQ(wr->wr_id, 0xC0FFEE00C0FFEEu);
          EXPECT_EQ(wr->opcode, IBV_WR_RDMA_READ);
          EXPECT_EQ(wr->send_flags, unsigned{IBV_SEND_SIGNALED});
          EXPECT_EQ(wr->wr.rdma.remote_addr, kRemote + offset);
          EXPECT_EQ(wr->wr.rdma.rkey, kRkey);
          EXPECT_EQ(wr->num_sge, 1);
          EXPECT_EQ(wr->sg_list->length, length);
          return Errno::kOk;
        });
  }

  std::unique_ptr<Connection> connection_ = MakeConnection();
  std::unique_ptr<MrRemote> remote_ = MakeRemote(kRemote, kSize, kRkey);
};

// One on which both the device and the peer have native flush.
class NativeFlushTest : public FlushTest {
 protected:
  NativeFlushTest() {
    transport.caps.native_flush = true;
    transport.caps.native_atomic_write = true;
    peer_with_native_ops_ = MakePeer();
    connection_.reset();
    peer.swap(peer_with_native_ops_);
    connection_ = MakeConnection();
    connection_->ApplyRemotePeerCfg(PeerCfg(3));
  }

  std::unique_ptr<Peer> peer_with_native_ops_;
};

TEST_F(FlushTest, ReadsAtMostEightBytesInsideTheRegion) {
  const struct {
    size_t offset, length, read_at;
    uint32_t read;
  } cases[] = {{0, 8, 0, 8},
               {0, kSize, 0, 8},
               {16, 100, 16, 8},
               {kSize - 1, 1, kSize - 1, 1},
               {kSize - 4, 4, kSize - 4, 4},
               {0, 3, 0, 3},
               {0, 0, 0, 1},
               {kSize, 0, kSize - 1, 1}};
  for (const auto& [offset, length, read_at, read] : cases) {
    SCOPED_TRACE(std::to_string(offset) + "+" + std::to_string(length));
    ExpectRead(read_at, read);
    EXPECT_EQ(Flush(offset, length), Rc::kOk);
  }
  EXPECT_THAT(log.Take(), IsEmpty());
}

TEST_F(FlushTest, ReadsIntoTheRegisteredBuffer) {
  ibv_sge registered = {};
  EXPECT_CALL(transport, RegMr)
      .WillOnce(
          [&](ibv_pd*, void* address, size_t length, uint32_t, ibv_mr** mr) {
            static ibv_mr its_mr;
            its_mr.lkey = 4711;
            *mr = &its_mr;
            registered = {.addr = reinterpret_cast<uintptr_t>(address),
                          .length = static_cast<uint32_t>(length),
                          .lkey = 4711};
            return Errno::kOk;
          });
  EXPECT_CALL(transport, DeregMr).WillRepeatedly(Return(Errno::kOk));
  const auto connection = MakeConnection();
  EXPECT_CALL(transport, PostSend).WillOnce([&](ibv_qp*, ibv_send_wr* wr) {
    EXPECT_EQ(wr->sg_list->addr, registered.addr);
    EXPECT_EQ(wr->sg_list->lkey, 4711u);
    return Errno::kOk;
  });
  EXPECT_EQ(
      connection->Flush(*remote_, 0, registered.length, kVisible, kAlways, {}),
      Rc::kOk);
}

TEST_F(FlushTest, OffsetBeyondTheRegionIsInvalid) {
  EXPECT_CALL(transport, PostSend).Times(0);
  EXPECT_EQ(Flush(kSize + 1, 0), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(FlushTest, RangePastTheEndIsCutAndSaidOnce) {
  ExpectRead(kSize - 2, 2);
  EXPECT_EQ(Flush(kSize - 2, 100), Rc::kOk);
  EXPECT_THAT(log.Take(), ElementsAre(AllOf(HasSubstr("W flush of 100 bytes"),
                                            HasSubstr("offset 4094"))));
  ExpectRead(kSize - 1, 1);
  EXPECT_EQ(Flush(kSize, SIZE_MAX), Rc::kOk);
  EXPECT_THAT(log.Take(), IsEmpty());
}

TEST_F(FlushTest, PersistenceNeedsTheWordOfThePeer) {
  EXPECT_CALL(transport, PostSend).Times(0);
  EXPECT_EQ(Flush(0, 8, kPersistent), Rc::kNoSupp);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("peer configuration")));
}

TEST_F(FlushTest, PersistenceWithTheWordOfThePeer) {
  connection_->ApplyRemotePeerCfg(PeerCfg(1));
  ExpectRead(0, 8);
  EXPECT_EQ(Flush(0, 8, kPersistent), Rc::kOk);
  connection_->ApplyRemotePeerCfg(PeerCfg(0));
  EXPECT_EQ(Flush(0, 8, kPersistent), Rc::kNoSupp);
  log.Take();
}

TEST_F(FlushTest, RegionMustAllowTheType) {
  connection_->ApplyRemotePeerCfg(PeerCfg(1));
  EXPECT_CALL(transport, PostSend).Times(0);
  remote_ =
      MakeRemote(kRemote, kSize, kRkey, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
  EXPECT_EQ(Flush(0, 8, kPersistent), Rc::kNoSupp);
  remote_ =
      MakeRemote(kRemote, kSize, kRkey, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
  EXPECT_EQ(Flush(0, 8, kVisible), Rc::kNoSupp);
  EXPECT_EQ(log.Take().size(), 2u);
}

TEST_F(FlushTest, RefusedReadIsReported) {
  transport.FailMethod("PostSend", Errno{ENOMEM});
  EXPECT_EQ(Flush(0, 8), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_post_send(flush")));
}

TEST_F(FlushTest, GrantWithoutTheDevicesAbilityChangesNothing) {
  connection_->ApplyRemotePeerCfg(PeerCfg(3));
  ExpectRead(0, 8);
  EXPECT_EQ(Flush(0, 8), Rc::kOk);
}

TEST_F(NativeFlushTest, PostsTheRangeAsItIs) {
  for (const auto& [type, kind] :
       {std::pair{kVisible, FlushKind::kVisibility},
        std::pair{kPersistent, FlushKind::kPersistence}}) {
    EXPECT_CALL(transport, PostFlush)
        .WillOnce([&, its_kind = kind](ibv_qp* qp, const FlushWr& wr) {
          EXPECT_EQ(qp->qp_num, connection_->qp_num());
          EXPECT_EQ(wr.wr_id, 0xC0FFEE00C0FFEEu);
          EXPECT_EQ(wr.remote_addr, kRemote + 16);
          EXPECT_EQ(wr.length, 100u);
          EXPECT_EQ(wr.rkey, kRkey);
          EXPECT_EQ(wr.kind, its_kind);
          EXPECT_TRUE(wr.signaled);
          return Errno::kOk;
        });
    EXPECT_EQ(Flush(16, 100, type), Rc::kOk);
  }
}

TEST_F(NativeFlushTest, IsNotUsedUnlessThePeerGrantsIt) {
  connection_->ApplyRemotePeerCfg(PeerCfg(1));
  EXPECT_CALL(transport, PostFlush).Times(0);
  ExpectRead(0, 8);
  EXPECT_EQ(Flush(0, 8, kPersistent), Rc::kOk);
}

TEST_F(NativeFlushTest, RangeBeyond32BitsIsRead) {
  constexpr uint64_t kMax = UINT32_MAX;
  remote_ = MakeRemote(kRemote, 3 * kMax, kRkey);
  EXPECT_CALL(transport, PostFlush(_, Field(&FlushWr::length, kMax)))
      .WillOnce(Return(Errno::kOk));
  EXPECT_EQ(Flush(8, kMax), Rc::kOk);
  ExpectRead(8, 8);
  EXPECT_EQ(Flush(8, kMax + 1), Rc::kOk);
}

TEST_F(NativeFlushTest, RefusedRequestIsReported) {
  transport.FailMethod("PostFlush", Errno{ENOMEM});
  EXPECT_EQ(Flush(0, 8), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_wr_flush(flush")));
}

TEST_F(NativeFlushTest, AtomicWriteWaitsForFlushesThatRead) {
  const char source[8] = {};
  for (const bool granted : {true, false}) {
    connection_->ApplyRemotePeerCfg(PeerCfg(granted ? 3 : 1));
    EXPECT_CALL(transport, PostAtomicWrite)
        .WillOnce([&](ibv_qp*, const AtomicWriteWr& wr) {
          EXPECT_EQ(wr.wr_id, 0xC0FFEE00C0FFEEu);
          EXPECT_EQ(wr.remote_addr, kRemote + 8);
          EXPECT_EQ(wr.source, source);
          EXPECT_EQ(wr.rkey, kRkey);
          EXPECT_TRUE(wr.fence);
          EXPECT_TRUE(wr.signaled);
          return Errno::kOk;
        });
    EXPECT_EQ(connection_->AtomicWrite(*remote_, 8, source, kAlways, kContext),
              Rc::kOk);
  }
}

TEST_F(NativeFlushTest, RefusedAtomicWriteIsReported) {
  const char source[8] = {};
  transport.FailMethod("PostAtomicWrite", Errno{ENOMEM});
  EXPECT_EQ(connection_->AtomicWrite(*remote_, 8, source, kAlways, kContext),
            Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_wr_atomic_write")));
}

}  // namespace
}  // namespace rpma
