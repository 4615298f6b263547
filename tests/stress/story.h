// SPDX-License-Identifier: BSD-3-Clause
// What two processes do with each other until one of them dies, drawn by seed.

#ifndef RPMA_TESTS_STRESS_STORY_H_
#define RPMA_TESTS_STRESS_STORY_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "emulator/random.h"

namespace rpma::test {

enum class Operation {
  kNothing,
  kWrite,
  kRead,
  kSend,
  kFlush,
  kAtomicWrite,
};

enum class Death {
  kNone,        // it does all that it has to do, and exits
  kStep,        // is killed after a step
  kCall,        // is killed in a call of the provider
  kSystemCall,  // is killed when it enters or leaves a system call
  kDelay,       // is killed some time after a step
  kExit,        // exits after a step, and deletes nothing
  kExec,        // executes another program after a step
};

struct Story {
  bool peer_listens = false;
  Death death = Death::kNone;
  size_t moment = 0;    // the number of the step or call, from 1
  size_t delay_us = 0;  // after the step

  Operation of_peer = Operation::kWrite;  // kNothing: it waits for the end
  size_t peer_size = 64;
  bool peer_polls = false;    // else it sleeps until a completion comes
  bool peer_receives = true;  // false: what is sent to it finds no receive
  Operation of_survivor = Operation::kNothing;
  size_t survivor_size = 64;
  bool survivor_goes_on = false;  // it posts when the peer is gone
};

Story DrawStory(emu::Random& random);

// As an argument of a program, and back.
std::string ToText(const Story& story);
Story StoryFrom(const std::string& text);

// For a message.
void PrintTo(const Story& story, std::ostream* out);

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_STORY_H_
