// SPDX-License-Identifier: BSD-3-Clause
// The cases: how the error of each row of the table is brought about.

#ifndef RPMA_TESTS_ERRORS_CASES_H_
#define RPMA_TESTS_ERRORS_CASES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/errors/table.h"
#include "tests/errors/trial.h"

namespace rpma::test {

// Executes a row, with expectations of GoogleTest.
using Case = std::function<void()>;

// --- Trials ------------------------------------------------------------------

// One argument is NULL, or a number that is wrong. The message names it.
Trial WithNull(const std::string& name);
Trial WithNumber(const std::string& name, int64_t number);
// A provider call fails. The message names it and the errno (0: no reason).
Trial Failing(const std::string& call, int error = EIO);
// The k-th provider call of a name fails.
Trial FailingNth(const std::string& call, int k);
// The plan makes it fail; the message contains `log`, or there is none.
Trial WithPlan(const std::string& plan, const std::string& log);
// A call prepared like this fails; the message contains `log`, or there is none
// if that is empty.
Trial Otherwise(Prepare prepare, const std::string& log);

// A destroying call fails whose handle the caller has lost: once with the
// object alive, so that `remains` are left and the destruction of what it pins
// fails as well, with messages that contain `pinned`; once with the object
// gone all the same.
std::vector<Trial> FailingToDestroy(const std::string& call,
                                    const Census& remains,
                                    const std::vector<std::string>& pinned);

// --- Cases -------------------------------------------------------------------

class CasesOf;

class Registry {
 public:
  // All of them, from the files cases_of_*.cc.
  static const Registry& Get();

  const std::map<Row, Case>& cases() const { return cases_; }
  // Rows for which more than one case was added.
  const std::vector<Row>& twice() const { return twice_; }

  // The cases of one function, to be added: calls of it are made by `prepare`,
  // and then succeed, in such a world.
  CasesOf Of(const std::string& function, Prepare prepare,
             WorldOptions world = {});
  void Add(const Row& row, Case one);

 private:
  std::map<Row, Case> cases_;
  std::vector<Row> twice_;
};

class CasesOf {
 public:
  CasesOf(Registry& registry, const std::string& function, Prepare prepare,
          WorldOptions world);

  // RPMA_E_INVAL for an argument, as the cause says: "null:NAME", "zero:NAME"
  // or "flags:zero"; "null:NAME if:A!=NULL|B!=0|..." for each of the
  // alternatives, in which all others of these arguments are NULL or 0.
  CasesOf& Inval(const std::vector<std::string>& causes);
  // RPMA_E_PROVIDER for provider calls that fail: "call:NAME", more may follow
  // after a space.
  CasesOf& Provider(const std::vector<std::string>& causes);
  // RPMA_E_NOMEM for every allocation of the call, in each of the trials.
  CasesOf& OutOfMemory(const std::vector<Trial>& trials = {Trial()});
  // Anything else.
  CasesOf& Add(const std::string& error, const std::string& cause,
               std::vector<Trial> trials);
  CasesOf& Add(const std::string& error, const std::string& cause,
               Trial trial) {
    return Add(error, cause, std::vector<Trial>{std::move(trial)});
  }

 private:
  Registry& registry_;
  const std::string function_;
  const Prepare prepare_;
  const WorldOptions world_;
};

// One for each file.
void AddPeerCases(Registry& registry);
void AddMemoryCases(Registry& registry);
void AddConfigurationCases(Registry& registry);
void AddEndpointCases(Registry& registry);
void AddRequestCases(Registry& registry);
void AddConnectionCases(Registry& registry);
void AddOperationCases(Registry& registry);
void AddCompletionCases(Registry& registry);
void AddSharedQueueCases(Registry& registry);
void AddUtilityCases(Registry& registry);

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_CASES_H_
