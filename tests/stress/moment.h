// SPDX-License-Identifier: BSD-3-Clause
// The moment at which a peer dies.

#ifndef RPMA_TESTS_STRESS_MOMENT_H_
#define RPMA_TESTS_STRESS_MOMENT_H_

#include <cstddef>

#include "tests/stress/story.h"

namespace rpma::test {

// The steps of a peer's life, as it reports them. Some come again and again.
enum class Step : unsigned char {
  kStarted = 1,
  kResolved,
  kRegistered,
  kListening,
  kRequesting,  // has a request, outgoing or incoming
  kPosted,      // its receives
  kConnecting,
  kEstablished,
  kOperating,  // a request is posted
  kCompleted,
  kDisconnecting,
  kClosed,
  kDeleted,
  kNumber
};
const char* NameOf(Step step);

// In a peer that is to die at a system call: splits off the process that counts
// its calls and kills it. Returns in the process that lives, and dies. Other
// peers just go on. `report` is closed in the other process.
void BeWatched(const Story& story, int report);

// A peer's death. The descriptor `report` is told of each step.
class Moment {
 public:
  Moment(const Story& story, int report);

  void Pass(Step step);

 private:
  void Die() const;

  const Story& story_;
  const int report_;
  size_t passed_ = 0;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_MOMENT_H_
