// SPDX-License-Identifier: BSD-3-Clause
//
// Connection requests of both sides: making, connecting, refusing.

#include "core/connection_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/shared_receive_queue.h"
#include "tests/unit/core/connection_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::DoAll;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;
using ::testing::Pointee;
using ::testing::Return;
using ::testing::SetArgPointee;

class ConnectionRequestTest : public test::ConnectionTestBase {
 protected:
  Rc Outgoing() {
    std::unique_ptr<ConnectionRequest> request;
    const Rc rc =
        ConnectionRequest::Outgoing(*peer, "host", "1", cfg, &request);
    EXPECT_EQ(request != nullptr, rc == Rc::kOk);
    return rc;
  }

  std::unique_ptr<SharedReceiveQueue> MakeSrq(uint32_t rcq_size) {
    SrqCfg srq_cfg;
    srq_cfg.rcq_size.set(rcq_size);
    std::unique_ptr<SharedReceiveQueue> srq;
    EXPECT_EQ(SharedReceiveQueue::Create(*peer, srq_cfg, &srq), Rc::kOk);
    cfg.srq.set(srq.get());
    return srq;
  }
};

TEST_F(ConnectionRequestTest, OutgoingResolvesThenCreatesQueues) {
  EXPECT_CALL(transport, CreateId(IsNull(), _));
  EXPECT_CALL(transport, ResolveAddr(_, _, 1000));
  EXPECT_CALL(transport, ResolveRoute(_, 1000));
  EXPECT_EQ(Outgoing(), Rc::kOk);
  EXPECT_THAT(
      transport.calls(),
      ElementsAre("GetAddrInfo", "CreateId", "ResolveAddr", "ResolveRoute",
                  "CreateCompChannel", "CreateCq", "ReqNotifyCq", "CreateQp",
                  "DestroyQp", "DestroyCq", "DestroyCompChannel", "DestroyId"));
  EXPECT_EQ(transport.live(), 1u);  // the peer's domain
}

TEST_F(ConnectionRequestTest, TimeoutBoundsEachResolve) {
  cfg.timeout_ms.set(0);
  EXPECT_CALL(transport, ResolveAddr(_, _, 0));
  EXPECT_CALL(transport, ResolveRoute(_, 0));
  EXPECT_EQ(Outgoing(), Rc::kOk);
}

TEST_F(ConnectionRequestTest, EveryFailureOfAnOutgoingRequestUnwinds) {
  cfg.rcq_size.set(5);
  cfg.shared_channel.set(true);
  EXPECT_EQ(SweepFailures<ConnectionRequest>([&](auto* out) {
              return ConnectionRequest::Outgoing(*peer, "host", "1", cfg, out);
            }),
            10u);
}

TEST_F(ConnectionRequestTest, SizesReachTheQueuePair) {
  cfg.sq_size.set(3);
  cfg.rq_size.set(0);
  EXPECT_CALL(transport, CreateQp)
      .WillOnce([&](rdma_cm_id* id, const QpConfig& config, QpCaps*) {
        EXPECT_NE(id, nullptr);
        EXPECT_EQ(config.pd, peer->pd());
        EXPECT_EQ(config.send_cq, config.recv_cq);
        EXPECT_EQ(config.srq, nullptr);
        EXPECT_EQ(config.max_send_wr, 3u);
        EXPECT_EQ(config.max_recv_wr, 0u);
        EXPECT_EQ(config.max_sge, 1u);
        EXPECT_EQ(config.max_inline_data, 8u);
        EXPECT_FALSE(config.want_atomic_write);
        EXPECT_FALSE(config.want_flush);
        return Errno{EINVAL};
      });
  EXPECT_EQ(Outgoing(), Rc::kProvider);
  EXPECT_THAT(log.Take(),
              ElementsAre(HasSubstr("max_send_wr=3, max_recv_wr=0")));
}

TEST_F(ConnectionRequestTest, NativeOperationsAreWantedIfTheDeviceHasThem) {
  transport.caps.native_atomic_write = true;
  transport.caps.native_flush = true;
  peer = MakePeer();
  EXPECT_CALL(transport,
              CreateQp(_,
                       AllOf(Field(&QpConfig::want_atomic_write, true),
                             Field(&QpConfig::want_flush, true)),
                       _));
  EXPECT_EQ(Outgoing(), Rc::kOk);
}

