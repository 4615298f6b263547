// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_log_*: thresholds and the log function.

#include "core/log.h"

#include "api/boundary.h"
#include "api/log_default.h"

namespace {

bool IsThreshold(int threshold) {
  return threshold == RPMA_LOG_THRESHOLD || threshold == RPMA_LOG_THRESHOLD_AUX;
}

bool IsLevel(int level) {
  return level >= RPMA_LOG_DISABLED && level <= RPMA_LOG_LEVEL_DEBUG;
}

// So that messages go to the default sink before the program has said where.
[[gnu::constructor]] void InstallDefaultSink() {
  rpma::log::SetFunction(&rpma::LogByDefault);
}

}  // namespace

int rpma_log_set_function(rpma_log_function* log_function) {
  rpma::log::SetFunction(log_function != nullptr ? log_function
                                                 : &rpma::LogByDefault);
  return 0;
}

int rpma_log_set_threshold(enum rpma_log_threshold threshold,
                           enum rpma_log_level level) {
  RPMA_REQUIRE(IsThreshold(rpma::NumberOf(threshold)));
  RPMA_REQUIRE(IsLevel(rpma::NumberOf(level)));
  rpma::log::SetThreshold(threshold, level);
  return 0;
}

int rpma_log_get_threshold(enum rpma_log_threshold threshold,
                           enum rpma_log_level* level) {
  RPMA_REQUIRE(IsThreshold(rpma::NumberOf(threshold)));
  RPMA_REQUIRE(level != nullptr);
  *level = rpma::log::Threshold(threshold);
  return 0;
}
