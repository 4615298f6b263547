// SPDX-License-Identifier: BSD-3-Clause

#include "api/boundary.h"

#include "core/log.h"

namespace rpma {

int InvalidArgument(const char* file, int line, const char* function,
                    const char* condition) {
  if (log::Enabled(RPMA_LOG_LEVEL_ERROR)) {
    log::Write(RPMA_LOG_LEVEL_ERROR, file, line, function,
               "invalid argument; the call needs %s", condition);
  }
  return RPMA_E_INVAL;
}

int OutOfMemory() {
  RPMA_LOG(ERROR, "out of memory");
  return RPMA_E_NOMEM;
}

}  // namespace rpma