TEST_F(ConnectionRequestTest, ReceivesCompleteOnTheReceiveCqIfThereIsOne) {
  cfg.cq_size.set(11);
  cfg.rcq_size.set(12);
  ibv_cq cq = {};
  ibv_cq rcq = {};
  EXPECT_CALL(transport, CreateCq(_, 11, NotNull(), _))
      .WillOnce(DoAll(SetArgPointee<3>(&cq), Return(Errno::kOk)));
  EXPECT_CALL(transport, CreateCq(_, 12, NotNull(), _))
      .WillOnce(DoAll(SetArgPointee<3>(&rcq), Return(Errno::kOk)));
  EXPECT_CALL(transport, DestroyCq).WillRepeatedly(Return(Errno::kOk));
  EXPECT_CALL(transport, CreateQp)
      .WillOnce([&](rdma_cm_id*, const QpConfig& config, QpCaps*) {
        EXPECT_EQ(config.send_cq, &cq);
        EXPECT_EQ(config.recv_cq, &rcq);
        return Errno{EIO};
      });
  EXPECT_EQ(Outgoing(), Rc::kProvider);
  log.Take();
}

TEST_F(ConnectionRequestTest, SharedChannelIsCreatedFirstAndUsedByBoth) {
  cfg.rcq_size.set(5);
  cfg.shared_channel.set(true);
  EXPECT_EQ(Outgoing(), Rc::kOk);
  const auto& calls = transport.calls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "CreateCompChannel"), 1);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "CreateCq"), 2);
  EXPECT_THAT(std::vector<std::string>(calls.end() - 6, calls.end()),
              ElementsAre("CreateQp", "DestroyQp", "DestroyCq", "DestroyCq",
                          "DestroyId", "DestroyCompChannel"));
}

TEST_F(ConnectionRequestTest, ReceiveCqOfTheSrqComesFirst) {
  cfg.rcq_size.set(5);
  const auto srq = MakeSrq(4);
  EXPECT_CALL(transport, CreateCq(_, 5, _, _)).Times(0);
  EXPECT_CALL(transport, CreateCq(_, 10, _, _));
  EXPECT_CALL(transport,
              CreateQp(_,
                       AllOf(Field(&QpConfig::srq, srq->get()),
                             Field(&QpConfig::recv_cq, srq->rcq()->get()),
                             Field(&QpConfig::max_recv_wr, 10u)),
                       _));
  EXPECT_EQ(Outgoing(), Rc::kOk);
}

TEST_F(ConnectionRequestTest, SrqWithoutReceiveCqUsesTheConnections) {
  cfg.rcq_size.set(5);
  const auto srq = MakeSrq(0);
  EXPECT_CALL(transport, CreateCq(_, 10, _, _));
  EXPECT_CALL(transport, CreateCq(_, 5, _, _));
  EXPECT_CALL(transport, CreateQp(_, Field(&QpConfig::srq, srq->get()), _))
      .WillOnce([](rdma_cm_id*, const QpConfig& config, QpCaps*) {
        EXPECT_NE(config.recv_cq, config.send_cq);
        return Errno{EIO};
      });
  EXPECT_EQ(Outgoing(), Rc::kProvider);
  log.Take();
}

TEST_F(ConnectionRequestTest, ImpossibleConfigurationTouchesNothing) {
  const auto srq = MakeSrq(4);
  transport.ForgetCalls();
  cfg.shared_channel.set(true);
  EXPECT_EQ(Outgoing(), Rc::kInval);
  EXPECT_THAT(transport.calls(), ElementsAre());
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(ConnectionRequestTest, AddressOnAnotherDeviceIsRefused) {
  ibv_context other = {};
  EXPECT_CALL(transport, ResolveAddr)
      .WillOnce([&](rdma_cm_id* id, auto&, auto) {
        id->verbs = &other;
        return Errno::kOk;
      });
  EXPECT_CALL(transport, CreateCq).Times(0);
  EXPECT_EQ(Outgoing(), Rc::kProvider);
  EXPECT_EQ(transport.live(), 1u);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("another device")));
}

TEST_F(ConnectionRequestTest, ConnectMovesToAChannelRegistersAndConnects) {
  auto request = MakeRequest();
  std::unique_ptr<Connection> connection;
  EXPECT_CALL(transport, RegMr(peer->pd(), NotNull(), 8, kMrLocalWrite, _));
  EXPECT_CALL(transport, Connect(_, NotNull()))
      .WillOnce([&](rdma_cm_id*, rdma_conn_param* param) {
        EXPECT_EQ(param->private_data, nullptr);
        EXPECT_EQ(param->private_data_len, 0);
        EXPECT_EQ(param->responder_resources, 255);
        EXPECT_EQ(param->initiator_depth, 255);
        EXPECT_EQ(param->flow_control, 1);
        EXPECT_EQ(param->retry_count, 7);
        EXPECT_EQ(param->rnr_retry_count, 7);
        EXPECT_EQ(param->srq, 0);
        EXPECT_EQ(param->qp_num, 0u);
        return Errno::kOk;
      });
  EXPECT_EQ(
      ConnectionRequest::Connect(std::move(request), nullptr, &connection),
      Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("CreateEventChannel", "MigrateId", "RegMr"));
}

