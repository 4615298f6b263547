// SPDX-License-Identifier: BSD-3-Clause
// The second process itself: what lives and runs there, and how its end is
// told.

#include "tests/support/two_processes/two_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/two_processes/real.h"
#include "tests/support/two_processes/route.h"
#include "tests/support/world.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using two_processes::CallInHelper;

class TwoProcessesTest : public ::testing::Test {
 protected:
  rpma_peer* client_peer() const { return world_.client_peer(); }
  rpma_peer* server_peer() const { return world_.server_peer(); }
  World& world() { return world_; }

 private:
  World world_;
};

rpma_emu_census CountHere(const World& world) {
  rpma_emu_census census = {};
  EXPECT_THAT(__real_rpma_emu_get_census(world.fabric(), &census), IsOk());
  return census;
}

rpma_emu_census CountInBoth(const World& world) {
  rpma_emu_census census = {};
  EXPECT_THAT(rpma_emu_get_census(world.fabric(), &census), IsOk());
  return census;
}

TEST_F(TwoProcessesTest, ObjectsOfTheServersSideLiveInTheHelper) {
  const Region here(client_peer(), 64);
  const Region there(server_peer(), 64);
  const Endpoint endpoint = world().Listen(world().NewPort());
  EXPECT_EQ(CountHere(world()).pds, 1u);
  EXPECT_EQ(CountHere(world()).mrs, 1u);
  EXPECT_EQ(CountHere(world()).cm_ids, 0u);
  EXPECT_EQ(CountInBoth(world()).pds, 2u);
  EXPECT_EQ(CountInBoth(world()).mrs, 2u);
  EXPECT_EQ(CountInBoth(world()).cm_ids, 1u);
}

int GetPid(int* pid) {
  *pid = getpid();
  return 0;
}

TEST_F(TwoProcessesTest, HelperIsAnotherProcess) {
  int pid = 0;
  EXPECT_EQ(CallInHelper<&GetPid>("GetPid", &pid), 0);
  EXPECT_EQ(pid, two_processes::HelperPid());
  EXPECT_NE(pid, getpid());
}

int FailWith(int error) {
  errno = error;
  return RPMA_E_PROVIDER;
}

TEST_F(TwoProcessesTest, ResultsAndErrnoComeBack) {
  EXPECT_EQ(CallInHelper<&FailWith>("FailWith", EXDEV), RPMA_E_PROVIDER);
  EXPECT_EQ(errno, EXDEV);
}

TEST_F(TwoProcessesTest, LogOfTheHelperIsTheTests) {
  Endpoint endpoint;
  EXPECT_THAT(
      rpma_ep_listen(server_peer(), "203.0.113.9", "7300", endpoint.address()),
      RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(world().log().TakeErrors(),
              ElementsAre(HasSubstr("203.0.113.9")));
}

TEST_F(TwoProcessesTest, DescriptorsAreKeptAsLongAsTheirObject) {
  Endpoint endpoint = world().Listen(world().NewPort());
  const int fd = EndpointFd(endpoint);
  EXPECT_EQ(EndpointFd(endpoint), fd);
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
  endpoint.reset();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

int SetToTwo(void* byte) {
  *static_cast<uint8_t*>(byte) = 2;
  return 0;
}

TEST_F(TwoProcessesTest, BytesOfTheServersSideAreSharedMemory) {
  const Region region(server_peer(), 8);
  region.Fill(1);
  void* const bytes = region.bytes().data();
  EXPECT_EQ(CallInHelper<&SetToTwo>("SetToTwo", bytes), 0);
  EXPECT_EQ(region.bytes()[0], 2);
  EXPECT_EQ(region.bytes()[1], 1);
}

// --- What cannot work fails --------------------------------------------------

TEST_F(TwoProcessesTest, MemoryThatOnlyTheTestSeesIsRefused) {
  char bytes[8];
  LocalMr mr;
  EXPECT_NONFATAL_FAILURE(
      rpma_mr_reg(server_peer(), bytes, 8, kAllUsages, mr.address()),
      "does not see the memory");
  EXPECT_EQ(mr, nullptr);
}

TEST_F(TwoProcessesTest, ObjectsOfBothProcessesDoNotMix) {
  const Region here(client_peer(), 64);
  const Endpoint endpoint = world().Listen(world().NewPort());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(server_peer(), nullptr, srq.address()), IsOk());
  EXPECT_NONFATAL_FAILURE(rpma_srq_recv(srq, here.mr(), 0, 8, nullptr),
                          "cannot cross");
}

TEST_F(TwoProcessesTest, CallInTheWrongProcessCrashes) {
  rpma_peer* peer = server_peer();
  EXPECT_DEATH(__real_rpma_peer_delete(&peer), "");
}

int Abort() { std::abort(); }
int Exit() { std::_Exit(3); }

TEST_F(TwoProcessesTest, DeathOfTheHelperIsTold) {
  EXPECT_EXIT(CallInHelper<&Abort>("Abort"), ExitedWithCode(1),
              "helper process was killed by signal 6 .* Abort()");
  EXPECT_EXIT(CallInHelper<&Exit>("Exit"), ExitedWithCode(1),
              "helper process ended with 3 .* Exit()");
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  rpma::test::StartSecondProcess(rpma::test::two_processes::Elsewhere::kServer);
  testing::InitGoogleMock(&argc, argv);
  // Each death has a helper of its own.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int failed = RUN_ALL_TESTS();
  return rpma::test::StopSecondProcess() ? failed : 1;
}
