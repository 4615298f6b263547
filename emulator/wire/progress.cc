// SPDX-License-Identifier: BSD-3-Clause
// The thread that handles what comes while no other thread looks.

#include "emulator/wire/progress.h"

#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "emulator/no_cancellation.h"
#include "emulator/wire/handshake.h"
#include "emulator/wire/link.h"

namespace rpma::emu::wire {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

constexpr std::chrono::nanoseconds kForEver = std::chrono::nanoseconds::max();
constexpr auto kNap = 1ms;
constexpr auto kWatch = 1ms;  // how often sockets are seen to under traffic
constexpr auto kFirstRoomWait = 50us;
constexpr auto kPatienceForHello = 2s;  // less than who connects has
constexpr size_t kMaxStrangers = 64;
constexpr auto kPauseOfAccepting = 100ms;
constexpr uint64_t kPollsOfAPoller = 64;  // that find nothing
constexpr size_t kFixedEntries = 2;       // kick and listener

timespec ToTimespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {static_cast<time_t>(seconds.count()),
          static_cast<long>((time - seconds).count())};
}

}  // namespace

int ProgressThread::Start(Descriptor listener, const Token& own) {
  kick_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kick_.is_open()) return errno;
  listener_ = std::move(listener);
  own_ = own;
  // Signals of the process go to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &Run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    listener_.Close();
    kick_.Close();
    return error;
  }
  pthread_setname_np(thread_, "rpma-emu-wire");
  is_running_ = true;
  return 0;
}

void ProgressThread::Stop() {
  if (!is_running_) return;
  is_stopping_.store(true);
  is_kicked_.store(false);
  Kick();
  pthread_join(thread_, nullptr);
  is_running_ = false;
}

void ProgressThread::Kick() {
  if (is_kicked_.exchange(true)) return;
  const NoCancellation none;
  eventfd_write(kick_.get(), 1);
}

void ProgressThread::NoteSleeper() {
  has_sleeper_.store(true);
  if (is_napping_.load()) Kick();
}

void ProgressThread::Abandon() {
  is_running_ = false;
  listener_.Close();
  kick_.Close();
  strangers_.clear();
}

void* ProgressThread::Run(void* self) {
  static_cast<ProgressThread*>(self)->Serve();
  return nullptr;
}

void ProgressThread::Serve() {
  while (!is_stopping_.load()) {
    try {
      const Drainer::Pass pass = drainer_.Drain();
      const Clock::time_point now = Clock::now();
      if (pass.handled > 0) {
        last_traffic_ = now;
        room_wait_ = 0us;
      }
      const bool is_busy = pass.handled > 0 || pass.is_left ||
                           (now - last_traffic_ < kSpin && !OthersPoll());
      if (!is_busy) {
        Rest(pass);
      } else if (now - last_watch_ >= kWatch) {
        Watch(0us);
      } else if (now - last_traffic_ >= kYield) {
        sched_yield();
      }
    } catch (const std::bad_alloc&) {
      // What was to be done is still to be done, when there is memory.
      const timespec pause = ToTimespec(kNap);
      nanosleep(&pause, nullptr);
    }
  }
}

bool ProgressThread::OthersPoll() {
  return polls_.load(std::memory_order_relaxed) - seen_polls_ >=
         kPollsOfAPoller;
}

void ProgressThread::Rest(const Drainer::Pass& pass) {
  if (!pass.won) return Watch(kFirstRoomWait);
  if (pass.waits_for_room) {
    room_wait_ = std::clamp<std::chrono::nanoseconds>(2 * room_wait_,
                                                      kFirstRoomWait, kNap);
    return Watch(room_wait_);
  }
  const bool others_poll = OthersPoll();
  seen_polls_ = polls_.load(std::memory_order_relaxed);
  if (!others_poll) return Sleep();
  is_napping_.store(true);
  // A sleeper says that it sleeps and then looks whether this naps.
  const bool has_sleeper = has_sleeper_.exchange(false);
  if (!has_sleeper) Watch(kNap);
  is_napping_.store(false);
  if (has_sleeper) Sleep();
}

void ProgressThread::Sleep() {
  has_sleeper_.store(false);
  Watch(drainer_.FallAsleep() ? kForEver : 0us);
}

