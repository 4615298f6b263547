// SPDX-License-Identifier: BSD-3-Clause
// What the command line says about the transport under test:
//
//   conformance_test [--transport=emulator|verbs] [--address=ADDRESS]
//                    [--stepped=SEED] [--processes=1|2|elsewhere]
//                    [GoogleTest's flags]
//
// With --stepped the emulator's worlds are stepped: the seed orders what
// happens. Tests that no such world can run are left out, which is said.
//
// With --processes=2 the server's side of each test lives in a second process.
// With "elsewhere" the client's does, too: the two sides meet there as they do
// in one process, but all calls cross.

#ifndef RPMA_TESTS_CONFORMANCE_ENVIRONMENT_H_
#define RPMA_TESTS_CONFORMANCE_ENVIRONMENT_H_

#include <string>
#include <string_view>

namespace rpma::test {

// Reads the flags that are not GoogleTest's, before it reads its own: which
// tests there are follows from the transport. False, after saying why on
// stderr, if the suite cannot run as asked.
bool ParseFlags(int argc, char** argv);

// "emulator" or "verbs".
std::string_view TransportUnderTest();

// An address of this host with a device behind it: --address, or for verbs
// RPMA_ADDRESS of the environment. Tests play both sides.
const char* TestAddress();

// What makes a fabric of the emulator as the command line says; "": nothing.
std::string ScheduleOptions();

// In how many processes the sides of a test live.
enum class Processes { kOne, kTwo, kElsewhere };
Processes ProcessesUnderTest();

// What makes a fabric of the emulator one that both processes share; "": they
// share none.
std::string SharingOptions();

// The first of the ports that a test may listen on. Shards, which may run at
// once on one device, have ranges of their own.
int FirstPort();

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_ENVIRONMENT_H_
