// SPDX-License-Identifier: BSD-3-Clause
// A link in memory.

#include "tests/unit/emulator/linked_ends.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace rpma::emu {

bool QueuedLink::Send(Lane lane, const wire::Message& message,
                      std::span<const Piece> payload) {
  if (dead_) return false;
  size_t in_payload = 0;
  for (const Piece& piece : payload) in_payload += piece.size;
  const size_t size = wire::RecordSize(message, in_payload);
  const std::lock_guard lock(mutex_);
  if (lane == Lane::kRequests) {
    if (used_ + size > capacity_) return false;
    used_ += size;
  }
  Record record(size);
  wire::Message sized = message;
  sized.head.size = static_cast<uint32_t>(size);
  std::memcpy(record.data(), &sized, wire::FixedSize(message.head.type));
  const Piece target{record.data() + wire::PayloadOffset(message), in_payload};
  Transfer({&target, 1}, payload);
  lanes_[static_cast<size_t>(lane)].push_back(std::move(record));
  return true;
}

std::optional<QueuedLink::Record> QueuedLink::Take(Lane* lane) {
  const std::lock_guard lock(mutex_);
  for (const Lane from : {Lane::kReplies, Lane::kRequests}) {
    auto& queue = lanes_[static_cast<size_t>(from)];
    if (queue.empty()) continue;
    Record record = std::move(queue.front());
    queue.pop_front();
    if (from == Lane::kRequests) used_ -= record.size();
    *lane = from;
    return record;
  }
  return std::nullopt;
}

bool QueuedLink::TakeRoom() {
  {
    const std::lock_guard lock(mutex_);
    if (used_ + wire::kMaxRecord > capacity_) return false;
  }
  return wants_room_.exchange(false);
}

size_t QueuedLink::waiting() const {
  const std::lock_guard lock(mutex_);
  return lanes_[0].size() + lanes_[1].size();
}

LinkedEnds::LinkedEnds(Device& client, Device& server)
    : client_device_(client), server_device_(server) {}

std::shared_ptr<FarQp> LinkedEnds::ServerQp(const QueuePair& qp) const {
  return std::make_shared<FarQp>(client_, qp.qp_num, qp.srq != nullptr);
}

std::shared_ptr<FarQp> LinkedEnds::ClientQp(const QueuePair& qp) const {
  return std::make_shared<FarQp>(server_, qp.qp_num, qp.srq != nullptr);
}

bool LinkedEnds::Handle(QueuedLink& from, QueuedLink& to, Device& device) {
  wire::Lane lane;
  const std::optional<QueuedLink::Record> record = from.Take(&lane);
  if (!record.has_value()) return false;
  wire::Message message;
  std::span<const std::byte> payload;
  const char* why = nullptr;
  EXPECT_TRUE(wire::Decode(*record, lane, &message, &payload, &why)) << why;
  if (why != nullptr || !lets_pass(message)) return true;
  if (const char* const wrong = device.OnData(to, message, payload)) {
    wrong_ = wrong;
  }
  return true;
}

void LinkedEnds::Poll() {
  const std::unique_lock lock(drain_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  bool moves = true;
  while (moves) {
    moves = HandleOneAtClient();
    if (!server_stopped_) moves |= HandleOneAtServer();
    if (client_->TakeRoom()) client_device_.OnRoom(*client_);
    if (server_->TakeRoom()) server_device_.OnRoom(*server_);
  }
}

void LinkedEnds::Kill() {
  client_->Die();
  server_->Die();
  client_device_.OnEnd(*client_);
  server_device_.OnEnd(*server_);
}

}  // namespace rpma::emu
