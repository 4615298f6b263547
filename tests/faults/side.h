// SPDX-License-Identifier: BSD-3-Clause
// One side of a connection: what a program has there, and what it does.

#ifndef RPMA_TESTS_FAULTS_SIDE_H_
#define RPMA_TESTS_FAULTS_SIDE_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>

#include "tests/faults/policy.h"
#include "tests/faults/program.h"

namespace rpma::faults {

// How a side wants its connection to be.
struct SideOptions {
  uint32_t rcq_size = 0;
  bool shared_channel = false;
  bool srq = false;
  uint32_t srq_rcq_size = 0;
  // What it says of its memory.
  bool direct_write_to_pmem = false;
};

// What a request or an acceptance carries, so that each side knows the memory
// and the configuration of the other.
struct Introduction {
  char region[21];
  char peer_cfg[1];
};

// The port of every endpoint.
inline constexpr char kPort[] = "7204";

// Nothing is done by itself. A function that returns bool says whether the side
// can go on; if not, something of it has failed, and it takes its leave.
class Side {
 public:
  Side(Program& program, Role role, const SideOptions& options = {});

  // --- Up to the connection.
  bool Open();         // device, peer, region, what the options ask for
  bool MakeRequest();  // of a client, to the server's address
  bool TakeRequest(rpma_ep* endpoint);
  bool Connect();  // the request, with an introduction
  bool AwaitEstablished();

  // --- Operations. The numbers are those of their completions, from 1.
  bool Write(uintptr_t number, size_t offset, size_t size,
             int flags = RPMA_F_COMPLETION_ALWAYS);
  bool WriteWithImm(uintptr_t number, size_t offset, size_t size, uint32_t imm);
  bool Flush(uintptr_t number, size_t offset, size_t size,
             rpma_flush_type type = RPMA_FLUSH_TYPE_VISIBILITY);
  bool AtomicWrite(uintptr_t number, size_t offset, const char (&value)[8]);
  bool Read(uintptr_t number, size_t offset, size_t size);
  bool Send(uintptr_t number, size_t offset, size_t size);
  bool SendWithImm(uintptr_t number, size_t offset, size_t size, uint32_t imm);
  bool Receive(uintptr_t number, size_t offset, size_t size);

  // --- Completions: of a request of this side, which comes in any case; of a
  // receive, which comes only if the other side does what it should.
  bool Completes(uintptr_t number, ibv_wc* wc = nullptr);
  bool Receives(uintptr_t number, ibv_wc* wc);
  // The next request or receive on the completion queue fails, with the status
  // unless a fault gave it another.
  bool FailsToComplete(uintptr_t number, ibv_wc_status status);

  // --- Memory: bytes first, first + 1 and so on, which were acknowledged and
  // have to be there.
  void Fill(size_t offset, size_t size, uint8_t first) const;
  bool Holds(size_t offset, size_t size, uint8_t first) const;
  uint8_t At(size_t offset) const { return node_.memory[offset]; }

  // --- Events and the end.
  bool NextEvent(rpma_conn_event* event);
  bool Disconnect();
  // Waits until it hears that there is no connection any more.
  bool HearOfTheEnd();
  // Ends the request or the connection, whichever there is.
  void GoAway();
  // Gets ready for another connection after it.
  void StartAnew();

  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }
  bool established() const { return established_; }
  const char* name() const { return name_; }

 private:
  bool Did(int rc);
  bool Configure();
  bool MakeSrq();
  bool Introduce();
  bool DescribePeer();
  bool MeetPeer(const rpma_conn_private_data& data);
  bool ApplyPeerCfg(const rpma_conn_private_data& data);
  bool GetQueues();
  bool AwaitCompletion(rpma_cq* queue, bool of_a_receive, ibv_wc* wc);
  bool AwaitReceive(rpma_cq* queue);
  bool Wait(rpma_cq* queue);
  int WaitOnce(rpma_cq* queue);
  bool Judge(uintptr_t number, const ibv_wc& wc);
  bool Excuses(bool of_the_other_side) const;
  bool HearsOfTheEnd();

  Program& program_;
  const Role role_;
  const char* const name_;
  const Program::Node& node_;
  const SideOptions options_;
  bool failed_ = false;
  bool established_ = false;
  bool over_ = false;  // it heard of the end
  Introduction introduction_ = {};

 public:
  // Ended in the reverse order.
  Owned<rpma_peer> peer;
  Owned<rpma_mr_local> mr;
  Owned<rpma_mr_remote> remote;  // the other side's region
  Owned<rpma_srq> srq;
  Owned<rpma_conn_cfg> cfg;
  Owned<rpma_conn_req> request;
  Owned<rpma_conn> conn;
  rpma_cq* cq = nullptr;
  rpma_cq* rcq = nullptr;  // where receives complete
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_SIDE_H_
