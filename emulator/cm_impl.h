// SPDX-License-Identifier: BSD-3-Clause
// The inside of the connection manager: what its parts share.

#ifndef RPMA_EMULATOR_CM_IMPL_H_
#define RPMA_EMULATOR_CM_IMPL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/cm_id.h"
#include "emulator/cm_message.h"
#include "emulator/connection_manager.h"
#include "emulator/event_channel.h"
#include "emulator/far_link.h"
#include "emulator/port_table.h"
#include "emulator/profile.h"
#include "emulator/scheduler.h"

namespace rpma::emu {

// Reasons of IBTA table 108 as the kernel's enum ib_cm_rej_reason has them.
inline constexpr int kRejTimeout = 4;
inline constexpr int kRejInvalidServiceId = 8;
inline constexpr int kRejConsumerDefined = 28;

// What a message carries for the consumer.
struct ConsumerData {
  const void* data = nullptr;
  uint8_t length = 0;
};

constexpr uint8_t kMaxRetries = 7;  // a field of 3 bits

// What the connection manager of a stepped world has besides: each step lets
// one message travel, and the trace tells of it.
class CmSteps final : public Task {
 public:
  // Throws std::bad_alloc.
  CmSteps(Scheduler& scheduler, ConnectionManager::Impl& cm,
          std::weak_ptr<void> owner);
  CmSteps(const CmSteps&) = delete;
  CmSteps& operator=(const CmSteps&) = delete;
  ~CmSteps();

  void Step() override;
  void SayWhatItWaitsFor(std::vector<std::string>* lines) override;

  Scheduler& scheduler() { return scheduler_; }

  // REQUIRES, for all below: the mutex of the connection manager is held.
  void MakeRunnable() { scheduler_.MakeRunnable(*this); }

  // --- Trace
  void Sent(const CmMessage& message, const CmId& from);
  void Tell(const CmMessage& message, const char* what);
  void Posted(const CmEvent& event);
  void Fetched(const EventChannel& channel, const CmEvent& event);
  void GotQueuePair(const CmId& id);

 private:
  CmMessages::iterator ChooseMessage();

  Scheduler& scheduler_;
  Trace& trace_;
  ConnectionManager::Impl& cm_;
  Random next_message_;
};

// The mutex guards everything here and in all ids and channels. State changes
// of queue pairs run transfers and may call back (QueuePairFailed), so they
// happen without the mutex; the state of an id is looked at again afterwards.
//
// Functions REQUIRE the mutex unless they say otherwise. Those that are given
// the lock may let go of it for a while.
struct ConnectionManager::Impl : std::enable_shared_from_this<Impl> {
  using Lock = std::unique_lock<std::mutex>;

  explicit Impl(Fabric& f) : fabric(f) {}

  // --- Ids (cm_ids.cc)
  // With `channel` for its events. Throws std::bad_alloc.
  std::shared_ptr<CmId> NewId(EventChannel* channel);
  void Attach(CmId& id, EventChannel* channel);  // moves unread events too
  int Bind(CmId& id, const sockaddr& address);
  int BindAndClaim(Lock& lock, CmId& id, const sockaddr& address);
  int Resolve(CmId& id, const sockaddr* source, const sockaddr& destination);
  int Own(CmId& id, const std::shared_ptr<QueuePair>& qp);  // ENOMEM
  void Forget(CmId& id);  // the last reference may be the caller's

