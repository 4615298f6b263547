// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of a connection, down to each field of the work request.

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>

#include "core/connection.h"
#include "tests/unit/core/connection_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kLocal = 0x10000;
constexpr uint64_t kRemote = 0x900000000;
constexpr uint32_t kRkey = 0x1234;
constexpr size_t kSize = 4096;
constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
constexpr int kOnError = RPMA_F_COMPLETION_ON_ERROR;
void* const kContext = reinterpret_cast<void*>(0xC0FFEE00C0FFEE);

class ConnectionIoTest : public test::ConnectionTestBase {
 protected:
  // The next request for the send queue is checked by `check`.
  void ExpectSend(std::function<void(const ibv_send_wr&)> check) {
    EXPECT_CALL(transport, PostSend(_, _))
        .WillOnce([this, check](ibv_qp* qp, ibv_send_wr* wr) {
          EXPECT_EQ(qp->qp_num, connection_->qp_num());
          EXPECT_EQ(wr->next, nullptr);
          check(*wr);
          return Errno::kOk;
        });
  }

  static void ExpectData(const ibv_send_wr& wr, uint64_t address,
                         uint32_t length, uint32_t lkey) {
    ASSERT_EQ(wr.num_sge, 1);
    EXPECT_EQ(wr.sg_list->addr, address);
    EXPECT_EQ(wr.sg_list->length, length);
    EXPECT_EQ(wr.sg_list->lkey, lkey);
  }

  static void ExpectNoData(const ibv_send_wr& wr) {
    EXPECT_EQ(wr.num_sge, 0);
    EXPECT_EQ(wr.sg_list, nullptr);
    EXPECT_EQ(wr.wr.rdma.remote_addr, 0u);
    EXPECT_EQ(wr.wr.rdma.rkey, 0u);
  }

  std::unique_ptr<Connection> connection_ = MakeConnection();
  std::unique_ptr<MrLocal> local_ = MakeLocal(*peer, kLocal, kSize);
  std::unique_ptr<MrRemote> remote_ = MakeRemote(kRemote, kSize, kRkey);
};

TEST_F(ConnectionIoTest, Write) {
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.wr_id, 0xC0FFEE00C0FFEEu);
    EXPECT_EQ(wr.opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(wr.send_flags, unsigned{IBV_SEND_SIGNALED});
    EXPECT_EQ(wr.wr.rdma.remote_addr, kRemote + 8);
    EXPECT_EQ(wr.wr.rdma.rkey, kRkey);
    ExpectData(wr, kLocal + 16, 32, local_->lkey());
  });
  EXPECT_EQ(connection_->Write(remote_.get(), 8, local_.get(), 16, 32, kAlways,
                               kContext),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, WriteWithImmediateInNetworkOrder) {
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(wr.imm_data, htonl(0x01020304));
    EXPECT_EQ(wr.wr.rdma.remote_addr, kRemote + 8);
    ExpectData(wr, kLocal + 16, 32, local_->lkey());
  });
  EXPECT_EQ(connection_->WriteWithImm(remote_.get(), 8, local_.get(), 16, 32,
                                      kAlways, 0x01020304, kContext),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, Read) {
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.wr_id, 0xC0FFEE00C0FFEEu);
    EXPECT_EQ(wr.opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(wr.wr.rdma.remote_addr, kRemote + 16);
    EXPECT_EQ(wr.wr.rdma.rkey, kRkey);
    ExpectData(wr, kLocal + 8, 32, local_->lkey());
  });
  EXPECT_EQ(connection_->Read(local_.get(), 8, remote_.get(), 16, 32, kAlways,
                              kContext),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, Send) {
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.opcode, IBV_WR_SEND);
    ExpectData(wr, kLocal + 8, 32, local_->lkey());
  });
  EXPECT_EQ(connection_->Send(local_.get(), 8, 32, kAlways, kContext), Rc::kOk);
}

