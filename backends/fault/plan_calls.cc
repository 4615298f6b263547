// SPDX-License-Identifier: BSD-3-Clause
// The rule "fail".

#include <optional>
#include <string>
#include <string_view>

#include "backends/fault/plan_names.h"
#include "backends/fault/plan_rules.h"

namespace rpma::fault {
namespace {

bool ParseCall(RuleReader& reader, std::optional<Call>* call) {
  const Word& object = reader.TakeObject();
  if (object.text == kAny) return true;
  *call = FindCall(object.text);
  return (call->has_value() && CanFail(**call)) ||
         reader.RefuseObject(std::string(kAny) + ", " + NamesOfCalls());
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
  if (fault->outcome == Outcome::kFreed && fault->call == Call::kAckCmEvent) {
    // An event must not stay unacknowledged: the core tries again in any case.
    return reader.Refuse(*reader.Find("outcome"),
                         "rdma_ack_cm_event cannot have the outcome freed, as "
                         "librpma acknowledges the event again");
  }
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

}  // namespace

bool ParseCallFault(RuleReader& reader, CallFault* out) {
  constexpr std::string_view kParameters[] = {"nth", "from", "errno",
                                              "outcome"};
  CallFault fault;
  if (!ParseCall(reader, &fault.call) || !reader.TakeParameters(kParameters) ||
      !reader.ReadNumber(&fault.nth, &fault.and_later) ||
      !ParseErrno(reader, &fault) || !ParseOutcome(reader, &fault)) {
    return false;
  }
  *out = fault;
  return true;
}

}  // namespace rpma::fault
