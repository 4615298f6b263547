// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/findings.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace rpma::faults {

void Findings::Add(const char* format, ...) {
  const size_t room = sizeof(text_) - length_;
  if (room < 8) return;
  text_[length_] = '-';
  text_[length_ + 1] = ' ';
  va_list arguments;
  va_start(arguments, format);
  const int written =
      std::vsnprintf(&text_[length_ + 2], room - 4, format, arguments);
  va_end(arguments);
  length_ += 2 + std::min(static_cast<size_t>(std::max(written, 0)), room - 5);
  text_[length_++] = '\n';
  text_[length_] = '\0';
}

}  // namespace rpma::faults