TEST_F(ConnectionIoTest, SendWithImmediateInNetworkOrder) {
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.opcode, IBV_WR_SEND_WITH_IMM);
    EXPECT_EQ(wr.imm_data, htonl(0xA0B0C0D0));
    ExpectData(wr, kLocal + 8, 32, local_->lkey());
  });
  EXPECT_EQ(connection_->SendWithImm(local_.get(), 8, 32, kAlways, 0xA0B0C0D0,
                                     kContext),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, Recv) {
  EXPECT_CALL(transport, PostRecv(_, _))
      .WillOnce([&](ibv_qp* qp, ibv_recv_wr* wr) {
        EXPECT_EQ(qp->qp_num, connection_->qp_num());
        EXPECT_EQ(wr->wr_id, 0xC0FFEE00C0FFEEu);
        EXPECT_EQ(wr->num_sge, 1);
        EXPECT_EQ(wr->sg_list->addr, kLocal + 8);
        EXPECT_EQ(wr->sg_list->length, 32u);
        return Errno::kOk;
      });
  EXPECT_EQ(connection_->Recv(local_.get(), 8, 32, kContext), Rc::kOk);
}

TEST_F(ConnectionIoTest, RequestsWithoutDataNameNoMemory) {
  EXPECT_CALL(transport, PostSend)
      .Times(3)
      .WillRepeatedly([](ibv_qp*, ibv_send_wr* wr) {
        ExpectNoData(*wr);
        return Errno::kOk;
      });
  EXPECT_EQ(connection_->Write(nullptr, 0, nullptr, 0, 0, kAlways, nullptr),
            Rc::kOk);
  EXPECT_EQ(connection_->Read(nullptr, 0, nullptr, 0, 0, kAlways, nullptr),
            Rc::kOk);
  EXPECT_EQ(connection_->Send(nullptr, 0, 0, kAlways, nullptr), Rc::kOk);
  EXPECT_CALL(transport, PostRecv).WillOnce([](ibv_qp*, ibv_recv_wr* wr) {
    EXPECT_EQ(wr->num_sge, 0);
    EXPECT_EQ(wr->sg_list, nullptr);
    return Errno::kOk;
  });
  EXPECT_EQ(connection_->Recv(nullptr, 0, 0, nullptr), Rc::kOk);
}

TEST_F(ConnectionIoTest, OnlyAlwaysAsksForACompletion) {
  for (const int flags : {1, 2, 3, 4}) {
    ExpectSend([flags](const ibv_send_wr& wr) {
      const unsigned expected = flags & 2 ? unsigned{IBV_SEND_SIGNALED} : 0;
      EXPECT_EQ(wr.send_flags, expected) << flags;
    });
    EXPECT_EQ(connection_->Send(nullptr, 0, 0, flags, nullptr), Rc::kOk);
  }
}

TEST_F(ConnectionIoTest, RangesOutsideOfARegionAreInvalid) {
  EXPECT_CALL(transport, PostSend).Times(0);
  EXPECT_CALL(transport, PostRecv).Times(0);
  const MrLocal* const local = local_.get();
  const MrRemote* const remote = remote_.get();
  const struct {
    size_t offset;
    size_t length;
  } ranges[] = {
      {kSize, 1}, {kSize + 1, 0}, {1, kSize}, {SIZE_MAX, 1}, {1, SIZE_MAX}};
  for (const auto& [offset, length] : ranges) {
    SCOPED_TRACE(std::to_string(offset) + "+" + std::to_string(length));
    Connection& c = *connection_;
    EXPECT_EQ(c.Write(remote, offset, local, 0, length, kAlways, nullptr),
              Rc::kInval);
    EXPECT_EQ(c.Write(remote, 0, local, offset, length, kAlways, nullptr),
              Rc::kInval);
    EXPECT_EQ(
        c.WriteWithImm(remote, offset, local, 0, length, kAlways, 1, nullptr),
        Rc::kInval);
    EXPECT_EQ(c.Read(local, offset, remote, 0, length, kAlways, nullptr),
              Rc::kInval);
    EXPECT_EQ(c.Read(local, 0, remote, offset, length, kAlways, nullptr),
              Rc::kInval);
    EXPECT_EQ(c.Send(local, offset, length, kAlways, nullptr), Rc::kInval);
    EXPECT_EQ(c.Recv(local, offset, length, nullptr), Rc::kInval);
    EXPECT_THAT(log.Take(), AllOf(::testing::SizeIs(7),
                                  Each(HasSubstr("region of 4096 bytes"))));
  }
}

