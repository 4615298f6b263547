// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the core's classes share: a mocked transport with a peer on
// it, the log, and the sweep over failing calls.

#ifndef RPMA_TESTS_UNIT_CORE_CORE_TEST_H_
#define RPMA_TESTS_UNIT_CORE_CORE_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/mr_local.h"
#include "core/mr_remote.h"
#include "core/peer.h"
#include "core/rc.h"
#include "tests/support/mock_transport.h"

namespace rpma::test {

// Takes the messages of librpma's log, one guard at a time.
class LogLines {
 public:
  LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  ~LogLines();

  // The messages since the last Take(), without the newline, each after the
  // letter of its level: "E", "W" and so on.
  std::vector<std::string> Take();
};

class CoreTest : public ::testing::Test {
 protected:
  CoreTest();
  ~CoreTest() override;

  // Creates a peer with what `transport.caps` says at this time.
  std::unique_ptr<Peer> MakePeer();

  // A region of `size` bytes at `address`, which is never touched.
  static std::unique_ptr<MrLocal> MakeLocal(const Peer& peer, uintptr_t address,
                                            size_t size, int usage = 0xFF);
  static std::unique_ptr<MrRemote> MakeRemote(uint64_t address, uint64_t size,
                                              uint32_t rkey,
                                              uint8_t usage = 0xFF);

  // Calls `create`, a function from std::unique_ptr<T>* to Rc, with the first
  // provider call failing, then the second, until it succeeds. Each failure
  // must be reported as kProvider, be logged, make nothing, and leave alive
  // nothing that was not there before. Returns how many calls failed.
  template <typename T, typename Create>
  size_t SweepFailures(Create create);

  LogLines log;
  ::testing::NiceMock<MockTransport> transport;
};

template <typename T, typename Create>
size_t CoreTest::SweepFailures(Create create) {
  const size_t live_before = transport.live();
  for (size_t k = 1;; ++k) {
    transport.ForgetCalls();
    transport.FailCall(k, Errno{EIO});
    std::unique_ptr<T> object;
    const Rc rc = create(&object);
    transport.FailCall(0, Errno::kOk);
    if (rc == Rc::kOk) {
      EXPECT_NE(object, nullptr);
      EXPECT_THAT(log.Take(), ::testing::IsEmpty());
      return k - 1;
    }
    SCOPED_TRACE("failed call: " + transport.calls()[k - 1]);
    EXPECT_EQ(rc, Rc::kProvider);
    EXPECT_EQ(object, nullptr);
    EXPECT_EQ(transport.live(), live_before);
    EXPECT_THAT(log.Take(),
                ::testing::ElementsAre(::testing::AllOf(
                    ::testing::StartsWith("E"),
                    ::testing::HasSubstr("failed: Input/output error"))));
  }
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_UNIT_CORE_CORE_TEST_H_
