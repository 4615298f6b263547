// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite: what librpma promises, on any transport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/conformance/deviations.h"
#include "tests/conformance/environment.h"
#include "tests/conformance/provider.h"
#include "tests/support/two_processes/two_processes.h"

namespace rpma::test {
namespace {

// As in the table of deviations.
Places WhereTestsRun() {
  if (!ScheduleOptions().empty()) return {"stepped"};
  const std::vector<const Provider*> providers = Providers();
  const bool real = !providers.empty() && !providers.front()->emulated;
  const char* const kind = real ? providers.front()->name : "emulated";
  switch (ProcessesUnderTest()) {
    case Processes::kOne:
      return {kind};
    case Processes::kTwo:
      return real ? Places{kind} : Places{kind, "two processes"};
    case Processes::kElsewhere:
      return {kind, "elsewhere"};
  }
  return {};
}

void StartProcesses() {
  using two_processes::Elsewhere;
  const Processes processes = ProcessesUnderTest();
  if (processes == Processes::kOne) return;
  StartSecondProcess(processes == Processes::kTwo ? Elsewhere::kServer
                                                  : Elsewhere::kAll);
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  if (!rpma::test::ParseFlags(argc, argv)) return 2;
  rpma::test::StartProcesses();
  if (rpma::test::Providers().empty()) {
    std::fprintf(stderr, "no RDMA device has the address %s\n",
                 rpma::test::TestAddress());
    return 2;
  }
  testing::InitGoogleMock(&argc, argv);
  const rpma::test::Places where = rpma::test::WhereTestsRun();
  if (!rpma::test::LeaveOutDeviations(where)) return 2;
  const int status = RUN_ALL_TESTS();
  rpma::test::PrintSums(where);
  return rpma::test::StopSecondProcess() ? status : 1;
}
