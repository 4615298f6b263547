// SPDX-License-Identifier: BSD-3-Clause
// What a program has to expect under a plan of faults.

#ifndef RPMA_TESTS_FAULTS_POLICY_H_
#define RPMA_TESTS_FAULTS_POLICY_H_

#include <string_view>

namespace rpma::faults {

enum class Role { kNone, kClient, kServer };

// The devices of a stage, by which plans name the sides.
inline constexpr char kClientDevice[] = "emu0";
inline constexpr char kServerDevice[] = "emu1";

struct Policy {
  // A fault that acts makes the call fail in which it does: faults of provider
  // calls and allocations. Others may be overcome, or strike later.
  bool fails_calls = false;
  // Just one call or allocation fails.
  bool fails_once = false;
  // A side may not hear of the other's end unless it asks.
  bool silent = false;
  // Completions may get lost.
  bool loses_completions = false;
  // The side whose node stops working; what it waits for may not come.
  Role dead = Role::kNone;
  // The program may not notice anything: retries and time overcome it.
  bool overcome = false;
  // The world is good for another run afterwards.
  bool heals = true;
};

Policy PolicyFor(std::string_view plan);

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_POLICY_H_
