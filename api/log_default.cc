// SPDX-License-Identifier: BSD-3-Clause

#include "api/log_default.h"

#include <syslog.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "core/log.h"

namespace rpma {
namespace {

constexpr size_t kMaxPrefix = 255;

struct LevelTraits {
  const char* tag;  // of equal length, so that lines align
  int severity;     // of syslog
};

LevelTraits TraitsOf(rpma_log_level level) {
  switch (level) {
    case RPMA_LOG_LEVEL_FATAL:
      return {"*FATAL* ", LOG_CRIT};
    case RPMA_LOG_LEVEL_ERROR:
      return {"*ERROR* ", LOG_ERR};
    case RPMA_LOG_LEVEL_WARNING:
      return {"*WARN*  ", LOG_WARNING};
    case RPMA_LOG_LEVEL_NOTICE:
      return {"*NOTE*  ", LOG_NOTICE};
    case RPMA_LOG_LEVEL_INFO:
      return {"*INFO*  ", LOG_INFO};
    default:
      return {"*DEBUG* ", LOG_DEBUG};
  }
}

const char* BaseName(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void WriteToStderr(const char* prefix, const char* text) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local = {};
  localtime_r(&now.tv_sec, &local);
  char date[32];
  std::strftime(date, sizeof(date), "%b %e %H:%M:%S", &local);

  char line[sizeof(date) + 32 + kMaxPrefix + log::kMaxMessage];
  const int length =
      std::snprintf(line, sizeof(line), "%s.%06ld [%d] %s%s", date,
                    now.tv_nsec / 1000, gettid(), prefix, text);
  // A log that cannot be written has nobody to tell.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line, static_cast<size_t>(length));
}

}  // namespace

void LogByDefault(rpma_log_level level, const char* file, int line,
                  const char* function, const char* format, ...) {
  char text[log::kMaxMessage + 1];
  va_list arguments;
  va_start(arguments, format);
  const int text_length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (text_length < 0) return;  // an encoding error: there is no text to show

  const LevelTraits traits = TraitsOf(level);
  char prefix[kMaxPrefix + 1];
  std::snprintf(prefix, sizeof(prefix), "%s%s: %3d: %s: ", traits.tag,
                BaseName(file), line, function);
  syslog(LOG_LOCAL7 | traits.severity, "%s%s", prefix, text);
  if (level <= log::Threshold(RPMA_LOG_THRESHOLD_AUX)) {
    WriteToStderr(prefix, text);
  }
}

}  // namespace rpma
