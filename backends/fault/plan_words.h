// SPDX-License-Identifier: BSD-3-Clause
// The words of a plan of faults, and how to read those of one rule.

#ifndef RPMA_BACKENDS_FAULT_PLAN_WORDS_H_
#define RPMA_BACKENDS_FAULT_PLAN_WORDS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/fault/plan_names.h"

namespace rpma::fault {

struct Word {
  std::string_view text;
  size_t line = 1;    // from 1
  size_t column = 1;  // from 1, in bytes
};

// The words of each rule; rules without words are left out.
std::vector<std::vector<Word>> SplitIntoRules(std::string_view text);

// The text, or its rest if it starts with the prefix.
inline std::string_view WithoutPrefix(std::string_view text,
                                      std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// Reads one rule: "VERB PARAMETER..." or "VERB OBJECT PARAMETER...", where a
// parameter is "name=value" or "name". A method that returns false has
// written to *error what is wrong.
class RuleReader {
 public:
  // REQUIRES: `words` is not empty and outlives this.
  RuleReader(std::span<const Word> words, std::string* error);

  const Word& verb() const { return words_.front(); }

  // The word after the verb; without text if there is none.
  const Word& TakeObject();

  // Reads all parameters, which come next. It is wrong if one is unknown, given
  // twice, or has no value or one too many; "ahead" has none.
  bool TakeParameters(std::span<const std::string_view> names);

  // It is wrong if the parameter is missing.
  bool Require(std::string_view name);

  // For parameters that are missing, these leave *value alone and succeed.
  bool ReadNumber(uint64_t* nth, bool* and_later);  // nth or from
  bool ReadTime(std::string_view name, std::chrono::nanoseconds* time);
  // Names may have `prefix` before them.
  template <typename T, size_t kSize>
  bool Read(std::string_view name, const Named<T> (&table)[kSize], T* value,
            std::string_view prefix = {}) {
    const Word* const word = Find(name);
    if (word == nullptr) return true;
    if (FindValue(table, WithoutPrefix(word->text, prefix), value)) return true;
    return RefuseValue(name, NamesIn(table));
  }

  // The value of a parameter, or nullptr if it is missing.
  const Word* Find(std::string_view name) const;

  // These return false. An object is wrong if it is missing, too.
  bool RefuseObject(const std::string& allowed);
  bool Refuse(const Word& at, const std::string& what);
  bool RefuseValue(std::string_view name, const std::string& allowed);

 private:
  struct Parameter {
    std::string_view name;
    Word value;
  };

  bool TakeParameter(const Word& word, std::span<const std::string_view> names);
  std::span<const Word> words_;
  const Word end_;  // where the next word would stand
  const Word* object_ = nullptr;
  size_t taken_ = 1;
  std::vector<Parameter> parameters_;
  std::string* error_;
};

// In quotes; bytes that cannot be printed are escaped, and long words cut.
std::string Quoted(std::string_view text);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_PLAN_WORDS_H_
