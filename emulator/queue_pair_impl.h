// SPDX-License-Identifier: BSD-3-Clause
// The inside of a queue pair. Private to queue_pair.cc (state machine),
// requester.cc (its send queue), responder.cc (what it does for its remote),
// far_requester.cc and far_responder.cc (the same, if the remote is in another
// process) and queue_pair_steps.cc (what a stepped world adds).

#ifndef RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_
#define RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/completion_queue.h"
#include "emulator/device.h"
#include "emulator/explanation.h"
#include "emulator/far_link.h"
#include "emulator/far_qp.h"
#include "emulator/fault_injector.h"
#include "emulator/memory_region.h"
#include "emulator/pinned_list.h"
#include "emulator/queue_pair.h"
#include "emulator/receive_queue.h"
#include "emulator/scheduler.h"
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
    kLost,       // the request or its answer is lost
    kUnderWay,   // one of them arrives later
    kSent,       // another process will answer
    kFailed,
  };
  Outcome outcome = Outcome::kDone;
  // Of a failure.
  ibv_wc_status status = IBV_WC_SUCCESS;  // at the requester
  bool refused = false;                   // by the responder
  bool injected = false;                  // by a fault; RNR NAKs too
  Reason reason;
  const char* told = nullptr;  // by the responder in another process: why
  // The receive that fails with it, if any.
  bool has_receive = false;
  uint64_t receive_wr_id = 0;
  ibv_wc_status receive_status = IBV_WC_SUCCESS;
};

// A request of another process, as it came.
struct FarRequest {
  bool Has(uint8_t flag) const { return (message.head.flags & flag) != 0; }

  FarLink& link;
  const wire::Message& message;
  std::span<const std::byte> payload;
  bool is_answered = false;
};

// Who sent a request, as its responder has to know.
struct Caller {
  QueuePair* near;  // nullptr: the sender of `far`
  FarRequest* far;
  bool is_patient;  // waits for this end to get ready
  uint8_t max_rd_atomic;
};

// Neither done nor failed.
Verdict NotServed(Verdict::Outcome outcome, const Reason& reason = {});

// A failure that the requester finds.
Verdict LocalFailure(ibv_wc_status status, const Reason& reason);
// One that the responder finds.
Verdict Refusal(ibv_wc_status status, const Reason& reason);

// What an execution leaves to be done without locks: Run(), called last.
class Aftermath {
 public:
  void Failed(QueuePair& qp);   // went to ERR by itself, as requester
  void Refused(QueuePair& qp);  // as responder
  void Overran(Device& device, int cqe, bool by_flush);
  void TouchedDevices(DeviceEnvironment& environment);  // faults did
  void Run() {
    if (requester_ || responder_ || num_overruns_ > 0 || unfinished_) RunAll();
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
  DeviceEnvironment* unfinished_ = nullptr;
};

// What a queue pair of a stepped world has besides: each step executes one
// request, and the trace tells of it.
class QueuePairSteps final : public Task {
 public:
  // Throws std::bad_alloc.
  QueuePairSteps(Scheduler& scheduler, QueuePair::Impl& qp,
                 std::weak_ptr<void> owner);
  void Retire();  // no more steps, before the queue pair is destroyed

  uint32_t number() const { return number_; }

  void Step() override;
  void SayWhatItWaitsFor(std::vector<std::string>* lines) override;

  // REQUIRES, for all below: sq_mutex is held.
  void MakeRunnableIfItCanExecute();
  // Decides whether a READ lets later requests overtake it, and whether one
  // that does is executed now.
  bool DefersRead();
  bool ExecutesLateRead();

  // --- Trace. The numbers of requests and receives count from 1.
  void Posted(uint32_t first);  // the requests from `first` on
  void Tries(const Request& request);
  void Tried(const Request& request, const Verdict& verdict);
  void Completed(const CompletionQueue& cq, const Cqe& cqe,
                 CompletionQueue::PushResult result);
  void PostedReceive();  // REQUIRES: rq_mutex is held, here and below
  void TakesReceive(uint32_t number);

 private:
  uint32_t NumberOf(const Request& request) const;

  Scheduler& scheduler_;
  Trace& trace_;
  QueuePair::Impl& qp_;
  const uint32_t number_;
  Random late_reads_;
};

// Locks: an execution holds the requester's sq_mutex and, for the responder's
// part, the remote's rq_mutex; never two sq_mutexes, nor two rq_mutexes.
//
// The state changes under both mutexes of the QP, with one exception: a QP that
// fails goes to ERR under the mutex its execution holds. So RTS can become ERR
// under the eyes of the other half, whose queue is flushed by Flush() then.
struct QueuePair::Impl {
  using Outcome = Verdict::Outcome;

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
  // Executes all that can be executed; in a stepped world, has it done.
  void Execute(Aftermath& after);
  bool ExecuteNext(Aftermath& after);  // false: there is nothing to execute
  void OnTimer();
  void FlushSendQueue(Aftermath& after);