  // --- Events (cm_events.cc)
  // Queues an event of `id`, unless it drops events. The id set the node aside.
  // Returns it, to be completed under the same lock; nullptr: dropped.
  CmEvent* Post(CmId& id, rdma_cm_event_type type, int status = 0,
                ConsumerData data = {}, uint8_t field = 0);
  void QueueEvent(CmEvents& from, CmEvents::iterator event, bool ahead);
  void QueueUnderFaults(CmEvents& from, CmEvent& event);
  void DelayEvent(CmEvents& from, CmEvent& event,
                  std::chrono::nanoseconds time);
  CmEvent* Fetch(EventChannel& channel);    // nullptr: none is unread
  int WaitForEvent(EventChannel& channel);  // REQUIRES: the mutex is not held
  // Does what librdmacm does when it fetches the event; false: the program does
  // not get it. REQUIRES: the mutex is not held.
  bool Process(CmEvent& event);
  void Acknowledge(CmEvent& event);
  // Removes the unread events of `id`, in order, from where they wait; all: the
  // late ones too.
  CmEvents TakeUnread(CmId& id);
  CmEvents TakeAllUnread(CmId& id);
  int WaitForAcks(Lock& lock, CmId& id, const char* call);  // 0 or EDEADLK

  // --- The network (cm_network.cc)
  void AddMessageNodes();  // for one more id; throws std::bad_alloc
  void TrimMessageNodes();
  // Puts a message into the outbox, to be completed under the same lock. Its
  // param and reason are those of an earlier message. nullptr: there are too
  // many on their way, so it is lost.
  CmMessage* Send(CmMessageKind kind, Device& sender, Device* receiver);
  CmMessage* SendToPeer(CmMessageKind kind, CmId& from);
  // Lets all messages of the outbox travel; for the end of every call that may
  // have sent one. In a stepped world, has the scheduler do so.
  void Deliver(Lock& lock);
  void Travel(Lock& lock, CmMessages& one);
  bool Survives(Lock& lock, CmMessages& one);  // false: `one` is empty
  void Lose(Lock& lock, CmMessages& one, std::optional<size_t> rule);
  void PutInFlight(Lock& lock, CmMessages& one, std::chrono::nanoseconds time);
  void Land(Lock& lock, CmMessages& one);
  void Arrive(Lock& lock, CmMessages& one);
  void AwaitAnswer(Lock& lock, const CmMessage& message);
  std::chrono::nanoseconds ResponseTime(const CmId& id) const;
  void Recycle(CmMessages& done);
  bool ArmNetworkTimer();  // false: there is no timer
  void OnNetworkTimer();   // REQUIRES: the mutex is not held

  // --- Arrivals (cm_receive.cc)
  // False: it is lost, as there is no room on its way to another process.
  bool HandOver(Lock& lock, CmMessage& message);
  bool ReceiveReq(Lock& lock, CmMessage& message);
  void ReceiveRep(Lock& lock, const CmMessage& message);
  void TakeResponse(CmId& to, const CmMessage& message);
  void ReceiveRtu(const CmMessage& message);
  void ReceiveRej(Lock& lock, const CmMessage& message);
  void ReceiveDreq(Lock& lock, const CmMessage& message);
  void ReceiveDrep(const CmMessage& message);
  // Makes the id of the passive end and queues CONNECT_REQUEST. Throws
  // std::bad_alloc before it has had any effect.
  void MakePassive(CmId& from, CmId& listener, const CmMessage& message);
  CmId* FindListener(const CmId& from, const CmMessage& request);
  void Enqueue(Lock& lock, const CmMessage& request, CmId& from,
               CmId& listener);
  void Refuse(Lock& lock, const CmMessage& request, const CmId& from,
              int reason);
  void AnswerForTheGone(const CmMessage& request);
  void WaitPatiently(Lock& lock, CmId& id);
  void EndPatience(Lock& lock, CmId& id);

  // --- Establishing (cm_setup.cc)
  void SendRequest(CmId& from);
  void SendResponse(CmId& from);
  void AcceptRequest(Lock& lock, const std::shared_ptr<CmId>& id,
                     const rdma_conn_param& param);
  int FinishConnect(CmId& id);  // REQUIRES: the mutex is not held
  // Of an iWARP id that was accepted by one of another process, its queue pair.
  // False: it cannot, or `id` does not wait for that any more.
  bool GetReady(Lock& lock, const std::shared_ptr<CmId>& id);
  // `from` is closed; its peer, if it is known, is told.
  void SendReject(CmId& from, int reason, ConsumerData data = {});

