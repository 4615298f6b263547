// SPDX-License-Identifier: BSD-3-Clause

#include "api/testing/run_log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace rpma_testing {
namespace {

std::atomic<RunLog*> active = nullptr;

}  // namespace

RunLog::RunLog(std::string plan, bool echo_to_stderr)
    : plan_(std::move(plan)), echo_to_stderr_(echo_to_stderr) {
  active = this;
  rpma_log_set_function(&Receive);
}

RunLog::~RunLog() {
  rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
  active = nullptr;
}

std::string RunLog::Fatal() const {
  const std::lock_guard lock(mutex_);
  return fatal_;
}

std::string RunLog::Text() const {
  const std::lock_guard lock(mutex_);
  std::string text = first_;
  if (count_ > kFirst + kLast) {
    text += "  ... " + std::to_string(count_ - kFirst - kLast) + " more ...\n";
  }
  for (const std::string& message : last_) text += message;
  return text;
}

void RunLog::Receive(rpma_log_level level, const char* /*file*/, int /*line*/,
                     const char* /*function*/, const char* format, ...) {
  RunLog* log = active;
  if (log == nullptr) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  log->Add(level, text);
}

void RunLog::Add(rpma_log_level level, const std::string& text) {
  if (echo_to_stderr_) std::fputs(text.c_str(), stderr);
  const std::lock_guard lock(mutex_);
  if (level == RPMA_LOG_LEVEL_FATAL) {
    if (fatal_.empty()) fatal_ = text;
    if (++fatal_count_ == kFatalLimit) {
      std::fprintf(stderr,
                   "A wait that has no end was begun %zu times. %sThe plan of "
                   "faults:\n%s\n",
                   kFatalLimit, fatal_.c_str(), plan_.c_str());
      std::abort();
    }
  }
  ++count_;
  if (count_ <= kFirst) {
    first_ += "  " + text;
  } else {
    last_.push_back("  " + text);
    if (last_.size() > kLast) last_.pop_front();
  }
}

}  // namespace rpma_testing
