// SPDX-License-Identifier: BSD-3-Clause
// Waiting that SIGINT and SIGTERM end.

#ifndef RPMA_TOOLS_QUICKSTART_SIGNALS_H_
#define RPMA_TOOLS_QUICKSTART_SIGNALS_H_

#include <csignal>
#include <initializer_list>

namespace rpma::quickstart {

// Turns the two signals from something that kills the process anywhere into a
// Failure thrown where the program looks for it, so that destructors run.
class Signals {
 public:
  // Blocks the signals in this thread and in those that it starts later.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Throws if a signal has arrived.
  void Check() const;

  // Waits until one of `fds` is readable and returns it, the first one if
  // several are. Throws if a signal arrives.
  int WaitReadable(std::initializer_list<int> fds) const;

 private:
  sigset_t previous_;
  int fd_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_SIGNALS_H_
