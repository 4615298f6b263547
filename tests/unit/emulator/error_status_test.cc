// SPDX-License-Identifier: BSD-3-Clause
// Every way in which a request fails by itself, for every profile: the status
// at each side, what becomes of both queue pairs, the order of flushes, async
// events and the explanation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <syslog.h>

#include <functional>
#include <string>
#include <vector>

#include "emulator/explanation.h"
#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kFailing = 10;  // wr_id of the request that fails
constexpr uint64_t kAfter = 11;    // of the client's request behind it
constexpr uint64_t kFirstReceive = 20;
constexpr uint64_t kSecondReceive = 21;
constexpr uint64_t kClientReceive = 30;
constexpr uint64_t kServerSend = 40;

enum class Side { kBoth, kRequesterOnly };

// What a profile makes of a case. A receive status of IBV_WC_SUCCESS: the
// refusal consumes no receive, so the first one is flushed with the others.
struct Expected {
  ibv_wc_status requester;
  ibv_wc_status receive = IBV_WC_SUCCESS;
};

struct Case {
  std::string name;
  std::function<void(ConnectedPair&)>
      prepare;  // before the receives are posted
  std::function<ibv_send_wr(ConnectedPair&, ibv_sge*)> request;
  Expected expected;  // on roce and ib
  Expected expected_iwarp;
  Side side = Side::kBoth;
  std::vector<ibv_event_type> server_events = {};
  Cause cause;
  std::string explanation;
};

ibv_send_wr Rdma(ConnectedPair& pair, ibv_wr_opcode opcode, ibv_sge* sge,
                 uint32_t length, size_t remote_offset) {
  *sge = pair.client.Sge(0, length);
  return End::RdmaRequest(kFailing, opcode, sge, IBV_SEND_SIGNALED, pair.server,
                          remote_offset);
}

ibv_send_wr SendOf(ConnectedPair& pair, ibv_sge* sge, uint32_t length) {
  *sge = pair.client.Sge(0, length);
  return End::Request(kFailing, IBV_WR_SEND, sge, IBV_SEND_SIGNALED);
}

void Reregister(End& end, unsigned access) {
  EXPECT_EQ(end.device.DeregMr(end.mr), 0);
  EXPECT_EQ(end.device.RegMr(end.pd, reinterpret_cast<void*>(end.Address()),
                             End::kSize, access, &end.mr),
            0);
}

void NoPreparation(ConnectedPair&) {}

constexpr Expected kAccessError{IBV_WC_REM_ACCESS_ERR};
constexpr Expected kSuccess{IBV_WC_SUCCESS};
constexpr Expected kFlushed{IBV_WC_WR_FLUSH_ERR};

void AddCasesOfBounds(std::vector<Case>& cases) {
  const std::vector<ibv_event_type> access_event{IBV_EVENT_QP_ACCESS_ERR};
  cases.push_back(
      {.name = "WritePastTheRegion",
       .prepare = NoPreparation,
       .request =
           [](ConnectedPair& pair, ibv_sge* sge) {
             return Rdma(pair, IBV_WR_RDMA_WRITE, sge, 16, End::kSize - 10);
           },
       .expected = kAccessError,
       .expected_iwarp = kSuccess,
       .server_events = access_event,
       .cause = Cause::kRemoteAccess,
       .explanation = "the remote range ends 6 bytes past the region ["});
  cases.push_back(
      {.name = "WriteBeforeTheRegion",
       .prepare = NoPreparation,
       .request =
           [](ConnectedPair& pair, ibv_sge* sge) {
             auto wr = Rdma(pair, IBV_WR_RDMA_WRITE, sge, 16, 0);
             wr.wr.rdma.remote_addr -= 3;
             return wr;
           },
       .expected = kAccessError,
       .expected_iwarp = kSuccess,
       .server_events = access_event,
       .cause = Cause::kRemoteAccess,
       .explanation = "the remote range starts 3 bytes before the region ["});
  cases.push_back({.name = "ReadPastTheRegion",
                   .prepare = NoPreparation,
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         return Rdma(pair, IBV_WR_RDMA_READ, sge, 8,
                                     End::kSize - 4);
                       },
                   .expected = kAccessError,
                   .expected_iwarp = kFlushed,
                   .server_events = access_event,
                   .cause = Cause::kRemoteAccess,
                   .explanation = "RDMA_READ of 8 bytes from 0x"});
}

