// SPDX-License-Identifier: BSD-3-Clause
// A program under faults: what scenarios call librpma through.

#ifndef RPMA_TESTS_FAULTS_PROGRAM_H_
#define RPMA_TESTS_FAULTS_PROGRAM_H_

#include <librpma.h>
#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tests/faults/findings.h"
#include "tests/faults/log_watch.h"
#include "tests/faults/policy.h"
#include "tests/support/failing_allocator.h"

namespace rpma::faults {

// Makes a call and checks what holds for every call; `program` is a Program.
#define RPMA_CALL(program, function, ...) \
  (program).Call(#function, &function, __VA_ARGS__)
// The same for a function that creates what `owner`, an Owned, will own.
#define RPMA_CREATE(program, owner, function, ...) \
  (program).Create(#function, &(owner), &function __VA_OPT__(, ) __VA_ARGS__)

// How objects of a type end.
template <typename T>
struct End;

#define RPMA_END(type, function, keeps)                   \
  template <>                                             \
  struct End<type> {                                      \
    static constexpr const char* kName = #function;       \
    static constexpr int (*kFunction)(type**) = function; \
    static constexpr bool kKeepsHandle = keeps;           \
  }

// Those that keep the handle if they fail can be tried again.
RPMA_END(rpma_peer, rpma_peer_delete, true);
RPMA_END(rpma_mr_local, rpma_mr_dereg, true);
RPMA_END(rpma_ep, rpma_ep_shutdown, true);
RPMA_END(rpma_mr_remote, rpma_mr_remote_delete, false);
RPMA_END(rpma_peer_cfg, rpma_peer_cfg_delete, false);
RPMA_END(rpma_conn_cfg, rpma_conn_cfg_delete, false);
RPMA_END(rpma_srq_cfg, rpma_srq_cfg_delete, false);
RPMA_END(rpma_srq, rpma_srq_delete, false);
RPMA_END(rpma_conn_req, rpma_conn_req_delete, false);
RPMA_END(rpma_conn, rpma_conn_delete, false);
#undef RPMA_END

// Whether the function, if a provider call fails that should destroy an object,
// gives the object up: nobody has a handle to it afterwards.
bool GivesUp(std::string_view function);

template <typename T>
class Owned;

// Nothing here allocates, so all allocations of a run are librpma's.
class Program {
 public:
  // The device that a side of the program is on.
  struct Node {
    const char* address;
    uint8_t* memory;  // kMemorySize bytes
  };
  static constexpr size_t kMemorySize = 4096;

  struct Place {
    rpma_emu_fabric* fabric = nullptr;
    Node client;
    Node server;
    LogWatch* log = nullptr;
    test::FailingAllocator* allocator = nullptr;
    Findings* findings = nullptr;
  };

  Program(const Place& place, const Policy& policy);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Place& place() const { return place_; }
  const Policy& policy() const { return policy_; }
  Findings& findings() { return *place_.findings; }

  // --- Calls. A call that succeeds must not have logged an error, nor have had
  // a fault in it that fails calls; one that fails must have logged one and
  // return a code that is documented, and there must have been a fault. An
  // out-pointer is untouched then.
  template <typename... Params, typename... Args>
  int Call(const char* name, int (*function)(Params...), Args&&... args) {
    const Moment before = BeginCall();
    const int rc = function(args...);
    Check(name, before, rc);
    return rc;
  }
  template <typename T, typename... Params, typename... Args>
  int Create(const char* name, Owned<T>* owner, int (*function)(Params...),
             Args&&... args);
  // Ends an object; if that fails, gives it up or leaves it to Settle(), as the
  // function says. False: it may still exist.
  template <typename T>
  bool Delete(T** handle);

  // What a scope lets calls do that they must not do otherwise: get stuck in a
  // wait; fail without a fault.
  enum class Leave { kToGetStuck, kToFail };
  class Scope;

  // --- Waiting, as a program does that watches descriptors. Returns the first
  // that is readable, or -1: the world stands still. -1 as `other` is none.
  int AwaitReadable(int fd, int other = -1);
  static bool IsReadable(int fd);
  // Whether the latest call waited for something that cannot come.
  bool stuck() const { return stuck_; }

  // --- After the scenario.
  // The connection has to hear of the other side's end, but has not, perhaps
  // because what should tell it was not destroyed.
  void AwaitLater(Owned<rpma_conn>* conn);
  // Without faults: ends what the program could not. Everything must succeed.
  void Settle();

  // How many faults have acted so far, as of the latest call.
  uint64_t faults_fired() const { return fired_; }
  // Whether something may have outlived the program.
  bool gave_up() const { return gave_up_; }
  // The function in which the first fault acted; nullptr: none.
  const char* first_struck() const { return first_struck_; }

 private:
  struct Moment {
    uint64_t errors;
    uint64_t deadlocks;
    uint64_t fired;
  };
  // When something that was left behind can end.
  enum class Turn { kFirst, kAfterReclaim, kLast };
  struct LeftBehind {
    Turn turn;
    void* handle;
    void (*end)(Program& program, void* handle);
  };
  static constexpr size_t kMostLeftBehind = 16;

  Moment BeginCall() const;
  void CountFaults();
  void Check(const char* name, const Moment& before, int rc);
  void CheckSuccess(const char* name, const Moment& before);
  void CheckFailure(const char* name, const Moment& before, int rc);
  template <typename T>
  static void EndNow(Program& program, void* handle);
  void LeaveBehind(const LeftBehind& what);
  void EndLeftBehind(Turn turn);
  static void HearOfTheEnd(Program& program, void* conn);

  const Place place_;
  const Policy policy_;
  uint64_t fired_ = 0;
  bool gave_up_ = false;
  bool stuck_ = false;
  bool may_get_stuck_ = false;
  bool may_fail_ = false;
  const char* first_struck_ = nullptr;
  LeftBehind left_behind_[kMostLeftBehind];
  size_t left_behind_count_ = 0;
};

class Program::Scope {
 public:
  Scope(Program& program, Leave leave)
      : flag_(leave == Leave::kToFail ? program.may_fail_
                                      : program.may_get_stuck_),
        before_(std::exchange(flag_, true)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { flag_ = before_; }

 private:
  bool& flag_;
  const bool before_;
};

// Owns an object of a program and ends it.
template <typename T>
class Owned {
 public:
  explicit Owned(Program& program) : program_(program) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { End(); }

  // False: it may still exist, but is not owned any more.
  bool End() { return handle_ == nullptr || program_.Delete(&handle_); }
  // For functions that consume it.
  T** address() { return &handle_; }
  void Adopt(T* handle) { handle_ = handle; }
  T* Release() { return std::exchange(handle_, nullptr); }

  T* get() const { return handle_; }
  operator T*() const { return handle_; }

 private:
  Program& program_;
  T* handle_ = nullptr;
};

template <typename T, typename... Params, typename... Args>
int Program::Create(const char* name, Owned<T>* owner,
                    int (*function)(Params...), Args&&... args) {
  static char untouched;
  T* const before = reinterpret_cast<T*>(&untouched);
  T* out = before;
  const int rc = Call(name, function, args..., &out);
  if (rc == 0) {
    if (out == before || out == nullptr)
      findings().Add("%s gave nothing", name);
    owner->Adopt(out);
  } else if (out != before) {
    findings().Add("%s failed and changed its out-pointer", name);
  }
  return rc;
}

template <typename T>
bool Program::Delete(T** handle) {
  using faults::End;
  T* const before = *handle;
  int rc = Call(End<T>::kName, End<T>::kFunction, handle);
  if (rc != 0 && End<T>::kKeepsHandle) {
    if (*handle != before) findings().Add("%s lost the handle", End<T>::kName);
    *handle = before;
    rc = Call(End<T>::kName, End<T>::kFunction, handle);
    if (rc != 0) {
      const bool last = std::is_same_v<T, rpma_peer>;
      LeaveBehind({last ? Turn::kLast : Turn::kFirst, before, &EndNow<T>});
      *handle = nullptr;
    }
  }
  if (*handle != nullptr) {
    findings().Add("%s did not set its handle to NULL", End<T>::kName);
    *handle = nullptr;
  }
  return rc == 0;
}

template <typename T>
void Program::EndNow(Program& program, void* handle) {
  T* again = static_cast<T*>(handle);
  if (program.Call(End<T>::kName, End<T>::kFunction, &again) != 0) {
    program.findings().Add("%s fails without faults", End<T>::kName);
  }
}

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_PROGRAM_H_
