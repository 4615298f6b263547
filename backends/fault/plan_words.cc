// SPDX-License-Identifier: BSD-3-Clause
// Splitting a plan of faults into words, and the checks that all rules share.

#include "backends/fault/plan_words.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace rpma::fault {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kEndOfWord = " \t\r\n;#";

std::string Joined(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 64;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsPrintable(c)) {
      quoted += c;
    } else {
      quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

std::vector<std::vector<Word>> SplitIntoRules(std::string_view text) {
  std::vector<std::vector<Word>> rules;
  std::vector<Word> words;
  const auto end_rule = [&] {
    if (!words.empty()) rules.push_back(std::move(words));
    words.clear();
  };
  size_t line = 1;
  size_t line_start = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') {
      end_rule();
      ++line;
      line_start = ++at;
    } else if (c == ';') {
      end_rule();
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (kBlanks.find(c) != std::string_view::npos) {
      ++at;
    } else {
      const size_t end =
          std::min(text.find_first_of(kEndOfWord, at), text.size());
      words.push_back({.text = text.substr(at, end - at),
                       .line = line,
                       .column = at - line_start + 1});
      at = end;
    }
  }
  end_rule();
  return rules;
}

RuleReader::RuleReader(std::span<const Word> words, std::string* error)
    : words_(words), error_(error) {}

Word RuleReader::End() const {
  const Word& last = words_.back();
  return {
      .text = {}, .line = last.line, .column = last.column + last.text.size()};
}

bool RuleReader::Refuse(const Word& at, const std::string& what) {
  *error_ = "line " + std::to_string(at.line) + ", column " +
            std::to_string(at.column) + ": " + what;
  return false;
}

bool RuleReader::RefuseValue(std::string_view name,
                             const std::string& allowed) {
  const Word& value = *Find(name);
  return Refuse(value, std::string(name) + " cannot be " + Quoted(value.text) +
                           "; allowed are " + allowed);
}

const Word* RuleReader::TakeObject(const std::string& allowed) {
  if (taken_ < words_.size()) return &words_[taken_++];
  Refuse(End(), "something is missing after " + Quoted(verb().text) +
                    "; allowed are " + allowed);
  return nullptr;
}

bool RuleReader::TakeParameters(std::span<const std::string_view> names) {
  for (; taken_ < words_.size(); ++taken_) {
    if (!TakeParameter(words_[taken_], names)) return false;
  }
  return true;
}

bool RuleReader::TakeParameter(const Word& word,
                               std::span<const std::string_view> names) {
  const std::string_view name = word.text.substr(0, word.text.find('='));
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Refuse(word, Quoted(name) + " is no parameter of this rule; " +
                            "allowed are " + Joined(names));
  }
  if (Find(name) != nullptr) {
    return Refuse(word, std::string(name) + " is given twice");
  }
  if (word.text.size() <= name.size() + 1) {
    return Refuse(word, std::string(name) + " has no value");
  }
  parameters_.push_back({.name = name,
                         .value = {.text = word.text.substr(name.size() + 1),
                                   .line = word.line,
                                   .column = word.column + name.size() + 1}});
  return true;
}

const Word* RuleReader::Find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter.value;
  }
  return nullptr;
}

bool RuleReader::ReadNumber(uint64_t* nth, bool* and_later) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const Word* const from = Find("from");
  const Word* const word = from != nullptr ? from : Find("nth");
  if (word == nullptr) return true;
  if (from != nullptr && Find("nth") != nullptr) {
    return Refuse(*from, "from contradicts nth; allowed is one of the two");
  }
  const char* const end = word->text.data() + word->text.size();
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(word->text.data(), end, number);
  if (error != std::errc() || stop != end || number == 0 || number > kMax) {
    return RefuseValue(from != nullptr ? "from" : "nth",
                       "1 to " + std::to_string(kMax));
  }
  *nth = number;
  *and_later = from != nullptr;
  return true;
}

}  // namespace rpma::fault
