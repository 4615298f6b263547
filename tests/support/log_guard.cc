// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/log_guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace rpma::test {
namespace {

std::atomic<LogGuard*> active = nullptr;

}  // namespace

LogGuard::LogGuard() {
  messages_.reserve(kReserved);
  active = this;
  rpma_log_set_function(&Receive);
}

LogGuard::~LogGuard() {
  rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
  active = nullptr;
  for (const Message& message : messages_) {
    if (message.level > RPMA_LOG_LEVEL_ERROR) continue;
    ADD_FAILURE() << "unexpected in the log: " << message.text;
  }
}

std::vector<std::string> LogGuard::Take(rpma_log_level level) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> taken;
  for (const Message& message : messages_) {
    if (message.level == level) taken.emplace_back(message.text);
  }
  std::erase_if(messages_,
                [=](const Message& message) { return message.level == level; });
  return taken;
}

void LogGuard::Discard() {
  const std::lock_guard lock(mutex_);
  messages_.clear();
}

void LogGuard::Receive(rpma_log_level level, const char* /*file*/, int /*line*/,
                       const char* /*function*/, const char* format, ...) {
  LogGuard* guard = active;
  if (guard == nullptr) return;
  Message message;
  message.level = level;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message.text, sizeof(message.text), format, arguments);
  va_end(arguments);
  const std::lock_guard lock(guard->mutex_);
  guard->messages_.push_back(message);
}

}  // namespace rpma::test
