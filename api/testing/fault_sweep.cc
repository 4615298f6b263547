// SPDX-License-Identifier: BSD-3-Clause
// The sweep: a run for each fault.

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "api/rpma_testing.h"
#include "api/testing/fault_run.h"

namespace rpma_testing {
namespace {

constexpr std::string_view kNumber = "%k";

// The rule with `k` in place of each "%k".
std::string WithNumber(std::string rule, uint64_t k) {
  const std::string number = std::to_string(k);
  size_t at = 0;
  while ((at = rule.find(kNumber, at)) != std::string::npos) {
    rule.replace(at, kNumber.size(), number);
    at += number.size();
  }
  return rule;
}

std::string NameOfTest() {
  const ::testing::TestInfo* test =
      ::testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return "*";
  return std::string(test->test_suite_name()) + "." + test->name();
}

// Under which plan a failure came about, and how to see it again.
std::string PlanAndReplay(const std::string& plan, const std::string& fabric) {
  const std::string where = " on a fabric \"" + fabric + "\"";
  if (plan.empty()) return "Without any fault" + where + ".\n";
  return "Under this plan of faults" + where + ":\n  " + plan +
         "\nTo repeat it, write the plan into a file and run this program "
         "with\n  RPMA_EMU_FAULTS=FILE and --gtest_filter=" +
         NameOfTest() + "\n";
}

void Report(const FailedPlan& failed, const std::string& fabric,
            const std::vector<Failure>& failures) {
  const std::string end = "\n" + PlanAndReplay(failed.plan, fabric) +
                          "librpma logged:\n" + failed.log;
  for (const Failure& failure : failures) {
    const bool placed = !failure.file.empty();
    ADD_FAILURE_AT(placed ? failure.file.c_str() : nullptr,
                   placed ? failure.line : -1)
        << failure.text << end;
  }
}

class Sweep {
 public:
  Sweep(const std::function<void()>& scenario, const FaultSweepOptions& options)
      : scenario_(scenario), options_(options) {}

  FaultSweepResult Run() {
    const char* file = std::getenv("RPMA_EMU_FAULTS");
    if (file != nullptr && *file != '\0') {
      TryPlanIn(file);
    } else if (!TryPlan("").failed) {
      for (const std::string& rule : options_.rules) TryRule(rule);
    }
    if (result_.failures.empty() && result_.fired == 0 && result_.runs != 0) {
      ADD_FAILURE() << "no fault fired: nothing that the scenario does on the "
                       "emulated network could suffer one";
    }
    return std::move(result_);
  }

 private:
  struct Tried {
    bool failed = false;
    bool fired = false;
  };

  void TryPlanIn(const char* path) {
    std::ifstream file(path);
    std::stringstream plan;
    plan << file.rdbuf();
    if (file.good()) {
      TryPlan(plan.str(), true);
    } else {
      ADD_FAILURE() << path << ", the value of RPMA_EMU_FAULTS, is no file "
                    << "that can be read";
    }
  }

  void TryRule(const std::string& rule) {
    const bool numbered = rule.find(kNumber) != std::string::npos;
    for (uint64_t k = 1; MayGoOn(); ++k) {
      const bool fired = TryPlan(WithNumber(rule, k)).fired;
      if (!fired && k == 1) result_.unfired.push_back(rule);
      if (!fired || !numbered) break;
    }
  }

  bool MayGoOn() {
    if (result_.failures.size() >= options_.max_failures) return false;
    if (result_.runs < options_.max_runs) return true;
    if (!std::exchange(cut_off_, true)) {
      ADD_FAILURE() << "the sweep was not over after " << result_.runs
                    << " runs, its max_runs";
    }
    return false;
  }

  Tried TryPlan(const std::string& plan, bool echo_to_stderr = false) {
    const RunOutcome outcome =
        RunUnderPlan(scenario_, options_, plan, echo_to_stderr);
    const bool fired = outcome.fired != 0;
    ++result_.runs;
    if (fired) ++result_.fired;
    if (outcome.failures.empty()) return {.fired = fired};

    FailedPlan failed = {.plan = plan, .log = outcome.log};
    for (const Failure& failure : outcome.failures) {
      failed.failures.push_back(failure.text);
    }
    if (options_.report || !fired) {
      Report(failed, options_.fabric, outcome.failures);
    }
    result_.failures.push_back(std::move(failed));
    return {.failed = true, .fired = fired};
  }

  const std::function<void()>& scenario_;
  const FaultSweepOptions& options_;
  FaultSweepResult result_;
  bool cut_off_ = false;
};

}  // namespace

void PrintTo(const FailedPlan& failed, std::ostream* out) {
  *out << "\"" << failed.plan << "\":\n";
  for (const std::string& failure : failed.failures) *out << failure << "\n";
  *out << "librpma logged:\n" << failed.log;
}

FaultSweepResult ForEachFault(const std::function<void()>& scenario,
                              const FaultSweepOptions& options) {
  return Sweep(scenario, options).Run();
}

}  // namespace rpma_testing
