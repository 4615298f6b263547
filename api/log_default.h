// SPDX-License-Identifier: BSD-3-Clause
//
// The default log function: syslog, and stderr up to the auxiliary threshold.

#ifndef RPMA_API_LOG_DEFAULT_H_
#define RPMA_API_LOG_DEFAULT_H_

#include <librpma.h>

namespace rpma {

// Writes the message to syslog, facility LOG_LOCAL7, as
//   *ERROR* file.cc: 123: function: text
// and, if `level` is within RPMA_LOG_THRESHOLD_AUX, the same to stderr after
//   Jan  2 15:04:05.123456 [thread id]
// The identity that the program gave to openlog() stays as it is. Text is cut
// at 1023 bytes, what comes before it at 255. A line is one write().
[[gnu::format(printf, 5, 6)]] void LogByDefault(rpma_log_level level,
                                                const char* file, int line,
                                                const char* function,
                                                const char* format, ...);

}  // namespace rpma

#endif  // RPMA_API_LOG_DEFAULT_H_
