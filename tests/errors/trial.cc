// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/trial.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace rpma::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::SizeIs;

using Bytes = std::vector<std::byte>;

// The code that a row stands for here.
int ExpectedCode(const Row& row) {
  const auto& deviations = Table::Get().deviations;
  const auto found = deviations.find(row);
  return CodeOf(found != deviations.end() ? found->second.decision : row.error);
}

// Whether a function may run out of memory: it has a row that says so, and that
// we follow.
bool MayAllocate(const std::string& function) {
  const Row row = {function, "RPMA_E_NOMEM", "oom"};
  return std::ranges::count(Table::Get().rows, row) > 0 &&
         ExpectedCode(row) == RPMA_E_NOMEM;
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](auto b) { return b == std::byte{0}; });
}

// Watches the out-parameters of a call that should fail.
class OutParameters {
 public:
  explicit OutParameters(Call& call) : call_(call) {
    for (const std::string& name : call.prototype().untouched) {
      const auto target = call.Target(name);
      const Bytes before(target.begin(), target.end());
      // What goes out only is filled, so that a zero shows.
      if (IsZero(before)) std::ranges::fill(target, std::byte{0xa5});
      before_.push_back({name, before, Bytes(target.begin(), target.end())});
    }
    for (const std::string& name : call.prototype().nulled) {
      used_up_ |= !IsZero(call.Target(name));
    }
  }

  // Also undoes the filling.
  void ExpectAsDocumented() {
    for (const auto& [name, before, filled] : before_) {
      const auto target = call_.Target(name);
      EXPECT_TRUE(std::ranges::equal(target, filled)) << name << " is touched";
      std::ranges::copy(before, target.begin());
    }
    for (const std::string& name : call_.prototype().nulled) {
      EXPECT_TRUE(IsZero(call_.Target(name))) << name << " is not NULL";
    }
  }

  // Whether the call takes a handle away, even if it fails.
  bool used_up() const { return used_up_; }

 private:
  struct Out {
    std::string name;
    Bytes before;
    Bytes filled;
  };

  Call& call_;
  std::vector<Out> before_;
  bool used_up_ = false;
};

// One call on a stage.
class Attempt {
 public:
  Attempt(const Setting& setting, Stage& stage)
      : setting_(setting), stage_(stage) {}

  // Makes the call and checks what holds whether or not it succeeds.
  int Make(Call& call, const Trial& trial) {
    FailingAllocator& allocator = stage_.allocator();
    const uint64_t allocations = allocator.allocations();
    const int64_t live = allocator.live();
    allocator.ArmNth(trial.failing_allocation);
    const int rc = InvokeWithoutLibc(call, trial.failing_libc);
    ran_out_of_memory_ = allocator.Fired();
    allocator.Disarm();
    gained_memory_ = allocator.live() - live;
    const uint64_t allocated = allocator.allocations() - allocations;
    if (!MayAllocate(setting_.row.function)) {
      EXPECT_EQ(allocated, 0u) << "it allocates";
    }
    return rc;
  }

  // Makes a call that should succeed.
  void MakeWell(Call& call) {
    EXPECT_THAT(Make(call, {}), IsOk());
    EXPECT_THAT(stage_.log().TakeErrors(), SizeIs(0));
  }

  bool ran_out_of_memory() const { return ran_out_of_memory_; }
  int64_t gained_memory() const { return gained_memory_; }
  int libc_failures() const { return libc_failures_; }

 private:
  int InvokeWithoutLibc(Call& call, std::optional<LibcFunction> failing) {
    if (!failing) return call.Invoke();
    const LibcFault fault(*failing);
    const int rc = call.Invoke();
    libc_failures_ = LibcFault::calls();
    return rc;
  }

  const Setting& setting_;
  Stage& stage_;
  bool ran_out_of_memory_ = false;
  int64_t gained_memory_ = 0;
  int libc_failures_ = 0;
};

// Of a text in which "..." stands for anything.
std::string RegexOf(const std::string& text) {
  std::string regex;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      regex += ".*";
      i += 2;
    } else if (std::isalnum(static_cast<unsigned char>(text[i])) != 0) {
      regex += text[i];
    } else {
      regex += std::string("[") + text[i] + "]";
    }
  }
  return regex;
}

