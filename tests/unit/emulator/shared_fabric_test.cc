// SPDX-License-Identifier: BSD-3-Clause
// Two fabrics of one name, which meet as those of two processes do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <syslog.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::mutex log_mutex;
std::vector<std::string> errors;  // guarded by log_mutex

void Listen(int level, const char* text) {
  const std::lock_guard lock(log_mutex);
  if (level <= LOG_ERR) errors.emplace_back(text);
}

std::vector<std::string> TakeErrors() {
  const std::lock_guard lock(log_mutex);
  return std::exchange(errors, {});
}

// A fabric with what a QP needs.
class Party {
 public:
  explicit Party(const std::string& options, std::string_view name = {}) {
    std::string error;
    EXPECT_EQ(Fabric::Create(options, &fabric_, &error, name), 0) << error;
    fabric_->SetLogSink(Listen);
    device_ = fabric_->FindDevice("emu0");
    EXPECT_EQ(device_->AllocPd(&pd_), 0);
    EXPECT_EQ(device_->CreateCq(100, nullptr, &cq_), 0);
  }
  ~Party() {
    EXPECT_EQ(device_->DestroyCq(cq_), 0);
    EXPECT_EQ(device_->DeallocPd(pd_), 0);
    const Fabric::Census census = fabric_->TakeCensus();
    EXPECT_EQ(census.cm.ids, 0u);
    EXPECT_EQ(census.cm.far_ids, 0u);
  }

  ConnectionManager& cm() { return fabric_->cm(); }

  // 0 or the errno of BindAddr().
  int Bind(End& end, uint16_t port) {
    return cm().BindAddr(end.id(), Address("127.0.0.1", port));
  }
  std::unique_ptr<End> NewListener(uint16_t port) {
    auto listener = std::make_unique<End>(cm());
    EXPECT_EQ(Bind(*listener, port), 0);
    EXPECT_EQ(cm().Listen(listener->id(), 0), 0);
    return listener;
  }
  std::unique_ptr<End> Connect(uint16_t port) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(cm().CreateId(nullptr, &id), 0);
    EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address("127.0.0.1", port)), 0);
    EXPECT_EQ(cm().ResolveRoute(id), 0);
    auto active = std::make_unique<End>(cm(), id);
    GiveQp(*active);
    EXPECT_EQ(cm().Connect(active->id(), Param()), 0);
    return active;
  }
  std::unique_ptr<End> Accept(End& listener) {
    const Seen request = listener.Next();
    EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    auto passive = std::make_unique<End>(cm(), request.id);
    GiveQp(*passive);
    EXPECT_EQ(cm().Accept(passive->id(), Param()), 0);
    return passive;
  }

 private:
  void GiveQp(const End& end) {
    EXPECT_EQ(cm().CreateQp(end.id(), pd_,
                            {.send_cq = cq_,
                             .recv_cq = cq_,
                             .max_send_wr = 10,
                             .max_recv_wr = 10,
                             .max_send_sge = 1,
                             .max_recv_sge = 1}),
              0);
  }
  static rdma_conn_param Param() {
    rdma_conn_param param{};
    param.retry_count = param.rnr_retry_count = 7;
    return param;
  }

  std::unique_ptr<Fabric> fabric_;
  Device* device_ = nullptr;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
};

class SharedFabricTest : public testing::TestWithParam<const char*> {
 protected:
  static constexpr uint16_t kPort = 7204;

  ~SharedFabricTest() override { EXPECT_THAT(TakeErrors(), IsEmpty()); }

  static std::string Directory() { return testing::TempDir() + "/fabrics"; }
  static std::string Options() {
    return "profile=" + std::string(GetParam()) +
           " fabric=shared dir=" + Directory();
  }

  std::unique_ptr<Party> client = std::make_unique<Party>(Options());
  std::unique_ptr<Party> server = std::make_unique<Party>(Options());
};

INSTANTIATE_TEST_SUITE_P(Profiles, SharedFabricTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

TEST_P(SharedFabricTest, ConnectsAndDisconnects) {
  const auto listener = server->NewListener(kPort);
  const auto active = client->Connect(kPort);
  const auto passive = server->Accept(*listener);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(client->cm().Disconnect(active->id()), 0);
  EXPECT_EQ(passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(server->cm().Disconnect(passive->id()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(SharedFabricTest, ConnectsAgainAndAgainInBothDirections) {
  const auto listener = server->NewListener(kPort);
  const auto other_listener = client->NewListener(kPort + 1);
  for (int i = 0; i < 20; ++i) {
    const auto active = client->Connect(kPort);
    const auto other_active = server->Connect(kPort + 1);
    const auto passive = server->Accept(*listener);
    const auto other_passive = client->Accept(*other_listener);
    for (End* const end : {active.get(), other_active.get(), passive.get(),
                           other_passive.get()}) {
      EXPECT_EQ(end->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    }
  }
}

TEST_P(SharedFabricTest, SaysThatNobodyListens) {
  const auto active = client->Connect(kPort);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
  const auto listener = server->NewListener(kPort + 1);
  const auto other = client->Connect(kPort);
  EXPECT_EQ(other->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(SharedFabricTest, HasEachPortOnce) {
  const auto listener = server->NewListener(kPort);
  End end(client->cm());
  EXPECT_EQ(client->Bind(end, kPort), EADDRINUSE);
  EXPECT_EQ(client->Bind(end, kPort + 1), 0);
}

TEST_P(SharedFabricTest, ThePortOfAFabricThatIsGoneIsFree) {
  { const auto listener = server->NewListener(kPort); }
  server.reset();
  const auto listener = client->NewListener(kPort);
}

TEST_P(SharedFabricTest, AFabricThatEndsDisconnects) {
  const auto listener = client->NewListener(kPort);
  auto active = server->Connect(kPort);
  const auto passive = client->Accept(*listener);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  active.reset();
  server.reset();
  EXPECT_EQ(passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(SharedFabricTest, OfAnotherNameIsAnotherOne) {
  Party other("profile=" + std::string(GetParam()) +
              " fabric=other dir=" + Directory());
  const auto listener = server->NewListener(kPort);
  const auto active = other.Connect(kPort);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
  const auto same_port = other.NewListener(kPort);
}

TEST_P(SharedFabricTest, MayBePrivate) {
  Party other("profile=" + std::string(GetParam()) +
                  " fabric=private dir=" + Directory(),
              "shared");
  const auto listener = server->NewListener(kPort);
  const auto active = other.Connect(kPort);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(SharedFabricTest, HasTheNameOfItsMakerIfTheOptionsSayNothing) {
  Party other("profile=" + std::string(GetParam()) + " dir=" + Directory(),
              "shared");
  const auto listener = server->NewListener(kPort);
  const auto active = other.Connect(kPort);
  const auto passive = server->Accept(*listener);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST(SharedFabricFolderTest, WorksWithinItsProcessIfTheFolderIsRefused) {
  const std::string directory = testing::TempDir() + "/open_to_all";
  ASSERT_EQ(mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  Party party("fabric=shared dir=" + directory);
  const auto listener = party.NewListener(7204);
  const auto active = party.Connect(7204);
  const auto passive = party.Accept(*listener);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_THAT(TakeErrors(), ElementsAre(HasSubstr(directory)));
}

}  // namespace
}  // namespace rpma::emu
