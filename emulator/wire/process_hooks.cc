// SPDX-License-Identifier: BSD-3-Clause
// What has to be done for wires when the process forks or exits.

#include "emulator/wire/process_hooks.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "emulator/wire/wire.h"

namespace rpma::emu::wire {
namespace {

struct Registry {
  std::mutex mutex;  // before the locks of wires
  std::vector<Wire*> wires;
};

void BeforeFork();
void InParent();
void InChild();
void AtExit();

// Never destroyed: a process may fork or exit while its objects are destroyed.
Registry& TheRegistry() {
  static Registry* const registry = [] {
    // ENOMEM of these would let a child keep what is not its own.
    if (pthread_atfork(&BeforeFork, &InParent, &InChild) != 0 ||
        std::atexit(&AtExit) != 0) {
      throw std::bad_alloc();
    }
    return new Registry;
  }();
  return *registry;
}

void BeforeFork() {
  Registry& registry = TheRegistry();
  registry.mutex.lock();
  for (Wire* const wire : registry.wires) wire->LockForFork();
}

void Unlock(Registry& registry) {
  for (Wire* const wire : registry.wires) wire->UnlockAfterFork();
  registry.mutex.unlock();
}

void InParent() { Unlock(TheRegistry()); }

void InChild() {
  Registry& registry = TheRegistry();
  for (Wire* const wire : registry.wires) wire->AbandonInChild();
  Unlock(registry);
}

void AtExit() {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (Wire* const wire : registry.wires) wire->RemoveFiles();
}

}  // namespace

void AddToHooks(Wire& wire) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.wires.push_back(&wire);
}

void RemoveFromHooks(Wire& wire) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.wires, &wire);
}

}  // namespace rpma::emu::wire