void ProgressThread::ListDescriptors() {
  watched_.clear();
  watched_.reserve(kFixedEntries + strangers_.size() + drainer_.num_links());
  watched_.push_back({kick_.get(), POLLIN, 0});
  const bool accepts =
      strangers_.size() < kMaxStrangers && Clock::now() >= accepts_again_;
  watched_.push_back({accepts ? listener_.get() : -1, POLLIN, 0});
  for (const Stranger& stranger : strangers_) {
    watched_.push_back({stranger.socket.get(), POLLIN, 0});
  }
  watched_strangers_ = strangers_.size();
  for (size_t i = 0; i < drainer_.num_links(); ++i) {
    watched_.push_back({drainer_.link(i).socket(), POLLIN, 0});
  }
  watched_links_ = drainer_.num_links();
}

void ProgressThread::Watch(std::chrono::nanoseconds timeout) {
  ListDescriptors();
  const Clock::time_point now = Clock::now();
  const auto until = [&](Clock::time_point time) {
    timeout = std::min(timeout, std::max<std::chrono::nanoseconds>(
                                    time - now, std::chrono::nanoseconds(0)));
  };
  if (accepts_again_ > now) until(accepts_again_);
  for (const Stranger& stranger : strangers_) until(stranger.deadline);

  const timespec time = ToTimespec(timeout);
  const int ready = ppoll(watched_.data(), watched_.size(),
                          timeout == kForEver ? nullptr : &time, nullptr);
  last_watch_ = Clock::now();
  for (size_t i = 0; i < watched_links_; ++i) drainer_.link(i).StayAwake();
  if (ready > 0 || !strangers_.empty()) SeeToSockets();
}

void ProgressThread::SeeToSockets() {
  if (watched_[0].revents != 0) {
    eventfd_t count;
    eventfd_read(kick_.get(), &count);
    is_kicked_.store(false);
  }
  SeeToLinks(kFixedEntries + watched_strangers_, watched_links_);
  SeeToStrangers(kFixedEntries, watched_strangers_);
  if (watched_[1].revents != 0) Accept();
}

void ProgressThread::SeeToLinks(size_t first_entry, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (watched_[first_entry + i].revents == 0) continue;
    std::string why;
    switch (ReceiveAll(drainer_.link(i).socket(), &why)) {
      case Said::kNothing:
        break;
      case Said::kRubbish:
        drainer_.EndLater(i, GoodbyeReason::kRubbish, "it sent " + why);
        break;
      case Said::kGoodbye:
      case Said::kEnd:
        drainer_.EndLater(i, std::nullopt, std::move(why));
        break;
    }
  }
}

void ProgressThread::Accept() {
  Descriptor socket(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.is_open()) {
    accepts_again_ = Clock::time_point();
    const std::lock_guard lock(strangers_mutex_);
    strangers_.push_back({std::move(socket), Clock::now() + kPatienceForHello});
    return;
  }
  // ECONNABORTED and the like: it is gone already.
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
      errno != ENOMEM) {
    return;
  }
  const std::string text =
      std::string("no link is accepted for now: ") + std::strerror(errno);
  const bool is_first = accepts_again_ == Clock::time_point();
  // The connection stays in the backlog, so poll(2) would not wait.
  accepts_again_ = Clock::now() + kPauseOfAccepting;
  if (is_first) log_(LOG_ERR, text.c_str());
}

bool ProgressThread::Hear(Stranger& stranger) {
  std::string why;
  pid_t pid = 0;
  CheckPeer(stranger.socket.get(), &pid, &why);
  Heard heard;
  {
    const std::lock_guard lock(strangers_mutex_);
    std::shared_ptr<Link> link;
    heard = Link::Accept(&stranger.socket, own_, &link, &why);
    if (heard == Heard::kHello) drainer_.Add(std::move(link));
  }
  // A process may be killed before it says anything.
  if (heard == Heard::kHello || heard == Heard::kGone) return false;
  if (heard == Heard::kNothing) {
    if (Clock::now() < stranger.deadline) return true;
    why = "it says nothing";
  }
  log_(LOG_ERR,
       ("a link from process " + std::to_string(pid) + " is refused: " + why)
           .c_str());
  return false;
}

void ProgressThread::SeeToStrangers(size_t first_entry, size_t count) {
  std::vector<bool> stays(count);
  for (size_t i = 0; i < count; ++i) {
    const bool is_due = watched_[first_entry + i].revents != 0 ||
                        Clock::now() >= strangers_[i].deadline;
    stays[i] = !is_due || Hear(strangers_[i]);
  }
  const std::lock_guard lock(strangers_mutex_);
  size_t index = 0;
  std::erase_if(strangers_, [&](const Stranger&) { return !stays[index++]; });
}

}  // namespace rpma::emu::wire
