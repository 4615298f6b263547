// SPDX-License-Identifier: BSD-3-Clause
// A folder of one's own for each test.

#ifndef RPMA_TESTS_UNIT_EMULATOR_WIRE_TEMPORARY_FOLDER_H_
#define RPMA_TESTS_UNIT_EMULATOR_WIRE_TEMPORARY_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace rpma::emu::wire {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "/wire-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no folder";
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The names of the files in a folder, sorted.
inline std::vector<std::string> FilesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rpma::emu::wire

#endif  // RPMA_TESTS_UNIT_EMULATOR_WIRE_TEMPORARY_FOLDER_H_
