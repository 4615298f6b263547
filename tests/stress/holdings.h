// SPDX-License-Identifier: BSD-3-Clause
// What a process has of its system, to see whether it grows.

#ifndef RPMA_TESTS_STRESS_HOLDINGS_H_
#define RPMA_TESTS_STRESS_HOLDINGS_H_

#include <ostream>
#include <string>
#include <vector>

namespace rpma::test {

struct Holdings {
  long descriptors = 0;
  long threads = 0;
  long mappings = 0;
  long heap_bytes = 0;  // in use; 0 where a sanitizer has its own heap
  long resident_bytes = 0;
};

Holdings TakeStock();
// How many of its descriptors are sockets.
long CountSockets();
void PrintTo(const Holdings& holdings, std::ostream* out);

// The names of the files in a folder, sorted.
std::vector<std::string> FilesIn(const std::string& folder);

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_HOLDINGS_H_
