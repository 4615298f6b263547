// SPDX-License-Identifier: BSD-3-Clause
// A link in memory between two devices, as between those of two processes. What
// is sent waits until somebody drains it, on the thread that does.

#ifndef RPMA_TESTS_UNIT_EMULATOR_LINKED_ENDS_H_
#define RPMA_TESTS_UNIT_EMULATOR_LINKED_ENDS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "emulator/device.h"
#include "emulator/far_link.h"
#include "emulator/far_qp.h"

namespace rpma::emu {

// One end of a link: the queues of what it sends.
class QueuedLink final : public FarLink {
 public:
  using Record = std::vector<std::byte>;  // head, body, payload

  bool Send(Lane lane, const wire::Message& message,
            std::span<const Piece> payload) override;
  bool is_dead() const override { return dead_; }
  bool AwaitRoom() override { return await_room(); }
  void WantRoom() override { wants_room_ = true; }
  // For messages of the CM, which do not come here.
  uint64_t Sent() override { return 0; }
  bool IsHandled(uint64_t) override { return true; }

  // Whether the peer is about to make room.
  std::function<bool()> await_room = [] { return false; };
  void Die() { dead_ = true; }
  // Of requests, in bytes.
  void SetCapacity(size_t bytes) { capacity_ = bytes; }
  // The oldest reply or, if there is none, request.
  std::optional<Record> Take(Lane* lane);
  // Whether there is room that somebody wanted. Says so once.
  bool TakeRoom();
  size_t waiting() const;  // records

 private:
  mutable std::mutex mutex_;
  std::array<std::deque<Record>, 2> lanes_;  // guarded by mutex_
  size_t used_ = 0;                          // guarded by mutex_
  std::atomic<size_t> capacity_{size_t{1} << 19};
  std::atomic<bool> dead_{false};
  std::atomic<bool> wants_room_{false};
};

// Both ends, and who handles what comes.
class LinkedEnds final : public Progress {
 public:
  LinkedEnds(Device& client, Device& server);

  std::shared_ptr<FarQp> ServerQp(const QueuePair& qp) const;
  std::shared_ptr<FarQp> ClientQp(const QueuePair& qp) const;

  // Handles what has been sent, until there is nothing more.
  void Poll() override;
  int Wait(int, const std::function<bool()>*) override { return 0; }
  // Handles the oldest message to the server, or to the client: false, there
  // is none.
  bool HandleOneAtServer() {
    return Handle(*client_, *server_, server_device_);
  }
  bool HandleOneAtClient() {
    return Handle(*server_, *client_, client_device_);
  }

  // The process of an end stops, or goes on.
  void StopServer(bool stopped) { server_stopped_ = stopped; }
  void Kill();  // one of the processes

  // Sees each message before it is handled; false: it is not to be.
  std::function<bool(const wire::Message&)> lets_pass = [](const auto&) {
    return true;
  };

  QueuedLink& client() { return *client_; }  // what the client sends
  QueuedLink& server() { return *server_; }
  // What was wrong with the last message that was.
  const char* wrong() const { return wrong_; }

 private:
  bool Handle(QueuedLink& from, QueuedLink& to, Device& device);

  Device& client_device_;
  Device& server_device_;
  const std::shared_ptr<QueuedLink> client_ = std::make_shared<QueuedLink>();
  const std::shared_ptr<QueuedLink> server_ = std::make_shared<QueuedLink>();
  std::mutex drain_;
  std::atomic<bool> server_stopped_{false};
  std::atomic<const char*> wrong_{nullptr};
};

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_LINKED_ENDS_H_
