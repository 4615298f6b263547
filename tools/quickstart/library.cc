// SPDX-License-Identifier: BSD-3-Clause
// Turns return codes and log messages of librpma into failures.

#include "tools/quickstart/library.h"

#include <cstdarg>
#include <cstdio>
#include <string>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

thread_local char last_error[1024];

void Remember(rpma_log_level level, const char* /*file*/, const int /*line*/,
              const char* /*function*/, const char* format, ...) {
  if (level > RPMA_LOG_LEVEL_ERROR) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
}

// The code's meaning is general; the log message behind it says what happened.
std::string Reason(int result) {
  std::string reason = last_error;
  last_error[0] = '\0';
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return reason.empty() ? rpma_err_2str(result) : reason;
}

}  // namespace

void CaptureLog() {
  Check(rpma_log_set_function(Remember), "set the log function");
}

void Check(int result, std::string_view action, std::string_view advice) {
  if (result == 0) return;
  throw Failure(Text("cannot ", action, ": ", Reason(result),
                     advice.empty() ? "" : "; ", advice));
}

void WarnIfFailed(int result, std::string_view action) {
  if (result == 0) return;
  fprintf(stderr, "rpma_quickstart: warning: %s\n",
          Text("cannot ", action, ": ", Reason(result)).c_str());
}

}  // namespace rpma::quickstart
