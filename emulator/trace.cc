// SPDX-License-Identifier: BSD-3-Clause
// The history of a stepped fabric, line by line.

#include "emulator/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <string_view>
#include <utility>

#include "emulator/no_cancellation.h"

namespace rpma::emu {
namespace {

uint64_t Fnv1a(uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x0000'0100'0000'01b3;
  }
  return hash;
}

}  // namespace

const char* NameOf(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kCompletionChannel:
      return "completion channel";
    case ObjectKind::kCompletionQueue:
      return "CQ";
    case ObjectKind::kSharedReceiveQueue:
      return "SRQ";
    case ObjectKind::kQueuePair:
      return "QP";
    case ObjectKind::kMemoryRegion:
      return "MR";
    case ObjectKind::kEventChannel:
      return "event channel";
    case ObjectKind::kCmId:
      return "CM id";
  }
  return "object";
}

uint32_t Trace::NumberOf(ObjectKind kind) {
  const std::lock_guard lock(mutex_);
  return ++created_[static_cast<size_t>(kind)];
}

void Trace::Add(const char* format, ...) {
  char line[kMaxLine + 2];  // with newline and NUL
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line, kMaxLine + 1, format, arguments);
  va_end(arguments);
  if (wanted < 0) return;  // an encoding error: there is no line
  size_t length = std::min(static_cast<size_t>(wanted), kMaxLine);
  line[length++] = '\n';

  const NoCancellation none;
  const std::lock_guard lock(mutex_);
  hash_ = Fnv1a(hash_, {line, length});
  if (file_ != nullptr) std::fwrite(line, 1, length, file_.get());
}

uint64_t Trace::hash() const {
  const std::lock_guard lock(mutex_);
  return hash_;
}

int Trace::WriteTo(const std::string& path) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "we"));
  if (file == nullptr) return errno;
  // By lines, so that one can see how far a world got that stopped.
  std::setvbuf(file.get(), nullptr, _IOLBF, BUFSIZ);
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  return 0;
}

}  // namespace rpma::emu
