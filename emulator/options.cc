// SPDX-License-Identifier: BSD-3-Clause
// The table of options and its parser.

#include "emulator/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/wire/folder.h"

namespace rpma::emu {
namespace {

// Sets one option; false: the value is not allowed.
using Setter = bool (*)(std::string_view value, Options& options);

template <typename T>
bool SetNumber(std::string_view value, T max, T* number) {
  T parsed{};
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, parsed);
  if (error != std::errc() || stop != end || parsed > max) return false;
  *number = parsed;
  return true;
}

// The most that the int fields of ibv_device_attr can say.
constexpr uint32_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr std::string_view kRange32 = "0 to 2147483647";
// 255 would mean "as many as the device allows" (RDMA_MAX_RESP_RES).
constexpr uint8_t kMaxDepth = 254;
constexpr std::string_view kRangeDepth = "0 to 254";
constexpr std::string_view kRange64 = "0 to 18446744073709551615";

template <auto kLimit>
bool Limit(std::string_view value, Options& options) {
  auto& limit = options.device.limits.*kLimit;
  using T = std::remove_reference_t<decltype(limit)>;
  if constexpr (sizeof(T) == 1) {
    return SetNumber<T>(value, kMaxDepth, &limit);
  } else if constexpr (sizeof(T) == 4) {
    return SetNumber<T>(value, kMax32, &limit);
  } else {
    return SetNumber<T>(value, std::numeric_limits<T>::max(), &limit);
  }
}

template <typename T>
bool Choose(std::string_view value, std::string_view first, T if_first,
            std::string_view second, T if_second, T* choice) {
  if (value != first && value != second) return false;
  *choice = value == first ? if_first : if_second;
  return true;
}

bool OnOff(std::string_view value, bool* flag) {
  return Choose(value, "on", true, "off", false, flag);
}

template <bool Profile::*kFlag>
bool Flag(std::string_view value, Options& options) {
  return OnOff(value, &(options.device.*kFlag));
}

bool SetProfile(std::string_view value, Options& options) {
  const Profile* profile = FindProfile(value);
  if (profile == nullptr) return false;
  options.device = *profile;
  return true;
}

bool SetTimers(std::string_view value, Options& options) {
  return Choose(value, "inline", false, "hardware", true,
                &options.fabric.hardware_timers);
}

bool SetStrictDevices(std::string_view value, Options& options) {
  return OnOff(value, &options.fabric.strict_devices);
}

bool SetEmptyChannelErrno(std::string_view value, Options& options) {
  return Choose(value, "EAGAIN", EAGAIN, "ENODATA", ENODATA,
                &options.fabric.empty_channel_errno);
}

bool SetSchedule(std::string_view value, Options& options) {
  return Choose(value, "inline", false, "stepped", true,
                &options.fabric.stepped);
}

bool SetSeed(std::string_view value, Options& options) {
  return options.fabric.stepped &&
         SetNumber(value, std::numeric_limits<uint64_t>::max(),
                   &options.fabric.seed);
}

bool SetTrace(std::string_view value, Options& options) {
  options.fabric.trace = value;
  return options.fabric.stepped;
}

bool SetFabric(std::string_view value, Options& options) {
  options.fabric.name = value;
  return value == kPrivateFabric ||
         (wire::IsFolderName(value) && !options.fabric.stepped);
}

bool SetDirectory(std::string_view value, Options& options) {
  options.fabric.directory = value;
  return value.front() == '/' && !options.fabric.stepped;
}

bool SetCqOverrun(std::string_view value, Options& options) {
  return Choose(value, "error", CqOverrun::kError, "drop", CqOverrun::kDrop,
                &options.device.cq_overrun);
}

bool SetCqRounding(std::string_view value, Options& options) {
  return Choose(value, "exact", CqRounding::kExact, "pow2",
                CqRounding::kPowerOfTwoMinusOne, &options.device.cq_rounding);
}

bool SetReads(std::string_view value, Options& options) {
  return Choose(value, "posted", ReadOrder::kPosted, "late", ReadOrder::kLate,
                &options.device.reads);
}

bool SetMemlockLimit(std::string_view value, Options& options) {
  return SetNumber(value, std::numeric_limits<uint64_t>::max(),
                   &options.device.memlock_limit);
}

bool SetRnrRetry(std::string_view value, Options& options) {
  uint8_t retries = 0;
  if (!SetNumber<uint8_t>(value, 7, &retries)) return false;
  options.device.rnr_retry = retries;
  return true;
}

constexpr OptionScope kFabric = OptionScope::kFabric;
constexpr OptionScope kDevice = OptionScope::kDevice;
constexpr std::string_view kOnOff = "on, off";

struct Option {
  OptionInfo info;
  Setter set;
};

// "profile" comes first: it sets all the others of a device; "schedule" before
// those that need it.
constexpr Option kOptions[] = {
    {{"profile", "roce, ib, iwarp", kDevice}, SetProfile},
    {{"timers", "inline, hardware", kFabric}, SetTimers},
    {{"strict_devices", kOnOff, kFabric}, SetStrictDevices},
    {{"empty_channel_errno", "EAGAIN, ENODATA", kFabric}, SetEmptyChannelErrno},
    {{"schedule", "inline, stepped", kFabric}, SetSchedule},
    {{"seed", "0 to 18446744073709551615 with schedule=stepped", kFabric},
     SetSeed},
    {{"trace", "the name of a file with schedule=stepped", kFabric}, SetTrace},
    {{"fabric",
      "private, or with schedule=inline a name of up to 64 letters, digits, "
      "'.', '_' and '-'",
      kFabric},
     SetFabric},
    {{"dir", "an absolute path with schedule=inline", kFabric}, SetDirectory},
    {{"max_qp", kRange32, kDevice}, Limit<&DeviceLimits::max_qp>},
    {{"max_qp_wr", kRange32, kDevice}, Limit<&DeviceLimits::max_qp_wr>},
    {{"max_sge", kRange32, kDevice}, Limit<&DeviceLimits::max_sge>},
    {{"max_sge_rd", kRange32, kDevice}, Limit<&DeviceLimits::max_sge_rd>},
    {{"max_inline_data", kRange32, kDevice},
     Limit<&DeviceLimits::max_inline_data>},
    {{"max_cq", kRange32, kDevice}, Limit<&DeviceLimits::max_cq>},
    {{"max_cqe", kRange32, kDevice}, Limit<&DeviceLimits::max_cqe>},
    {{"max_mr", kRange32, kDevice}, Limit<&DeviceLimits::max_mr>},
    {{"max_mr_size", kRange64, kDevice}, Limit<&DeviceLimits::max_mr_size>},
    {{"max_pd", kRange32, kDevice}, Limit<&DeviceLimits::max_pd>},
    {{"max_srq", kRange32, kDevice}, Limit<&DeviceLimits::max_srq>},
    {{"max_srq_wr", kRange32, kDevice}, Limit<&DeviceLimits::max_srq_wr>},
    {{"max_qp_rd_atom", kRangeDepth, kDevice},
     Limit<&DeviceLimits::max_qp_rd_atom>},
    {{"max_qp_init_rd_atom", kRangeDepth, kDevice},
     Limit<&DeviceLimits::max_qp_init_rd_atom>},
    {{"max_msg_sz", kRange32, kDevice}, Limit<&DeviceLimits::max_msg_sz>},
    {{"cq_overrun", "error, drop", kDevice}, SetCqOverrun},
    {{"cq_rounding", "exact, pow2", kDevice}, SetCqRounding},
    {{"reads", "posted, late", kDevice}, SetReads},
    {{"rnr_retry", "0 to 7", kDevice}, SetRnrRetry},
    {{"on_demand_paging", kOnOff, kDevice}, Flag<&Profile::on_demand_paging>},
    {{"pinning", kOnOff, kDevice}, Flag<&Profile::pinning>},
    {{"memlock_limit", kRange64, kDevice}, SetMemlockLimit},
    {{"advise_mr", kOnOff, kDevice}, Flag<&Profile::advise_mr>},
    {{"native_atomic_write", kOnOff, kDevice},
     Flag<&Profile::native_atomic_write>},
    {{"native_flush", kOnOff, kDevice}, Flag<&Profile::native_flush>},
    {{"write_with_imm", kOnOff, kDevice}, Flag<&Profile::write_with_imm>},
};

constexpr auto kInfos = [] {
  std::array<OptionInfo, std::size(kOptions)> infos{};
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = kOptions[i].info;
  return infos;
}();

std::string KnownNames(OptionScope scope) {
  std::string names;
  for (const OptionInfo& info : kInfos) {
    if (scope == OptionScope::kDevice && info.scope != scope) continue;
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

std::string Quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

// The values as given, in the order of the table.
using Values = std::array<std::string_view, std::size(kOptions)>;

// Enters one "name=value" into `values`; returns what is wrong with it.
std::string Enter(std::string_view word, OptionScope scope, Values* values) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (equals == std::string_view::npos || equals + 1 == word.size()) {
    return Quoted(word) + " is not name=value";
  }
  for (size_t i = 0; i < std::size(kOptions); ++i) {
    const OptionInfo& info = kOptions[i].info;
    if (info.name != name) continue;
    if (scope == OptionScope::kDevice && info.scope == OptionScope::kFabric) {
      return Quoted(name) + " is an option of the fabric, not of a device";
    }
    if (!(*values)[i].empty()) return Quoted(name) + " is given twice";
    (*values)[i] = word.substr(equals + 1);
    return {};
  }
  return "unknown option " + Quoted(name) + "; known are " + KnownNames(scope);
}

}  // namespace

std::span<const OptionInfo> KnownOptions() { return kInfos; }

int ParseOptions(std::string_view text, OptionScope scope, Options* options,
                 std::string* error) {
  constexpr std::string_view kSeparators = " ,\t\n";
  Values values{};
  for (size_t end = 0; end < text.size();) {
    const size_t begin = text.find_first_not_of(kSeparators, end);
    if (begin == std::string_view::npos) break;
    end = std::min(text.find_first_of(kSeparators, begin), text.size());
    std::string wrong = Enter(text.substr(begin, end - begin), scope, &values);
    if (!wrong.empty()) {
      *error = std::move(wrong);
      return EINVAL;
    }
  }
  if (values[0].empty()) values[0] = "roce";
  Options parsed;
  for (size_t i = 0; i < std::size(kOptions); ++i) {
    const auto& [info, set] = kOptions[i];
    if (values[i].empty() || set(values[i], parsed)) continue;
    *error = std::string(info.name) + "=" + std::string(values[i]) +
             ": allowed are " + std::string(info.values);
    return EINVAL;
  }
  *options = parsed;
  return 0;
}

}  // namespace rpma::emu
