// SPDX-License-Identifier: BSD-3-Clause
// The name of one end of links.

#include "emulator/wire/token.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace rpma::emu::wire {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

int NewToken(Token* token) {
  uint64_t bits = 0;
  ssize_t got;
  do {
    got = getrandom(&bits, sizeof(bits), 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(bits)) return got < 0 ? errno : EIO;
  for (char& digit : token->digits) {
    digit = kDigits[bits % 16];
    bits /= 16;
  }
  return 0;
}

std::optional<Token> ParseToken(std::string_view text) {
  Token token;
  if (text.size() != token.digits.size()) return std::nullopt;
  if (text.find_first_not_of(kDigits) != text.npos) return std::nullopt;
  std::copy(text.begin(), text.end(), token.digits.begin());
  return token;
}

}  // namespace rpma::emu::wire
