// SPDX-License-Identifier: BSD-3-Clause
// The world of one run: an emulated fabric, the objects on it, and how the walk
// calls librpma.

#ifndef RPMA_TESTS_SIM_WORLD_H_
#define RPMA_TESTS_SIM_WORLD_H_

#include <librpma.h>
#include <librpma_emu.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/api.h"
#include "tests/sim/call_log.h"
#include "tests/sim/end.h"
#include "tests/sim/faults.h"
#include "tests/sim/objects.h"
#include "tests/sim/owned.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"
#include "tests/sim/violation.h"

namespace rpma::sim {

using Codes = std::initializer_list<int>;

// What happened in a run, by name.
using Marks = std::map<std::string, uint64_t>;

class World {
 public:
  World(const Scenario& with, const Api& functions);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  // Deletes the fabric, and what lives on it if the walk was broken off.
  ~World();

  // --- Calls
  // Calls a function of librpma, a lambda to its result.
  template <typename Body>
  int Call(const char* function, Body body) {
    BeginCall(function);
    last_rc_ = body();
    EndCall();
    return last_rc_;
  }
  // Of the last call: throws Violation unless it returned one of these.
  void Expect(Codes allowed) const;
  // The same, where it may fail for what a fault has done before.
  void Expect(Codes allowed, bool may_fail) const;
  // Whether a fault made a provider call fail in it. Then it must have failed,
  // too, with one of these.
  bool CallFailed() const { return faults.CallFailed(); }
  void ExpectFailure(Codes allowed) const;
  // Destroys what a failing call has left alive without a handle.
  void Reclaim();
  // The end of the line that Say() writes on the last call.
  std::string Result() const;

  // --- The record of the run
  // Appends a line, which must not depend on addresses or time.
  void Say(const std::string& line);
  std::function<void(const std::string&)> listener;  // gets all lines
  void Mark(const std::string& what) { ++marks[what]; }

  // --- Objects
  uint64_t NewId() { return ++last_id_; }
  // Another number for the same kind of object.
  size_t NewNumber(const char* kind) { return ++numbers_[kind]; }
  // An object that `fits`, or nullptr.
  template <typename T, typename Fits>
  T* PickOne(const std::vector<std::unique_ptr<T>>& from, Fits fits) {
    size_t count = 0;
    for (const auto& object : from) count += fits(*object) ? 1 : 0;
    if (count == 0) return nullptr;
    size_t index = parameters.Below(count);
    for (const auto& object : from) {
      if (fits(*object) && index-- == 0) return object.get();
    }
    return nullptr;
  }
  template <typename T, typename Fits>
  static size_t CountOf(const std::vector<std::unique_ptr<T>>& from,
                        Fits fits) {
    size_t count = 0;
    for (const auto& object : from) count += fits(*object) ? 1 : 0;
    return count;
  }
  // Adds an object, which thus belongs to the world before a call can fill it
  // in.
  template <typename T>
  static T* Add(std::vector<std::unique_ptr<T>>& to) {
    return to.emplace_back(std::make_unique<T>()).get();
  }
  // The address by which `from` reaches `to`.
  static std::string AddressOf(const Node& from, const Node& to);
  // Where nobody is.
  static std::string SilentAddress(const Node& from);

  // --- Checks that hold at any time
  void CheckMemory();
  void CheckCensus() const;

  // Finds out what has fired, and tells the model.
  void NoteFaults();
  // Tells the model of what has fired in the last call, for what it has added
  // since.
  void ApplyFaults();

  // Lets the fabric make a step; false: nothing can move, or it moves by
  // itself.
  bool Step();
  bool is_stepped() const { return rules.is_stepped; }

  const Scenario scenario;
  const Api api;
  Rules rules;
  Random actions;
  Random parameters;
  Random data;
  Tick now = 0;
  Marks marks;
  CallLog log;
  Faults faults;

  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::unique_ptr<Srq>> srqs;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::unique_ptr<End>> ends;

  uint64_t hash() const { return hash_; }
  uint64_t TraceHash() const;  // of the fabric; 0: it is not stepped
  const std::deque<std::string>& last_lines() const { return last_lines_; }
  rpma_emu_fabric* fabric() const { return fabric_.get(); }

 private:
  void DeleteAll();
  void CreateFabric();
  void AddNode(size_t number, const NodeOptions& options);
  void BeginCall(const char* function);
  void EndCall();

  const char* last_function_ = "";
  size_t errors_before_ = 0;  // logged before the last call
  int last_rc_ = 0;
  uint64_t last_id_ = 0;
  std::map<std::string, size_t> numbers_;
  uint64_t hash_ = 0xcbf2'9ce4'8422'2325;  // FNV-1a of all lines
  std::deque<std::string> last_lines_;
  Owned<rpma_emu_fabric, rpma_emu_fabric_delete> fabric_;
};

// Makes a call on the descriptor return at once if nothing is there.
void MakeNonBlocking(int fd);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_WORLD_H_
