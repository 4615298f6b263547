// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/story.h"

#include <array>
#include <sstream>

namespace rpma::test {
namespace {

constexpr size_t kLarge = 1 << 20;
constexpr size_t kOfAll = 100;
constexpr const char* kOperations[] = {"nothing", "write", "read",
                                       "send",    "flush", "atomic write"};
constexpr const char* kDeaths[] = {"none",  "step", "call", "system call",
                                   "delay", "exit", "exec"};

// In percent. The moments go beyond what most peers do in their lives: those
// that outlive them are a few.
struct Share {
  Death death;
  size_t percent;
  size_t moments;
};
constexpr Share kShares[] = {
    {Death::kStep, 30, 30},        {Death::kCall, 22, 80},
    {Death::kSystemCall, 25, 400}, {Death::kDelay, 15, 25},
    {Death::kExit, 5, 25},         {Death::kExec, 3, 25},
};

const Share& DrawShare(emu::Random& random) {
  size_t percent = random.Below(kOfAll);
  const Share* share = kShares;
  for (; percent >= share->percent; ++share) percent -= share->percent;
  return *share;
}

size_t DrawSize(emu::Random& random) {
  return random.Below(2) == 0 ? 1 + random.Below(4096) : kLarge;
}

bool DrawBool(emu::Random& random) { return random.Below(2) == 0; }

}  // namespace

Story DrawStory(emu::Random& random) {
  Story story;
  const Share& share = DrawShare(random);
  story.peer_listens = DrawBool(random);
  story.death = share.death;
  story.moment = 1 + random.Below(share.moments);
  story.delay_us = random.Below(2000);
  story.of_peer = static_cast<Operation>(1 + random.Below(5));
  story.peer_size = DrawSize(random);
  story.peer_polls = DrawBool(random);
  story.peer_receives = random.Below(4) != 0;
  story.of_survivor = DrawBool(random)
                          ? Operation::kNothing
                          : static_cast<Operation>(1 + random.Below(5));
  story.survivor_size = DrawSize(random);
  story.survivor_goes_on = DrawBool(random);
  return story;
}

std::string ToText(const Story& story) {
  std::ostringstream text;
  text << story.peer_listens << ' ' << static_cast<int>(story.death) << ' '
       << story.moment << ' ' << story.delay_us << ' '
       << static_cast<int>(story.of_peer) << ' ' << story.peer_size << ' '
       << story.peer_polls << ' ' << story.peer_receives << ' '
       << static_cast<int>(story.of_survivor) << ' ' << story.survivor_size
       << ' ' << story.survivor_goes_on;
  return text.str();
}

Story StoryFrom(const std::string& text) {
  std::istringstream in(text);
  Story story;
  int death = 0;
  int of_peer = 0;
  int of_survivor = 0;
  in >> story.peer_listens >> death >> story.moment >> story.delay_us >>
      of_peer >> story.peer_size >> story.peer_polls >> story.peer_receives >>
      of_survivor >> story.survivor_size >> story.survivor_goes_on;
  story.death = static_cast<Death>(death);
  story.of_peer = static_cast<Operation>(of_peer);
  story.of_survivor = static_cast<Operation>(of_survivor);
  return story;
}

void PrintTo(const Story& story, std::ostream* out) {
  *out << "the peer " << (story.peer_listens ? "listens" : "connects")
       << ", its death: " << kDeaths[static_cast<int>(story.death)] << ' '
       << story.moment;
  if (story.death == Death::kDelay) *out << " + " << story.delay_us << " us";
  *out << ", it does " << kOperations[static_cast<int>(story.of_peer)] << " of "
       << story.peer_size << " bytes" << (story.peer_polls ? ", polls" : "")
       << (story.peer_receives ? "" : ", posts no receives")
       << "; the survivor does "
       << kOperations[static_cast<int>(story.of_survivor)] << " of "
       << story.survivor_size << " bytes"
       << (story.survivor_goes_on ? ", and goes on" : "") << " (\""
       << ToText(story) << "\")";
}

}  // namespace rpma::test
