// SPDX-License-Identifier: BSD-3-Clause
// The rules about the emulated network.

#include <span>
#include <string>
#include <string_view>

#include "backends/fault/plan_names.h"
#include "backends/fault/plan_rules.h"

namespace rpma::fault {
namespace {

using emu::Fault;
using emu::FaultAction;
using emu::FaultSite;
using Names = std::span<const std::string_view>;

// Reads all parameters, of which the rule may have those named in `allowed`.
bool ReadParameters(RuleReader& reader, Names allowed, Fault* fault) {
  if (!reader.TakeParameters(allowed)) return false;
  if (const Word* const device = reader.Find("device")) {
    fault->device = device->text;
  }
  return reader.ReadNumber(&fault->nth, &fault->from) &&
         reader.ReadTime("time", &fault->time) &&
         reader.ReadTime("delay", &fault->time) &&
         reader.Read("what", kResponse, &fault->response) &&
         reader.Read("state", kLinkUp, &fault->link_up) &&
         reader.Read("status", kStatuses, &fault->status, kStatusPrefix) &&
         reader.Read("as", kEvents, &fault->as, kEventPrefix);
}

// "complete OP|recv status=..."
bool ParseComplete(RuleReader& reader, Fault* fault) {
  constexpr std::string_view kAllowed[] = {"status", "nth", "from", "device"};
  const std::string_view object = reader.TakeObject().text;
  if (!FindValue(kRequests, object, &fault->site) &&
      !FindValue(kReceives, object, &fault->site)) {
    return reader.RefuseObject(NamesIn(kRequests) + ", " + NamesIn(kReceives));
  }
  return ReadParameters(reader, kAllowed, fault) && reader.Require("status");
}

// "drop|delay|duplicate OP|MSG ..."
bool ParseTransmission(RuleReader& reader, Fault* fault) {
  constexpr std::string_view kOfRequests[] = {"what", "nth", "from", "device"};
  constexpr std::string_view kOfDelays[] = {"time", "nth", "from", "device"};
  constexpr std::string_view kOfOthers[] = {"nth", "from", "device"};
  const std::string_view object = reader.TakeObject().text;
  const bool of_request = FindValue(kRequests, object, &fault->site);
  if (!of_request && !FindValue(kMessages, object, &fault->site)) {
    return reader.RefuseObject(NamesIn(kRequests) + ", " + NamesIn(kMessages));
  }
  if (fault->action == FaultAction::kDelay) {
    return ReadParameters(reader, kOfDelays, fault) && reader.Require("time");
  }
  const bool has_response = of_request && fault->action == FaultAction::kDrop;
  return ReadParameters(reader, has_response ? Names(kOfRequests) : kOfOthers,
                        fault);
}

// "event NAME as=...", "event NAME ahead", "event NAME delay=..."
bool ParseEvent(RuleReader& reader, Fault* fault) {
  constexpr std::string_view kAllowed[] = {"as", "ahead", "delay", "nth",
                                           "from"};
  const Word& object = reader.TakeObject();
  const std::string_view name = WithoutPrefix(object.text, kEventPrefix);
  if (!FindValue(kEvents, name, &fault->event)) {
    return reader.RefuseObject(NamesIn(kEvents));
  }
  if (!ReadParameters(reader, kAllowed, fault)) return false;
  const Word* const as = reader.Find("as");
  if (as != nullptr && fault->as == RDMA_CM_EVENT_CONNECT_REQUEST) {
    return reader.Refuse(*as,
                         "only CONNECT_REQUEST itself brings a connection; "
                         "allowed are all other events");
  }
  const Word* const ahead = reader.Find("ahead");
  const Word* const delay = reader.Find("delay");
  if ((as != nullptr) + (ahead != nullptr) + (delay != nullptr) != 1) {
    return reader.Refuse(object,
                         "what happens to the event? allowed is one of as=, "
                         "ahead, delay=");
  }
  if (ahead != nullptr) fault->action = FaultAction::kEventAhead;
  if (delay != nullptr) fault->action = FaultAction::kDelayEvent;
  return true;
}

}  // namespace

bool ParseDeviceFault(RuleReader& reader, FaultAction action, bool at_once,
                      Fault* fault) {
  constexpr std::string_view kOfLinks[] = {"device", "state", "time", "nth"};
  constexpr std::string_view kOfOthers[] = {"device", "nth"};
  const bool link = action == FaultAction::kLink;
  Names allowed = link ? Names(kOfLinks) : kOfOthers;
  if (at_once) allowed = allowed.first(allowed.size() - 1);
  fault->action = action;
  return ReadParameters(reader, allowed, fault) && reader.Require("device") &&
         (!link || reader.Require("state"));
}

bool ParseFault(RuleReader& reader, FaultAction action, Fault* fault) {
  constexpr std::string_view kOfRnr[] = {"time", "nth", "from", "device"};
  constexpr std::string_view kOfCompletions[] = {"nth", "from"};
  fault->action = action;
  switch (action) {
    case FaultAction::kComplete:
      return ParseComplete(reader, fault);
    case FaultAction::kDrop:
    case FaultAction::kDelay:
    case FaultAction::kDuplicate:
      return ParseTransmission(reader, fault);
    case FaultAction::kRnr:
      return ReadParameters(reader, kOfRnr, fault) && reader.Require("time");
    case FaultAction::kShowEventAs:
    case FaultAction::kEventAhead:
    case FaultAction::kDelayEvent:
      return ParseEvent(reader, fault);
    case FaultAction::kForeignCq:
    case FaultAction::kOverrun:
      return ReadParameters(reader, kOfCompletions, fault);
    case FaultAction::kLink:
    case FaultAction::kExit:
    case FaultAction::kPowerOff:
    case FaultAction::kRemove:
      return ParseDeviceFault(reader, action, /*at_once=*/false, fault);
  }
  return false;
}

}  // namespace rpma::fault
