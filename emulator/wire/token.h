// SPDX-License-Identifier: BSD-3-Clause
// The name of one end of links: a fabric in a process.

#ifndef RPMA_EMULATOR_WIRE_TOKEN_H_
#define RPMA_EMULATOR_WIRE_TOKEN_H_

#include <array>
#include <optional>
#include <string_view>

namespace rpma::emu::wire {

// 64 random bits in hexadecimal digits. No two fabrics have the same one, not
// even those of a process and its child.
struct Token {
  std::array<char, 16> digits{};

  std::string_view text() const { return {digits.data(), digits.size()}; }
  bool operator==(const Token&) const = default;
};

// An errno of getrandom(2), or 0.
int NewToken(Token* token);
std::optional<Token> ParseToken(std::string_view text);

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_TOKEN_H_
