// SPDX-License-Identifier: BSD-3-Clause
// The other process, as the survivor sees it.

#ifndef RPMA_TESTS_STRESS_PEER_PROCESS_H_
#define RPMA_TESTS_STRESS_PEER_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "tests/stress/moment.h"
#include "tests/stress/story.h"

namespace rpma::test {

class PeerProcess {
 public:
  // Starts it: this program, with arguments for MainOfPeer().
  PeerProcess(const Story& story, const std::string& port);
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess();

  pid_t pid() const { return pid_; }
  // Readable when there is something to hear.
  int report() const { return report_; }
  // Hears what it says until it says nothing, or is gone.
  void Hear();
  bool is_gone() const { return is_gone_; }
  Step last_step() const { return last_step_; }
  // Waits until it passed `step`. False: it is gone, and has not.
  bool AwaitStep(Step step);

  void Signal(int signal) const;
  // Waits for its end, which is by exit(0) or by SIGKILL: others fail the test.
  // Whether it was killed.
  bool AwaitEnd();

 private:
  pid_t pid_ = 0;
  int report_ = -1;
  bool is_gone_ = false;
  Step last_step_{};
  bool has_passed_[static_cast<size_t>(Step::kNumber)] = {};
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_PEER_PROCESS_H_
