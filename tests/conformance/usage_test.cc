// SPDX-License-Identifier: BSD-3-Clause
// What a region may be used for: each usage against each operation, on the side
// where the region is.

#include <string>

#include "tests/conformance/arrival.h"
#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kUsages[] = {
    RPMA_MR_USAGE_READ_SRC,
    RPMA_MR_USAGE_READ_DST,
    RPMA_MR_USAGE_WRITE_SRC,
    RPMA_MR_USAGE_WRITE_DST,
    RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
    RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
    RPMA_MR_USAGE_SEND,
    RPMA_MR_USAGE_RECV,
};

// A flush may be a read.
constexpr int kReadSrcUsages = RPMA_MR_USAGE_READ_SRC |
                               RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                               RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;

// In each test the client is the requester.
class UsageTest : public ConformanceTest {
 protected:
  // Calls `test` with a pair for each usage of the client's, or the server's,
  // region, and with whether `usages` has it.
  template <typename Test>
  void ForEachClientUsage(int usages, Test test) {
    for (const int usage : kUsages) {
      SCOPED_TRACE("usage " + std::to_string(usage));
      test(ConnectedPair({.client_usage = usage}), (usages & usage) != 0);
    }
  }
  template <typename Test>
  void ForEachServerUsage(int usages, Test test) {
    for (const int usage : kUsages) {
      SCOPED_TRACE("usage " + std::to_string(usage));
      test(ConnectedPair({.server_usage = usage}), (usages & usage) != 0);
    }
  }

  // Expects the completion of a success, or of `failure` which `why` explains.
  void ExpectSuccessIff(bool allowed, const End& end,
                        const CompletionMatcher& success,
                        const CompletionMatcher& failure, const char* why) {
    EXPECT_THAT(Poll(end.cq), allowed ? success : failure);
    ExpectExplained(end, HasSubstr(allowed ? "" : why));
  }
};

INSTANTIATE_TEST_SUITE_P(, UsageTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// --- The other side's region -------------------------------------------------

TEST_P(UsageTest, SourceOfAReadMustBeReadable) {
  ForEachServerUsage(kReadSrcUsages, [&](const Pair& pair, bool allowed) {
    const End& client = pair.client;
    pair.server.region->Fill(0x5a);
    ASSERT_THAT(client.Read(1, 0, 0, 8), IsOk());
    ExpectSuccessIff(
        allowed, client, ReadSucceeded(1, 8, client.qp_num),
        FailedWith(1, provider().RefusedRead(IBV_WC_REM_ACCESS_ERR),
                   client.qp_num),
        "lacks REMOTE_READ");
    EXPECT_EQ(client.region->bytes()[0], allowed ? 0x5a : 0);
  });
}

TEST_P(UsageTest, DestinationOfAWriteMustBeWritable) {
  const int usages = provider().write_dst_usages;
  ForEachServerUsage(usages, [&](const Pair& pair, bool allowed) {
    const End& client = pair.client;
    client.region->Fill(0x5a);
    ASSERT_THAT(client.Write(1, 0, 0, 8), IsOk());
    ExpectSuccessIff(
        allowed, client, Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num),
        EndedRefused(1, provider().RefusedSend(IBV_WC_REM_ACCESS_ERR),
                     client.qp_num),
        "lacks REMOTE_WRITE");
    if (allowed) AwaitArrival(provider(), client);
    EXPECT_EQ(pair.server.region->bytes()[0], allowed ? 0x5a : 0);
  });
}

TEST_P(UsageTest, DestinationOfAnAtomicWriteMustBeWritable) {
  const int usages = provider().write_dst_usages;
  ForEachServerUsage(usages, [&](const Pair& pair, bool allowed) {
    const End& client = pair.client;
    ASSERT_THAT(client.AtomicWrite(1, 0, UINT64_MAX), IsOk());
    ExpectSuccessIff(
        allowed, client, Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num),
        EndedRefused(1, provider().RefusedSend(IBV_WC_REM_ACCESS_ERR),
                     client.qp_num),
        "lacks REMOTE_WRITE");
    if (allowed) AwaitArrival(provider(), client);
    EXPECT_EQ(pair.server.region->bytes()[0], allowed ? 0xff : 0);
  });
}

TEST_P(UsageTest, FlushedRegionMustBeRegisteredForTheType) {
  const struct {
    rpma_flush_type type;
    int usage;
  } kTypes[] = {
      {RPMA_FLUSH_TYPE_VISIBILITY, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY},
      {RPMA_FLUSH_TYPE_PERSISTENT, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT},
  };
  for (const auto& each : kTypes) {
    ForEachServerUsage(each.usage, [&](const Pair& pair, bool allowed) {
      ApplyPeerCfg(pair.client, kDirectWrite);
      EXPECT_THAT(pair.client.Flush(1, 0, 8, each.type),
                  RcIs(allowed ? 0 : RPMA_E_NOSUPP));
    });
  }
  log().Discard();
}

// --- The requester's own region ----------------------------------------------

TEST_P(UsageTest, DestinationOfAReadMustBeWritable) {
  const int usages = provider().read_dst_usages;
  ForEachClientUsage(usages, [&](const Pair& pair, bool allowed) {
    const End& client = pair.client;
    pair.server.region->Fill(0x5a);
    ASSERT_THAT(client.Read(1, 0, 0, 8), IsOk());
    ExpectSuccessIff(allowed, client, ReadSucceeded(1, 8, client.qp_num),
                     FailedWith(1, IBV_WC_LOC_PROT_ERR, client.qp_num),
                     "lacks");
    EXPECT_EQ(client.region->bytes()[0], allowed ? 0x5a : 0);
  });
}

TEST_P(UsageTest, AnyRegionCanBeTheSourceOfAWrite) {
  ForEachClientUsage(kAllUsages, [&](const Pair& pair, bool) {
    const End& client = pair.client;
    ASSERT_THAT(client.Write(1, 0, 0, 8), IsOk());
    EXPECT_THAT(Poll(client.cq),
                Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  });
}

TEST_P(UsageTest, AnyRegionCanBeTheSourceOfASend) {
  ForEachClientUsage(kAllUsages, [&](const Pair& pair, bool) {
    const End& client = pair.client;
    ASSERT_THAT(pair.server.Recv(2, 0, 8), IsOk());
    ASSERT_THAT(client.Send(1, 0, 8), IsOk());
    EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, client.qp_num));
  });
}

// --- The receiver's region ---------------------------------------------------

TEST_P(UsageTest, BufferOfAReceiveMustBeWritable) {
  const int usages = provider().receive_usages;
  ForEachServerUsage(usages, [&](const Pair& pair, bool allowed) {
    const End& server = pair.server;
    pair.client.region->Fill(0x5a);
    ASSERT_THAT(server.Recv(1, 0, 8), IsOk());
    ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
    ExpectSuccessIff(
        allowed, server, Received(1, 8, server.qp_num),
        FailedWith(1, provider().unwritable_receive, server.qp_num),
        "lacks LOCAL_WRITE");
    EXPECT_EQ(server.region->bytes()[0], allowed ? 0x5a : 0);
  });
}

TEST_P(UsageTest, BufferOfAnEmptyMessageNeedsNoRight) {
  ForEachServerUsage(kAllUsages, [&](const Pair& pair, bool) {
    ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
    ASSERT_THAT(pair.client.Send(2, 0, 0), IsOk());
    EXPECT_THAT(Poll(pair.server.cq), Received(1, 0, pair.server.qp_num));
  });
}

}  // namespace
}  // namespace rpma::test
