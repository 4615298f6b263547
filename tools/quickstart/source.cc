// SPDX-License-Identifier: BSD-3-Clause
// Reads a file, or generates bytes.

#include "tools/quickstart/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

[[noreturn]] void CannotRead(const std::string& path, const char* why) {
  throw Failure(Text("cannot read '", path, "': ", why));
}

class FileSource final : public Source {
 public:
  explicit FileSource(const std::string& path)
      // Non-blocking, or opening a pipe would wait for its writer.
      : path_(path),
        fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) CannotRead(path_, strerror(errno));
  }
  ~FileSource() override { close(fd_); }

  void FindSize() {
    struct stat status;
    if (fstat(fd_, &status) != 0) CannotRead(path_, strerror(errno));
    if (S_ISDIR(status.st_mode)) CannotRead(path_, "it is a directory");
    if (!S_ISREG(status.st_mode)) CannotRead(path_, "it is not a regular file");
    if (status.st_size == 0) {
      throw Failure(Text("'", path_, "' is empty: there is nothing to copy"));
    }
    size_ = static_cast<uint64_t>(status.st_size);
  }

  uint64_t size() const override { return size_; }

  void Read(uint8_t* buffer, size_t size) override {
    while (size > 0) {
      const ssize_t got = read(fd_, buffer, size);
      if (got < 0) CannotRead(path_, strerror(errno));
      if (got == 0) CannotRead(path_, "it became shorter while being read");
      buffer += got;
      size -= static_cast<size_t>(got);
    }
  }

 private:
  const std::string path_;
  const int fd_;
  uint64_t size_ = 0;
};

// SplitMix64 (Steele, Lea, Flood 2014), one 64-bit word after the other.
class GeneratedSource final : public Source {
 public:
  explicit GeneratedSource(uint64_t size) : size_(size) {}

  uint64_t size() const override { return size_; }

  void Read(uint8_t* buffer, size_t size) override {
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
      const uint64_t word = Next();
      std::memcpy(buffer + done, &word, std::min(sizeof word, size - done));
    }
  }

 private:
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  const uint64_t size_;
  uint64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Source> OpenFile(const std::string& path) {
  auto file = std::make_unique<FileSource>(path);
  file->FindSize();
  return file;
}

std::unique_ptr<Source> GenerateContent(uint64_t size) {
  return std::make_unique<GeneratedSource>(size);
}

}  // namespace rpma::quickstart
