// SPDX-License-Identifier: BSD-3-Clause
// What a sweep runs, what it takes for a failure, and how it reports one.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <rpma_testing.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rpma_testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three calls that can fail on the way: ibv_query_device_ex, ibv_alloc_pd and
// ibv_dealloc_pd; those that find the device come before.
int NewPeer(rpma_peer** peer) {
  ibv_context* device = nullptr;
  const int rc = rpma_utils_get_ibv_context(
      "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &device);
  return rc == 0 ? rpma_peer_new(device, peer) : rc;
}

// What LeakSanitizer is not to find as well.
auto* const forgotten = new std::vector<rpma_peer*>;

void NothingWrong() {
  rpma_peer* peer = nullptr;
  if (NewPeer(&peer) == 0 && rpma_peer_delete(&peer) != 0) {
    forgotten->push_back(peer);
  }
}

FaultSweepOptions Options(std::vector<std::string> rules) {
  FaultSweepOptions options;
  options.rules = std::move(rules);
  return options;
}

// For scenarios that fail: tells what it found, and the test passes.
FaultSweepOptions Collecting(std::vector<std::string> rules) {
  FaultSweepOptions options = Options(std::move(rules));
  options.report = false;
  return options;
}

TEST(FaultSweepTest, RunsWithoutFaultsAndThenOnceForEach) {
  int runs = 0;
  const FaultSweepResult result = ForEachFault(
      [&] {
        ++runs;
        for (int i = 0; i < 2; ++i) NothingWrong();
      },
      Options({"fail ibv_alloc_pd nth=%k"}));
  EXPECT_EQ(runs, 4);  // without, 1, 2, and 3, which does not fire
  EXPECT_EQ(result.runs, 4u);
  EXPECT_EQ(result.fired, 2u);
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_THAT(result.unfired, IsEmpty());
}

TEST(FaultSweepTest, ARuleWithoutANumberRunsOnce) {
  const FaultSweepResult result =
      ForEachFault(NothingWrong, Options({"fail ibv_alloc_pd from=1"}));
  EXPECT_EQ(result.runs, 2u);
  EXPECT_EQ(result.fired, 1u);
}

TEST(FaultSweepTest, NamesRulesThatNeverFire) {
  const FaultSweepResult result = ForEachFault(
      NothingWrong, Options({"fail ibv_reg_mr nth=%k", "fail any nth=%k"}));
  EXPECT_THAT(result.unfired, ElementsAre("fail ibv_reg_mr nth=%k"));
}

TEST(FaultSweepTest, ARuleMayHaveSeveralNumbers) {
  const FaultSweepResult result = ForEachFault(
      NothingWrong,
      Options({"fail ibv_alloc_pd nth=%k; fail ibv_dealloc_pd nth=%k"}));
  EXPECT_EQ(result.fired, 1u);
}

TEST(FaultSweepTest, ASurvivorOfAFailedCallIsNoLeak) {
  const FaultSweepResult result = ForEachFault(
      NothingWrong, Options({"fail ibv_dealloc_pd from=1", "fail any nth=%k"}));
  EXPECT_THAT(result.failures, IsEmpty());
}

TEST(FaultSweepTest, TheScenarioSeesItsRun) {
  EXPECT_EQ(CurrentFabric(), nullptr);
  EXPECT_EQ(FaultsFired(), 0u);
  std::vector<uint64_t> fired;
  ForEachFault(
      [&] {
        NothingWrong();
        EXPECT_NE(CurrentFabric(), nullptr);
        fired.push_back(FaultsFired());
      },
      Options({"fail ibv_alloc_pd nth=%k"}));
  EXPECT_THAT(fired, ElementsAre(0u, 1u, 0u));
  EXPECT_EQ(CurrentFabric(), nullptr);
}

TEST(FaultSweepTest, PreparesEveryFabric) {
  FaultSweepOptions options = Options({"fail ibv_alloc_pd nth=%k"});
  options.prepare = [](rpma_emu_fabric* fabric) {
    AddHost(fabric, "server", "192.0.2.7");
  };
  ForEachFault(
      [] {
        ibv_context* device = nullptr;
        EXPECT_THAT(rpma_utils_get_ibv_context(
                        "192.0.2.7", RPMA_UTIL_IBV_CONTEXT_LOCAL, &device),
                    IsOk());
        EXPECT_STREQ(device->device->name, "server");
        EXPECT_THAT(rpma_utils_get_ibv_context(
                        "192.0.2.7", RPMA_UTIL_IBV_CONTEXT_REMOTE, &device),
                    IsOk());
        EXPECT_STREQ(device->device->name, "emu0");
        NothingWrong();
      },
      options);
}

TEST(FaultSweepTest, AFailureOfTheScenarioIsOneOfItsPlan) {
  const FaultSweepResult result = ForEachFault(
      [] {
        rpma_peer* peer = nullptr;
        ASSERT_THAT(NewPeer(&peer), IsOk());
        EXPECT_THAT(rpma_peer_delete(&peer), IsOk());
      },
      Collecting({"fail ibv_alloc_pd errno=EPERM"}));
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures[0].plan, "fail ibv_alloc_pd errno=EPERM");
  EXPECT_THAT(result.failures[0].failures,
              ElementsAre(HasSubstr("RPMA_E_PROVIDER")));
  EXPECT_THAT(result.failures[0].log, HasSubstr("ibv_alloc_pd"));
}