  Request* NextToExecute();
  Request* FirstLateRead();
  void DeferRead(Request& request);
  bool DefersRead() const;
  // False: there is no timer; the time has to count as passed.
  bool ArmTimer(std::chrono::nanoseconds hardware_time,
                Recurrence recurrence = Recurrence::kOnce);
  bool ArmFarTimer();  // the same, for a hint of another process
  Verdict Attempt(Request& request, Aftermath& after);
  Verdict PinLocal(const Request& request);
  // The request, whose bytes are in `gather`, reaches the responder.
  Verdict Reach(Request& request, bool hold, Aftermath& after);
  Caller AsCaller() const;
  uint32_t MaxTries() const;
  Verdict GiveUp() const;  // no try was answered
  void Settle(Request& request, const Verdict& verdict, Aftermath& after);
  void AwaitReceive(Request& request, const Verdict& verdict, Aftermath& after);
  void AwaitAnswer(const Verdict& verdict);
  void Fail(Request& request, const Verdict& verdict, Aftermath& after);
  void ExplainFailure(const Request& request, const Verdict& verdict);
  void Complete(Request& request, ibv_wc_status status, Cause cause,
                Aftermath& after);
  void PushSendCompletion(const Request& request, uint32_t number, Cause cause,
                          Aftermath& after);

  // --- requester_faults.cc. REQUIRES: sq_mutex is held.
  // As Reach(), while faults are set.
  Verdict TryUnderFaults(Request& request, bool first, bool hold,
                         Aftermath& after);
  Verdict ApplyToTry(const Injection& injection, Request& request,
                     Aftermath& after);
  Verdict CompleteByFault(const Injection& injection, Request& request,
                          Aftermath& after);
  Verdict AnswerRnrByFault(const Injection& injection, const Request& request);
  // What a fault makes of the answer to a request that reached the responder.
  Verdict JudgeAnswer(const Injection& injection, Request& request,
                      const Verdict& answer);
  Verdict LoseAnswer(const Injection& injection, Request& request,
                     const Verdict& answer);
  Verdict DelayAnswer(const Injection& injection, Request& request,
                      const Verdict& answer);
  Verdict PutUnderWay(const Injection& injection);
  // A wait is over. True: what was under way arrives now.
  bool HasArrived();

  // --- far_requester.cc. REQUIRES: sq_mutex is held, but for OnSilence().
  // As Reach(), if the remote is in another process: kSent, unless nothing can
  // reach that. What a fault makes of the answer is seen when it comes.
  Verdict ReachFar(Request& request, bool hold, uint8_t flags = 0,
                   const std::optional<Injection>& injection = std::nullopt);
  // Sends the parts of the request under way that there is room for, and says
  // what it waits for. False: the link is dead. REQUIRES: PinLocal().
  bool SendParts();
  wire::Message NextPart() const;
  bool IsAnsweredBy(const FarLink& link, const wire::Message& message) const;
  const char* TakeReply(const wire::ReplyBody& reply,
                        std::span<const std::byte> payload, Aftermath& after);
  Verdict StoreRead(std::span<const std::byte> part);
  Verdict VerdictOf(const wire::ReplyBody& reply,
                    std::span<const std::byte> text);
  void EndFlight(const Verdict& verdict, Aftermath& after);
  bool MakeWatch();  // false: there is no memory
  void Watch();
  void OnSilence();

  // --- far_responder.cc. REQUIRES: rq_mutex is held.
  // Serves a request, or a part of one, of another process. nullopt: it is
  // answered, or the answer is to come with another part. If it cannot come
  // from an intact peer, *wrong says why.
  std::optional<Verdict> ServeFar(FarRequest& from, const char** wrong,
                                  Aftermath& after);
  static void Acknowledge(FarRequest& from);
  std::optional<Verdict> MeetFaults(const FarRequest& from,
                                    const Request& request,
                                    const Caller& caller, Aftermath& after);
  Verdict RefuseFar(const FarRequest& from, const Request& request,
                    Aftermath& after);
  std::optional<Verdict> ServeFarRead(const FarRequest& from,
                                      const Request& request,
                                      const Caller& caller, Aftermath& after);
  std::optional<Verdict> ServePart(const FarRequest& from, Request& request,
                                   const Caller& caller, Aftermath& after);
  Verdict CollectPart(const FarRequest& from, const Request& request);
  Verdict StorePart(const FarRequest& from, const Request& request);
  void ExplainFar(const FarRequest& from, const Verdict& verdict,
                  char (&text)[kMaxExplanation]);
  bool HasWaitingRequester() const {
    return !waiting_requester.expired() || !waiting_far.link.expired();
  }

  // --- responder.cc. REQUIRES: rq_mutex is held.
  // Executes a request of the remote QP, whose bytes are in `local`. With
  // `hold`, a failure has no effect: the requester will come again.
  Verdict Serve(const Caller& caller, const Request& request,
                std::span<const Piece> local, bool hold, Aftermath& after);
  void FlushReceiveQueue(Aftermath& after);

