// SPDX-License-Identifier: BSD-3-Clause
// The inside of the connection manager: what its parts share. cm_ids.cc keeps
// ids and addresses, cm_events.cc delivers events, cm_setup.cc establishes
// connections, cm_teardown.cc ends them.

#ifndef RPMA_EMULATOR_CM_IMPL_H_
#define RPMA_EMULATOR_CM_IMPL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "emulator/cm_id.h"
#include "emulator/connection_manager.h"
#include "emulator/event_channel.h"
#include "emulator/port_table.h"
#include "emulator/profile.h"

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

// The mutex guards everything here and in all ids and channels. State changes
// of queue pairs run transfers and may call back (QueuePairFailed), so they
// happen without the mutex; the state of an id is looked at again afterwards.
// Functions REQUIRE the mutex unless they say otherwise.
struct ConnectionManager::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(Fabric& f) : fabric(f) {}

  // --- Ids
  // With `channel` for its events. Throws std::bad_alloc.
  std::shared_ptr<CmId> NewId(EventChannel* channel);
  void Attach(CmId& id, EventChannel* channel);  // moves unread events too
  int Bind(CmId& id, const sockaddr& address);
  int Resolve(CmId& id, const sockaddr* source, const sockaddr& destination);
  int Own(CmId& id, const std::shared_ptr<QueuePair>& qp);  // ENOMEM
  void Forget(CmId& id);  // the last reference may be the caller's

  // --- Events
  // Queues an event of `id`, unless it drops events. The id set the node aside.
  // Returns it, to be completed under the same lock; nullptr: dropped.
  CmEvent* Post(CmId& id, rdma_cm_event_type type, int status = 0,
                ConsumerData data = {}, uint8_t field = 0);
  CmEvent* Fetch(EventChannel& channel);  // nullptr: none is unread
  // Does what librdmacm does when it fetches the event; false: the program does
  // not get it. REQUIRES: the mutex is not held.
  bool Process(CmEvent& event);
  void Acknowledge(CmEvent& event);
  // Removes the unread events of `id`, in order, from where they wait.
  CmEvents TakeUnread(CmId& id);
  void WaitForAcks(std::unique_lock<std::mutex>& lock, CmId& id);

  // --- Messages
  // Makes the id of the passive end and queues CONNECT_REQUEST. Throws
  // std::bad_alloc before it has had any effect.
  void SendRequest(CmId& from, CmId& listener, Device& device,
                   const rdma_conn_param& param);
  void SendResponse(CmId& from, const rdma_conn_param& param);
  int FinishConnect(CmId& id);  // REQUIRES: the mutex is not held
  // Both ends, of iWARP, are connected.
  void Establish(CmId& passive, const rdma_conn_param& param);
  // `from` is closed; its peer, if there is one, is told.
  void SendReject(CmId& from, int reason, ConsumerData data = {});
  void Disconnect(CmId& id);  // DREQ or DREP, as the state says
  void FinishDisconnect(CmId& id, int status);
  void EnterTimeWait(CmId& id);
  // Of a connected iWARP id: closes both ends. Lets go of the mutex meanwhile.
  void Terminate(std::unique_lock<std::mutex>& lock,
                 const std::shared_ptr<CmId>& id);
  void SayGoodbye(CmId& id);  // before its destruction, to whom it concerns
  void RejectWaiting(CmId& listener);

  // --- Timers
  void StartTimer(CmId& id, std::chrono::nanoseconds delay);
  void Expire(CmId& id);
  std::chrono::nanoseconds CmTimeout(const CmId& id) const;  // all tries

  Fabric& fabric;
  std::mutex mutex;
  std::condition_variable acknowledged;
  std::unordered_map<const CmId*, std::shared_ptr<CmId>> ids;
  std::unordered_map<uint32_t, CmId*> ids_by_qp;
  PortTable ports;
  uint32_t channels = 0;
  uint32_t unacked_events = 0;
};

// Ends the connection of two ids in either's view; returns the other end.
CmId* Detach(CmId& id);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CM_IMPL_H_