TEST(FaultSweepTest, AFailureOnAnotherThreadIsFound) {
  const FaultSweepResult result = ForEachFault(
      [] {
        std::thread([] { EXPECT_THAT(FaultsFired(), 0u); }).join();
        NothingWrong();
        std::thread([] { EXPECT_THAT(FaultsFired(), 0u); }).join();
      },
      Collecting({"fail ibv_alloc_pd"}));
  EXPECT_THAT(result.failures, SizeIs(1));
}

TEST(FaultSweepTest, AnExceptionIsAFailure) {
  const FaultSweepResult result = ForEachFault(
      [] {
        NothingWrong();
        if (FaultsFired() != 0) throw std::runtime_error("no peer");
      },
      Collecting({"fail ibv_alloc_pd"}));
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_THAT(result.failures[0].failures,
              ElementsAre(HasSubstr("threw no peer")));
}

// Leaves its peer behind if it cannot register memory.
void Forgetful() {
  char memory[64];
  rpma_peer* peer = nullptr;
  rpma_mr_local* mr = nullptr;
  if (NewPeer(&peer) != 0) return;
  if (rpma_mr_reg(peer, memory, sizeof(memory), RPMA_MR_USAGE_READ_SRC, &mr) !=
      0) {
    forgotten->push_back(peer);
    return;
  }
  rpma_mr_dereg(&mr);
  rpma_peer_delete(&peer);
}

TEST(FaultSweepTest, WhatIsLeftBehindIsAFailure) {
  const FaultSweepResult result =
      ForEachFault(Forgetful, Collecting({"fail ibv_reg_mr nth=%k"}));
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures[0].plan, "fail ibv_reg_mr nth=1");
  EXPECT_THAT(result.failures[0].failures, ElementsAre("left behind: 1 peer"));
}

TEST(FaultSweepTest, OneRunDoesNotDisturbTheNext) {
  FaultSweepOptions options =
      Collecting({"fail ibv_reg_mr nth=1", "fail ibv_alloc_pd nth=1"});
  options.max_failures = 10;
  const FaultSweepResult result = ForEachFault(Forgetful, options);
  EXPECT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.runs, 3u);
}

TEST(FaultSweepTest, StopsAfterAsManyFailedPlansAsItMayFind) {
  FaultSweepOptions options = Collecting({"fail any nth=%k"});
  options.max_failures = 2;
  const FaultSweepResult result = ForEachFault(
      [] {
        NothingWrong();
        EXPECT_EQ(FaultsFired(), 0u);
      },
      options);
  EXPECT_THAT(result.failures, SizeIs(2));
  EXPECT_EQ(result.runs, 3u);
}

