// SPDX-License-Identifier: BSD-3-Clause
// An object of librpma that goes with its owner.

#ifndef RPMA_TESTS_SIM_OWNED_H_
#define RPMA_TESTS_SIM_OWNED_H_

#include <memory>

namespace rpma::sim {

template <auto kDelete>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kDelete(&object);
  }
};

template <typename T, auto kDelete>
using Owned = std::unique_ptr<T, Deleter<kDelete>>;

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_OWNED_H_
