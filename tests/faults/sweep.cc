// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/sweep.h"

#include <cstdio>
#include <map>

#include "tests/faults/policy.h"

namespace rpma::faults {
namespace {

// How many failing runs of a sweep are worth reading.
constexpr int kMostFailures = 3;
constexpr uint64_t kSeeds = 2;
// More than any scenario has of anything.
constexpr uint64_t kMostFaults = 100000;

struct Counts {
  uint64_t executions = 0;
  uint64_t fired = 0;
};

// What the program has run, by sweep.
std::map<std::string, Counts>& Totals() {
  static std::map<std::string, Counts> totals;
  return totals;
}

void Print(const char* sweep, const Counts& counts) {
  std::printf("%-36s %8llu scenario executions %8llu faults acted\n", sweep,
              static_cast<unsigned long long>(counts.executions),
              static_cast<unsigned long long>(counts.fired));
}

class Summary : public testing::Environment {
 public:
  void TearDown() override {
    Counts sum;
    for (const auto& [sweep, counts] : Totals()) {
      Print(sweep.c_str(), counts);
      sum.executions += counts.executions;
      sum.fired += counts.fired;
    }
    Print("in all", sum);
  }
};

[[maybe_unused]] testing::Environment* const summary =
    testing::AddGlobalTestEnvironment(new Summary);

std::string ReplayOf(const Scenario& scenario, const Fault& fault,
                     uint64_t seed, bool apart) {
  std::string line = "bazel run //tests/faults:replay -- ";
  line += scenario.name;
  line += " \"" + fault.plan + "\" seed=" + std::to_string(seed);
  if (apart) line += " apart";
  if (fault.allocation != 0) {
    line += fault.and_later ? " allocations=" : " allocation=";
    line += std::to_string(fault.allocation);
  }
  return line;
}

std::string With(const std::string& plan, uint64_t number) {
  std::string with = plan;
  for (size_t at = with.find('#'); at != with.npos; at = with.find('#')) {
    with.replace(at, 1, std::to_string(number));
  }
  return with;
}

}  // namespace

Sweep::Sweep(const char* name, const Scenario& scenario, World world)
    : name_(name), scenario_(scenario), world_(world) {}

Sweep::~Sweep() {
  Counts& totals = Totals()[name_];
  totals.executions += executions_;
  totals.fired += fired_;
  if (!stage_.has_value()) return;
  Findings findings;
  stage_->CheckDescriptors(&findings);
  if (!findings.empty())
    ADD_FAILURE() << scenario_.name << "\n" << findings.text();
}

Stage& Sweep::StageFor(const Fault& fault) {
  const Policy policy = PolicyFor(fault.plan);
  const bool apart = policy.silent || policy.dead != Role::kNone;
  if (!stage_.has_value() || world_ == World::kOwn || apart != apart_) {
    stage_.reset();
    stage_.emplace(scenario_, seed_, apart);
    apart_ = apart;
  }
  return *stage_;
}

Execution Sweep::Run(const Fault& fault) {
  if (failures_ == kMostFailures) return {};
  Stage& stage = StageFor(fault);
  Execution execution = stage.Run(fault);
  ++executions_;
  fired_ += execution.fired;
  if (!execution.findings.empty()) {
    Report(fault, execution.findings);
  } else if (execution.fired != 0 && PolicyFor(fault.plan).heals) {
    ++executions_;
    const Execution healed = stage.Run({});
    if (!healed.findings.empty()) Report(fault, healed.findings);
  }
  return execution;
}

void Sweep::Report(const Fault& fault, const Findings& findings) {
  ADD_FAILURE() << scenario_.name << " under \"" << fault.plan << "\":\n"
                << findings.text()
                << "replay: " << ReplayOf(scenario_, fault, seed_, apart_);
  ++failures_;
  stage_.reset();  // whatever is left there, the next run starts anew
}

uint64_t Sweep::RunUntilNothingFires(const std::string& plan) {
  uint64_t runs = 0;
  const uint64_t seeds = world_ == World::kOwn ? kSeeds : 1;
  for (seed_ = 1; seed_ <= seeds; ++seed_) {
    uint64_t k = 1;
    while (k < kMostFaults && Run({.plan = With(plan, k)}).fired != 0) ++k;
    EXPECT_LT(k, kMostFaults);
    runs += k - 1;
  }
  seed_ = Stage::kDefaultSeed;
  return runs;
}

void Sweep::RunEach(const std::string& plan) {
  EXPECT_GT(RunUntilNothingFires(plan), 0u)
      << scenario_.name << ": \"" << plan << "\" never fires";
}

void Sweep::RunAny(const std::string& plan) { RunUntilNothingFires(plan); }

std::string NameOf(const testing::TestParamInfo<Scenario>& info) {
  return info.param.name;
}

}  // namespace rpma::faults