TEST(FaultSweepTest, ReportsTheFailureItsPlanAndHowToRepeatIt) {
  EXPECT_NONFATAL_FAILURE(
      ForEachFault(Forgetful, Options({"fail ibv_reg_mr nth=%k"})),
      "left behind: 1 peer");
  EXPECT_NONFATAL_FAILURE(
      ForEachFault(Forgetful, Options({"fail ibv_reg_mr nth=%k"})),
      "Under this plan of faults on a fabric \"\":\n"
      "  fail ibv_reg_mr nth=1\n");
  EXPECT_NONFATAL_FAILURE(
      ForEachFault(Forgetful, Options({"fail ibv_reg_mr nth=%k"})),
      "RPMA_EMU_FAULTS=FILE and --gtest_filter="
      "FaultSweepTest.ReportsTheFailureItsPlanAndHowToRepeatIt\n"
      "librpma logged:\n"
      "  ibv_reg_mr");
}

TEST(FaultSweepTest, AScenarioThatFailsByItselfIsReportedAndNotSwept) {
  FaultSweepResult result;
  EXPECT_NONFATAL_FAILURE(result = ForEachFault(
                              [] {
                                NothingWrong();
                                ADD_FAILURE() << "by itself";
                              },
                              Collecting({"fail any nth=%k"})),
                          "by itself\nWithout any fault");
  EXPECT_EQ(result.runs, 1u);
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures[0].plan, "");
}

TEST(FaultSweepTest, ASweepInWhichNothingFiresFails) {
  EXPECT_NONFATAL_FAILURE(ForEachFault([] {}), "no fault fired");
}

TEST(FaultSweepTest, ASweepThatGetsTooLongFails) {
  FaultSweepOptions options = Collecting({"fail any nth=%k"});
  options.max_runs = 2;
  EXPECT_NONFATAL_FAILURE(ForEachFault(NothingWrong, options),
                          "not over after 2 runs");
}

TEST(FaultSweepTest, ARuleThatIsNoneFails) {
  EXPECT_NONFATAL_FAILURE(
      ForEachFault(NothingWrong, Collecting({"fail any", "fail everything"})),
      "line 1, column 6");
}

TEST(FaultSweepTest, OptionsThatAreNoneFail) {
  FaultSweepOptions options;
  options.fabric = "colour=blue";
  EXPECT_NONFATAL_FAILURE(ForEachFault(NothingWrong, options), "colour");
}

// Lets a file of faults replace the sweep.
class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() { setenv("RPMA_EMU_FAULTS", path_.c_str(), 1); }
  ~ReplayTest() override { unsetenv("RPMA_EMU_FAULTS"); }

  void WritePlan(const std::string& text) { std::ofstream(path_) << text; }

 private:
  const std::string path_ = ::testing::TempDir() + "plan.txt";
};

TEST_F(ReplayTest, RunsThePlanInTheFileAndNothingElse) {
  WritePlan("# found yesterday\nfail ibv_reg_mr nth=1\n");
  FaultSweepResult result;
  ::testing::internal::CaptureStderr();
  EXPECT_NONFATAL_FAILURE(result = ForEachFault(Forgetful),
                          "left behind: 1 peer");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("ibv_reg_mr"));
  EXPECT_EQ(result.runs, 1u);
}

TEST_F(ReplayTest, FailsIfThePlanDoesNotFire) {
  WritePlan("fail ibv_reg_mr nth=2");
  EXPECT_NONFATAL_FAILURE(ForEachFault(Forgetful), "no fault fired");
}

TEST_F(ReplayTest, FailsIfThereIsNoSuchFile) {
  setenv("RPMA_EMU_FAULTS", "/nowhere/plan.txt", 1);
  EXPECT_NONFATAL_FAILURE(ForEachFault(Forgetful), "/nowhere/plan.txt");
}

}  // namespace
}  // namespace rpma_testing
