// SPDX-License-Identifier: BSD-3-Clause
// Server and client of rpma_quickstart against each other, in one thread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "tools/quickstart/client.h"
#include "tools/quickstart/failure.h"
#include "tools/quickstart/library.h"
#include "tools/quickstart/network.h"
#include "tools/quickstart/server.h"
#include "tools/quickstart/source.h"

namespace rpma::quickstart {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kAddress[] = "127.0.0.1";
constexpr char kPort[] = "7471";
constexpr uint64_t kChunk = uint64_t{256} << 10;
constexpr uint64_t kWindow = kInFlight * kChunk;

class ReplicationTest : public testing::Test {
 protected:
  void SetUp() override {
    CaptureLog();
    UseEmulatedNetwork();
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    EXPECT_NO_THROW(CheckNothingLeft());
  }

  // A server whose region has room for `capacity` bytes, and its client.
  void Connect(uint64_t capacity) {
    server_.emplace(kAddress, kPort, kDataOffset + capacity, signals_);
    client_.emplace(kAddress, kPort, signals_);
    client_->Connect();
    server_->Accept();
    client_->AwaitAcceptance();
    server_->connection().AwaitEstablished();
  }

  template <typename Action>
  static Failure FailureOf(Action action) {
    try {
      action();
    } catch (const Failure& failure) {
      return failure;
    }
    ADD_FAILURE() << "no failure";
    return Failure("");
  }

  const Signals signals_;
  std::optional<Server> server_;
  std::optional<Client> client_;
  Summary summary_;
};

class SizeTest : public ReplicationTest,
                 public testing::WithParamInterface<uint64_t> {};

TEST_P(SizeTest, ArrivesAndIsReadBack) {
  const uint64_t size = GetParam();
  const uint64_t chunks = (size + kChunk - 1) / kChunk;
  const auto source = GenerateContent(size);
  Connect(size);
  server_->OfferRegion();
  client_->Replicate(source.get(), &summary_);
  const Receipt receipt = server_->ConfirmCommit();
  client_->Verify(&summary_);

  EXPECT_EQ(summary_.bytes, size);
  EXPECT_EQ(summary_.writes, chunks);
  EXPECT_EQ(summary_.reads, chunks);
  EXPECT_EQ(summary_.flushes, 2u);
  EXPECT_EQ(summary_.atomic_writes, 1u);
  EXPECT_EQ(summary_.source, receipt.memory);
  EXPECT_EQ(summary_.memory, receipt.memory);
  EXPECT_EQ(summary_.read_back, receipt.memory);
}

INSTANTIATE_TEST_SUITE_P(AroundChunkAndWindow, SizeTest,
                         testing::Values(1, 7, kChunk - 1, kChunk, kChunk + 1,
                                         kWindow, kWindow + 1, 3 * kWindow));

TEST_F(ReplicationTest, AFileThatDoesNotFitIsRefusedWithTheSizeItTakes) {
  const auto source = GenerateContent(101);
  Connect(100);
  server_->OfferRegion();
  EXPECT_THAT(
      FailureOf([&] { client_->Replicate(source.get(), &summary_); }).what(),
      AllOf(HasSubstr("101 bytes does not fit"), HasSubstr("holds 100"),
            HasSubstr("--region-size 109")));
}

TEST_F(ReplicationTest, ABusyPortIsNamed) {
  const Server first(kAddress, kPort, 4096, signals_);
  EXPECT_THAT(
      FailureOf([&] { Server(kAddress, kPort, 4096, signals_); }).what(),
      AllOf(HasSubstr("cannot listen on 127.0.0.1 port 7471: "),
            HasSubstr("ddress already in use")));
}

TEST_F(ReplicationTest, AClientWithoutServerIsToldThatNobodyListens) {
  client_.emplace(kAddress, kPort, signals_);
  client_->Connect();
  EXPECT_THAT(FailureOf([&] { client_->AwaitAcceptance(); }).what(),
              HasSubstr("cannot connect to 127.0.0.1 port 7471: Connection "
                        "rejected, as nobody listens there"));
}

// SIGINT arrives while the third chunk is read.
class InterruptingSource final : public Source {
 public:
  uint64_t size() const override { return 100 * kChunk; }
  void Read(uint8_t*, size_t) override {
    if (++reads_ == 3) raise(SIGINT);
  }
  int reads() const { return reads_; }

 private:
  int reads_ = 0;
};

TEST_F(ReplicationTest, AnInterruptStopsTheTransfer) {
  InterruptingSource source;
  Connect(source.size());
  server_->OfferRegion();
  const Failure failure =
      FailureOf([&] { client_->Replicate(&source, &summary_); });
  EXPECT_EQ(failure.exit_code(), kExitSignal + SIGINT);
  EXPECT_STREQ(failure.what(), "interrupted by SIGINT; nothing is left behind");
  EXPECT_LE(source.reads(), 3 + static_cast<int>(kInFlight));
}

TEST_F(ReplicationTest, AServerNoticesThatItsClientLeft) {
  Connect(100);
  server_->OfferRegion();
  client_->connection().Disconnect();
  EXPECT_THAT(FailureOf([&] { server_->ConfirmCommit(); }).what(),
              HasSubstr("the peer ended the connection too early: Connection "
                        "closed"));
}

TEST_F(ReplicationTest, ACommitWithoutCommitWordIsNotConfirmed) {
  Connect(100);
  client_->connection().Send(Commit{});
  EXPECT_THAT(FailureOf([&] { server_->ConfirmCommit(); }).what(),
              HasSubstr("the commit word says 0 bytes, and 100 is the most"));
}

TEST_F(ReplicationTest, DataThatDiffersIsNotConfirmed) {
  const auto source = GenerateContent(100);
  Connect(100);
  server_->OfferRegion();
  client_->Replicate(source.get(), &summary_);
  // In place of the commit that Replicate() sent: one for other data.
  server_->connection().Receive<Commit>();
  client_->connection().Send(Commit{});
  EXPECT_THAT(FailureOf([&] { server_->ConfirmCommit(); }).what(),
              HasSubstr("the memory differs from the client's file"));
}

TEST_F(ReplicationTest, AMessageOfAnotherSizeIsNotTaken) {
  Connect(100);
  client_->connection().Send(Receipt{});
  EXPECT_THAT(FailureOf([&] { server_->ConfirmCommit(); }).what(),
              HasSubstr("a message of 40 bytes in place of 32"));
}

TEST_F(ReplicationTest, AWriteToAStaleRegionIsExplained) {
  Connect(100);
  server_->OfferStaleRegion();
  client_->WriteToStaleRegion(&summary_);
  EXPECT_EQ(summary_.fault_status, "IBV_WC_REM_ACCESS_ERR");
  EXPECT_THAT(summary_.fault_explanation, HasSubstr("deregistered"));
}

}  // namespace
}  // namespace rpma::quickstart
