// SPDX-License-Identifier: BSD-3-Clause

#include "core/log.h"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace rpma::log {
namespace {

constinit std::atomic<rpma_log_function*> installed = nullptr;
constinit std::atomic<rpma_log_level> thresholds[RPMA_LOG_THRESHOLD_MAX] = {
    RPMA_LOG_LEVEL_WARNING, RPMA_LOG_DISABLED};

}  // namespace

rpma_log_level Threshold(rpma_log_threshold threshold) {
  return thresholds[threshold].load(std::memory_order_relaxed);
}

void SetThreshold(rpma_log_threshold threshold, rpma_log_level level) {
  thresholds[threshold].store(level, std::memory_order_relaxed);
}

void SetFunction(rpma_log_function* function) {
  installed.store(function, std::memory_order_release);
}

bool Enabled(rpma_log_level level) {
  return level <= Threshold(RPMA_LOG_THRESHOLD);
}

void Write(rpma_log_level level, const char* file, int line,
           const char* function, const char* format, ...) {
  rpma_log_function* const sink = installed.load(std::memory_order_acquire);
  if (sink == nullptr) return;
  char text[kMaxMessage + 1];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (length < 0) return;  // an encoding error: there is no text to show
  // Sinks write to files, which are cancellation points, and callers are in the
  // middle of their work.
  int cancelling = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  sink(level, file, line, function, "%s\n", text);
  pthread_setcancelstate(cancelling, nullptr);
}

const char* Reason(Errno error) {
  if (error == Errno::kNoCause) return "the provider gave no reason";
  const char* text = strerrordesc_np(static_cast<int>(error));
  return text != nullptr ? text : "unknown errno";
}

}  // namespace rpma::log
