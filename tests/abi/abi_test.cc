// SPDX-License-Identifier: BSD-3-Clause
// A program compiled with the librpma.h of librpma 1.x keeps its meaning here.
#include <gtest/gtest.h>

#include <set>
#include <span>

#include "tests/abi/abi_table.h"

namespace {

std::span<const AbiConstant> Constants(const AbiTable& table) {
  return {table.constants, table.constant_count};
}

std::span<const AbiLayout> Layouts(const AbiTable& table) {
  return {table.layouts, table.layout_count};
}

std::span<const AbiFunction> Functions(const AbiTable& table) {
  return {table.functions, table.function_count};
}

TEST(AbiTest, ConstantsHaveTheirDocumentedValues) {
  EXPECT_EQ(Constants(abi_of_this_header).size(), 45U);
  for (const AbiConstant& constant : Constants(abi_of_this_header)) {
    EXPECT_EQ(constant.value, constant.documented) << constant.name;
  }
}

TEST(AbiTest, ConstantsHaveTheValuesOfDebiansHeader) {
  const auto theirs = Constants(abi_of_debian_header);
  if (theirs.empty()) GTEST_SKIP() << "no librpma-dev on this machine";
  const auto ours = Constants(abi_of_this_header);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].value, theirs[i].value) << ours[i].name;
  }
}

TEST(AbiTest, TypesAreLaidOutAsInDebiansHeader) {
  const auto theirs = Layouts(abi_of_debian_header);
  if (theirs.empty()) GTEST_SKIP() << "no librpma-dev on this machine";
  const auto ours = Layouts(abi_of_this_header);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].value, theirs[i].value) << ours[i].expression;
  }
}

TEST(AbiTest, LibraryDefinesAFunctionOfItsOwnForEachDeclaration) {
  std::set<void (*)()> addresses;
  for (const AbiFunction& function : Functions(abi_of_this_header)) {
    EXPECT_TRUE(addresses.insert(function.address).second) << function.name;
  }
  EXPECT_EQ(addresses.size(), 84U);
}

}  // namespace
