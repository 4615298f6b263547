// SPDX-License-Identifier: BSD-3-Clause
// How a fabric reaches the fabrics of other processes of its user.

#include "emulator/wire/wire.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "emulator/no_cancellation.h"
#include "emulator/wire/claims.h"
#include "emulator/wire/link.h"
#include "emulator/wire/process_hooks.h"

namespace rpma::emu::wire {
namespace {

constexpr int kSocketType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kBacklog = 128;
constexpr const char* kNoLink = "a link to another process cannot be made: ";
constexpr const char* kNoMemory =
    "other processes cannot be reached: there is no memory";
constexpr auto kPatience = std::chrono::seconds(2);

// False: the path is too long, which that of a Folder is not.
bool Fill(const std::string& path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof(address->sun_path)) return false;
  std::copy(path.begin(), path.end(), address->sun_path);
  return true;
}

// Both: 0, or an errno.

int Listen(const std::string& path, Descriptor* listener) {
  sockaddr_un address;
  Descriptor made(socket(AF_UNIX, kSocketType, 0));
  if (!made.is_open()) return errno;
  if (!Fill(path, &address)) return ENAMETOOLONG;
  if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(made.get(), kBacklog) != 0) {
    return errno;
  }
  *listener = std::move(made);
  return 0;
}

int ConnectTo(const std::string& path, Descriptor* connected) {
  sockaddr_un address;
  Descriptor made(socket(AF_UNIX, kSocketType, 0));
  if (!made.is_open()) return errno;
  if (!Fill(path, &address)) return ENAMETOOLONG;
  int result;
  do {
    result = connect(made.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result != 0) return errno;
  *connected = std::move(made);
  return 0;
}

// While one lives, the thread handles no signal but those of its own errors. So
// none is handled between a look at a queue and the sleep that it has to end.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int error :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      sigdelset(&blocked, error);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

// One thread's at a time. A thread that is cancelled ends its own.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& is_taken)
      : is_taken_(is_taken), has_begun_(!is_taken.exchange(true)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_begun_) is_taken_.store(false);
  }

  bool has_begun() const { return has_begun_; }

 private:
  std::atomic<bool>& is_taken_;
  const bool has_begun_;
};

}  // namespace

Wire::Wire(std::string directory, std::string name, FarEnds& ends,
           std::atomic<Progress*>& progress, Log log)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      log_(log),
      drainer_(
          ends, log, [this] { thread_.Kick(); }, this, &progress),
      thread_(drainer_, std::move(log)) {
  AddToHooks(*this);
}

Wire::~Wire() {
  RemoveFromHooks(*this);
  if (state_ == State::kAbandoned) return;
  const NoCancellation none;
  thread_.Stop();
  drainer_.CloseAll();
  RemoveFiles();
}

void Wire::Say(int level, const char* text) const {
  if (*text != '\0') log_(level, text);
}

bool Wire::Refuse(std::string* why) {
  state_ = State::kRefused;
  *why += "; connections work within this process only";
  return false;
}

bool Wire::IsOfChild(std::string* why) {
  if (state_ != State::kAbandoned) return false;
  if (!is_child_warned_) {
    *why =
        "a child of fork(2) does not reach other processes over the fabric of "
        "its parent; connections work within this process only";
  }
  is_child_warned_ = true;
  return true;
}

bool Wire::OpenFolder(std::string* why) {
  if (state_ != State::kIdle) return state_ != State::kRefused;
  if (!folder_.Open(directory_, name_, why)) return Refuse(why);
  state_ = State::kOpen;
  return true;
}

bool Wire::JoinFolder(std::string* why) {
  const Folder::Lock lock = folder_.Acquire(kPatience);
  int error = lock.error();
  if (lock.is_held()) {
    folder_.Sweep(lock);
    error = folder_.Join(lock, &own_, &life_);
  }
  Descriptor listener;
  if (error == 0) error = Listen(folder_.PathOfSocket(own_), &listener);
  if (error == 0) error = thread_.Start(std::move(listener), own_);
  if (error == 0) return true;
  if (life_.is_open()) folder_.Remove(own_);
  life_.Close();
  own_ = Token{};
  *why = folder_.path() +
         ": other processes cannot be reached: " + std::strerror(error);
  return false;
}

bool Wire::Join(std::string* why) {
  if (state_ == State::kJoined) return true;
  if (IsOfChild(why) || !OpenFolder(why)) return false;
  if (!JoinFolder(why)) return false;  // the next one may be luckier
  state_ = State::kJoined;
  return true;
}