  // --- Ending (cm_teardown.cc)
  void Disconnect(CmId& id);  // DREQ or DREP, as the state says
  void FinishDisconnect(CmId& id, int status);
  void EnterTimeWait(CmId& id);
  void LeaveTimeWait(CmId& id);
  // Of a connected iWARP id: closes this end and tells the other.
  void Terminate(Lock& lock, const std::shared_ptr<CmId>& id);
  void Close(Lock& lock, const std::shared_ptr<CmId>& id);
  void GiveUpTcp(Lock& lock, const CmMessage& message);
  // Says goodbye to whom it concerns; no event comes any more.
  void EndId(Lock& lock, const std::shared_ptr<CmId>& id);
  void SayGoodbye(CmId& id);
  void RejectWaiting(CmId& listener);
  // Of the wait for an answer: when it is over, the message is sent again.
  void StartTimer(Lock& lock, CmId& id, std::chrono::nanoseconds delay);
  void StopTimer(CmId& id);
  void Expire(Lock& lock, CmId& id);
  void GiveUp(Lock& lock, CmId& id);
  // Logs "connection to 192.0.2.1:7204 `what`", without the lock.
  void LogAbout(Lock& lock, const CmId& id, const char* what);

  // --- Other processes (cm_far.cc)
  // What stands for an id of another process; made if there is none. Throws
  // std::bad_alloc.
  std::shared_ptr<CmId> FarIdOf(FarLink& link, const FarKey& key,
                                Device& device);
  // It is needed for a connection of this process, or a message is under way.
  bool IsInUse(const CmId& far_id) const;
  void DropIfUnused(const std::shared_ptr<CmId>& far_id);
  // Lets a request go on to the process that listens; *sent: there was room.
  FarPorts::Found LookFurther(Lock& lock, CmMessage& request, bool* sent);
  bool Forward(const CmMessage& message, CmId& to);  // false: no room
  // Whether the other process has yet to handle the last message of `id`.
  bool IsOnItsWay(const CmId& id);
  void TellFar(CmId& to, wire::CmKind kind, bool on);
  void OnCm(FarLink& link, const wire::CmBody& body, ConsumerData data);
  void TakeNotice(Lock& lock, const wire::CmBody& body, CmId& id);
  std::shared_ptr<CmId> FindFarSender(FarLink& link, const wire::CmBody& body);
  void OnEnd(FarLink& link);
  // The port of a bound id, of which the other processes are told. 0 or an
  // errno.
  int Claim(Lock& lock, CmId& id);
  void ReleaseClaim(Lock& lock, CmId& id);

  // --- Faults of devices (cm_faults.cc)
  template <typename Work>
  void ForEachId(Work work);  // that is not destroyed, by number
  // Of ids of other processes that are connected to `device`.
  void EndPatienceElsewhere(Lock& lock, const Device& device);

  Fabric& fabric;
  std::unique_ptr<CmSteps> steps;  // of a stepped world (cm_steps.cc)
  std::mutex mutex;
  std::condition_variable acknowledged;
  uint64_t last_number = 0;
  std::map<uint64_t, std::shared_ptr<CmId>> ids;  // by number
  std::unordered_map<uint32_t, CmId*> ids_by_qp;
  PortTable ports;
  FarPorts* far_ports = nullptr;  // of other processes
  std::map<FarKey, std::shared_ptr<CmId>> far_ids;
  uint32_t channels = 0;
  uint32_t unacked_events = 0;

  uint64_t messages_sent = 0;
  CmMessages spare_messages;
  CmMessages outbox;
  // Because of faults, sorted by when they are due.
  CmMessages in_flight;
  CmEvents late_events;
  std::optional<Timer> network_timer;  // for these two
};

// It is, or acts as if it were, not there.
bool IsGone(const std::shared_ptr<CmId>& id);
// The errno of a call that the state of the id does not allow.
int WrongState(const CmId& id);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CM_IMPL_H_
