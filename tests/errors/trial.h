// SPDX-License-Identifier: BSD-3-Clause
// One way to bring about the error of a row, and what is checked then.

#ifndef RPMA_TESTS_ERRORS_TRIAL_H_
#define RPMA_TESTS_ERRORS_TRIAL_H_

#include <librpma_emu.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/errors/call.h"
#include "tests/errors/libc_fault.h"
#include "tests/errors/stage.h"
#include "tests/errors/table.h"

namespace rpma::test {

// Makes, on a stage, all that a call needs to succeed, and the call.
using Prepare = std::function<Call(Stage &)>;

struct Trial {
  // Makes the call wrong; it is put right again for the next attempt.
  std::function<void(Stage &, Call &)> spoil = {};
  // Makes the call in a state in which it fails; the next attempt is another
  // call, which should succeed.
  Prepare otherwise = {};
  // The world, if it is not the usual one of the function.
  std::optional<WorldOptions> world = {};
  // The faults of the fabric during the call. Each rule must fire, unless the
  // call should succeed: then none may.
  std::string plan = {};
  // The faults are those of the network: they are there already while the call
  // is prepared.
  bool plan_from_start = false;
  // The allocation of librpma that fails, from 1.
  uint64_t failing_allocation = 0;
  // The function of libc that fails.
  std::optional<LibcFunction> failing_libc = {};

  // What the messages of level ERROR contain: one text for each, in which "..."
  // stands for anything.
  std::vector<std::string> log = {};
  // The call used up what it needs, even though it failed.
  bool used_up = false;
  // What is left, as its destruction failed, and what that pins.
  Census remains = {};
  // Further checks of what the failed call left.
  std::function<void(Stage &, Call &)> then = {};

  // For writing a trial down.
  Trial UsedUp() &&;
  Trial FromTheStart() &&;
  Trial On(Prepare with) &&;
  Trial In(WorldOptions world) &&;
  Trial Logging(std::vector<std::string> texts) &&;
  Trial Leaving(const Census &objects) &&;
  Trial Then(std::function<void(Stage &, Call &)> check) &&;
};

// What a row of the table says about a call of its function, and where.
struct Setting {
  Row row;
  Prepare prepare;
  WorldOptions world;
};

// Tries it: the call must give the code of the row, or what we decided in its
// place; leave out-parameters as the page says; leak no object, descriptor or
// memory; log as the trial says; allocate nothing unless the function can give
// RPMA_E_NOMEM; and the next attempt must succeed. False if the allocation that
// should fail did not exist; then the call must have succeeded.
bool Execute(const Setting &setting, const Trial &trial);

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_TRIAL_H_