int Wire::Claim(const sockaddr& address) {
  const NoCancellation none;
  std::string why;
  int error = 0;
  int level = LOG_ERR;
  try {
    const std::lock_guard lock(mutex_);
    if (Join(&why)) {
      error = Claims(folder_, own_).Claim(address, &why);
    } else if (state_ == State::kAbandoned) {
      level = LOG_WARNING;
    }
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  Say(level, error == ENOMEM ? kNoMemory : why.c_str());
  return error;
}

void Wire::Release(const sockaddr& address) {
  const NoCancellation none;
  const std::lock_guard lock(mutex_);
  if (state_ == State::kJoined) Claims(folder_, own_).Release(address);
}

Wire::Found Wire::Find(const sockaddr& address,
                       std::shared_ptr<FarLink>* link) {
  const NoCancellation none;
  std::string why;
  Found found = Found::kNobody;
  bool is_child = false;
  try {
    const std::lock_guard lock(mutex_);
    is_child = IsOfChild(&why);
    if (!is_child && OpenFolder(&why)) found = FindIn(address, link, &why);
  } catch (const std::bad_alloc&) {
    log_(LOG_ERR, kNoMemory);
    return Found::kNobody;
  }
  Say(is_child ? LOG_WARNING : LOG_ERR, why.c_str());
  return found;
}

Wire::Found Wire::FindIn(const sockaddr& address,
                         std::shared_ptr<FarLink>* link, std::string* why) {
  const std::optional<Token> peer = Claims(folder_, own_).Find(address);
  if (!peer) return Found::kNobody;
  *link = drainer_.Find(*peer);
  if (*link != nullptr) return Found::kLink;
  return Join(why) ? Connect(*peer, link, why) : Found::kNobody;
}

Wire::Found Wire::Connect(const Token& peer, std::shared_ptr<FarLink>* link,
                          std::string* why) {
  Descriptor socket;
  switch (const int error = ConnectTo(folder_.PathOfSocket(peer), &socket)) {
    case 0:
      break;
    case EAGAIN:  // its backlog is full
      return Found::kSilent;
    case ECONNREFUSED:
    case ENOENT:
      Claims(folder_, own_).Forget(peer);
      return Found::kNobody;
    default:
      *why = kNoLink + std::string(std::strerror(error));
      return Found::kNobody;
  }
  std::shared_ptr<Link> made = Link::Offer(std::move(socket), own_, peer, why);
  if (made == nullptr) {
    if (!why->empty()) *why = kNoLink + *why;
    return Found::kNobody;
  }
  drainer_.Add(made);
  *link = std::move(made);
  return Found::kLink;
}

void Wire::Poll() {
  const Drainer::Inline result = drainer_.DrainInline();
  if (result.handled == 0) thread_.NotePoll();
  if (result.is_for_thread) thread_.Kick();
}

int Wire::Wait(int fd, const std::function<bool()>* found) {
  pthread_testcancel();
  const SignalsBlocked signals;
  for (;;) {
    if (found != nullptr && LookFor(*found)) return 0;
    bool is_readable = false;
    const int error =
        Sleep(fd, found != nullptr, signals.before(), &is_readable);
    if (error != 0 || is_readable) return error;
  }
}

// Its polls are not noted: the thread relies on pollers to go on, and this one
// will not once it has found something. Looks once if it is another's turn.
bool Wire::LookFor(const std::function<bool()>& found) {
  using Clock = std::chrono::steady_clock;
  const Turn turn(is_looked_for_);
  const Clock::time_point begin = Clock::now();
  Clock::duration past{};
  do {
    if (past >= kYield) sched_yield();
    if (drainer_.DrainInline().is_for_thread) thread_.Kick();
    if (found()) return true;
    past = Clock::now() - begin;
  } while (turn.has_begun() && past < kSpin);
  return false;
}

int Wire::Sleep(int fd, bool will_look, const sigset_t& mask,
                bool* is_readable) {
  thread_.NoteSleeper();
  // Were it more than one, each message would wake them all.
  std::optional<Turn> turn;
  if (will_look) turn.emplace(is_awaited_);
  const bool awaits = turn.has_value() && turn->has_begun();
  pollfd watched[] = {{fd, POLLIN, 0},
                      {awaits ? drainer_.arrivals() : -1, POLLIN, 0}};
  if (ppoll(watched, std::size(watched), nullptr, &mask) < 0) return errno;
  *is_readable = watched[0].revents != 0;
  if (*is_readable) return 0;
  drainer_.TakeArrivals();
  // An arrival has precedence over a signal, which is to end the wait.
  const timespec now{};
  return ppoll(nullptr, 0, &now, &mask) < 0 ? errno : 0;
}

void Wire::LockForFork() {
  mutex_.lock();
  thread_.LockForFork();
  drainer_.LockForFork();
}

void Wire::UnlockAfterFork() {
  drainer_.UnlockForFork();
  thread_.UnlockForFork();
  mutex_.unlock();
}

void Wire::AbandonInChild() {
  if (state_ != State::kJoined) return;
  drainer_.AbandonAll();
  thread_.Abandon();
  life_.Close();
  state_ = State::kAbandoned;
}

void Wire::RemoveFiles() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kJoined) folder_.Remove(own_);
}

}  // namespace rpma::emu::wire