void ExpectLog(Stage& stage, const std::vector<std::string>& expected) {
  const std::vector<std::string> lines = stage.log().TakeErrors();
  ASSERT_THAT(lines, SizeIs(expected.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], ContainsRegex(RegexOf(expected[i])));
  }
}

size_t CountRules(const std::string& plan) {
  if (plan.empty()) return 0;
  return static_cast<size_t>(std::ranges::count(plan, ';')) + 1;
}

void ExpectFired(Stage& stage, const std::string& plan, bool expected) {
  for (size_t rule = 0; rule < CountRules(plan); ++rule) {
    EXPECT_EQ(stage.emulation().Fired(rule) > 0, expected) << plan;
  }
}

// What a call left behind that took its handle away.
void ExpectRemains(Stage& stage, const Census& expected) {
  const rpma_emu_fabric* fabric = stage.emulation().fabric();
  const Census before = TakeCensus(fabric);
  {
    // The memory is the provider's.
    const FailingAllocator hides_that_of_the_stage;
    stage.emulation().Reclaim();
  }
  EXPECT_EQ(before - TakeCensus(fabric), expected);
}

// The call after one that failed.
void TryAgain(const Setting& setting, const Trial& trial, bool used_up,
              Stage& stage, Call& call) {
  SCOPED_TRACE("the next attempt");
  call.Restore();
  if (trial.then) trial.then(stage, call);
  Attempt next(setting, stage);
  if (used_up) {
    Call another = setting.prepare(stage);
    next.MakeWell(another);
  } else {
    next.MakeWell(call);
  }
}

}  // namespace

Trial Trial::UsedUp() && {
  used_up = true;
  return std::move(*this);
}

Trial Trial::FromTheStart() && {
  plan_from_start = true;
  return std::move(*this);
}

Trial Trial::On(Prepare with) && {
  otherwise = std::move(with);
  return std::move(*this);
}

Trial Trial::In(WorldOptions with) && {
  world = std::move(with);
  return std::move(*this);
}

Trial Trial::Logging(std::vector<std::string> texts) && {
  log = std::move(texts);
  return std::move(*this);
}

Trial Trial::Leaving(const Census& objects) && {
  remains = objects;
  return std::move(*this);
}

Trial Trial::Then(std::function<void(Stage&, Call&)> check) && {
  then = std::move(check);
  return std::move(*this);
}

bool Execute(const Setting& setting, const Trial& trial) {
  Stage stage(trial.world ? *trial.world : setting.world);
  if (trial.plan_from_start) stage.emulation().SetFaults(trial.plan);
  Call call = trial.otherwise ? trial.otherwise(stage) : setting.prepare(stage);
  if (trial.spoil) trial.spoil(stage, call);
  if (!trial.plan_from_start) stage.emulation().SetFaults(trial.plan);
  const int expected = ExpectedCode(setting.row);
  OutParameters outs(call);
  const bool used_up =
      trial.used_up || trial.otherwise != nullptr || outs.used_up();

  Attempt attempt(setting, stage);
  const Census before = TakeCensus(stage.emulation().fabric());
  const int rc = attempt.Make(call, trial);

  if (expected == 0 ||
      (trial.failing_allocation > 0 && !attempt.ran_out_of_memory())) {
    EXPECT_THAT(rc, IsOk());
    ExpectFired(stage, trial.plan, false);
    EXPECT_EQ(attempt.libc_failures(), 0);
    ExpectLog(stage, {});
    return false;
  }
  EXPECT_THAT(rc, RcIs(expected));
  ExpectFired(stage, trial.plan, true);
  EXPECT_EQ(attempt.libc_failures() > 0, trial.failing_libc.has_value());
  if (!used_up) {
    EXPECT_EQ(TakeCensus(stage.emulation().fabric()), before);
    EXPECT_EQ(attempt.gained_memory(), 0) << "memory is leaked";
  }
  outs.ExpectAsDocumented();
  ExpectLog(stage, trial.log);
  stage.emulation().SetFaults("");
  if (outs.used_up()) ExpectRemains(stage, trial.remains);
  TryAgain(setting, trial, used_up, stage, call);
  return true;
}

}  // namespace rpma::test
