// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/holdings.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace rpma::test {
namespace {

long CountEntries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

long CountLines(const char* path) {
  std::ifstream file(path);
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

long ResidentBytes() {
  long all = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

long CountSockets() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::count_if(begin(entries), end(entries), [](const auto& entry) {
    std::error_code gone;
    return std::filesystem::read_symlink(entry, gone)
        .string()
        .starts_with("socket:");
  });
}

Holdings TakeStock() {
  return {.descriptors = CountEntries("/proc/self/fd"),
          .threads = CountEntries("/proc/self/task"),
          .mappings = CountLines("/proc/self/maps"),
          .heap_bytes = static_cast<long>(mallinfo2().uordblks),
          .resident_bytes = ResidentBytes()};
}

void PrintTo(const Holdings& holdings, std::ostream* out) {
  *out << holdings.descriptors << " descriptors, " << holdings.threads
       << " threads, " << holdings.mappings << " mappings, "
       << holdings.heap_bytes << " bytes of heap, " << holdings.resident_bytes
       << " bytes resident";
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rpma::test
