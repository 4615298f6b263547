// SPDX-License-Identifier: BSD-3-Clause
// From the text of a plan to its rules.

#include <utility>

#include "backends/fault/plan.h"
#include "backends/fault/plan_names.h"
#include "backends/fault/plan_words.h"

namespace rpma::fault {
namespace {

bool ParseCall(RuleReader& reader, std::optional<Call>* call) {
  const std::string allowed = "any, " + NamesOfCalls();
  const Word* const word = reader.TakeObject(allowed);
  if (word == nullptr) return false;
  if (word->text == kAny) return true;
  *call = FindCall(word->text);
  if (!call->has_value()) {
    return reader.Refuse(*word, "there is no call " + Quoted(word->text) +
                                    "; allowed are " + allowed);
  }
  if (!CanFail(**call)) {
    return reader.Refuse(*word, std::string(word->text) +
                                    " cannot fail; allowed are " + allowed);
  }
  return true;
}

bool ParseErrno(RuleReader& reader, CallFault* fault) {
  const Word* const word = reader.Find("errno");
  if (word == nullptr) return true;
  const bool can_have_none =
      fault->call.has_value() && CanHaveNoCause(*fault->call);
  if (word->text == kNoCauseName && can_have_none) {
    fault->error = Errno::kNoCause;
    return true;
  }
  if (const std::optional<Errno> error = FindErrno(word->text)) {
    fault->error = *error;
    return true;
  }
  return reader.RefuseValue(
      "errno", can_have_none ? "none and the names of <errno.h>, such as EIO"
                             : "the names of <errno.h>, such as EIO");
}

bool ParseOutcome(RuleReader& reader, CallFault* fault) {
  if (!reader.Read("outcome", kOutcomes, &fault->outcome)) return false;
  const bool frees = fault->call.has_value() && Frees(*fault->call);
  const bool polls = fault->call == Call::kPollCq;
  if ((fault->outcome == Outcome::kFreed && !frees) ||
      (fault->outcome == Outcome::kExcess && !polls)) {
    return reader.Refuse(
        *reader.Find("outcome"),
        fault->outcome == Outcome::kFreed
            ? "only a call that frees something can have the outcome freed"
            : "only ibv_poll_cq can have the outcome excess");
  }
  const Word* const error = reader.Find("errno");
  if (fault->outcome == Outcome::kExcess && error != nullptr) {
    return reader.Refuse(*error,
                         "errno contradicts outcome=excess, which "
                         "reports no error");
  }
  return true;
}

bool ParseFail(RuleReader& reader, Rule* rule) {
  constexpr std::string_view kParameters[] = {"nth", "from", "errno",
                                              "outcome"};
  CallFault fault;
  if (!ParseCall(reader, &fault.call) || !reader.TakeParameters(kParameters) ||
      !reader.ReadNumber(&fault.nth, &fault.and_later) ||
      !ParseErrno(reader, &fault) || !ParseOutcome(reader, &fault)) {
    return false;
  }
  *rule = fault;
  return true;
}

using Parser = bool (*)(RuleReader& reader, Rule* rule);

constexpr Named<Parser> kVerbs[] = {
    {"fail", ParseFail},
};

bool ParseRule(std::span<const Word> words, Rule* rule, std::string* error) {
  RuleReader reader(words, error);
  Parser parse = nullptr;
  if (FindValue(kVerbs, reader.verb().text, &parse)) {
    return parse(reader, rule);
  }
  return reader.Refuse(reader.verb(), "there is no rule " +
                                          Quoted(reader.verb().text) +
                                          "; allowed are " + NamesIn(kVerbs));
}

}  // namespace

bool ParsePlan(std::string_view text, std::vector<Rule>* rules,
               std::string* error) {
  std::vector<Rule> parsed;
  for (const std::vector<Word>& words : SplitIntoRules(text)) {
    if (!ParseRule(words, &parsed.emplace_back(), error)) return false;
  }
  *rules = std::move(parsed);
  return true;
}

}  // namespace rpma::fault
