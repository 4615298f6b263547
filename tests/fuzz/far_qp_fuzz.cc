// SPDX-License-Identifier: BSD-3-Clause
// What a peer can do to a queue pair that is connected to one of its own: any
// messages that the decoder passes, in any order, while the program posts,
// polls, registers and deregisters. Nothing but what is registered with the
// right to is read or written, what is sent back can be decoded, and all can be
// destroyed at the end.
//
// The input is a list of acts: a byte that names one, and its operands.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "emulator/device.h"
#include "emulator/far_link.h"
#include "emulator/far_qp.h"
#include "tests/fuzz/input.h"

namespace rpma::emu {
namespace {

using ::rpma::fuzz::Input;
using ::rpma::fuzz::Require;

constexpr uint32_t kFarQp = 0x77;
constexpr size_t kBytes = 1000;  // of each memory; 200 of a buffer

class Environment final : public DeviceEnvironment {
 public:
  void QueuePairFailed(uint32_t) override {}
  void Log(int, const char* text) override { Require(text != nullptr); }
  TimerQueue& timers() override { return timers_; }
  std::chrono::nanoseconds Scale(std::chrono::nanoseconds time) override {
    return time;
  }
  FaultInjector& faults() override { return faults_; }
  std::atomic<Progress*>& progress() override { return progress_; }
  void FinishDeviceFaults() override {}

 private:
  TimerQueue timers_{ClockKind::kVirtual};
  FaultInjector faults_{*this};
  std::atomic<Progress*> progress_ = nullptr;
};

// On the heap and as long as it is, so that ASan sees any access beyond it.
struct Memory {
  explicit Memory(std::byte fill) : bytes(kBytes, fill) {}

  bool Overlaps(const Piece& piece) const {
    return piece.size > 0 && piece.data < bytes.data() + kBytes &&
           piece.data + piece.size > bytes.data();
  }

  std::vector<std::byte> bytes;
};

std::vector<std::byte> RecordOf(wire::Message message,
                                std::span<const std::byte> payload) {
  std::vector<std::byte> record(wire::RecordSize(message, payload.size()));
  message.head.size = static_cast<uint32_t>(record.size());
  std::memcpy(record.data(), &message, wire::FixedSize(message.head.type));
  std::copy(
      payload.begin(), payload.end(),
      record.begin() + static_cast<ptrdiff_t>(wire::PayloadOffset(message)));
  return record;
}

// The peer hears of everything; a full link at times.
class PeerLink final : public FarLink {
 public:
  explicit PeerLink(const Memory& secret) : secret_(secret) {}

  bool Send(Lane lane, const wire::Message& message,
            std::span<const Piece> payload) override {
    if (dead || (full && lane == Lane::kRequests)) return false;
    std::vector<std::byte> bytes;
    for (const Piece& piece : payload) {
      Require(!secret_.Overlaps(piece));
      bytes.insert(bytes.end(), piece.data, piece.data + piece.size);
    }
    const std::vector<std::byte> record = RecordOf(message, bytes);
    wire::Message decoded;
    std::span<const std::byte> rest;
    const char* why = nullptr;
    Require(wire::Decode(record, lane, &decoded, &rest, &why));
    if (message.head.type == wire::Type::kRequest) seq = message.request.seq;
    return true;
  }
  bool is_dead() const override { return dead; }
  bool AwaitRoom() override { return false; }
  void WantRoom() override {}
  uint64_t Sent() override { return 0; }
  bool IsHandled(uint64_t) override { return true; }

  bool dead = false;
  bool full = false;
  uint32_t seq = 0;  // of the last request

 private:
  const Memory& secret_;
};

class Victim {
 public:
  explicit Victim(const Profile& profile)
      : device_("victim", profile, 0, environment_) {
    Require(device_.AllocPd(&pd_) == 0);
    Require(device_.CreateCq(16, nullptr, &cq_) == 0);
    Register(open_,
             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                 IBV_ACCESS_REMOTE_READ,
             &open_mr_);
    Register(readable_, IBV_ACCESS_REMOTE_READ, &readable_mr_);
    Register(secret_, IBV_ACCESS_LOCAL_WRITE, &secret_mr_);
    const QueuePairAttributes attributes{.send_cq = cq_,
                                         .recv_cq = cq_,
                                         .max_send_wr = 8,
                                         .max_recv_wr = 8,
                                         .max_send_sge = 1,
                                         .max_recv_sge = 1,
                                         .max_inline_data = 8};
    Require(device_.CreateQp(pd_, attributes, &qp_) == 0);
    Require(qp_->ToInit() == 0);
    const QpRef peer(std::make_shared<FarQp>(link_, kFarQp, false));
    const ConnectionAttributes connection{.max_rd_atomic = 2,
                                          .max_dest_rd_atomic = 2,
                                          .retry_count = 1,
                                          .rnr_retry = 1};
    Require(qp_->ToReadyToReceive(peer, connection) == 0);
    Require(qp_->ToReadyToSend() == 0);
  }
  ~Victim() {
    environment_.timers().Stop();
    Require(device_.DestroyQp(qp_.get()) == 0);
    if (open_mr_ != nullptr) Require(device_.DeregMr(open_mr_) == 0);
    Require(device_.DeregMr(readable_mr_) == 0);
    Require(device_.DeregMr(secret_mr_) == 0);
    Require(device_.DestroyCq(cq_) == 0);
    Require(device_.DeallocPd(pd_) == 0);
    Require(readable_.bytes == Memory(std::byte{1}).bytes);
    Require(secret_.bytes == Memory(std::byte{2}).bytes);
  }

  void Act(Input& input);

