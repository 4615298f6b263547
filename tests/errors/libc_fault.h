// SPDX-License-Identifier: BSD-3-Clause
// Functions of libc that fail on demand, as this program has its own of them.

#ifndef RPMA_TESTS_ERRORS_LIBC_FAULT_H_
#define RPMA_TESTS_ERRORS_LIBC_FAULT_H_

namespace rpma::test {

enum class LibcFunction { kMmap, kMunmap, kSysconf };

// Lets a function fail as long as it lives, in the calling thread. One at a
// time.
class LibcFault {
 public:
  explicit LibcFault(LibcFunction function);
  LibcFault(const LibcFault&) = delete;
  LibcFault& operator=(const LibcFault&) = delete;
  ~LibcFault();

  // How often it was called.
  static int calls();
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_LIBC_FAULT_H_
