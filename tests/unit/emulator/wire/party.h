// SPDX-License-Identifier: BSD-3-Clause
// A wire with ends that other threads may ask what came.

#ifndef RPMA_TESTS_UNIT_EMULATOR_WIRE_PARTY_H_
#define RPMA_TESTS_UNIT_EMULATOR_WIRE_PARTY_H_

#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/wire/wire.h"

namespace rpma::emu::wire {

inline sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class Party final : public FarEnds {
 public:
  explicit Party(const std::string& directory, const std::string& name = "name")
      : wire(directory, name, *this, progress, [this](int, const char* text) {
          const std::lock_guard lock(mutex_);
          log_.push_back(text);
          changed_.notify_all();
        }) {}

  int Claim(uint16_t port) {
    const sockaddr_in address = Loopback(port);
    return wire.Claim(reinterpret_cast<const sockaddr&>(address));
  }
  void Release(uint16_t port) {
    const sockaddr_in address = Loopback(port);
    wire.Release(reinterpret_cast<const sockaddr&>(address));
  }
  Wire::Found Find(uint16_t port) {
    const sockaddr_in address = Loopback(port);
    return wire.Find(reinterpret_cast<const sockaddr&>(address), &link);
  }

  const char* OnMessage(FarLink& from, const Message& message,
                        std::span<const std::byte>) override {
    Get(on_message_)(from, message);
    const std::lock_guard lock(mutex_);
    ++received_;
    last_link_ = from.shared_from_this();
    changed_.notify_all();
    return objection.load();
  }
  void OnRoom(FarLink& there) override { Get(on_room_)(there); }
  void OnEnd(FarLink&) override {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  // Each returns when so many came, since the beginning.
  void AwaitMessages(uint64_t count) {
    Await([&] { return received_ >= count; });
  }
  bool HasMessages(uint64_t count) {
    const std::lock_guard lock(mutex_);
    return received_ >= count;
  }
  void AwaitEnds(int count) {
    Await([&] { return ended_ >= count; });
  }
  std::string AwaitLog() {
    Await([&] { return !log_.empty(); });
    return Log();
  }
  std::string Log() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : log_) text += line + "\n";
    return text;
  }
  // That the last message came from.
  std::shared_ptr<FarLink> last_link() {
    const std::lock_guard lock(mutex_);
    return last_link_;
  }

  // What OnMessage() and OnRoom() do from now on.
  void Set(std::function<void(FarLink&, const Message&)> on_message) {
    const std::lock_guard lock(mutex_);
    on_message_ = std::move(on_message);
  }
  void SetOnRoom(std::function<void(FarLink&)> on_room) {
    const std::lock_guard lock(mutex_);
    on_room_ = std::move(on_room);
  }

  std::atomic<const char*> objection = nullptr;
  std::atomic<Progress*> progress = nullptr;
  std::shared_ptr<FarLink> link;  // that Find() found

 private:
  template <typename Function>
  Function Get(const Function& function) {
    const std::lock_guard lock(mutex_);
    return function;
  }
  template <typename Condition>
  void Await(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }

  std::mutex mutex_;
  std::function<void(FarLink&, const Message&)> on_message_ =
      [](FarLink&, const Message&) {};
  std::function<void(FarLink&)> on_room_ = [](FarLink&) {};
  std::condition_variable changed_;
  uint64_t received_ = 0;
  int ended_ = 0;
  std::vector<std::string> log_;
  std::shared_ptr<FarLink> last_link_;

 public:
  Wire wire;  // the last: its thread uses all of the above
};

}  // namespace rpma::emu::wire

#endif  // RPMA_TESTS_UNIT_EMULATOR_WIRE_PARTY_H_
