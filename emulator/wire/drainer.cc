// SPDX-License-Identifier: BSD-3-Clause
// The links of a fabric, and who handles what comes on them.

#include "emulator/wire/drainer.h"

#include <sched.h>
#include <sys/epoll.h>
#include <syslog.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "emulator/no_cancellation.h"

namespace rpma::emu::wire {
namespace {

constexpr size_t kInlineLimit = 64;   // messages
constexpr size_t kThreadLimit = 256;  // before another link has its turn

}  // namespace

void Drainer::Add(std::shared_ptr<Link> link) {
  link->set_kick(kick_);
  const std::lock_guard lock(table_mutex_);
  const int socket = link->socket();
  table_.push_back(std::move(link));
  WatchArrivals(socket);
  version_.fetch_add(1);
  progress_->store(self_);
  kick_();
}

// What fails leaves waking to the thread.
void Drainer::WatchArrivals(int socket) {
  if (!arrivals_.is_open()) {
    arrivals_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    arrivals_fd_.store(arrivals_.get());
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  epoll_ctl(arrivals_.get(), EPOLL_CTL_ADD, socket, &event);
}

void Drainer::TakeArrivals() {
  const NoCancellation none;
  epoll_event events[16];
  epoll_wait(arrivals(), events, std::size(events), /*timeout=*/0);
}

std::shared_ptr<Link> Drainer::Find(const Token& peer) const {
  const std::lock_guard lock(table_mutex_);
  for (const std::shared_ptr<Link>& link : table_) {
    if (link->peer() == peer && !link->is_dead()) return link;
  }
  return nullptr;
}

Drainer::Inline Drainer::DrainInline() {
  Inline result;
  if (is_draining_.exchange(true, std::memory_order_acquire)) return result;
  for (Entry& entry : entries_) {
    if (entry.rubbish != nullptr || entry.is_ending) continue;
    const char* why = nullptr;
    switch (entry.link->Drain(ends_, /*with_cm=*/false, kInlineLimit,
                              &result.handled, &why)) {
      case Link::Drained::kRubbish:
        entry.rubbish = why;
        result.is_for_thread = true;
        break;
      case Link::Drained::kCm:
        result.is_for_thread = true;
        break;
      default:
        break;
    }
  }
  is_draining_.store(false, std::memory_order_release);
  return result;
}

void Drainer::LearnNews() {
  const std::lock_guard lock(table_mutex_);
  const uint64_t version = version_.load();
  if (version == known_version_) return;
  entries_.reserve(table_.size());  // throws, if anything does
  for (const std::shared_ptr<Link>& link : table_) {
    const bool is_known =
        std::any_of(entries_.begin(), entries_.end(),
                    [&](const Entry& entry) { return entry.link == link; });
    if (!is_known) entries_.emplace_back().link = link;
  }
  known_version_ = version;
}

void Drainer::DrainEntry(Entry& entry, Pass& pass) {
  const char* why = entry.rubbish;
  const Link::Drained drained =
      why != nullptr ? Link::Drained::kRubbish
                     : entry.link->Drain(ends_, /*with_cm=*/true, kThreadLimit,
                                         &pass.handled, &why);
  pass.is_left = pass.is_left || drained == Link::Drained::kLimit;
  pass.waits_for_room = pass.waits_for_room || entry.link->WaitsForRoom();
  if (drained != Link::Drained::kRubbish) return;
  entry.is_ending = true;
  entry.rubbish = why;
}

Drainer::Pass Drainer::Drain() {
  Pass pass;
  if (is_draining_.exchange(true, std::memory_order_acquire)) return pass;
  pass.won = true;
  try {
    LearnNews();
  } catch (...) {
    is_draining_.store(false, std::memory_order_release);
    throw;
  }
  bool some_end = false;
  for (Entry& entry : entries_) {
    if (!entry.is_ending) DrainEntry(entry, pass);
    some_end = some_end || entry.is_ending;
  }
  if (some_end) EndThoseThatAreToEnd();
  is_draining_.store(false, std::memory_order_release);
  return pass;
}

void Drainer::EndLater(size_t index, std::optional<GoodbyeReason> goodbye,
                       std::string why) {
  while (is_draining_.exchange(true, std::memory_order_acquire)) sched_yield();
  Entry& entry = entries_[index];
  entry.is_ending = true;
  entry.goodbye = goodbye;
  entry.why = std::move(why);
  is_draining_.store(false, std::memory_order_release);
}

bool Drainer::FallAsleep() {
  if (is_draining_.exchange(true, std::memory_order_acquire)) return false;
  // Peers publish what they write and then look who sleeps: one of the two sees
  // the other.
  for (Entry& entry : entries_) entry.link->FallAsleep();
  bool may_have_more = version_.load() != known_version_;
  for (const Entry& entry : entries_) {
    may_have_more =
        may_have_more || entry.link->MayHaveMore() || entry.rubbish != nullptr;
  }
  is_draining_.store(false, std::memory_order_release);
  return !may_have_more;
}

void Drainer::End(Entry& entry) {
  const std::shared_ptr<Link> link = entry.link;
  link->StopSending();
  size_t handled = 0;
  Link::Drained drained = Link::Drained::kLimit;
  while (entry.rubbish == nullptr && drained == Link::Drained::kLimit) {
    drained = link->Drain(ends_, true, kThreadLimit, &handled, &entry.rubbish);
  }
  if (entry.rubbish != nullptr) entry.goodbye = GoodbyeReason::kRubbish;
  {
    const std::lock_guard lock(table_mutex_);
    std::erase(table_, link);
    if (table_.empty()) progress_->store(nullptr);
    // A process that this one has started may have the socket still.
    epoll_ctl(arrivals_.get(), EPOLL_CTL_DEL, link->socket(), nullptr);
    link->Close(entry.goodbye);
  }
  const bool is_rubbish = entry.rubbish != nullptr;
  if (is_rubbish || !entry.why.empty()) {
    char text[400];
    std::snprintf(text, sizeof(text), "the link to process %d is closed: %s%s",
                  static_cast<int>(link->pid()), is_rubbish ? "it sent " : "",
                  is_rubbish ? entry.rubbish : entry.why.c_str());
    log_(LOG_ERR, text);
  }
  ends_.OnEnd(*link);
}

void Drainer::EndThoseThatAreToEnd() {
  for (Entry& entry : entries_) {
    if (entry.is_ending) End(entry);
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.is_ending; });
}

void Drainer::CloseAll() {
  const std::lock_guard lock(table_mutex_);
  for (const std::shared_ptr<Link>& link : table_) link->Close(std::nullopt);
  table_.clear();
  entries_.clear();
  progress_->store(nullptr);
}

void Drainer::AbandonAll() {
  for (const std::shared_ptr<Link>& link : table_) link->Abandon();
  arrivals_fd_.store(-1);
  arrivals_.Close();
  progress_->store(nullptr);
}

}  // namespace rpma::emu::wire
