// SPDX-License-Identifier: BSD-3-Clause
// The options of fabrics and devices as text: "name=value" separated by spaces
// or commas. What they mean stands at the fields that they set.

#ifndef RPMA_EMULATOR_OPTIONS_H_
#define RPMA_EMULATOR_OPTIONS_H_

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "emulator/profile.h"

namespace rpma::emu {

inline constexpr std::string_view kPrivateFabric = "private";

struct FabricOptions {
  bool hardware_timers = false;  // else a thousandth of the hardware's times
  bool strict_devices = false;   // no device owns the loopback addresses
  int empty_channel_errno = EAGAIN;  // of an empty non-blocking event channel
  // Nothing moves but when the program waits or steps; else requests execute on
  // the posting thread and timers follow the real clock.
  bool stepped = false;
  uint64_t seed = 0;  // of a stepped fabric, whose order of events it decides
  std::string trace;  // the file that its trace is written to; empty: none
  // The fabrics of this name, of all processes of the user, are one;
  // kPrivateFabric: it is in this process only; empty: not said.
  std::string name;
  std::string directory;  // where they meet; empty: wire::DefaultDirectory()
};

struct Options {
  FabricOptions fabric;
  Profile device;
};

// Where a text of options stands. A fabric's text may hold options of its first
// device too.
enum class OptionScope { kFabric, kDevice };

struct OptionInfo {
  std::string_view name;
  std::string_view values;  // what is allowed, for people
  OptionScope scope;
};

// Every option there is.
std::span<const OptionInfo> KnownOptions();

// Options not named in `text` keep the values of the profile ("roce" unless
// profile= says otherwise, wherever it stands) and of FabricOptions. EINVAL: an
// unknown name, a name of the other scope, a name given twice, a value that is
// not allowed; *error says which and what is allowed, *options is unchanged.
// Throws std::bad_alloc.
int ParseOptions(std::string_view text, OptionScope scope, Options* options,
                 std::string* error);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_OPTIONS_H_
