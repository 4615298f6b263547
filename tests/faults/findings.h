// SPDX-License-Identifier: BSD-3-Clause
// What is wrong about a run of a scenario.

#ifndef RPMA_TESTS_FAULTS_FINDINGS_H_
#define RPMA_TESTS_FAULTS_FINDINGS_H_

#include <cstddef>

namespace rpma::faults {

// A list of sentences, cut where its room ends. Does not allocate, so that it
// can be used while allocations are made to fail.
class Findings {
 public:
  // As printf(3); one finding.
  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...);

  bool empty() const { return length_ == 0; }
  // A line for each.
  const char* text() const { return text_; }

 private:
  size_t length_ = 0;
  char text_[4096] = "";
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_FINDINGS_H_
