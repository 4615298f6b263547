// SPDX-License-Identifier: BSD-3-Clause
// The inside of a queue pair. Private to queue_pair.cc (state machine),
// requester.cc (its send queue) and responder.cc (what it does for its remote).

#ifndef RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_
#define RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "emulator/completion_queue.h"
#include "emulator/device.h"
#include "emulator/explanation.h"
#include "emulator/memory_region.h"
#include "emulator/queue_pair.h"
#include "emulator/receive_queue.h"
#include "emulator/send_queue.h"
#include "emulator/shared_receive_queue.h"
#include "emulator/timer.h"
#include "emulator/transfer.h"

namespace rpma::emu {

// What became of one attempt to execute a request.
struct Verdict {
  enum class Outcome : uint8_t {
    kDone,
    kNotReady,   // the remote is in INIT
    kNoReceive,  // RNR NAK
    kNoAnswer,   // the remote is not in a state that answers
    kFailed,
  };
  Outcome outcome = Outcome::kDone;
  // Of a failure.
  ibv_wc_status status = IBV_WC_SUCCESS;  // at the requester
  bool refused = false;                   // by the responder
  Reason reason;
  // The receive that fails with it, if any.
  bool has_receive = false;
  uint64_t receive_wr_id = 0;
  ibv_wc_status receive_status = IBV_WC_SUCCESS;
};

// What an execution leaves to be done without locks: Run(), called last.
class Aftermath {
 public:
  void Failed(QueuePair& qp);   // went to ERR by itself, as requester
  void Refused(QueuePair& qp);  // as responder
  void Overran(Device& device, int cqe, bool by_flush);
  void Run() {
    if (requester_ || responder_ || num_overruns_ > 0) RunAll();
  }

 private:
  void RunAll();

  struct Overrun {
    Device* device = nullptr;
    int cqe = 0;
    bool by_flush = false;
  };

  std::shared_ptr<QueuePair> requester_;
  std::shared_ptr<QueuePair> responder_;
  Overrun overruns_[2];  // one execution pushes to two CQs
  int num_overruns_ = 0;
};

// Locks: an execution holds the requester's sq_mutex and, for the responder's
// part, the remote's rq_mutex; never two sq_mutexes, nor two rq_mutexes.
//
// The state changes under both mutexes of the QP, with one exception: a QP that
// fails goes to ERR under the mutex its execution holds. So RTS can become ERR
// under the eyes of the other half, whose queue is flushed by Flush() then.
struct QueuePair::Impl {
  Impl(QueuePair& owner, Device& on_device, ProtectionDomain& domain,
       const QueuePairAttributes& with);

  // --- queue_pair.cc
  // Moves from one of two states to another, under both mutexes.
  bool Move(ibv_qp_state from, ibv_qp_state to);
  // Completes all requests of a QP that went to ERR. REQUIRES: no lock is held.
  void Flush();
  // To RESET, for ToReset() and Destroy().
  void Reset(bool destroy);
  void Push(CompletionQueue& cq, const Cqe& cqe, Aftermath& after);
  void RaiseEvent(ibv_event_type type);
  void SetExplanation(const char* text);
  void ExplainFlush();  // unless there is an explanation already
  template <typename Append>
  int Post(Append append);

  // --- requester.cc. REQUIRES: sq_mutex is held, but for OnTimer().
  int CheckMayPost() const;
  void Execute(Aftermath& after);
  void OnTimer();
  void FlushSendQueue(Aftermath& after);

  Request* NextToExecute();
  Request* FirstLateRead();
  void DeferRead(Request& request);
  // False: there is no timer; the time has to count as passed.
  bool ArmTimer(std::chrono::nanoseconds hardware_time);
  Verdict Attempt(Request& request, Aftermath& after);
  Verdict PinLocal(const Request& request);
  void Settle(Request& request, const Verdict& verdict, Aftermath& after);
  void AwaitReceive(Request& request, Aftermath& after);
  void AwaitAnswer(Request& request, Aftermath& after);
  void Fail(Request& request, const Verdict& verdict, Aftermath& after);
  void Complete(Request& request, ibv_wc_status status, Cause cause,
                Aftermath& after);
  void PushSendCompletion(const Request& request, uint32_t number, Cause cause,
                          Aftermath& after);

  // --- responder.cc. REQUIRES: rq_mutex is held.
  // Executes a request of the remote QP, whose bytes are in `local`. With
  // `hold`, a failure has no effect: the requester will come again.
  Verdict Serve(Impl& requester, const Request& request,
                std::span<const Piece> local, bool hold, Aftermath& after);
  void FlushReceiveQueue(Aftermath& after);

  Verdict Perform(Impl& requester, const Request& request,
                  std::span<const Piece> local, bool hold, Aftermath& after);
  Verdict PerformWrite(Impl& requester, const Request& request,
                       std::span<const Piece> local, Aftermath& after);
  Verdict PerformRead(const Request& request, std::span<const Piece> local);
  Verdict PerformAtomicWrite(const Request& request);
  Verdict PerformFlush(const Request& request);
  Verdict PerformSend(Impl& requester, const Request& request,
                      std::span<const Piece> local, bool hold,
                      Aftermath& after);
  Verdict AccessRegion(const Request& request, unsigned rights, MrPin* pin);
  Verdict PinReceive(const Request& request, const Receive& receive);
  Verdict NoReceive(Impl& requester);
  void Refuse(const Verdict& verdict, Aftermath& after);
  void FailReceive(uint64_t wr_id, ibv_wc_status status, Cause cause,
                   Aftermath& after);
  void CompleteReceive(uint64_t wr_id, const Request& request,
                       Aftermath& after);
  // The queue that receives come from; locks it if it is shared.
  ReceiveQueue& Receives(std::unique_lock<std::mutex>* srq_lock);
  void PopReceive();

  QueuePair& self;
  Device& device;
  const Profile& profile;
  ProtectionDomain& pd;
  const QueuePairAttributes attributes;

  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};

  // Change under both mutexes.
  std::shared_ptr<QueuePair> remote;
  ConnectionAttributes connection;
  bool destroyed = false;

  std::mutex sq_mutex;
  SendQueue sq;  // guarded by sq_mutex, as all below
  PinnedList gather;
  enum class Wait : uint8_t {
    kNothing,
    kNotReady,  // until the remote enters RTR
    kReceive,   // until a receive is posted or the timer expires
    kAnswer,    // until the timer expires
  } wait = Wait::kNothing;
  uint32_t tries = 0;      // of the request that waits, without an answer
  uint32_t rnr_tries = 0;  // of it after the first
  uint32_t late_reads = 0;
  bool late_reads_due = false;
  std::optional<Timer> timer;
  std::atomic<uint64_t> rnr_naks{0};

  std::mutex rq_mutex;
  ReceiveQueue rq;  // guarded by rq_mutex, as all below
  PinnedList scatter;
  std::weak_ptr<QueuePair> waiting_requester;  // for a receive or for RTR
  bool communication_established = false;
  bool last_wqe_reached = false;

  SharedReceiveQueue::Waiting waiting_in_srq;  // guarded by the SRQ

  mutable std::mutex explanation_mutex;  // the last of all locks
  char explanation[kMaxExplanation] = "";
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_
