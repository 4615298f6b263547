// SPDX-License-Identifier: BSD-3-Clause
// A client and a server in one thread, from listening to the end.

#ifndef RPMA_TESTS_FAULTS_CONVERSATION_H_
#define RPMA_TESTS_FAULTS_CONVERSATION_H_

#include <librpma.h>

#include "tests/faults/program.h"
#include "tests/faults/side.h"

namespace rpma::faults {

// Functions that return bool say whether both sides can go on.
class Conversation {
 public:
  explicit Conversation(Program& program,
                        const SideOptions& client_options = {},
                        const SideOptions& server_options = {});
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() { End(); }

  // All steps up to the connection; those after Listen().
  bool Start() { return Listen() && Connect(); }
  bool Connect();

  // --- The steps.
  bool Listen();            // both sides are open, the server listens
  bool Request();           // the client has sent its request
  bool TakeRequest();       // the server has fetched it
  bool AwaitEstablished();  // both have been told, the client first

  // Both sides give up the connection, whatever there is of it, and get ready
  // for another one; the server goes on listening.
  void HangUp();

  // Both sides take leave, as much as there is to end: first the side of which
  // something failed, else the client, or the server if it was told to.
  void End();
  void LetServerEnd() { server_ends_ = true; }

 private:
  void TakeLeave(Side& side);
  // The server refuses the requests that wait at the endpoint.
  void RefuseWhatWaits();

  Program& program_;
  bool server_ends_ = false;

 public:
  Side client;
  Side server;
  Owned<rpma_ep> endpoint;
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_CONVERSATION_H_