void AddCasesOfKeys(std::vector<Case>& cases) {
  const std::vector<ibv_event_type> access_event{IBV_EVENT_QP_ACCESS_ERR};
  cases.push_back({.name = "WriteToDeregisteredRegion",
                   .prepare = NoPreparation,
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         auto wr = Rdma(pair, IBV_WR_RDMA_WRITE, sge, 16, 0);
                         Reregister(pair.server, kAllAccess);
                         return wr;
                       },
                   .expected = kAccessError,
                   .expected_iwarp = kSuccess,
                   .server_events = access_event,
                   .cause = Cause::kRemoteAccess,
                   .explanation = "was deregistered"});
  cases.push_back({.name = "WriteWithUnknownKey",
                   .prepare = NoPreparation,
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         auto wr = Rdma(pair, IBV_WR_RDMA_WRITE, sge, 16, 0);
                         wr.wr.rdma.rkey = 0x7ffff12;
                         return wr;
                       },
                   .expected = kAccessError,
                   .expected_iwarp = kSuccess,
                   .server_events = access_event,
                   .cause = Cause::kRemoteAccess,
                   .explanation = "rkey 0x7ffff12 was never given out"});
  cases.push_back({.name = "WriteWithoutTheRight",
                   .prepare =
                       [](ConnectedPair& pair) {
                         Reregister(pair.server, IBV_ACCESS_LOCAL_WRITE);
                       },
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         return Rdma(pair, IBV_WR_RDMA_WRITE, sge, 1, 0);
                       },
                   .expected = kAccessError,
                   .expected_iwarp = kSuccess,
                   .server_events = access_event,
                   .cause = Cause::kRemoteAccess,
                   .explanation = "lacks REMOTE_WRITE"});
  cases.push_back({.name = "ReadWithoutTheRight",
                   .prepare =
                       [](ConnectedPair& pair) {
                         Reregister(pair.server, IBV_ACCESS_LOCAL_WRITE |
                                                     IBV_ACCESS_REMOTE_WRITE);
                       },
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         return Rdma(pair, IBV_WR_RDMA_READ, sge, 8, 0);
                       },
                   .expected = kAccessError,
                   .expected_iwarp = kFlushed,
                   .server_events = access_event,
                   .cause = Cause::kRemoteAccess,
                   .explanation = "lacks REMOTE_READ"});
}

void AddCasesOfMessages(std::vector<Case>& cases) {
  cases.push_back(
      {.name = "SendLongerThanTheReceive",
       .prepare = NoPreparation,
       .request = [](ConnectedPair& pair,
                     ibv_sge* sge) { return SendOf(pair, sge, 65); },
       .expected = {IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR},
       .expected_iwarp = {IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR},
       .cause = Cause::kReceiveTooShort,
       .explanation = "SEND of 65 bytes: the receive has room for 64 bytes"});
  cases.push_back(
      {.name = "ReceiveBufferWithoutLocalWrite",
       .prepare =
           [](ConnectedPair& pair) {
             Reregister(pair.server, IBV_ACCESS_REMOTE_READ);
           },
       .request = [](ConnectedPair& pair,
                     ibv_sge* sge) { return SendOf(pair, sge, 16); },
       .expected = {IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR},
       .expected_iwarp = {IBV_WC_SUCCESS, IBV_WC_GENERAL_ERR},
       .cause = Cause::kReceiveAccess,
       .explanation = "lacks LOCAL_WRITE"});
  cases.push_back({.name = "SourceWithBadKey",
                   .prepare = NoPreparation,
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         auto wr = SendOf(pair, sge, 16);
                         sge->lkey = 0;
                         return wr;
                       },
                   .expected = {IBV_WC_LOC_PROT_ERR},
                   .expected_iwarp = {IBV_WC_LOC_PROT_ERR},
                   .side = Side::kRequesterOnly,
                   .cause = Cause::kLocalAccess,
                   .explanation = "lkey 0x0 was never given out"});
  cases.push_back({.name = "MessageLongerThanTheDeviceTakes",
                   .prepare = NoPreparation,
                   .request =
                       [](ConnectedPair& pair, ibv_sge* sge) {
                         return Rdma(pair, IBV_WR_RDMA_WRITE, sge, 1025, 0);
                       },
                   .expected = {IBV_WC_LOC_LEN_ERR},
                   .expected_iwarp = {IBV_WC_LOC_LEN_ERR},
                   .side = Side::kRequesterOnly,
                   .cause = Cause::kMessageTooLong,
                   .explanation = "the device's limit is 1024 bytes"});
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddCasesOfBounds(cases);
  AddCasesOfKeys(cases);
  AddCasesOfMessages(cases);
  return cases;
}

class ErrorStatusTest
    : public ::testing::TestWithParam<std::tuple<std::string, Case>> {
 protected:
  static PairOptions Options() {
    PairOptions options;
    options.profile = *FindProfile(std::get<0>(GetParam()));
    options.profile.limits.max_msg_sz = 1024;
    return options;
  }
  const Case& Row() const { return std::get<1>(GetParam()); }
};

