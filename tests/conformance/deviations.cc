// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/deviations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/environment.h"

namespace rpma::test {
namespace {

struct Deviation {
  std::string_view where;
  const char* suite;
  const char* test;    // "*": all of the suite
  const char* reason;  // what happens there, and why that is allowed
};

constexpr char kSleeps[] =
    "a wait makes steps, and fails when none is left; it never sleeps, so no "
    "signal interrupts it";
constexpr char kAnyOrder[] =
    "which of several clients comes first is up to the seed";

// rxe_completer() of drivers/infiniband/sw/rxe/rxe_comp.c never counts down a
// retry count of 7, which is what librpma asks for, as librpma 1.3.0 did.
constexpr char kRetriesForEver[] =
    "sends a request again for ever if nobody answers: it takes the retry "
    "count of 7 for no limit";

constexpr char kCopiesBytes[] =
    "copies a WRITE byte by byte; the specification promises no more, only an "
    "ATOMIC WRITE is one store";

// siw, as seen with Linux 6.1.
constexpr char kLateRequests[] =
    "what is posted after the connection ended is refused or never completes";
constexpr char kOwnFailure[] =
    "a request that fails on its own side leaves the receives there "
    "outstanding";
constexpr char kRefusedAtOnce[] =
    "where nobody listens the TCP connection is refused within rdma_connect(), "
    "so that rpma_conn_req_connect() fails and no event tells it";
constexpr char kNoBuffer[] = "a receive without a buffer is refused";
constexpr char kReadRights[] =
    "neither the right to read the source of a READ nor that to write its "
    "destination is checked";

// Where sides of tests live in another process.
constexpr char kUnsharedMemory[] =
    "registers memory that only the test's process has";

constexpr Deviation kDeviations[] = {
    {"elsewhere", "ForkTest", "RegistrationsDoNotSplitTheAddressSpace",
     kUnsharedMemory},
    {"elsewhere", "LateReadTest", "ReadSeesWhatALaterWriteBrings",
     "two calls may be further apart than a READ is late"},
    {"elsewhere", "LimitsTest", "RegionBeyondTheDeviceIsRefused",
     kUnsharedMemory},
    {"elsewhere", "UtilsTest", "ContextIsGenuine",
     "looks into the context of a device, which the other process has"},
    {"elsewhere", "WriteTest", "ReadOnlyMemoryCanBeTheSource", kUnsharedMemory},
    {"two processes", "ConnectionTest", "QpNumbersOfADeviceDiffer",
     "each process has an emulated device of its own, which numbers its queue "
     "pairs"},
    {"two processes", "SrqFairnessTest", "FloodDoesNotStarveOtherClients",
     "whose message gets the next receive of a shared queue follows from when "
     "it arrives and is sent again, as between hosts"},
    {"stepped", "EventsTest", "SignalsInterruptTheWaitForARequest", kSleeps},
    {"stepped", "EventsTest", "SignalsInterruptTheWaitForAnEvent", kSleeps},
    {"stepped", "EventsTest", "SignalsInterruptTheWaitForACompletion", kSleeps},
    {"stepped", "EventsTest", "SignalsInterruptTheWaitOnASharedChannel",
     kSleeps},
    {"stepped", "ConcurrencyTest", "ThreadsMayWaitForOneQueue",
     "its main thread waits for the others outside of librpma, and they for "
     "what it posts then"},
    {"stepped", "ConcurrencyTest",
     "PollerSeesTheBytesBeforeTheFlagThatFollowsThem",
     "a thread that only looks at its memory makes no steps"},
    {"stepped", "LimitsTest", "AcceptingGoesOnOnceDescriptorsAreFree",
     kAnyOrder},
    {"stepped", "SrqFairnessTest", "FloodDoesNotStarveOtherClients", kAnyOrder},
    {"rxe", "AtomicWriteTest", "ReadersSeeTheOldOrTheNewWord", kCopiesBytes},
    {"rxe", "ConcurrencyTest", "ConnectionMayEndWhileTheOtherSideWrites",
     kRetriesForEver},
    {"rxe", "ConnectionTest", "ClientThatDisconnectsBeforeItsAnswerIsLost",
     "the server hears of it only when its REP has been sent again for "
     "minutes"},
    {"rxe", "QueueTest", "RequestsToAPeerThatIsGoneFailInOrder",
     kRetriesForEver},
    {"rxe", "QueueTest", "RequestsToADeletedConnectionFail", kRetriesForEver},
    {"rxe", "QueueTest", "MessageThatWaitsForAReceiveFailsWhenThePeerIsDeleted",
     kRetriesForEver},
    {"rxe", "StatusTest", "SideThatDidNotFailLearnsOfItWhenItSends",
     kRetriesForEver},
    {"rxe", "TeardownTest", "SendOfTheServerFailsAfterTheClientDisconnected",
     kRetriesForEver},
    {"rxe", "TeardownTest", "SendOfTheClientFailsAfterTheServerDisconnected",
     kRetriesForEver},
    {"rxe", "TeardownTest", "InitiatorIsClosedEvenIfTheOtherSideStaysSilent",
     "passes, but takes the 100 s that a DREQ is sent again"},
    {"rxe", "SrqFairnessTest", "FloodDoesNotStarveOtherClients",
     "whose message gets the next receive of a shared queue follows from the "
     "RNR timers of the clients, which no specification orders"},
    {"siw", "AtomicWriteTest", "ReadersSeeTheOldOrTheNewWord", kCopiesBytes},
    {"siw", "CommitTest", "NothingIsCommittedIfTheFlushFailed", kLateRequests},
    {"siw", "ConcurrencyTest", "ConnectionMayEndWhileTheOtherSideWrites",
     kLateRequests},
    {"siw", "ConcurrencyTest", "NothingIsWrittenOnceDeregisteringReturned",
     kLateRequests},
    {"siw", "ConnectionTest", "AfterARejectionTheNextRequestSucceeds",
     kRefusedAtOnce},
    {"siw", "ConnectionTest", "PortWithoutListenerRejects", kRefusedAtOnce},
    {"siw", "ConnectionTest", "ReceivesOfARejectedConnectionAreFlushed",
     kRefusedAtOnce},
    {"siw", "SendTest", "EmptyMessageMayTouchNoMemory", kNoBuffer},
    {"siw", "StatusTest", "AccessToAWrongRemoteRegionFailsBothSides",
     "a READ that is refused leaves the receives of the other side "
     "outstanding"},
    {"siw", "StatusTest", "MessageForAReceiveWithoutABufferFailsBothSides",
     kNoBuffer},
    {"siw", "StatusTest", "MessageOfAnotherPeerFailsTheRequesterAlone",
     kOwnFailure},
    {"siw", "StatusTest", "SourceOfAnotherPeerFailsTheRequesterAlone",
     kOwnFailure},
    {"siw", "StatusTest", "SideThatDidNotFailLearnsOfItWhenItSends",
     kLateRequests},
    {"siw", "TeardownTest", "SendOfTheClientFailsAfterTheServerDisconnected",
     kLateRequests},
    {"siw", "TeardownTest", "SendOfTheServerFailsAfterTheClientDisconnected",
     kLateRequests},
    {"siw", "UsageTest", "DestinationOfAReadMustBeWritable", kReadRights},
    {"siw", "UsageTest", "SourceOfAReadMustBeReadable", kReadRights},
    {"siw", "PrivateDataTest", "RequestBeyondTheLimitIsRefusedAndConsumed",
     "it is sent with a length that wraps around, and gets lost"},
};

// What follows the first '/' of `name`, or all of it.
std::string_view WithoutPrefix(std::string_view name) {
  return name.substr(name.find('/') + 1);
}

std::string_view WithoutParameter(std::string_view name) {
  return name.substr(0, name.find('/'));
}

bool Contains(const Places& places, std::string_view place) {
  return std::ranges::find(places, place) != places.end();
}

// Whether a test is left out in one of the places. What deviates elsewhere may
// be tests that no real device has.
bool IsLeftOut(const Deviation& deviation, const Places& where) {
  if (!Contains(where, deviation.where)) return false;
  return TransportUnderTest() != "verbs" || deviation.where != "elsewhere" ||
         !NamesOf(deviation.suite, deviation.test).empty();
}

}  // namespace

std::vector<std::string> NamesOf(std::string_view suite,
                                 std::string_view test) {
  std::vector<std::string> names;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& candidate = *all.GetTestSuite(i);
    if (WithoutPrefix(candidate.name()) != suite) continue;
    for (int k = 0; k < candidate.total_test_count(); ++k) {
      const char* const name = candidate.GetTestInfo(k)->name();
      if (test != "*" && WithoutParameter(name) != test) continue;
      names.push_back(std::string(candidate.name()) + "." + name);
    }
  }
  return names;
}