TEST_F(ConnectionIoTest, LengthBeyond32BitsIsInvalid) {
  constexpr size_t kHuge = size_t{1} << 33;
  const auto local = MakeLocal(*peer, kLocal, kHuge);
  const auto remote = MakeRemote(kRemote, kHuge, kRkey);
  EXPECT_CALL(transport, PostSend).Times(0);
  for (const size_t length : {size_t{1} << 32, (size_t{1} << 32) + 8}) {
    EXPECT_EQ(connection_->Write(remote.get(), 0, local.get(), 0, length,
                                 kAlways, nullptr),
              Rc::kInval);
    EXPECT_EQ(connection_->Recv(local.get(), 0, length, nullptr), Rc::kInval);
  }
  log.Take();
  ExpectSend([&](const ibv_send_wr& wr) {
    ExpectData(wr, kLocal, UINT32_MAX, local->lkey());
  });
  EXPECT_EQ(connection_->Write(remote.get(), 0, local.get(), 0, UINT32_MAX,
                               kAlways, nullptr),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, RefusedRequestIsExplained) {
  transport.FailMethod("PostSend", Errno{ENOMEM});
  EXPECT_EQ(connection_->WriteWithImm(remote_.get(), 0, local_.get(), 0, 8,
                                      kAlways, 1, nullptr),
            Rc::kProvider);
  EXPECT_THAT(
      log.Take(),
      ElementsAre(AllOf(
          HasSubstr("ibv_post_send(write with immediate of 8 bytes) failed"),
          HasSubstr("Cannot allocate memory"),
          HasSubstr("the queue is full"))));
  transport.FailMethod("PostRecv", Errno{EINVAL});
  EXPECT_EQ(connection_->Recv(nullptr, 0, 0, nullptr), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_post_recv")));
}

TEST_F(ConnectionIoTest, AtomicWriteIsAFencedInlineWrite) {
  const char source[8] = "1234567";
  ExpectSend([&](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.wr_id, 0xC0FFEE00C0FFEEu);
    EXPECT_EQ(wr.opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(wr.send_flags,
              static_cast<unsigned>(IBV_SEND_SIGNALED | IBV_SEND_INLINE |
                                    IBV_SEND_FENCE));
    EXPECT_EQ(wr.wr.rdma.remote_addr, kRemote + 16);
    EXPECT_EQ(wr.wr.rdma.rkey, kRkey);
    ExpectData(wr, reinterpret_cast<uintptr_t>(source), 8, 0);
  });
  EXPECT_EQ(connection_->AtomicWrite(*remote_, 16, source, kAlways, kContext),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, AtomicWriteWithoutCompletion) {
  const char source[8] = {};
  ExpectSend([](const ibv_send_wr& wr) {
    EXPECT_EQ(wr.send_flags,
              static_cast<unsigned>(IBV_SEND_INLINE | IBV_SEND_FENCE));
  });
  EXPECT_EQ(connection_->AtomicWrite(*remote_, 0, source, kOnError, nullptr),
            Rc::kOk);
}

TEST_F(ConnectionIoTest, AtomicWriteNeedsAlignmentOfOffsetAndAddress) {
  const char source[8] = {};
  const auto odd = MakeRemote(kRemote + 1, kSize, kRkey);
  EXPECT_CALL(transport, PostSend).Times(0);
  EXPECT_EQ(connection_->AtomicWrite(*remote_, 4, source, kAlways, nullptr),
            Rc::kInval);
  EXPECT_EQ(connection_->AtomicWrite(*odd, 0, source, kAlways, nullptr),
            Rc::kInval);
  EXPECT_EQ(connection_->AtomicWrite(*odd, 7, source, kAlways, nullptr),
            Rc::kInval);
  EXPECT_THAT(log.Take(), AllOf(::testing::SizeIs(3),
                                Each(HasSubstr("must be multiples of 8"))));
}

TEST_F(ConnectionIoTest, AtomicWriteStaysInsideTheRegion) {
  const char source[8] = {};
  EXPECT_CALL(transport, PostSend).Times(0);
  EXPECT_EQ(connection_->AtomicWrite(*remote_, kSize, source, kAlways, nullptr),
            Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

}  // namespace
}  // namespace rpma
