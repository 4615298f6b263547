// SPDX-License-Identifier: BSD-3-Clause
//
// The log: thresholds, the installed function, and the macro that writes.
//
// A failure is logged once, by the function that decides which error it is,
// with the call that failed, its reason, and the numbers that were asked for.
// Callers that only pass the error on do not log it again.
//
// Everything here is safe from any number of threads, takes no lock, allocates
// nothing and does not throw.

#ifndef RPMA_CORE_LOG_H_
#define RPMA_CORE_LOG_H_

#include <librpma.h>

#include "core/transport.h"

// Logs a printf-formatted message, without a newline, at FATAL, ERROR, WARNING,
// NOTICE, INFO or DEBUG. Arguments are evaluated only if the level is enabled.
#define RPMA_LOG(level, ...)                                               \
  do {                                                                     \
    if (::rpma::log::Enabled(RPMA_LOG_LEVEL_##level)) {                    \
      ::rpma::log::Write(RPMA_LOG_LEVEL_##level, __FILE__, __LINE__,       \
                         static_cast<const char*>(__func__), __VA_ARGS__); \
    }                                                                      \
  } while (false)

namespace rpma::log {

// The level of one of the two thresholds, RPMA_LOG_THRESHOLD (WARNING at start)
// or RPMA_LOG_THRESHOLD_AUX (DISABLED at start).
// REQUIRES: `threshold` is one of these two.
rpma_log_level Threshold(rpma_log_threshold threshold);

// REQUIRES: as above; `level` is one of the enumerators.
void SetThreshold(rpma_log_threshold threshold, rpma_log_level level);

// Installs the function that receives messages. nullptr, as at start: none.
void SetFunction(rpma_log_function* function);

// True if messages of `level` are to be written.
bool Enabled(rpma_log_level level);

// Formats into a buffer on the stack (longer text is cut at kMaxMessage bytes)
// and calls the installed function as fn(level, file, line, function, "%s\n",
// text).
inline constexpr int kMaxMessage = 1023;
[[gnu::format(printf, 5, 6), gnu::cold]] void Write(rpma_log_level level,
                                                    const char* file, int line,
                                                    const char* function,
                                                    const char* format, ...);

// Why a provider call failed, in words. The text is static.
const char* Reason(Errno error);

}  // namespace rpma::log

#endif  // RPMA_CORE_LOG_H_