bool LeaveOutDeviations(const Places& where) {
  std::string filter = GTEST_FLAG_GET(filter);
  char before = filter.find('-') == filter.npos ? '-' : ':';
  for (const Deviation& deviation : kDeviations) {
    if (!IsLeftOut(deviation, where)) continue;
    const std::vector<std::string> names =
        NamesOf(deviation.suite, deviation.test);
    if (names.empty()) {
      std::fprintf(stderr, "there is no %s.%s to leave out\n", deviation.suite,
                   deviation.test);
      return false;
    }
    for (const std::string& name : names) {
      filter += before + name;
      before = ':';
    }
  }
  // A device is one provider, so some suites are for others.
  if (TransportUnderTest() == "verbs") {
    filter += before + std::string("GoogleTestVerification.*");
  }
  GTEST_FLAG_SET(filter, filter);
  return true;
}

void PrintSums(const Places& where) {
  int left_out = 0;
  for (const Deviation& deviation : kDeviations) {
    if (!IsLeftOut(deviation, where)) continue;
    ++left_out;
    std::printf("left out: %s.%s: %s\n", deviation.suite, deviation.test,
                deviation.reason);
  }
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  std::printf("%d passed, %d failed, %d left out\n",
              all.successful_test_count(), all.failed_test_count(), left_out);
}

}  // namespace rpma::test