 private:
  void Register(Memory& memory, unsigned access, MemoryRegion** mr) {
    Require(device_.RegMr(pd_, memory.bytes.data(), kBytes, access, mr) == 0);
  }
  ibv_sge Buffer(Input& input) {
    const size_t offset = input.Take<uint8_t>() % 100;
    const uint32_t length = input.Take<uint8_t>() % 200;
    const uint32_t lkey = open_mr_ == nullptr ? 0 : open_mr_->lkey;
    return {reinterpret_cast<uint64_t>(&open_.bytes[offset]), length, lkey};
  }
  void PostSend(Input& input);
  void PostRecv(Input& input);
  void Toggle();  // whether the open memory is registered
  void HearMessage(Input& input);
  void MakeLikely(Input& input, wire::Message* message);
  void MakeRequestLikely(Input& input, wire::RequestBody* request);
  void End();

  Environment environment_;
  Memory open_{std::byte{0}};
  Memory readable_{std::byte{1}};
  Memory secret_{std::byte{2}};
  const std::shared_ptr<PeerLink> link_ = std::make_shared<PeerLink>(secret_);
  Random random_{1};
  Device device_;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
  MemoryRegion* open_mr_ = nullptr;
  MemoryRegion* readable_mr_ = nullptr;
  MemoryRegion* secret_mr_ = nullptr;
  std::shared_ptr<QueuePair> qp_;
};

void Victim::PostSend(Input& input) {
  constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
                                        IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  ibv_sge sge = Buffer(input);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = kOpcodes[input.Take<uint8_t>() % std::size(kOpcodes)];
  wr.send_flags = input.Take<uint8_t>() & (IBV_SEND_SIGNALED | IBV_SEND_FENCE);
  wr.wr.rdma.remote_addr = input.Take<uint64_t>();
  ibv_send_wr* bad = nullptr;
  (void)qp_->PostSend(&wr, &bad);  // may be full, or in ERR
}

void Victim::PostRecv(Input& input) {
  ibv_sge sge = Buffer(input);
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  (void)qp_->PostRecv(&wr, &bad);  // may be full
}

void Victim::Toggle() {
  if (open_mr_ == nullptr) {
    return Register(open_,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                        IBV_ACCESS_REMOTE_READ,
                    &open_mr_);
  }
  Require(device_.DeregMr(open_mr_) == 0);
  open_mr_ = nullptr;
}

void Victim::End() {
  if (link_->dead) return;
  link_->dead = true;
  device_.OnEnd(*link_);
}

void Victim::MakeRequestLikely(Input& input, wire::RequestBody* request) {
  const MemoryRegion* const regions[] = {open_mr_, readable_mr_, secret_mr_};
  const MemoryRegion* const mr = regions[input.Take<uint8_t>() % 3];
  if (mr != nullptr) request->rkey = mr->rkey;
  const Memory* const memories[] = {&open_, &readable_, &secret_};
  request->remote_addr =
      reinterpret_cast<uint64_t>(
          memories[input.Take<uint8_t>() % 3]->bytes.data()) +
      input.Take<uint16_t>() % (2 * kBytes) - kBytes / 2;
}

// What random bytes seldom are.
void Victim::MakeLikely(Input& input, wire::Message* message) {
  wire::Head& head = message->head;
  head.to = qp_->qp_num;
  head.from = kFarQp;
  head.reserved = 0;
  if (head.type == wire::Type::kRequest) {
    head.flags &= wire::kAllFlags;
    return MakeRequestLikely(input, &message->request);
  }
  head.flags = 0;
  if (head.type == wire::Type::kReply) {
    message->reply.seq = link_->seq;
    std::memset(message->reply.reserved, 0, sizeof(message->reply.reserved));
  }
}

void Victim::HearMessage(Input& input) {
  constexpr wire::Type kTypes[] = {wire::Type::kRequest, wire::Type::kReply,
                                   wire::Type::kResume};
  const wire::Type type = kTypes[input.Take<uint8_t>() % std::size(kTypes)];
  wire::Message message = wire::NewMessage(type);
  const auto bytes = input.TakeBytes(wire::FixedSize(type));
  std::memcpy(&message, bytes.data(), bytes.size());
  message.head.type = type;
  if (input.Take<uint8_t>() != 0) MakeLikely(input, &message);
  const auto payload = std::as_bytes(input.TakeBytes(input.Take<uint8_t>()));
  const std::vector<std::byte> record = RecordOf(message, payload);

  const wire::Lane lane = type == wire::Type::kRequest ? wire::Lane::kRequests
                                                       : wire::Lane::kReplies;
  wire::Message decoded;
  std::span<const std::byte> rest;
  const char* why = nullptr;
  if (link_->dead || !wire::Decode(record, lane, &decoded, &rest, &why)) return;
  if (device_.OnData(*link_, decoded, rest) != nullptr) End();
}

void Victim::Act(Input& input) {
  ibv_wc wc[4];
  switch (input.Take<uint8_t>() % 12) {
    case 0:
      return PostRecv(input);
    case 1:
      return PostSend(input);
    case 2:
      (void)cq_->Poll(std::size(wc), wc);
      return;
    case 3:
      (void)environment_.timers().ExpireNext(random_);
      return;
    case 4:
      return Toggle();
    case 5:
      link_->full = !link_->full;
      if (!link_->full && !link_->dead) device_.OnRoom(*link_);
      return;
    case 6:
      (void)qp_->ToError();
      return;
    case 7:
      return End();
    default:
      return HearMessage(input);
  }
}

}  // namespace
}  // namespace rpma::emu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rpma::emu;
  constexpr const char* kProfiles[] = {"roce", "ib", "iwarp"};
  Input input(data, size);
  Victim victim(*FindProfile(kProfiles[input.Take<uint8_t>() % 3]));
  while (!input.is_empty()) victim.Act(input);
  return 0;
}
