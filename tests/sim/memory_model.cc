// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/memory_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

constexpr size_t kBlock = 64;  // bytes that are compared at once

}  // namespace

Content ExactContent(std::span<const uint8_t> bytes) {
  auto content = std::make_shared<std::vector<ByteSet>>(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) (*content)[i].set(bytes[i]);
  return content;
}

Content AnyContent(size_t size) {
  return std::make_shared<std::vector<ByteSet>>(size, ByteSet().set());
}

MemoryModel::MemoryModel(std::string name, std::span<const uint8_t> bytes)
    : name_(std::move(name)),
      base_(bytes.begin(), bytes.end()),
      bytes_(bytes.size()),
      open_(bytes.size() / kBlock + 1) {}

void MemoryModel::Store(size_t offset, std::span<const uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), base_.begin() + ptrdiff_t(offset));
  Show(offset, *ExactContent(bytes));
}

MemoryModel::Transfer MemoryModel::Begin(size_t offset, Content content,
                                         Origin origin, Tick now,
                                         Growth growth) {
  const Transfer transfer = ++last_;
  const size_t size = content->size();
  const bool grows = growth == Growth::kGrows;
  Show(offset, grows ? *AnyContent(size) : *content);
  entries_[transfer] = {.offset = offset,
                        .content = std::move(content),
                        .origin = origin,
                        .begun = now,
                        .grows = grows};
  for (size_t i = 0; i < size; ++i) AddCandidate(offset + i, transfer);
  if (size == 0) entries_.erase(transfer);
  return transfer;
}

void MemoryModel::Finish(Transfer transfer, Tick now) {
  const auto found = entries_.find(transfer);
  if (found == entries_.end() || found->second.took_effect) return;
  Entry& entry = found->second;
  // It is no longer shared: what comes later cannot have been brought.
  entry.content = std::make_shared<std::vector<ByteSet>>(*entry.content);
  entry.grows = false;
  entry.state = State::kOver;
  entry.took_effect = true;
  entry.ended = now;
  const Entry copy = entry;
  for (size_t i = 0; i < copy.content->size(); ++i) {
    const size_t byte = copy.offset + i;
    const auto& candidates = bytes_[byte].candidates;
    if (std::find(candidates.begin(), candidates.end(), transfer) ==
        candidates.end()) {
      continue;
    }
    bytes_[byte].keeps_base = false;
    DropSuperseded(byte, copy);
  }
}

void MemoryModel::Finish(Transfer transfer, std::span<const uint8_t> brought,
                         Tick now) {
  const auto found = entries_.find(transfer);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const size_t offset = entry.offset;
  const size_t size = entry.content->size();
  entry.content = ExactContent(brought);
  Show(offset, *entry.content);
  for (size_t i = brought.size(); i < size; ++i) {
    DropCandidate(offset + i, transfer);
  }
  Finish(transfer, now);
}

void MemoryModel::Cancel(Transfer transfer) {
  const auto found = entries_.find(transfer);
  if (found == entries_.end()) return;
  const size_t offset = found->second.offset;
  const size_t size = found->second.content->size();
  for (size_t i = 0; i < size; ++i) DropCandidate(offset + i, transfer);
}

void MemoryModel::Abandon(Transfer transfer) {
  const auto found = entries_.find(transfer);
  if (found == entries_.end() || found->second.took_effect) return;
  found->second.state = State::kAbandoned;
}

void MemoryModel::Close(Transfer transfer) {
  const auto found = entries_.find(transfer);
  if (found != entries_.end()) found->second.state = State::kOver;
}

void MemoryModel::SettleAbandoned() {
  for (auto& [transfer, entry] : entries_) {
    if (entry.state == State::kAbandoned) entry.state = State::kOver;
  }
}

Content MemoryModel::Observe(size_t offset, size_t size,
                             std::span<const uint8_t> bytes) {
  const Content seen = ExactContent(bytes.subspan(offset, size));
  for (size_t i = 0; i < size; ++i) {
    for (const Transfer transfer : bytes_[offset + i].candidates) {
      const Entry& entry = entries_.at(transfer);
      if (entry.state == State::kOver) continue;
      (*seen)[i] |= entry.grows ? ByteSet().set() : entry.At(offset + i);
    }
  }
  std::erase_if(observers_, [](const Observer& observer) {
    return observer.seen.expired();
  });
  observers_.push_back({offset, seen});
  return seen;
}

void MemoryModel::Check(std::span<const uint8_t> bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, bytes.size() - begin);
    if (open_[begin / kBlock] == 0 &&
        std::memcmp(&bytes[begin], &base_[begin], size) == 0) {
      continue;
    }
    for (size_t i = begin; i < begin + size; ++i) CheckByte(i, bytes[i]);
  }
}

bool MemoryModel::Precedes(const Entry& first, const Entry& then) {
  if (first.took_effect && first.ended < then.begun) return true;
  return first.origin.queue != 0 && first.origin.queue == then.origin.queue &&
         first.origin.number < then.origin.number;
}

void MemoryModel::AddCandidate(size_t byte, Transfer transfer) {
  auto& candidates = bytes_[byte].candidates;
  if (candidates.empty()) ++open_[byte / kBlock];
  candidates.push_back(transfer);
  ++entries_.at(transfer).covers;
}

void MemoryModel::DropCandidate(size_t byte, Transfer transfer) {
  auto& candidates = bytes_[byte].candidates;
  if (std::erase(candidates, transfer) == 0) return;
  if (candidates.empty()) --open_[byte / kBlock];
  const auto entry = entries_.find(transfer);
  if (--entry->second.covers == 0) entries_.erase(entry);
}

void MemoryModel::DropSuperseded(size_t byte, const Entry& by) {
  const std::vector<Transfer> candidates = bytes_[byte].candidates;
  for (const Transfer other : candidates) {
    if (Precedes(entries_.at(other), by)) DropCandidate(byte, other);
  }
}

void MemoryModel::Show(size_t offset, const std::vector<ByteSet>& content) {
  for (const Observer& observer : observers_) {
    const auto seen = observer.seen.lock();
    if (seen == nullptr) continue;
    const size_t begin = std::max(offset, observer.offset);
    const size_t end =
        std::min(offset + content.size(), observer.offset + seen->size());
    for (size_t byte = begin; byte < end; ++byte) {
      (*seen)[byte - observer.offset] |= content[byte - offset];
    }
  }
}

bool MemoryModel::Allows(size_t byte, uint8_t value) const {
  if (bytes_[byte].keeps_base && value == base_[byte]) return true;
  const auto& candidates = bytes_[byte].candidates;
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](Transfer transfer) {
                       return entries_.at(transfer).At(byte).test(value);
                     });
}

void MemoryModel::CheckByte(size_t byte, uint8_t value) {
  if (!Allows(byte, value)) Wrong(byte, value);
  const std::vector<Transfer> candidates = bytes_[byte].candidates;
  for (const Transfer transfer : candidates) {
    if (entries_.at(transfer).state != State::kOver) return;
  }
  for (const Transfer transfer : candidates) DropCandidate(byte, transfer);
  base_[byte] = value;
  bytes_[byte].keeps_base = true;
}

void MemoryModel::Wrong(size_t byte, uint8_t value) const {
  std::string allowed;
  for (unsigned other = 0; other < 256; ++other) {
    if (!Allows(byte, static_cast<uint8_t>(other))) continue;
    allowed += Text(allowed.empty() ? "" : ", ", other);
  }
  Violated("byte ", byte, " of ", name_, " is ", unsigned{value},
           "; it may only be ", allowed);
}

}  // namespace rpma::sim
