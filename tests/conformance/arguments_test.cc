// SPDX-License-Identifier: BSD-3-Clause
// Requests with invalid arguments: each function of the data path refuses them
// before anything is posted.

#include <string>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;

constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;

class ArgumentsTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    pair_.emplace(ConnectedPair());
  }
  // Nothing was posted and nothing moved; the connection still works.
  void TearDown() override {
    log().Discard();
    EXPECT_TRUE(IsEmpty(client().cq));
    EXPECT_TRUE(IsEmpty(server().cq));
    EXPECT_THAT(server().region->bytes(), Each(0));
    EXPECT_THAT(client().Write(1, 0, 0, 8), IsOk());
    EXPECT_THAT(Poll(client().cq),
                Succeeded(1, IBV_WC_RDMA_WRITE, client().qp_num));
    pair_.reset();
    ConformanceTest::TearDown();
  }

  const End& client() const { return pair_->client; }
  const End& server() const { return pair_->server; }
  rpma_conn* conn() const { return client().conn; }
  rpma_mr_local* local() const { return client().region->mr(); }
  rpma_mr_remote* remote() const { return client().remote; }

 private:
  std::optional<Pair> pair_;
};

INSTANTIATE_TEST_SUITE_P(, ArgumentsTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// --- Two regions: read, write, write with immediate --------------------------

// The arguments that the three functions have in common.
struct Transfer {
  rpma_conn* conn;
  rpma_mr_local* local;
  size_t local_offset;
  rpma_mr_remote* remote;
  size_t remote_offset;
  size_t len;
  int flags;
};

// Expects that all three refuse the arguments.
void ExpectInvalid(const Transfer& t, const char* what) {
  SCOPED_TRACE(what);
  EXPECT_THAT(rpma_read(t.conn, t.local, t.local_offset, t.remote,
                        t.remote_offset, t.len, t.flags, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_write(t.conn, t.remote, t.remote_offset, t.local,
                         t.local_offset, t.len, t.flags, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_write_with_imm(t.conn, t.remote, t.remote_offset, t.local,
                                  t.local_offset, t.len, t.flags, 1, nullptr),
              RcIs(RPMA_E_INVAL));
}

TEST_P(ArgumentsTest, TransfersNeedAConnectionAndFlags) {
  ExpectInvalid({nullptr, local(), 0, remote(), 0, 8, kAlways}, "no conn");
  ExpectInvalid({conn(), local(), 0, remote(), 0, 8, 0}, "no flags");
  ExpectInvalid({nullptr, nullptr, 0, nullptr, 0, 0, kAlways},
                "no conn, no regions");
  ExpectInvalid({conn(), nullptr, 0, nullptr, 0, 0, 0}, "no flags, no regions");
}

TEST_P(ArgumentsTest, TransfersNeedBothRegionsOrNone) {
  ExpectInvalid({conn(), nullptr, 0, remote(), 0, 8, kAlways}, "no local");
  ExpectInvalid({conn(), local(), 0, nullptr, 0, 8, kAlways}, "no remote");
  ExpectInvalid({conn(), nullptr, 0, remote(), 0, 0, kAlways},
                "no local, no bytes");
  ExpectInvalid({conn(), local(), 0, nullptr, 0, 0, kAlways},
                "no remote, no bytes");
}

TEST_P(ArgumentsTest, TransfersWithoutRegionsHaveNoOffsetsAndNoBytes) {
  ExpectInvalid({conn(), nullptr, 0, nullptr, 0, 1, kAlways}, "a length");
  ExpectInvalid({conn(), nullptr, 1, nullptr, 0, 0, kAlways}, "local offset");
  ExpectInvalid({conn(), nullptr, 0, nullptr, 1, 0, kAlways}, "remote offset");
}

TEST_P(ArgumentsTest, TransfersStayInsideTheLocalRegion) {
  ExpectInvalid({conn(), local(), 4089, remote(), 0, 8, kAlways}, "one past");
  ExpectInvalid({conn(), local(), 4096, remote(), 0, 1, kAlways}, "at the end");
  ExpectInvalid({conn(), local(), 4097, remote(), 0, 0, kAlways}, "beyond");
  ExpectInvalid({conn(), local(), 8, remote(), 0, SIZE_MAX - 7, kAlways},
                "wrapping length");
  ExpectInvalid({conn(), local(), SIZE_MAX - 7, remote(), 0, 8, kAlways},
                "wrapping offset");
}

TEST_P(ArgumentsTest, TransfersStayInsideTheRemoteRegion) {
  ExpectInvalid({conn(), local(), 0, remote(), 4089, 8, kAlways}, "one past");
  ExpectInvalid({conn(), local(), 0, remote(), 4096, 1, kAlways}, "at the end");
  ExpectInvalid({conn(), local(), 0, remote(), 4097, 0, kAlways}, "beyond");
  ExpectInvalid({conn(), local(), 0, remote(), SIZE_MAX - 7, 8, kAlways},
                "wrapping offset");
}

// --- Messages ----------------------------------------------------------------

struct Message {
  rpma_conn* conn;
  rpma_mr_local* local;
  size_t offset;
  size_t len;
};

void ExpectInvalidSend(const Message& m, int flags, const char* what) {
  SCOPED_TRACE(what);
  EXPECT_THAT(rpma_send(m.conn, m.local, m.offset, m.len, flags, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      rpma_send_with_imm(m.conn, m.local, m.offset, m.len, flags, 1, nullptr),
      RcIs(RPMA_E_INVAL));
}

TEST_P(ArgumentsTest, SendsNeedAConnectionAndFlags) {
  ExpectInvalidSend({nullptr, local(), 0, 8}, kAlways, "no conn");
  ExpectInvalidSend({conn(), local(), 0, 8}, 0, "no flags");
  ExpectInvalidSend({conn(), nullptr, 0, 0}, 0, "no flags, no region");
}

void ExpectInvalidRecv(const Message& m, const char* what) {
  SCOPED_TRACE(what);
  EXPECT_THAT(rpma_recv(m.conn, m.local, m.offset, m.len, nullptr),
              RcIs(RPMA_E_INVAL));
}

TEST_P(ArgumentsTest, ReceivesNeedAConnection) {
  ExpectInvalidRecv({nullptr, local(), 0, 8}, "no conn");
  ExpectInvalidRecv({nullptr, nullptr, 0, 0}, "no conn, no region");
}

TEST_P(ArgumentsTest, MessagesStayInsideTheirRegion) {
  const Message messages[] = {
      {conn(), nullptr, 0, 1},
      {conn(), nullptr, 1, 0},
      {conn(), local(), 4089, 8},
      {conn(), local(), 4096, 1},
      {conn(), local(), 4097, 0},
      {conn(), local(), 8, SIZE_MAX - 7},
      {conn(), local(), SIZE_MAX - 7, 8},
  };
  for (const Message& message : messages) {
    const std::string what = "offset " + std::to_string(message.offset) +
                             ", len " + std::to_string(message.len);
    ExpectInvalidSend(message, kAlways, what.c_str());
    ExpectInvalidRecv(message, what.c_str());
  }
}

// --- Flags -------------------------------------------------------------------

TEST_P(ArgumentsTest, AnyFlagButNoneIsAccepted) {
  // As librpma 1.3.0: bit 1 asks for a completion, the others mean nothing.
  for (const int flags : {1, 4, 5, 8}) {
    EXPECT_THAT(client().Write(1, 8, 8, 8, flags), IsOk()) << flags;
    EXPECT_TRUE(IsEmpty(client().cq)) << flags;
  }
  for (const int flags : {2, 3, 6, 7}) {
    EXPECT_THAT(client().Write(2, 8, 8, 8, flags), IsOk()) << flags;
    EXPECT_THAT(Poll(client().cq),
                Succeeded(2, IBV_WC_RDMA_WRITE, client().qp_num));
  }
}

}  // namespace
}  // namespace rpma::test