TEST_F(ConnectionRequestTest, ConnectCarriesPrivateData) {
  char bytes[] = "hello";
  const rpma_conn_private_data pdata = {.ptr = bytes, .len = 5};
  std::unique_ptr<Connection> connection;
  EXPECT_CALL(
      transport,
      Connect(_, Pointee(AllOf(Field(&rdma_conn_param::private_data, bytes),
                               Field(&rdma_conn_param::private_data_len, 5)))));
  EXPECT_EQ(ConnectionRequest::Connect(MakeRequest(), &pdata, &connection),
            Rc::kOk);
}

TEST_F(ConnectionRequestTest, EveryFailureToConnectEndsTheRequest) {
  // Each turn makes a request of its own, which nothing may survive.
  for (size_t k = 1; k <= 4; ++k) {
    auto request = MakeRequest();
    transport.FailCall(k, Errno{EIO});
    std::unique_ptr<Connection> connection;
    EXPECT_EQ(
        ConnectionRequest::Connect(std::move(request), nullptr, &connection),
        Rc::kProvider);
    SCOPED_TRACE(transport.calls()[k - 1]);
    EXPECT_EQ(connection, nullptr);
    EXPECT_EQ(transport.live(), 1u);
    EXPECT_EQ(log.Take().size(), 1u);
  }
}

TEST_F(ConnectionRequestTest, CloseDestroysInOrder) {
  cfg.rcq_size.set(5);
  EXPECT_EQ(MakeRequest()->Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyQp", "DestroyCq", "DestroyCompChannel",
                          "DestroyCq", "DestroyCompChannel", "DestroyId"));
  EXPECT_EQ(transport.live(), 1u);
}

TEST_F(ConnectionRequestTest, CloseGoesOnAfterAFailure) {
  for (const char* method :
       {"DestroyQp", "DestroyCq", "DestroyCompChannel", "DestroyId"}) {
    auto request = MakeRequest();
    transport.FailMethod(method, Errno{EIO});
    EXPECT_EQ(request->Close(), Rc::kProvider);
    request.reset();
    transport.FailMethod(method, Errno::kOk);
    EXPECT_THAT(transport.calls(),
                ElementsAre("DestroyQp", "DestroyCq", "DestroyCompChannel",
                            "DestroyId"));
    EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("Input/output error")));
  }
}

TEST_F(ConnectionRequestTest, ReceivesBeforeItConnects) {
  const auto request = MakeRequest();
  const auto mr = MakeLocal(*peer, 0x10000, 4096);
  EXPECT_CALL(transport, PostRecv(NotNull(), _))
      .WillOnce([&](ibv_qp*, ibv_recv_wr* wr) {
        EXPECT_EQ(wr->wr_id, 5u);
        EXPECT_EQ(wr->num_sge, 1);
        EXPECT_EQ(wr->sg_list->addr, 0x10008u);
        EXPECT_EQ(wr->sg_list->length, 16u);
        EXPECT_EQ(wr->sg_list->lkey, mr->lkey());
        return Errno::kOk;
      });
  EXPECT_EQ(request->Recv(mr.get(), 8, 16, reinterpret_cast<void*>(5)),
            Rc::kOk);
  EXPECT_EQ(request->Recv(mr.get(), 4090, 16, nullptr), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(ConnectionRequestTest, ReceiveForASharedQueueNeverReachesTheProvider) {
  const auto srq = MakeSrq(4);
  auto request = MakeRequest();
  const auto mr = MakeLocal(*peer, 0x10000, 4096);
  EXPECT_CALL(transport, PostRecv).Times(0);
  EXPECT_EQ(request->Recv(mr.get(), 8, 16, nullptr), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("shared receive queue")));
  EXPECT_EQ(request->Recv(mr.get(), 4090, 16, nullptr), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);

  std::unique_ptr<Connection> connection;
  ASSERT_EQ(
      ConnectionRequest::Connect(std::move(request), nullptr, &connection),
      Rc::kOk);
  EXPECT_EQ(connection->Recv(mr.get(), 8, 16, nullptr), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("shared receive queue")));
  EXPECT_EQ(connection->Recv(mr.get(), 4090, 16, nullptr), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

}  // namespace
}  // namespace rpma
