// SPDX-License-Identifier: BSD-3-Clause
// The history of a stepped fabric, line by line.

#ifndef RPMA_EMULATOR_TRACE_H_
#define RPMA_EMULATOR_TRACE_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace rpma::emu {

// What a trace names, each kind numbered from 1 in the order of creation.
enum class ObjectKind : uint8_t {
  kCompletionChannel,
  kCompletionQueue,
  kSharedReceiveQueue,
  kQueuePair,
  kMemoryRegion,
  kEventChannel,
  kCmId,
};
inline constexpr size_t kObjectKinds = 7;

// "completion channel", ...
const char* NameOf(ObjectKind kind);

// Lines name objects by kind and number, addresses as region and offset,
// requests by their place in the order of posting, and data by their length. So
// the same history gives the same lines in every process, and nothing may go
// into a line that does not.
//
// Threads: all calls, any thread.
class Trace {
 public:
  // Lines longer than this are cut.
  static constexpr size_t kMaxLine = 255;

  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The next number of its kind.
  uint32_t NumberOf(ObjectKind kind);

  // Adds a line; as printf(3). Does not allocate.
  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...);

  // FNV-1a, 64 bits, of all lines so far, each with a newline at its end.
  uint64_t hash() const;

  // Lines from now on are written to the file, too, which is created or
  // emptied. 0 or an errno of open(2).
  int WriteTo(const std::string& path);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  static constexpr uint64_t kOffsetBasis = 0xcbf2'9ce4'8422'2325;

  mutable std::mutex mutex_;
  uint64_t hash_ = kOffsetBasis;  // guarded by mutex_, as all below
  uint32_t created_[kObjectKinds] = {};
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_TRACE_H_
