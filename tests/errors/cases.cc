// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/cases.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <utility>

namespace rpma::test {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

// Of "KIND:WORD if:CONDITION": the word and the condition.
std::string WordOf(const std::string& cause) {
  const size_t begin = cause.find(':') + 1;
  return cause.substr(begin, cause.find(' ') - begin);
}

std::string ConditionOf(const std::string& cause) {
  const size_t begin = cause.find(" if:");
  return begin == std::string::npos ? "" : cause.substr(begin + 4);
}

// "src!=NULL" and "len!=0" name src and len.
std::string NameIn(const std::string& comparison) {
  return comparison.substr(0, comparison.find("!="));
}

// `name` is NULL, and of those in `alternatives` all but the i-th are NULL or
// 0.
Trial WithNullAndOnly(const std::string& name,
                      const std::vector<std::string>& alternatives, size_t i) {
  return {.spoil =
              [=](Stage&, Call& call) {
                call.SetNull(name);
                for (size_t j = 0; j < alternatives.size(); ++j) {
                  if (j != i) call.SetNothing(NameIn(alternatives[j]));
                }
              },
          .log = {name}};
}

std::vector<Trial> TrialsOfArgument(const std::string& cause) {
  if (cause == "flags:zero") return {WithNumber("flags", 0)};
  const std::string name = WordOf(cause);
  if (cause.starts_with("zero:")) return {WithNumber(name, 0)};
  const std::vector<std::string> alternatives = Split(ConditionOf(cause), '|');
  std::vector<Trial> trials = {WithNull(name)};
  for (size_t i = 0; i < alternatives.size(); ++i) {
    trials.push_back(WithNullAndOnly(name, alternatives, i));
  }
  return trials;
}

const char* NameOfErrno(int error) {
  return error == 0 ? "none" : strerrorname_np(error);
}

const char* TextOfErrno(int error) {
  return error == 0 ? "no reason" : strerrordesc_np(error);
}

void FailEveryAllocation(const Setting& setting, Trial trial) {
  trial.log = {"out of memory"};
  do {
    ++trial.failing_allocation;
  } while (Execute(setting, trial));
  EXPECT_GT(trial.failing_allocation, 1u) << "it allocates nothing";
}

}  // namespace

Trial WithNull(const std::string& name) {
  return {.spoil = [=](Stage&, Call& call) { call.SetNull(name); },
          .log = {name}};
}

Trial WithNumber(const std::string& name, int64_t number) {
  return {.spoil = [=](Stage&, Call& call) { call.SetNumber(name, number); },
          .log = {name}};
}

Trial Failing(const std::string& call, int error) {
  return WithPlan("fail " + call + " errno=" + NameOfErrno(error),
                  call + "..." + TextOfErrno(error));
}

Trial FailingNth(const std::string& call, int k) {
  return WithPlan("fail " + call + " nth=" + std::to_string(k),
                  call + "..." + TextOfErrno(EIO));
}

Trial WithPlan(const std::string& plan, const std::string& log) {
  Trial trial = {.plan = plan};
  if (!log.empty()) trial.log = {log};
  return trial;
}

Trial Otherwise(Prepare prepare, const std::string& log) {
  Trial trial = {.otherwise = std::move(prepare)};
  if (!log.empty()) trial.log = {log};
  return trial;
}

std::vector<Trial> FailingToDestroy(const std::string& call,
                                    const Census& remains,
                                    const std::vector<std::string>& pinned) {
  Trial alive = Failing(call);
  alive.log.insert(alive.log.end(), pinned.begin(), pinned.end());
  alive.remains = remains;
  return {alive, WithPlan("fail " + call + " outcome=freed", call)};
}

const Registry& Registry::Get() {
  static const Registry* const kRegistry = [] {
    auto* const registry = new Registry;
    AddPeerCases(*registry);
    AddMemoryCases(*registry);
    AddConfigurationCases(*registry);
    AddEndpointCases(*registry);
    AddRequestCases(*registry);
    AddConnectionCases(*registry);
    AddOperationCases(*registry);
    AddCompletionCases(*registry);
    AddSharedQueueCases(*registry);
    AddUtilityCases(*registry);
    return registry;
  }();
  return *kRegistry;
}

CasesOf Registry::Of(const std::string& function, Prepare prepare,
                     WorldOptions world) {
  return CasesOf(*this, function, std::move(prepare), std::move(world));
}

void Registry::Add(const Row& row, Case one) {
  if (!cases_.emplace(row, std::move(one)).second) twice_.push_back(row);
}

CasesOf::CasesOf(Registry& registry, const std::string& function,
                 Prepare prepare, WorldOptions world)
    : registry_(registry),
      function_(function),
      prepare_(std::move(prepare)),
      world_(std::move(world)) {}

CasesOf& CasesOf::Inval(const std::vector<std::string>& causes) {
  for (const std::string& cause : causes) {
    Add("RPMA_E_INVAL", cause, TrialsOfArgument(cause));
  }
  return *this;
}

CasesOf& CasesOf::Provider(const std::vector<std::string>& causes) {
  for (const std::string& cause : causes) {
    Add("RPMA_E_PROVIDER", cause, Failing(WordOf(cause)));
  }
  return *this;
}

CasesOf& CasesOf::OutOfMemory(const std::vector<Trial>& trials) {
  const Setting setting = {
      {function_, "RPMA_E_NOMEM", "oom"}, prepare_, world_};
  registry_.Add(setting.row, [=] {
    for (const Trial& trial : trials) FailEveryAllocation(setting, trial);
  });
  return *this;
}

CasesOf& CasesOf::Add(const std::string& error, const std::string& cause,
                      std::vector<Trial> trials) {
  const Setting setting = {{function_, error, cause}, prepare_, world_};
  registry_.Add(setting.row, [=] {
    for (size_t i = 0; i < trials.size(); ++i) {
      SCOPED_TRACE("trial " + std::to_string(i + 1) + " of " +
                   std::to_string(trials.size()));
      Execute(setting, trials[i]);
    }
  });
  return *this;
}

}  // namespace rpma::test
