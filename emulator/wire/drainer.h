// SPDX-License-Identifier: BSD-3-Clause
// The links of a fabric, and who handles what comes on them: one thread at a
// time, whoever is there first.

#ifndef RPMA_EMULATOR_WIRE_DRAINER_H_
#define RPMA_EMULATOR_WIRE_DRAINER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emulator/far_link.h"
#include "emulator/wire/descriptor.h"
#include "emulator/wire/link.h"
#include "emulator/wire/message.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// `level` as in syslog(3). Must not throw.
using Log = std::function<void(int level, const char* text)>;

// Threads: besides any thread there is one, "the thread" below, whose calls are
// marked so.
class Drainer {
 public:
  // `kick` makes the thread call Drain(). While there are links, *progress is
  // `self`.
  Drainer(FarEnds& ends, Log log, std::function<void()> kick, Progress* self,
          std::atomic<Progress*>* progress)
      : ends_(ends),
        log_(std::move(log)),
        kick_(std::move(kick)),
        self_(self),
        progress_(progress) {}
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;

  // Throws std::bad_alloc.
  void Add(std::shared_ptr<Link> link);
  // The link to this peer, if it lives.
  std::shared_ptr<Link> Find(const Token& peer) const;

  struct Inline {
    size_t handled = 0;
    bool is_for_thread = false;  // what comes next
  };
  // Handles some data. Holds no lock; neither blocks nor allocates.
  Inline DrainInline();

  // A descriptor that poll(2) finds readable when a peer has woken this side,
  // or is gone, until the thread, which is woken too, has read the socket; -1:
  // there is none. Who is woken by it calls TakeArrivals(), and then drains.
  int arrivals() const { return arrivals_fd_.load(); }
  void TakeArrivals();

  struct Pass {
    bool won = false;  // else another thread drains
    size_t handled = 0;
    bool is_left = false;  // more has come than was handled
    bool waits_for_room = false;
  };
  // The thread: handles what came, and ends the links that are to end. Throws
  // std::bad_alloc before it does any of that.
  Pass Drain();
  // The thread: those that Drain() knows.
  size_t num_links() const { return entries_.size(); }
  Link& link(size_t index) const { return *entries_[index].link; }
  // The thread: the link ends in the next Drain(), after all that came. The
  // reason is logged, if there is one.
  void EndLater(size_t index, std::optional<GoodbyeReason> goodbye,
                std::string why);
  // The thread: from now on peers wake it. False: it has to look again first.
  bool FallAsleep();

  // All links end, and nobody hears of it. REQUIRES: nobody is in another call.
  void CloseAll();
  // In a child of fork(2), between the calls of LockForFork() and
  // UnlockForFork.
  void AbandonAll();
  void LockForFork() { table_mutex_.lock(); }
  void UnlockForFork() { table_mutex_.unlock(); }

 private:
  struct Entry {
    std::shared_ptr<Link> link;
    const char* rubbish = nullptr;  // that it sent
    bool is_ending = false;
    std::optional<GoodbyeReason> goodbye;
    std::string why;
  };

  void WatchArrivals(int socket);  // REQUIRES: table_mutex_ is held
  void LearnNews();
  void DrainEntry(Entry& entry, Pass& pass);
  void End(Entry& entry);
  void EndThoseThatAreToEnd();

  FarEnds& ends_;
  const Log log_;
  const std::function<void()> kick_;
  Progress* const self_;
  std::atomic<Progress*>* const progress_;

  mutable std::mutex table_mutex_;  // the last of all locks but those of links
  std::vector<std::shared_ptr<Link>> table_;  // guarded by table_mutex_
  std::atomic<uint64_t> version_ = 0;         // of additions to the table
  // An epoll(7) instance with the sockets, edge-triggered, so that who does not
  // read them may wait for the next one. Guarded by table_mutex_.
  Descriptor arrivals_;
  std::atomic<int> arrivals_fd_ = -1;

  // Not a mutex: what is handled may call again on the same thread, by way of
  // the log.
  std::atomic<bool> is_draining_ = false;
  // Guarded by is_draining_; only the thread changes which there are.
  std::vector<Entry> entries_;
  uint64_t known_version_ = 0;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_DRAINER_H_
