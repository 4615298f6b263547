// SPDX-License-Identifier: BSD-3-Clause
// How a fabric reaches the fabrics of other processes of its user.

#ifndef RPMA_EMULATOR_WIRE_WIRE_H_
#define RPMA_EMULATOR_WIRE_WIRE_H_

#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "emulator/far_link.h"
#include "emulator/wire/descriptor.h"
#include "emulator/wire/drainer.h"
#include "emulator/wire/folder.h"
#include "emulator/wire/progress.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// Fabrics meet in a folder (emulator/wire/folder.h). Nothing is made before the
// first claim: no file, no descriptor, no thread. From then on a thread,
// "rpma-emu-wire", serves the links; it blocks all signals.
//
// What cannot be had, as the folder, descriptors, memory or the thread, is said
// in one line of the log; then the fabric works within its process, or without
// that link.
//
// A child of fork(2) has no part in it: its fabric works within the child, and
// a warning says so when it wants more. When the process exits, by exit(3), its
// files are removed; those of killed processes are removed by others.
//
// Threads: every call is safe from any thread, and none but Wait() is a
// cancellation point. The caller holds no lock of the emulator.
class Wire final : public Progress {
 public:
  // Meets others in the folder `name` of `directory`. `ends` handles what
  // comes; `progress` becomes this when there is a link to poll.
  // REQUIRES: IsFolderName(name).
  Wire(std::string directory, std::string name, FarEnds& ends,
       std::atomic<Progress*>& progress, Log log);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  // Links end without a word to `ends`. REQUIRES: nobody is in another call,
  // nor will be.
  ~Wire() override;

  // Others are to find this fabric at the address, which has a port. 0: they
  // will, or there is no wire; EADDRINUSE: another fabric has the port. After
  // any other errno, of which the log tells, nobody has it.
  int Claim(const sockaddr& address);
  void Release(const sockaddr& address);

  enum class Found {
    kNobody,  // has this port; or the link cannot be had
    kSilent,  // the process that has it does not accept for now
    kLink,
  };
  // The link to the process that has the port, which is made if there is none.
  Found Find(const sockaddr& address, std::shared_ptr<FarLink>* link);

  void Poll() override;
  int Wait(int fd, const std::function<bool()>* found) override;

  // --- For the hooks of the process.
  void LockForFork();
  void UnlockAfterFork();
  // In the child, while it is locked.
  void AbandonInChild();
  void RemoveFiles();
  Wire* next_hooked = nullptr;  // guarded by them

 private:
  enum class State { kIdle, kOpen, kJoined, kRefused, kAbandoned };

  // Each returns whether it is done; else *why is what to log, if anything.
  // REQUIRES: mutex_ is held.
  bool OpenFolder(std::string* why);
  bool Join(std::string* why);
  bool JoinFolder(std::string* why);
  bool Refuse(std::string* why);  // from now on
  bool IsOfChild(std::string* why);
  Found FindIn(const sockaddr& address, std::shared_ptr<FarLink>* link,
               std::string* why);
  Found Connect(const Token& peer, std::shared_ptr<FarLink>* link,
                std::string* why);
  void Say(int level, const char* text) const;  // unless it is ""
  // For Wait(). Sleep() also ends, with *is_readable false, when something has
  // come for a caller who `will_look`.
  bool LookFor(const std::function<bool()>& found);
  int Sleep(int fd, bool will_look, const sigset_t& mask, bool* is_readable);

  const std::string directory_;
  const std::string name_;
  const Log log_;

  std::mutex mutex_;            // held for milliseconds, at most seconds
  State state_ = State::kIdle;  // guarded by mutex_, as all below
  bool is_child_warned_ = false;
  Folder folder_;
  Token own_;
  Descriptor life_;

  Drainer drainer_;
  ProgressThread thread_;
  // Whether a thread in Wait() looks, and whether one sleeps on arrivals().
  std::atomic<bool> is_looked_for_ = false;
  std::atomic<bool> is_awaited_ = false;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_WIRE_H_
