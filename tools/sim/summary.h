// SPDX-License-Identifier: BSD-3-Clause
// What all seeds together have come to.

#ifndef RPMA_TOOLS_SIM_SUMMARY_H_
#define RPMA_TOOLS_SIM_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/walk.h"

namespace rpma::sim {

class Summary {
 public:
  void Add(const RunOptions& options, const RunResult& result);

  uint64_t seeds() const { return seeds_; }
  uint64_t failed() const { return failures_.size(); }

  // For people, and as one JSON object; both end with a newline.
  std::string ToPlainText(double seconds) const;
  std::string ToJson(double seconds) const;

 private:
  struct Failure {
    uint64_t seed;
    std::string violation;
    std::string again;  // the command that runs it again
  };

  uint64_t seeds_ = 0;
  uint64_t steps_ = 0;
  uint64_t fired_ = 0;  // faults
  Marks marks_;
  std::vector<Failure> failures_;
};

}  // namespace rpma::sim

#endif  // RPMA_TOOLS_SIM_SUMMARY_H_
