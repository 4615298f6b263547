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
constexpr std::string_view kFlag = "ahead";  // the parameter without a value
constexpr std::string_view kEndOfWord = " \t\r\n;#";

std::string Joined(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

// Reads the number at the start of the text, and returns the rest. All is rest
// if there is none, or one that is too large.
std::string_view LeadingNumber(std::string_view text, uint64_t* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  if (error != std::errc()) return text;
  return text.substr(static_cast<size_t>(stop - text.data()));
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
    : words_(words),
      end_({.text = {},
            .line = words.back().line,
            .column = words.back().column + words.back().text.size()}),
      error_(error) {}

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

const Word& RuleReader::TakeObject() {
  object_ = taken_ < words_.size() ? &words_[taken_++] : &end_;
  return *object_;
}

bool RuleReader::RefuseObject(const std::string& allowed) {
  const std::string what =
      object_->text.empty()
          ? Quoted(verb().text) + " needs an object"
          : Quoted(object_->text) + " cannot follow " + Quoted(verb().text);
  return Refuse(*object_, what + "; allowed are " + allowed);
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
  const size_t skipped = std::min(name.size() + 1, word.text.size());
  if (name == kFlag && word.text != name) {
    return Refuse(word, std::string(name) + " takes no value");
  }
  if (name != kFlag && word.text.size() == skipped) {
    return Refuse(word, std::string(name) + " needs a value");
  }
  parameters_.push_back({.name = name,
                         .value = {.text = word.text.substr(skipped),
                                   .line = word.line,
                                   .column = word.column + skipped}});
  return true;
}

const Word* RuleReader::Find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter.value;
  }
  return nullptr;
}

bool RuleReader::Require(std::string_view name) {
  if (Find(name) != nullptr) return true;
  return Refuse(end_, std::string(verb().text) + " needs " + std::string(name) +
                          (name == kFlag ? "" : "="));
}

bool RuleReader::ReadNumber(uint64_t* nth, bool* and_later) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const Word* const from = Find("from");
  const Word* const word = from != nullptr ? from : Find("nth");
  if (word == nullptr) return true;
  if (from != nullptr && Find("nth") != nullptr) {
    return Refuse(*from, "from contradicts nth; allowed is one of the two");
  }
  uint64_t number = 0;
  if (!LeadingNumber(word->text, &number).empty() || number == 0 ||
      number > kMax) {
    return RefuseValue(from != nullptr ? "from" : "nth",
                       "1 to " + std::to_string(kMax));
  }
  *nth = number;
  *and_later = from != nullptr;
  return true;
}

bool RuleReader::ReadTime(std::string_view name,
                          std::chrono::nanoseconds* time) {
  constexpr std::chrono::nanoseconds kMax = std::chrono::hours(24);
  const Word* const word = Find(name);
  if (word == nullptr) return true;
  uint64_t number = 0;
  std::chrono::nanoseconds unit{0};
  if (!FindValue(kTimeUnits, LeadingNumber(word->text, &number), &unit) ||
      number == 0 || number > static_cast<uint64_t>(kMax / unit)) {
    return RefuseValue(name, "1ns to 86400s, in " + NamesIn(kTimeUnits));
  }
  *time = unit * static_cast<int64_t>(number);
  return true;
}

}  // namespace rpma::fault