void ExpectStatus(const ibv_wc& wc, uint64_t wr_id, ibv_wc_status status) {
  EXPECT_EQ(wc.wr_id, wr_id);
  EXPECT_EQ(wc.status, status) << ibv_wc_status(wc.status);
  if (status == IBV_WC_SUCCESS) return;
  EXPECT_EQ(wc.opcode, kPoisonOpcode);
  EXPECT_EQ(wc.byte_len, kPoison);
  EXPECT_EQ(wc.imm_data, kPoison);
  EXPECT_EQ(wc.wc_flags, kPoison);
}

TEST_P(ErrorStatusTest, BothSidesEndAsTheSpecificationSays) {
  ConnectedPair pair(Options());
  End& client = pair.client;
  End& server = pair.server;
  const bool iwarp = client.device.profile().iwarp;
  const Expected expected = iwarp ? Row().expected_iwarp : Row().expected;
  Row().prepare(pair);
  ASSERT_EQ(client.Recv(kClientReceive, 0, 8), 0);
  ASSERT_EQ(server.Recv(kFirstReceive, 0, 64), 0);
  ASSERT_EQ(server.Recv(kSecondReceive, 0, 64), 0);

  // The failing request and one behind it, in one chain.
  ibv_sge sge;
  ibv_send_wr failing = Row().request(pair, &sge);
  ibv_send_wr behind = End::Request(kAfter, IBV_WR_SEND, nullptr, 0);
  failing.next = &behind;
  ASSERT_EQ(client.Post(failing), 0);

  const auto sent = client.PollSend();
  ASSERT_EQ(sent.size(), 2u);
  ExpectStatus(sent[0], kFailing, expected.requester);
  if (expected.requester != IBV_WC_SUCCESS) {
    EXPECT_EQ(sent[0].vendor_err, static_cast<uint32_t>(Row().cause));
  }
  ExpectStatus(sent[1], kAfter, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(sent[1].vendor_err, static_cast<uint32_t>(Cause::kFlushed));
  const auto unreceived = client.PollRecv();
  ASSERT_EQ(unreceived.size(), 1u);
  ExpectStatus(unreceived[0], kClientReceive, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(client.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(client.Explanation(), HasSubstr(Row().explanation));
  EXPECT_THAT(client.AsyncEvents(), IsEmpty());

  const auto received = server.PollRecv();
  EXPECT_EQ(server.AsyncEvents(), Row().server_events);
  if (Row().side == Side::kRequesterOnly) {
    EXPECT_THAT(received, IsEmpty());
    EXPECT_EQ(server.qp->State(), IBV_QPS_RTS);
    EXPECT_THAT(pair.environment.failed_qps(), ElementsAre(client.qp->qp_num));
  } else {
    ASSERT_EQ(received.size(), 2u);
    ExpectStatus(received[0], kFirstReceive,
                 expected.receive == IBV_WC_SUCCESS ? IBV_WC_WR_FLUSH_ERR
                                                    : expected.receive);
    ExpectStatus(received[1], kSecondReceive, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(server.qp->State(), IBV_QPS_ERR);
    EXPECT_THAT(server.Explanation(), HasSubstr(Row().explanation));
    EXPECT_THAT(pair.environment.failed_qps(),
                UnorderedElementsAre(client.qp->qp_num, server.qp->qp_num));
    // Later requests of the responder flush, too.
    ASSERT_EQ(server.Send(kServerSend, 0, 1), 0);
    const auto late = server.PollSend();
    ASSERT_EQ(late.size(), 1u);
    ExpectStatus(late[0], kServerSend, IBV_WC_WR_FLUSH_ERR);
  }
  const auto log = pair.environment.log();
  // Each process has a log.
  const bool tells_both =
      pair.link.has_value() && Row().side != Side::kRequesterOnly;
  ASSERT_EQ(log.size(), tells_both ? 2u : 1u);
  for (const auto& line : log) {
    EXPECT_EQ(line.level, LOG_INFO);
    EXPECT_THAT(line.text, HasSubstr(Row().explanation));
  }
}

INSTANTIATE_TEST_SUITE_P(AllProfiles, ErrorStatusTest,
                         ::testing::Combine(::testing::Values("roce", "ib",
                                                              "iwarp"),
                                            ::testing::ValuesIn(Cases())),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param) +
                                  std::get<1>(parameter.param).name;
                         });

class PerProfileTest : public ::testing::TestWithParam<const char*> {
 protected:
  static PairOptions Options() {
    PairOptions options;
    options.profile = *FindProfile(GetParam());
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(AllProfiles, PerProfileTest,
                         ::testing::Values("roce", "ib", "iwarp"),
                         [](const auto& name) { return name.param; });

TEST_P(PerProfileTest, ReadIntoMemoryWithoutTheRightFailsAtTheRequester) {
  ConnectedPair pair(Options());
  const bool iwarp = pair.client.device.profile().iwarp;
  Reregister(pair.client, iwarp ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0u);
  ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, 0), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectStatus(sent[0], 1, IBV_WC_LOC_PROT_ERR);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr(iwarp ? "lacks REMOTE_WRITE" : "lacks LOCAL_WRITE"));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
}

TEST_P(PerProfileTest, ReadIntoMemoryWithJustTheRightSucceeds) {
  ConnectedPair pair(Options());
  const bool iwarp = pair.client.device.profile().iwarp;
  Reregister(pair.client, iwarp
                              ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                              : unsigned{IBV_ACCESS_LOCAL_WRITE});
  ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, 0), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectStatus(sent[0], 1, IBV_WC_SUCCESS);
}

TEST_P(PerProfileTest, RegionOfAnotherDomainIsRefused) {
  ConnectedPair pair(Options());
  End& server = pair.server;
  ProtectionDomain* other = nullptr;
  ASSERT_EQ(server.device.AllocPd(&other), 0);
  MemoryRegion* foreign = nullptr;
  ASSERT_EQ(
      server.device.RegMr(other, reinterpret_cast<void*>(server.Address()), 64,
                          kAllAccess, &foreign),
      0);
  ibv_sge sge = pair.client.Sge(0, 8);
  auto wr = End::RdmaRequest(1, IBV_WR_RDMA_READ, &sge, 0, server, 0);
  wr.wr.rdma.rkey = foreign->rkey;
  ASSERT_EQ(pair.client.Post(wr), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectStatus(sent[0], 1,
               pair.client.device.profile().iwarp ? IBV_WC_WR_FLUSH_ERR
                                                  : IBV_WC_REM_ACCESS_ERR);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("is in another protection domain"));
  EXPECT_EQ(server.device.DeregMr(foreign), 0);
  EXPECT_EQ(server.device.DeallocPd(other), 0);
}

TEST_P(PerProfileTest, ReadBeyondWhatTheResponderServesIsAnInvalidRequest) {
  PairOptions options = Options();
  options.connection.max_rd_atomic = 1;
  options.connection.max_dest_rd_atomic = 0;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, 0), 0);

  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  ExpectStatus(sent[0], 1,
               pair.client.device.profile().iwarp ? IBV_WC_WR_FLUSH_ERR
                                                  : IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(pair.server.AsyncEvents(), ElementsAre(IBV_EVENT_QP_REQ_ERR));
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("the responder serves 0 at a time"));
}

