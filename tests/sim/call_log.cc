// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/call_log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace rpma::sim {
namespace {

constexpr size_t kKept = 8;  // messages

std::atomic<CallLog*> listener = nullptr;

}  // namespace

CallLog::CallLog() {
  listener = this;
  rpma_log_set_function(Receive);
}

CallLog::~CallLog() {
  rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
  listener = nullptr;
}

size_t CallLog::errors() {
  const std::lock_guard lock(mutex_);
  return errors_;
}

std::deque<std::string> CallLog::last_messages() {
  const std::lock_guard lock(mutex_);
  return messages_;
}

void CallLog::Receive(rpma_log_level level, const char* /*file*/, int /*line*/,
                      const char* /*function*/, const char* format, ...) {
  CallLog* const log = listener;
  if (log == nullptr) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::string message = text;
  if (!message.empty() && message.back() == '\n') message.pop_back();

  const std::lock_guard lock(log->mutex_);
  if (level <= RPMA_LOG_LEVEL_ERROR) ++log->errors_;
  log->messages_.push_back(std::move(message));
  if (log->messages_.size() > kKept) log->messages_.pop_front();
}

}  // namespace rpma::sim
