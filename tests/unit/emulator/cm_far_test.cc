// SPDX-License-Identifier: BSD-3-Clause
// Connections between two processes: each story goes as it does within one.

#include <gtest/gtest.h>

#include "tests/unit/emulator/cm_story.h"

namespace rpma::emu {
namespace {

// Of InfiniBand: after an end of a connection that both ends have agreed on.
void SeeTimeWaitEnd(Story& story, Side side) {
  if (!story.iwarp()) story.See(side);
}

void EndOrderly(Story& story, Side first) {
  const Side second = first == kClient ? kServer : kClient;
  story.Disconnect(first);
  story.See(second);
  story.Disconnect(second);
  story.See(first);
  SeeTimeWaitEnd(story, first);
  SeeTimeWaitEnd(story, second);
}

constexpr Plot kPlots[] = {
    // --- Establishing
    {"Established", [](Story& s) { s.Establish(); }},
    {"EstablishedSeenByTheServerFirst",
     [](Story& s) {
       s.RequestAndAccept();
       if (s.iwarp()) s.See(kServer);
       s.See(kClient);
       if (!s.iwarp()) s.See(kServer);
     }},
    {"Rejected",
     [](Story& s) {
       s.Request();
       s.Reject({7, 8});
       s.See(kClient);
     }},
    {"RejectedWithoutData",
     [](Story& s) {
       s.Request();
       s.Reject({});
       s.See(kClient);
     }},
    {"NobodyListens",
     [](Story& s) {
       s.Connect();
       s.See(kClient);
     }},
    {"NobodyListensAnyMore",
     [](Story& s) {
       s.Listen();
       s.StopListening();
       s.Connect();
       s.See(kClient);
     }},
    {"TheBacklogIsFull",
     [](Story& s) {
       s.Listen(1);
       s.Connect({1});
       s.Pump();
       s.Connect({2});
       s.See(kClient);
       s.SeeRequest();
     }},
    {"TheListenerGoesWithRequestsThatNobodyFetched",
     [](Story& s) {
       s.Listen();
       s.Connect({1});
       s.Pump();
       s.Connect({2});
       s.Pump();
       s.StopListening();
       s.See(kClient, 2);
     }},
    {"ARejectedClientTriesAgain",
     [](Story& s) {
       s.Request();
       s.Reject({1});
       s.See(kClient);
       s.Connect({9});
       s.SeeRequest();
       s.Accept({8});
       s.See(kClient);
       s.See(kServer);
     }},
    {"ADestroyedRequestWasFetched",
     [](Story& s) {
       s.Request();
       s.Destroy(kServer);
       s.See(kClient);
     }},
    {"ARequestIsWithdrawn",
     [](Story& s) {
       s.Request();
       s.Destroy(kClient);
       s.Pump();
       s.Accept();
     }},
    {"ARequestIsWithdrawnBeforeItIsFetched",
     [](Story& s) {
       s.Listen();
       s.Connect();
       s.Pump();
       s.Destroy(kClient);
       s.SeeRequest();
       s.Accept();
       s.Reject({});
     }},
    {"AnAcceptedClientIsDestroyed",
     [](Story& s) {
       s.RequestAndAccept();
       s.Pump();
       s.Destroy(kClient);
       s.See(kServer, s.iwarp() ? 2 : 1);
     }},
    {"AnAcceptingServerIsDestroyed",
     [](Story& s) {
       s.RequestAndAccept();
       s.Pump();
       s.Destroy(kServer);
       s.See(kClient);
     }},
    {"AClientDestroysItsQueuePairWhenAccepted",
     [](Story& s) {
       s.RequestAndAccept();
       s.Pump();
       EXPECT_EQ(s.cm(kClient).DestroyQp(s.id(kClient)), 0);
       s.See(kClient);
     }},
    // --- Ending
    {"TheClientDisconnects",
     [](Story& s) {
       s.Establish();
       EndOrderly(s, kClient);
     }},
    {"TheServerDisconnects",
     [](Story& s) {
       s.Establish();
       EndOrderly(s, kServer);
     }},
    {"TheServerDisconnectsBeforeItKnowsThatTheClientHasTheResponse",
     [](Story& s) {
       s.RequestAndAccept();
       s.Disconnect(kServer);
       if (s.iwarp()) s.See(kServer, 2);
       s.See(kClient, s.iwarp() ? 2 : 1);
     }},
    {"TheClientIsDestroyed",
     [](Story& s) {
       s.Establish();
       s.Destroy(kClient);
       s.See(kServer);
       s.Disconnect(kServer);
       SeeTimeWaitEnd(s, kServer);
     }},
    {"TheServerIsDestroyed",
     [](Story& s) {
       s.Establish();
       s.Destroy(kServer);
       s.See(kClient);
       s.Disconnect(kClient);
       SeeTimeWaitEnd(s, kClient);
     }},
    {"TheClientIsDestroyedWhileItDisconnects",
     [](Story& s) {
       s.Establish();
       s.Disconnect(kClient);
       s.Destroy(kClient);
       s.See(kServer);
       s.Disconnect(kServer);
       SeeTimeWaitEnd(s, kServer);
     }},
    {"TheServerIsDestroyedInsteadOfDisconnecting",
     [](Story& s) {
       s.Establish();
       s.Disconnect(kClient);
       s.See(kServer);
       s.Destroy(kServer);
       s.See(kClient);
       SeeTimeWaitEnd(s, kClient);
     }},
    {"BothDisconnectAndDisconnectAgain",
     [](Story& s) {
       s.Establish();
       EndOrderly(s, kClient);
       s.Disconnect(kClient);
       s.Disconnect(kServer);
     }},
};

class CmFarTest : public CmPlotTest {};

TEST_P(CmFarTest, GoesAsWithinOneProcess) { Compare(); }

INSTANTIATE_TEST_SUITE_P(Plots, CmFarTest,
                         testing::Combine(testing::Values("roce", "ib",
                                                          "iwarp"),
                                          testing::ValuesIn(kPlots)),
                         PlotName);

}  // namespace
}  // namespace rpma::emu
