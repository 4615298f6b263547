// SPDX-License-Identifier: BSD-3-Clause
// What has to be done for wires when the process forks or exits.

#include "emulator/wire/process_hooks.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "emulator/wire/wire.h"

namespace rpma::emu::wire {
namespace {

void BeforeFork();
void InParent();
void InChild();
void AtExit();

// Never destroyed: a process may fork or exit while its objects are destroyed.
constinit std::mutex mutex;  // before the locks of wires
constinit Wire* first = nullptr;

template <typename Work>
void ForEach(Work work) {
  for (Wire* wire = first; wire != nullptr; wire = wire->next_hooked) {
    work(*wire);
  }
}

// Once, whatever comes of it: a hook that ran twice would wait for itself.
bool AreHooked() {
  static const bool forks =
      pthread_atfork(&BeforeFork, &InParent, &InChild) == 0;
  static const bool exits = std::atexit(&AtExit) == 0;
  return forks && exits;
}

void BeforeFork() {
  mutex.lock();
  ForEach([](Wire& wire) { wire.LockForFork(); });
}

void InParent() {
  ForEach([](Wire& wire) { wire.UnlockAfterFork(); });
  mutex.unlock();
}

void InChild() {
  ForEach([](Wire& wire) { wire.AbandonInChild(); });
  InParent();
}

void AtExit() {
  const std::lock_guard lock(mutex);
  ForEach([](Wire& wire) { wire.RemoveFiles(); });
}

}  // namespace

void AddToHooks(Wire& wire) {
  // A child would keep what is not its own.
  if (!AreHooked()) throw std::bad_alloc();
  const std::lock_guard lock(mutex);
  wire.next_hooked = std::exchange(first, &wire);
}

void RemoveFromHooks(Wire& wire) {
  const std::lock_guard lock(mutex);
  Wire** place = &first;
  while (*place != &wire) place = &(*place)->next_hooked;
  *place = wire.next_hooked;
}

}  // namespace rpma::emu::wire
