// SPDX-License-Identifier: BSD-3-Clause
// The sources of rpma_quickstart and the digests it compares.

#include "tools/quickstart/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tools/quickstart/digest.h"
#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

using testing::HasSubstr;

std::string PathOf(const std::string& name) {
  return testing::TempDir() + "source_test." + name;
}

std::string WriteFile(const std::string& name, const std::string& content) {
  std::string path = PathOf(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string ReadString(Source* source, size_t size) {
  std::vector<uint8_t> buffer(size);
  source->Read(buffer.data(), size);
  return std::string(buffer.begin(), buffer.end());
}

template <typename Action>
std::string FailureOf(Action action) {
  try {
    action();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitFailure);
    return failure.what();
  }
  ADD_FAILURE() << "no failure";
  return "";
}

TEST(FileSourceTest, ReadsTheFileInPieces) {
  const auto file = OpenFile(WriteFile("pieces", "persistent"));
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(ReadString(file.get(), 7), "persist");
  EXPECT_EQ(ReadString(file.get(), 3), "ent");
}

TEST(FileSourceTest, RefusesAMissingFile) {
  EXPECT_THAT(FailureOf([] { OpenFile(PathOf("missing")); }),
              HasSubstr("source_test.missing': No such file or directory"));
}

TEST(FileSourceTest, RefusesADirectory) {
  EXPECT_EQ(FailureOf([] { OpenFile("/"); }),
            "cannot read '/': it is a directory");
}

TEST(FileSourceTest, RefusesAnEmptyFile) {
  const std::string path = WriteFile("empty", "");
  EXPECT_THAT(FailureOf([&] { OpenFile(path); }), HasSubstr("is empty"));
}

TEST(FileSourceTest, RefusesAPipeWithoutWaitingForItsWriter) {
  const std::string path = PathOf("pipe");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(FailureOf([&] { OpenFile(path); }),
              HasSubstr("it is not a regular file"));
}

TEST(FileSourceTest, NoticesThatTheFileBecameShorter) {
  const std::string path = WriteFile("shorter", "0123456789");
  const auto file = OpenFile(path);
  ASSERT_EQ(truncate(path.c_str(), 4), 0);
  EXPECT_THAT(FailureOf([&] { ReadString(file.get(), 10); }),
              HasSubstr("it became shorter while being read"));
}

TEST(GeneratedContentTest, IsTheSameEveryTime) {
  const auto first = GenerateContent(100);
  const auto second = GenerateContent(100);
  EXPECT_EQ(first->size(), 100u);
  EXPECT_EQ(ReadString(first.get(), 100), ReadString(second.get(), 100));
}

TEST(GeneratedContentTest, DoesNotRepeatItself) {
  const auto content = GenerateContent(64);
  EXPECT_NE(ReadString(content.get(), 32), ReadString(content.get(), 32));
}

// FIPS 180-4, the example with the message "abc".
TEST(Sha256Test, IsTheOneOfTheStandard) {
  Sha256Stream stream;
  stream.Update("a", 1);
  stream.Update("bc", 2);
  EXPECT_EQ(Hex(stream.Finish()),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace rpma::quickstart
