// SPDX-License-Identifier: BSD-3-Clause
// The folder in which the fabrics of one user find each other.
//
// A fabric there is a token T: the file `T.lock`, which its process holds
// locked (flock(2)) for life, so that whoever can lock it knows that the fabric
// is gone; and the socket `T.sock`.

#ifndef RPMA_EMULATOR_WIRE_FOLDER_H_
#define RPMA_EMULATOR_WIRE_FOLDER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/wire/descriptor.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// 1 to 64 letters, digits, '.', '_' and '-', the first a letter or a digit.
bool IsFolderName(std::string_view name);

// Where fabrics meet unless told otherwise: "/tmp/rpma-emu-" and the user's id.
std::string DefaultDirectory();

// Threads: every call but Open() is safe from any thread.
class Folder {
 public:
  // Opens the folder `name` in `directory`, and makes both if they are not
  // there. False: *why says which is refused and why, and what to do. Refused
  // is what others could write to or have made: a symbolic link, a folder of
  // another user, one that others have rights to.
  // REQUIRES: IsFolderName(name); nothing is open.
  bool Open(const std::string& directory, const std::string& name,
            std::string* why);

  int fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }  // for messages
  // For bind(2) and connect(2): short, whatever path() is.
  std::string PathOfSocket(const Token& token) const;

  // A time in which no other process changes the folder.
  class Lock {
   public:
    bool is_held() const { return file_.is_open(); }
    // EAGAIN: another process holds it for too long; or an errno of open(2).
    int error() const { return error_; }
    int holder() const { return holder_; }  // with EAGAIN: its pid, or 0

   private:
    friend class Folder;
    Descriptor file_;
    int error_ = 0;
    int holder_ = 0;
  };
  // Waits, if it must, for the time of `patience`.
  Lock Acquire(std::chrono::milliseconds patience) const;

  // Makes a token and holds its file, which *life keeps locked until it is
  // closed. 0, or an errno. REQUIRES: the lock is held.
  int Join(const Lock& lock, Token* token, Descriptor* life) const;
  // Whether the process of a fabric lives. In doubt, it does.
  // REQUIRES: the lock is held.
  bool IsAlive(const Lock& lock, const Token& token) const;
  // Removes the files of a fabric that is gone, or of one's own.
  void Remove(const Token& token) const;
  // Removes all files of fabrics that are gone, and returns how many fabrics
  // that were. REQUIRES: the lock is held.
  size_t Sweep(const Lock& lock) const;

  // Calls `visit` with the name of each file. False: it could not be read.
  bool ForEach(const std::function<void(const std::string& name)>& visit) const;
  // The token in the file of a port; nothing: there is no such file.
  std::optional<Token> ReadToken(const std::string& name) const;

 private:
  Descriptor folder_;
  std::string path_;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_FOLDER_H_
