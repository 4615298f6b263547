// SPDX-License-Identifier: BSD-3-Clause
// The options of fabrics and devices.

#include "emulator/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace rpma::emu {
namespace {

using testing::HasSubstr;

struct Parsed {
  int result = 0;
  Options options;
  std::string error;
};

Parsed Parse(std::string_view text, OptionScope scope = OptionScope::kFabric) {
  Parsed parsed;
  parsed.options.device.name = "untouched";
  parsed.result = ParseOptions(text, scope, &parsed.options, &parsed.error);
  return parsed;
}

Options Good(std::string_view text) {
  const Parsed parsed = Parse(text);
  EXPECT_EQ(parsed.result, 0) << parsed.error;
  return parsed.options;
}

std::string Bad(std::string_view text,
                OptionScope scope = OptionScope::kFabric) {
  const Parsed parsed = Parse(text, scope);
  EXPECT_EQ(parsed.result, EINVAL) << text;
  EXPECT_EQ(parsed.options.device.name, "untouched");
  return parsed.error;
}

TEST(OptionsTest, NoOptionsAreTheDefaults) {
  for (const char* text : {"", " ", " ,, \t\n"}) {
    const Options options = Good(text);
    EXPECT_EQ(options.device.name, "roce");
    EXPECT_FALSE(options.fabric.hardware_timers);
    EXPECT_FALSE(options.fabric.strict_devices);
    EXPECT_EQ(options.fabric.empty_channel_errno, EAGAIN);
    EXPECT_FALSE(options.fabric.stepped);
  }
}

TEST(OptionsTest, FabricOptionsAreSet) {
  const Options options =
      Good("timers=hardware,strict_devices=on empty_channel_errno=ENODATA");
  EXPECT_TRUE(options.fabric.hardware_timers);
  EXPECT_TRUE(options.fabric.strict_devices);
  EXPECT_EQ(options.fabric.empty_channel_errno, ENODATA);
  const Options named =
      Good("timers=inline,strict_devices=off empty_channel_errno=EAGAIN");
  EXPECT_FALSE(named.fabric.hardware_timers);
  EXPECT_FALSE(named.fabric.strict_devices);
  EXPECT_EQ(named.fabric.empty_channel_errno, EAGAIN);
}

TEST(OptionsTest, AScheduleByStepsHasASeedAndATrace) {
  const FabricOptions by_default = Good("schedule=stepped").fabric;
  EXPECT_TRUE(by_default.stepped);
  EXPECT_EQ(by_default.seed, 0u);
  EXPECT_EQ(by_default.trace, "");
  const FabricOptions set =
      Good("seed=18446744073709551615 trace=/tmp/x schedule=stepped").fabric;
  EXPECT_EQ(set.seed, UINT64_MAX);
  EXPECT_EQ(set.trace, "/tmp/x");
  EXPECT_FALSE(Good("schedule=inline").fabric.stepped);
}

TEST(OptionsTest, WithoutASteppedScheduleThereIsNoSeedAndNoTrace) {
  constexpr char kAllowed[] =
      "seed=1: allowed are 0 to 18446744073709551615 with schedule=stepped";
  EXPECT_EQ(Bad("seed=1"), kAllowed);
  EXPECT_EQ(Bad("seed=1 schedule=inline"), kAllowed);
  EXPECT_EQ(Bad("trace=x"),
            "trace=x: allowed are the name of a file with schedule=stepped");
  EXPECT_THAT(Bad("schedule=stepped seed=18446744073709551616"),
              HasSubstr("allowed are 0 to 18446744073709551615"));
  EXPECT_THAT(Bad("schedule=stepped seed=-1"), HasSubstr("allowed are"));
}

TEST(OptionsTest, TheProfileComesFirstWhereverItStands) {
  const Options options = Good("max_cqe=16 write_with_imm=on profile=iwarp");
  EXPECT_EQ(options.device.name, "iwarp");
  EXPECT_TRUE(options.device.iwarp);
  EXPECT_EQ(options.device.limits.max_cqe, 16u);
  EXPECT_TRUE(options.device.write_with_imm);
  EXPECT_EQ(Good("profile=ib").device.name, "ib");
}

TEST(OptionsTest, EveryDeviceLimitIsSet) {
  const DeviceLimits limits =
      Good(
          "max_qp=1 max_qp_wr=2 max_sge=3 max_sge_rd=4 max_inline_data=5 "
          "max_cq=6 max_cqe=7 max_mr=8 max_mr_size=18446744073709551615 "
          "max_pd=9 max_srq=10 max_srq_wr=11 max_qp_rd_atom=12 "
          "max_qp_init_rd_atom=13 max_msg_sz=2147483647")
          .device.limits;
  EXPECT_EQ(limits.max_qp, 1u);
  EXPECT_EQ(limits.max_qp_wr, 2u);
  EXPECT_EQ(limits.max_sge, 3u);
  EXPECT_EQ(limits.max_sge_rd, 4u);
  EXPECT_EQ(limits.max_inline_data, 5u);
  EXPECT_EQ(limits.max_cq, 6u);
  EXPECT_EQ(limits.max_cqe, 7u);
  EXPECT_EQ(limits.max_mr, 8u);
  EXPECT_EQ(limits.max_mr_size, UINT64_MAX);
  EXPECT_EQ(limits.max_pd, 9u);
  EXPECT_EQ(limits.max_srq, 10u);
  EXPECT_EQ(limits.max_srq_wr, 11u);
  EXPECT_EQ(limits.max_qp_rd_atom, 12);
  EXPECT_EQ(limits.max_qp_init_rd_atom, 13);
  EXPECT_EQ(limits.max_msg_sz, 2147483647u);
}

TEST(OptionsTest, EveryBehaviourIsSet) {
  const Profile on =
      Good(
          "cq_overrun=drop cq_rounding=pow2 reads=late rnr_retry=3 "
          "memlock_limit=65536 on_demand_paging=on pinning=on advise_mr=on "
          "native_atomic_write=on native_flush=on write_with_imm=on")
          .device;
  EXPECT_EQ(on.cq_overrun, CqOverrun::kDrop);
  EXPECT_EQ(on.cq_rounding, CqRounding::kPowerOfTwoMinusOne);
  EXPECT_EQ(on.reads, ReadOrder::kLate);
  EXPECT_EQ(on.rnr_retry, 3);
  EXPECT_EQ(on.memlock_limit, 65536u);
  EXPECT_TRUE(on.on_demand_paging);
  EXPECT_TRUE(on.pinning);
  EXPECT_TRUE(on.advise_mr);
  EXPECT_TRUE(on.native_atomic_write);
  EXPECT_TRUE(on.native_flush);
  EXPECT_TRUE(on.write_with_imm);
  const Profile off =
      Good(
          "profile=ib cq_overrun=error cq_rounding=exact reads=posted "
          "on_demand_paging=off pinning=off advise_mr=off "
          "native_atomic_write=off native_flush=off write_with_imm=off")
          .device;
  EXPECT_EQ(off.cq_overrun, CqOverrun::kError);
  EXPECT_EQ(off.cq_rounding, CqRounding::kExact);
  EXPECT_EQ(off.reads, ReadOrder::kPosted);
  EXPECT_EQ(off.rnr_retry, -1);
  EXPECT_EQ(off.memlock_limit, UINT64_MAX);
  EXPECT_FALSE(off.on_demand_paging);
  EXPECT_FALSE(off.pinning);
  EXPECT_FALSE(off.advise_mr);
  EXPECT_FALSE(off.native_atomic_write);
  EXPECT_FALSE(off.native_flush);
  EXPECT_FALSE(off.write_with_imm);
}

TEST(OptionsTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string error = Bad("max_cqes=16");
  EXPECT_THAT(error, HasSubstr("unknown option \"max_cqes\""));
  for (const OptionInfo& option : KnownOptions()) {
    EXPECT_THAT(error, HasSubstr(std::string(option.name)));
  }
}

TEST(OptionsTest, AWordThatIsNoAssignmentIsRefused) {
  EXPECT_EQ(Bad("profile"), "\"profile\" is not name=value");
  EXPECT_EQ(Bad("profile="), "\"profile=\" is not name=value");
  EXPECT_THAT(Bad("=roce"), HasSubstr("unknown option \"\""));
}

TEST(OptionsTest, ANameGivenTwiceIsRefused) {
  EXPECT_EQ(Bad("max_cqe=16 max_cqe=16"), "\"max_cqe\" is given twice");
}

TEST(OptionsTest, AFabricOptionIsRefusedForADevice) {
  EXPECT_EQ(Bad("timers=inline", OptionScope::kDevice),
            "\"timers\" is an option of the fabric, not of a device");
  EXPECT_THAT(Bad("nothing=1", OptionScope::kDevice),
              testing::Not(HasSubstr("strict_devices")));
  EXPECT_EQ(Parse("profile=ib", OptionScope::kDevice).result, 0);
}

TEST(OptionsTest, AValueThatIsNotAllowedIsRefusedWithThoseThatAre) {
  EXPECT_EQ(Bad("profile=rxe"), "profile=rxe: allowed are roce, ib, iwarp");
  EXPECT_EQ(Bad("timers=fast"), "timers=fast: allowed are inline, hardware");
  EXPECT_EQ(Bad("schedule=threaded"),
            "schedule=threaded: allowed are inline, stepped");
  EXPECT_EQ(Bad("native_flush=yes"), "native_flush=yes: allowed are on, off");
  EXPECT_EQ(Bad("max_qp_rd_atom=255"),
            "max_qp_rd_atom=255: allowed are 0 to 254");
  EXPECT_EQ(Bad("rnr_retry=8"), "rnr_retry=8: allowed are 0 to 7");
  for (const char* number :
       {"-1", "+1", "1k", "0x10", "2147483648", "99999999999999999999"}) {
    EXPECT_EQ(
        Bad(std::string("max_cqe=") + number),
        std::string("max_cqe=") + number + ": allowed are 0 to 2147483647");
  }
}

TEST(OptionsTest, AFabricHasTheNameThatIsGiven) {
  EXPECT_EQ(Good("").fabric.name, "");
  EXPECT_EQ(Good("fabric=my-test.1 dir=/tmp/x").fabric.name, "my-test.1");
  EXPECT_EQ(Good("fabric=my-test.1 dir=/tmp/x").fabric.directory, "/tmp/x");
  EXPECT_EQ(Good("fabric=private schedule=stepped").fabric.name, "private");
  for (const char* name : {"", ".", "..", "a/b", "-a", "_"}) {
    EXPECT_NE(Bad(std::string("fabric=") + name), "") << name;
  }
  EXPECT_EQ(Bad("dir=tmp"),
            "dir=tmp: allowed are an absolute path with schedule=inline");
}

TEST(OptionsTest, ASteppedFabricHasNoName) {
  EXPECT_EQ(Bad("fabric=x schedule=stepped"),
            "fabric=x: allowed are private, or with schedule=inline a name of "
            "up to 64 letters, digits, '.', '_' and '-'");
  EXPECT_THAT(Bad("dir=/tmp schedule=stepped"), HasSubstr("allowed are"));
}

TEST(OptionsTest, EveryOptionSaysWhichValuesItTakes) {
  for (const OptionInfo& option : KnownOptions()) {
    EXPECT_FALSE(option.values.empty()) << option.name;
  }
}

}  // namespace
}  // namespace rpma::emu