TEST_P(PerProfileTest, RequesterThatMayStartNoReadsIsRefusedOne) {
  PairOptions options = Options();
  options.connection.max_rd_atomic = 0;
  options.connection.max_dest_rd_atomic = 1;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, 0), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_NE(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
}

TEST_P(PerProfileTest, NothingIsStoredByARefusedRequest) {
  ConnectedPair pair(Options());
  pair.client.SetText(0, "XXXXXXXXXXXXXXXX");
  pair.server.SetText(End::kSize - 16, "0123456789abcdef");
  ASSERT_EQ(pair.client.Write(1, 0, 16, pair.server, End::kSize - 15), 0);
  EXPECT_EQ(pair.server.Text(End::kSize - 16, 16), "0123456789abcdef");
}

TEST_P(PerProfileTest, MovingToErrorFlushesSendsThenReceivesInPostingOrder) {
  ConnectedPair pair(Options());
  End& client = pair.client;
  ASSERT_EQ(client.qp->ToSendQueueDrained(), 0);  // keeps requests in the queue
  for (const uint64_t wr_id : {1u, 2u, 3u}) {
    ASSERT_EQ(client.Send(wr_id, 0, 1, /*flags=*/0), 0);
  }
  for (const uint64_t wr_id : {4u, 5u}) ASSERT_EQ(client.Recv(wr_id, 0, 8), 0);
  EXPECT_EQ(client.Explanation(), "");
  ASSERT_EQ(client.qp->ToError(), 0);

  const auto sent = client.PollSend();
  ASSERT_EQ(sent.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    ExpectStatus(sent[i], i + 1, IBV_WC_WR_FLUSH_ERR);
  }
  const auto received = client.PollRecv();
  ASSERT_EQ(received.size(), 2u);
  ExpectStatus(received[0], 4, IBV_WC_WR_FLUSH_ERR);
  ExpectStatus(received[1], 5, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(client.Explanation(), HasSubstr("flushed"));
  EXPECT_THAT(pair.environment.failed_qps(), IsEmpty());
  EXPECT_THAT(pair.environment.log(), IsEmpty());

  EXPECT_EQ(client.qp->ToError(), 0);  // idempotent
  EXPECT_THAT(client.PollSend(), IsEmpty());
  ASSERT_EQ(client.Recv(6, 0, 8), 0);
  const auto late = client.PollRecv();
  ASSERT_EQ(late.size(), 1u);
  ExpectStatus(late[0], 6, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace rpma::emu
