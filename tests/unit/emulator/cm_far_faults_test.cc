// SPDX-License-Identifier: BSD-3-Clause
// Connections between two processes, when messages get lost or a process ends:
// each story goes as it does within one process.

#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/emulator/cm_story.h"

namespace rpma::emu {
namespace {

// --- Lost messages, and those that come twice or late

template <FaultAction kAction, FaultSite kSite>
void Strike(Story& story) {
  using std::chrono_literals::operator""s;
  Fault fault = {.action = kAction, .site = kSite};
  if (kAction == FaultAction::kDelay) fault.time = 1s;
  story.SetFaults({fault});
}

template <FaultAction kAction, FaultSite kSite>
void EstablishUnderFault(Story& story) {
  Strike<kAction, kSite>(story);
  story.Establish();
}

template <FaultAction kAction, FaultSite kSite>
void DisconnectUnderFault(Story& story) {
  Strike<kAction, kSite>(story);
  story.Establish();
  story.Disconnect(kClient);
  story.See(kServer);
  story.Disconnect(kServer);
  story.See(kClient);
  if (story.iwarp()) return;
  story.See(kClient);
  story.See(kServer);
}

constexpr FaultAction kDrop = FaultAction::kDrop;
constexpr FaultAction kTwice = FaultAction::kDuplicate;
constexpr FaultAction kLate = FaultAction::kDelay;

constexpr Plot kFaultPlots[] = {
    {"ReqLost", EstablishUnderFault<kDrop, FaultSite::kReq>},
    {"ReqTwice", EstablishUnderFault<kTwice, FaultSite::kReq>},
    {"ReqLate", EstablishUnderFault<kLate, FaultSite::kReq>},
    {"RepLost", EstablishUnderFault<kDrop, FaultSite::kRep>},
    {"RepTwice", EstablishUnderFault<kTwice, FaultSite::kRep>},
    {"RepLate", EstablishUnderFault<kLate, FaultSite::kRep>},
    {"RtuLost", EstablishUnderFault<kDrop, FaultSite::kRtu>},
    {"RtuTwice", EstablishUnderFault<kTwice, FaultSite::kRtu>},
    {"RtuLate", EstablishUnderFault<kLate, FaultSite::kRtu>},
    {"DreqLost", DisconnectUnderFault<kDrop, FaultSite::kDreq>},
    {"DreqTwice", DisconnectUnderFault<kTwice, FaultSite::kDreq>},
    {"DreqLate", DisconnectUnderFault<kLate, FaultSite::kDreq>},
    {"DrepLost", DisconnectUnderFault<kDrop, FaultSite::kDrep>},
    {"DrepTwice", DisconnectUnderFault<kTwice, FaultSite::kDrep>},
    {"DrepLate", DisconnectUnderFault<kLate, FaultSite::kDrep>},
    {"RejLost",
     [](Story& s) {
       Strike<kDrop, FaultSite::kRej>(s);
       s.Request();
       s.Reject({1});
       if (!s.iwarp()) {  // the request comes again
         s.SeeRequest();
         s.Reject({1});
       }
       s.See(kClient);
     }},
    {"RejTwice",
     [](Story& s) {
       Strike<kTwice, FaultSite::kRej>(s);
       s.Request();
       s.Reject({1});
       s.See(kClient);
     }},
    {"TheGoodbyeOfARequestIsLate",
     [](Story& s) {
       Strike<kLate, FaultSite::kRej>(s);
       s.Request();
       s.Destroy(kServer);
       s.See(kClient);
     }},
    {"TheGoodbyeOfAConnectionIsLate",
     [](Story& s) {
       Strike<kLate, FaultSite::kDreq>(s);
       s.Establish();
       s.Destroy(kClient);
       s.See(kServer);
       s.Disconnect(kServer);
       if (!s.iwarp()) s.See(kServer);
     }},
    {"EveryReqIsLost",
     [](Story& s) {
       s.SetFaults({{.site = FaultSite::kReq, .from = true}});
       s.Listen();
       s.Connect();
       s.See(kClient);
     }},
    {"EveryRepIsLost",
     [](Story& s) {
       s.SetFaults({{.site = FaultSite::kRep, .from = true}});
       s.RequestAndAccept();
       s.See(kServer);
       if (!s.iwarp()) return;
       s.See(kClient);
       s.See(kServer);
       // Within one process its QP was ready before the response was lost.
       s.Destroy(kClient);
     }},
};

class CmFarFaultsTest : public CmPlotTest {};

TEST_P(CmFarFaultsTest, GoesAsWithinOneProcess) { Compare(); }

INSTANTIATE_TEST_SUITE_P(Faults, CmFarFaultsTest,
                         testing::Combine(testing::Values("roce", "iwarp"),
                                          testing::ValuesIn(kFaultPlots)),
                         PlotName);

// --- The end of a process

template <Side kSide>
void EndWhileItWaits(Story& s) {
  s.Listen();
  s.Connect({1});
  s.Pump();
  s.End(kSide);
}

template <Side kSide>
void EndRequested(Story& s) {
  s.Request();
  s.End(kSide);
}

template <Side kSide>
void EndRejected(Story& s) {
  s.Request();
  s.Reject({1});
  s.Pump();
  s.End(kSide);
}

template <Side kSide>
void EndAccepted(Story& s) {
  s.RequestAndAccept();
  s.Pump();
  s.End(kSide);
}

template <Side kSide>
void EndEstablished(Story& s) {
  s.Establish();
  s.End(kSide);
}

template <Side kSide, Side kFirst>
void EndDisconnecting(Story& s) {
  s.Establish();
  s.Disconnect(kFirst);
  s.Pump();
  s.End(kSide);
  const Side survivor = kSide == kClient ? kServer : kClient;
  s.See(survivor);
  s.Disconnect(survivor);
  if (!s.iwarp()) s.See(survivor);
}

template <Side kSide>
void EndDisconnected(Story& s) {
  s.Establish();
  s.Disconnect(kClient);
  s.See(kServer);
  s.Disconnect(kServer);
  s.See(kClient);
  s.End(kSide);
  if (!s.iwarp()) s.See(kSide == kClient ? kServer : kClient);
}

constexpr Plot kEndPlots[] = {
    {"ClientWhileItWaits", EndWhileItWaits<kClient>},
    {"ServerWithoutHavingSeenTheRequest", EndWhileItWaits<kServer>},
    {"ClientRequested", EndRequested<kClient>},
    {"ServerRequested", EndRequested<kServer>},
    {"ClientRejected", EndRejected<kClient>},
    {"ServerRejected", EndRejected<kServer>},
    {"ClientAccepted", EndAccepted<kClient>},
    {"ServerAccepted", EndAccepted<kServer>},
    {"ClientEstablished", EndEstablished<kClient>},
    {"ServerEstablished", EndEstablished<kServer>},
    {"ClientItselfDisconnecting", EndDisconnecting<kClient, kClient>},
    {"ClientBeingDisconnected", EndDisconnecting<kClient, kServer>},
    {"ServerItselfDisconnecting", EndDisconnecting<kServer, kServer>},
    {"ServerBeingDisconnected", EndDisconnecting<kServer, kClient>},
    {"ClientDisconnected", EndDisconnected<kClient>},
    {"ServerDisconnected", EndDisconnected<kServer>},
};

class CmFarEndTest : public CmPlotTest {};

TEST_P(CmFarEndTest, IsTheEndOfAProcessWithinOne) { Compare(); }

INSTANTIATE_TEST_SUITE_P(Ends, CmFarEndTest,
                         testing::Combine(testing::Values("roce", "ib",
                                                          "iwarp"),
                                          testing::ValuesIn(kEndPlots)),
                         PlotName);

}  // namespace
}  // namespace rpma::emu