  // kDone: it is in a state to serve this requester.
  Outcome Admit(const Caller& caller);
  void LetWait(const Caller& caller);  // until ResumeRequester()
  Verdict CheckReads(const Caller& caller, const Request& request) const;
  Verdict Perform(const Caller& caller, const Request& request,
                  std::span<const Piece> local, bool hold, Aftermath& after);
  Verdict PerformWrite(const Caller& caller, const Request& request,
                       std::span<const Piece> local, bool hold,
                       Aftermath& after);
  Verdict PerformRead(const Request& request, std::span<const Piece> local);
  Verdict PerformAtomicWrite(const Request& request);
  Verdict PerformFlush(const Request& request);
  Verdict PerformSend(const Caller& caller, const Request& request,
                      std::span<const Piece> local, bool hold,
                      Aftermath& after);
  Verdict AccessRegion(const Request& request, unsigned rights, MrPin* pin);
  Verdict PinReceive(const Request& request, const Receive& receive);
  Verdict NoReceive(const Caller& caller);
  // Lets a receive fail that a message is about to consume, if a fault says so.
  Verdict FailReceiveByFault(const Receive& receive, bool hold);
  // A fault completes the request with an error that a responder finds.
  void RefuseByFault(const Request& request, Verdict& verdict,
                     Aftermath& after);
  void Refuse(const Request& request, const Verdict& verdict, Aftermath& after);
  void FailReceive(uint64_t wr_id, ibv_wc_status status, Cause cause,
                   Aftermath& after);
  void CompleteReceive(const Caller& caller, uint64_t wr_id,
                       const Request& request, Aftermath& after);
  // The queue that receives come from; locks it if it is shared.
  ReceiveQueue& Receives(std::unique_lock<std::mutex>* srq_lock);
  void PopReceive();

  QueuePair& self;
  Device& device;
  FaultInjector& faults;
  const Profile& profile;
  ProtectionDomain& pd;
  const QueuePairAttributes attributes;
  std::unique_ptr<QueuePairSteps> steps;  // of a stepped world

  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};

  // Change under both mutexes.
  std::shared_ptr<QueuePair> remote;
  std::shared_ptr<FarQp> far;  // instead, in another process
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
    // The request is in another process: until EndFlight(), or SendParts().
    kFar,   // for its reply
    kRoom,  // to send the rest of it
  } wait = Wait::kNothing;
  bool is_patient = true;  // waits for the remote to get ready
  uint32_t tries = 0;      // of the request that waits, without an answer
  uint32_t rnr_tries = 0;  // of it after the first
  Reason loss;             // of the last try that was not answered
  // An earlier try of the request that waits, or its answer, which a fault
  // delays. Times as on hardware.
  struct UnderWay {
    std::chrono::nanoseconds time_left{0};  // 0: none is
    std::chrono::nanoseconds waiting{0};    // of it, until the timer expires
    std::optional<Verdict> answer;          // else it is the request
  } under_way;
  uint32_t late_reads = 0;
  bool late_reads_due = false;
  std::optional<Timer> timer;
  // The request that another process has. Nothing is pinned for it.
  struct Flight {
    bool active = false;
    bool hold = false;
    uint8_t flags = 0;  // wire::Head::flags of all parts
    uint32_t seq = 0;   // counts on for as long as the QP lives
    Request* request = nullptr;
    uint64_t sent = 0;      // bytes; of a READ, that were asked for
    uint64_t received = 0;  // bytes of a READ
    std::optional<Injection> injection;
    char text[kMaxExplanation] = "";  // of the last reply
    // Expires, once armed, whatever is answered; what there was then.
    std::optional<Timer> watch;
    bool is_watched = false;
    uint32_t watched_seq = 0;
    uint64_t watched_bytes = 0;
  } flight;
  std::atomic<uint64_t> rnr_naks{0};

  std::mutex rq_mutex;
  ReceiveQueue rq;  // guarded by rq_mutex, as all below
  PinnedList scatter;
  std::weak_ptr<QueuePair> waiting_requester;  // for a receive or for RTR
  struct {
    std::weak_ptr<FarLink> link;
    uint32_t qp_num = 0;
  } waiting_far;  // the same, in another process
  // A message that comes in parts.
  struct Arrival {
    bool open = false;
    Operation operation = Operation::kSend;
    uint32_t seq = 0;
    uint64_t total = 0;
    uint64_t received = 0;               // bytes
    std::unique_ptr<std::byte[]> bytes;  // of a SEND
  } arrival;
  bool rnr_answered = false;  // to the last request of another process
  bool communication_established = false;
  bool last_wqe_reached = false;

  SharedReceiveQueue::Waiting waiting_in_srq;  // guarded by the SRQ

  mutable std::mutex explanation_mutex;  // the last of all locks
  char explanation[kMaxExplanation] = "";
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_QUEUE_PAIR_IMPL_H_
