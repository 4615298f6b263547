// SPDX-License-Identifier: BSD-3-Clause
// The folder in which the fabrics of one user find each other.

#include "emulator/wire/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "emulator/no_cancellation.h"

namespace rpma::emu::wire {
namespace {

constexpr std::string_view kLockSuffix = ".lock";
constexpr std::string_view kSocketSuffix = ".sock";
constexpr const char* kFolderLock = "lock";
constexpr auto kRetry = std::chrono::milliseconds(1);
// Whatever else has the name of a file, a FIFO too, is opened at once.
constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

std::string NameOf(const Token& token, std::string_view suffix) {
  return std::string(token.text()).append(suffix);
}

// The token of "TOKEN.SUFFIX".
std::optional<Token> TokenOf(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  return ParseToken(name.substr(0, name.size() - suffix.size()));
}

bool IsPort(std::string_view name) { return name.find('@') != name.npos; }

// Why others could interfere, or "".
std::string Objection(int folder) {
  struct stat status;
  if (fstat(folder, &status) != 0) return std::strerror(errno);
  if (status.st_uid != geteuid()) {
    return "it belongs to user " + std::to_string(status.st_uid) + ", not to " +
           std::to_string(geteuid());
  }
  if ((status.st_mode & 077) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", status.st_mode & 07777u);
    return std::string("its mode is ") + mode + ", not 0700";
  }
  return "";
}

// Opens `name` below `parent` and makes it if it is not there.
bool OpenFolder(int parent, const std::string& name, const std::string& path,
                Descriptor* folder, std::string* why) {
  std::string objection;
  if (mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    objection = std::strerror(errno);
  } else {
    *folder = Descriptor(
        openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | kOpenFlags));
    if (folder->is_open()) {
      objection = Objection(folder->get());
    } else if (errno == ENOTDIR || errno == ELOOP) {
      objection = "it is a symbolic link or no folder";
    } else {
      objection = std::strerror(errno);
    }
  }
  if (objection.empty()) {
    // Who cleans up /tmp leaves alone what is locked; without, it may be old.
    static_cast<void>(flock(folder->get(), LOCK_SH | LOCK_NB));
    return true;
  }
  *why = path + ": " + objection +
         "; remove it, or name another folder with RPMA_EMU=dir=PATH";
  return false;
}

// 0, or the errno of flock(2).
int TryLock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

void WritePid(int fd) {
  // Only for messages: who does not find it names nobody.
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0) return;
  static_cast<void>(pwrite(fd, pid.data(), pid.size(), 0) < 0);
}

int ReadPid(int fd) {
  char text[16] = {};
  return pread(fd, text, sizeof(text) - 1, 0) > 0 ? std::atoi(text) : 0;
}

}  // namespace

bool IsFolderName(std::string_view name) {
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (name.empty() || name.size() > 64) return false;
  if (kFirst.find(name[0]) == kFirst.npos) return false;
  return name.find_first_not_of(std::string(kFirst) + "._-") == name.npos;
}

std::string DefaultDirectory() {
  return "/tmp/rpma-emu-" + std::to_string(geteuid());
}

bool Folder::Open(const std::string& directory, const std::string& name,
                  std::string* why) {
  const NoCancellation none;
  Descriptor parent;
  path_ = directory + "/" + name;
  return OpenFolder(AT_FDCWD, directory, directory, &parent, why) &&
         OpenFolder(parent.get(), name, path_, &folder_, why);
}

std::string Folder::PathOfSocket(const Token& token) const {
  return "/proc/self/fd/" + std::to_string(fd()) + "/" +
         NameOf(token, kSocketSuffix);
}

Folder::Lock Folder::Acquire(std::chrono::milliseconds patience) const {
  const NoCancellation none;
  Lock lock;
  Descriptor file(
      openat(fd(), kFolderLock, O_RDWR | O_CREAT | kOpenFlags, 0600));
  if (!file.is_open()) {
    lock.error_ = errno;
    return lock;
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    lock.error_ = TryLock(file.get());
    if (lock.error_ == 0) break;
    if (std::chrono::steady_clock::now() >= end) {
      lock.holder_ = ReadPid(file.get());
      return lock;
    }
    std::this_thread::sleep_for(kRetry);
  }
  WritePid(file.get());
  lock.file_ = std::move(file);
  return lock;
}

int Folder::Join(const Lock&, Token* token, Descriptor* life) const {
  const NoCancellation none;
  if (const int error = NewToken(token); error != 0) return error;
  Descriptor file(openat(fd(), NameOf(*token, kLockSuffix).c_str(),
                         O_RDWR | O_CREAT | O_EXCL | kOpenFlags, 0600));
  if (!file.is_open()) return errno;
  if (const int error = TryLock(file.get()); error != 0) {
    Remove(*token);
    return error;
  }
  WritePid(file.get());
  *life = std::move(file);
  return 0;
}

bool Folder::IsAlive(const Lock&, const Token& token) const {
  const NoCancellation none;
  const Descriptor file(
      openat(fd(), NameOf(token, kLockSuffix).c_str(), O_RDONLY | kOpenFlags));
  if (!file.is_open()) return errno != ENOENT;
  return TryLock(file.get()) != 0;
}

void Folder::Remove(const Token& token) const {
  const NoCancellation none;
  // The lock is the last: without it nobody would look for the others.
  ForEach([&](const std::string& name) {
    if (IsPort(name) && ReadToken(name) == token) {
      unlinkat(fd(), name.c_str(), 0);
    }
  });
  unlinkat(fd(), NameOf(token, kSocketSuffix).c_str(), 0);
  unlinkat(fd(), NameOf(token, kLockSuffix).c_str(), 0);
}

size_t Folder::Sweep(const Lock& lock) const {
  const NoCancellation none;
  std::vector<std::string> names;
  ForEach([&](const std::string& name) { names.push_back(name); });
  std::set<std::string, std::less<>> alive;
  size_t gone = 0;
  for (const std::string& name : names) {
    const auto token = TokenOf(name, kLockSuffix);
    if (token && IsAlive(lock, *token)) alive.emplace(token->text());
  }
  for (const std::string& name : names) {
    auto token = TokenOf(name, kLockSuffix);
    const bool is_life = token.has_value();
    if (!token) token = TokenOf(name, kSocketSuffix);
    if (!token && IsPort(name)) token = ReadToken(name);
    // A file that was to become that of a port, when its writer died.
    const bool is_draft = name.starts_with(".tmp-");
    if (!is_draft && (!token || alive.contains(token->text()))) continue;
    unlinkat(fd(), name.c_str(), 0);
    if (is_life) ++gone;
  }
  return gone;
}

bool Folder::ForEach(
    const std::function<void(const std::string& name)>& visit) const {
  // A descriptor of its own: the position in a folder is shared.
  const int own = openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return false;
  DIR* const entries = fdopendir(own);
  if (entries == nullptr) {
    close(own);
    return false;
  }
  while (const dirent* const entry = readdir(entries)) visit(entry->d_name);
  closedir(entries);
  return true;
}

std::optional<Token> Folder::ReadToken(const std::string& name) const {
  const NoCancellation none;
  const Descriptor file(openat(fd(), name.c_str(), O_RDONLY | kOpenFlags));
  char text[sizeof(Token) + 1];
  if (!file.is_open()) return std::nullopt;
  const ssize_t size = read(file.get(), text, sizeof(text));
  if (size < 0) return std::nullopt;
  return ParseToken({text, static_cast<size_t>(size)});
}

}  // namespace rpma::emu::wire
