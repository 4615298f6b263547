// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/call.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rpma::test {

void Call::SetAddress(const std::string& name, const void* address) {
  arguments_->SetAddress(IndexOf(name), address);
}

void Call::SetNumber(const std::string& name, int64_t number) {
  arguments_->SetNumber(IndexOf(name), number);
}

void Call::SetNothing(const std::string& name) {
  SetAddress(name, nullptr);
  SetNumber(name, 0);
}

size_t Call::IndexOf(const std::string& name) const {
  const auto& names = prototype_->parameters;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    ADD_FAILURE() << "no parameter is called " << name;
    return names.size();
  }
  return static_cast<size_t>(found - names.begin());
}

}  // namespace rpma::test
