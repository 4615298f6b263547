// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/log_watch.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace rpma::faults {
namespace {

LogWatch* active = nullptr;

bool IsOfTheEmulator(const char* file) {
  return std::string_view(file).find("api/emu/") != std::string_view::npos;
}

}  // namespace

LogWatch::LogWatch() {
  active = this;
  rpma_log_set_function(&Receive);
}

LogWatch::~LogWatch() {
  rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
  active = nullptr;
}

void LogWatch::Receive(rpma_log_level level, const char* file, int line,
                       const char* function, const char* format, ...) {
  if (active == nullptr) return;
  LogWatch& watch = *active;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (watch.echo_) {
    std::fprintf(stderr, "  %s:%d %s(): %s", file, line, function, text);
  }
  if (level > RPMA_LOG_LEVEL_ERROR || length <= 0) return;
  if (level == RPMA_LOG_LEVEL_FATAL) {
    ++watch.deadlocks_;
  } else {
    ++(IsOfTheEmulator(file) ? watch.complaints_ : watch.errors_);
  }
  text[strcspn(text, "\n")] = '\0';
  watch.Note(text);
}

void LogWatch::Note(const char* text) {
  // A connection ends its registration first, its queue pair next.
  const std::string_view message = text;
  if (message.starts_with("ibv_destroy_qp(") && registration_stays_) {
    ++abandoned_buffers_;
  }
  registration_stays_ |= message.starts_with("ibv_dereg_mr(");
  std::snprintf(latest_, sizeof(latest_), "%.255s", text);
}

}  // namespace rpma::faults
