// SPDX-License-Identifier: BSD-3-Clause
// The trace: its numbers, its hash and its file.

#include "emulator/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

namespace rpma::emu {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TraceTest, NumbersEachKindFromOne) {
  Trace trace;
  EXPECT_EQ(trace.NumberOf(ObjectKind::kQueuePair), 1u);
  EXPECT_EQ(trace.NumberOf(ObjectKind::kQueuePair), 2u);
  EXPECT_EQ(trace.NumberOf(ObjectKind::kCmId), 1u);
  EXPECT_EQ(trace.NumberOf(ObjectKind::kQueuePair), 3u);
}

TEST(TraceTest, HashIsFnv1aOfTheLines) {
  Trace trace;
  EXPECT_EQ(trace.hash(), 0xcbf29ce484222325u);
  trace.Add("foobar");
  EXPECT_EQ(trace.hash(), 0x345316a7168b8506u);  // of "foobar\n"
  trace.Add("QP %u", 7u);
  Trace same;
  same.Add("foobar");
  same.Add("QP 7");
  EXPECT_EQ(same.hash(), trace.hash());
  same.Add("QP 7");
  EXPECT_NE(same.hash(), trace.hash());
}

TEST(TraceTest, BoundariesOfLinesCount) {
  Trace one;
  Trace two;
  one.Add("ab");
  two.Add("a");
  two.Add("b");
  EXPECT_NE(one.hash(), two.hash());
}

TEST(TraceTest, CutsLongLines) {
  Trace trace;
  Trace cut;
  trace.Add("%s", std::string(10'000, 'x').c_str());
  cut.Add("%s", std::string(Trace::kMaxLine, 'x').c_str());
  EXPECT_EQ(trace.hash(), cut.hash());
}

TEST(TraceTest, WritesItsLinesToAFileAtOnce) {
  const std::string path = testing::TempDir() + "/trace_test.txt";
  std::ofstream(path) << "what was there before\n";
  Trace trace;
  trace.Add("not this line");
  ASSERT_EQ(trace.WriteTo(path), 0);
  trace.Add("first %d", 1);
  trace.Add("second");
  EXPECT_EQ(Contents(path), "first 1\nsecond\n");
}

TEST(TraceTest, SaysWhyAFileCannotBeWritten) {
  Trace trace;
  EXPECT_EQ(trace.WriteTo("/nonexistent/directory/file"), ENOENT);
  trace.Add("goes on");
}

}  // namespace
}  // namespace rpma::emu
