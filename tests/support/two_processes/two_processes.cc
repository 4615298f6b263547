// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/two_processes/two_processes.h"

#include "tests/support/census_guard.h"
#include "tests/support/pages.h"
#include "tests/support/side.h"
#include "tests/support/two_processes/route.h"

namespace rpma::test {
namespace {

int GetCount(uint32_t* count) {
  *count = CountDescriptors();
  return 0;
}

// Less the duplicates here, which the test did not ask for.
uint32_t CountInHelper() {
  uint32_t count = 0;
  two_processes::CallInHelper<&GetCount>("CountDescriptors", &count);
  return count - two_processes::CountKeptDescriptors();
}

constexpr OtherProcess kHelper = {.has = &two_processes::IsFar,
                                  .id = &two_processes::HelperPid,
                                  .count_descriptors = &CountInHelper};

}  // namespace

void StartSecondProcess(two_processes::Elsewhere elsewhere) {
  SharePages();
  two_processes::Start(elsewhere);
  other_process = &kHelper;
}

bool StopSecondProcess() {
  return !two_processes::IsRunning() || two_processes::Stop();
}

}  // namespace rpma::test
