// SPDX-License-Identifier: BSD-3-Clause
// The steps of a queue pair in a stepped world, and what the trace says of it.

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

constexpr size_t kMaxPlace = 64;

const char* NameOf(const Request& request) {
  switch (request.operation) {
    case Operation::kSend:
      return request.with_imm ? "SEND_WITH_IMM" : "SEND";
    case Operation::kWrite:
      return request.with_imm ? "WRITE_WITH_IMM" : "WRITE";
    case Operation::kRead:
      return "READ";
    case Operation::kAtomicWrite:
      return "ATOMIC_WRITE";
    case Operation::kFlush:
      return "FLUSH";
  }
  return "";
}

// Where `addr` lies: in the region of `key` or not.
void WritePlace(const MrTable& regions, uint32_t key, uint64_t addr,
                const char* preposition, char (&text)[kMaxPlace]) {
  const KeyFacts facts = regions.Facts(key);
  if (!facts.known) {
    std::snprintf(text, sizeof(text), " %s no MR", preposition);
    return;
  }
  const uint64_t offset = addr - facts.addr;
  if (offset > facts.length) {
    // How far differs from process to process.
    std::snprintf(text, sizeof(text), " %s outside of MR %u", preposition,
                  facts.number);
    return;
  }
  std::snprintf(text, sizeof(text), " %s MR %u+%" PRIu64, preposition,
                facts.number, offset);
}

}  // namespace

QueuePairSteps::QueuePairSteps(Scheduler& scheduler, QueuePair::Impl& qp,
                               std::weak_ptr<void> owner)
    : scheduler_(scheduler),
      trace_(scheduler.trace()),
      qp_(qp),
      number_(trace_.NumberOf(ObjectKind::kQueuePair)),
      late_reads_(scheduler.StreamOf(ObjectKind::kQueuePair, number_)) {
  scheduler.Add(*this, std::move(owner));
}

void QueuePairSteps::Retire() { scheduler_.Remove(*this); }

void QueuePairSteps::Step() {
  using Wait = QueuePair::Impl::Wait;
  Aftermath after;
  {
    const std::lock_guard lock(qp_.sq_mutex);
    const bool is_failed = qp_.state == IBV_QPS_ERR;
    if (!is_failed && qp_.wait == Wait::kNothing) qp_.ExecuteNext(after);
    qp_.Execute(after);
  }
  after.Run();
}

void QueuePairSteps::MakeRunnableIfItCanExecute() {
  if (qp_.wait != QueuePair::Impl::Wait::kNothing) return;
  bool can_execute = qp_.late_reads > 0;
  if (qp_.sq.executed() != qp_.sq.end()) {
    const ibv_qp_state now = qp_.state;
    can_execute |= now == IBV_QPS_RTS ||
                   (now == IBV_QPS_SQD && qp_.sq[qp_.sq.executed()].started);
  }
  if (can_execute) scheduler_.MakeRunnable(*this);
}

// READs keep their order among themselves.
bool QueuePairSteps::DefersRead() {
  return qp_.late_reads > 0 || late_reads_.Below(2) == 0;
}

bool QueuePairSteps::ExecutesLateRead() {
  return qp_.profile.reads != ReadOrder::kLate && late_reads_.Below(2) == 0;
}

void QueuePairSteps::SayWhatItWaitsFor(std::vector<std::string>* lines) {
  using Wait = QueuePair::Impl::Wait;
  const std::lock_guard lock(qp_.sq_mutex);
  const uint32_t waiting = qp_.sq.end() - qp_.sq.completed();
  if (waiting == 0) return;
  const std::string remote = qp_.remote == nullptr
                                 ? "its remote"
                                 : "QP " + std::to_string(qp_.remote->number());
  std::string reason;
  switch (qp_.wait) {
    case Wait::kNothing:
      reason = "waits for the queue pair to be moved to RTS";
      break;
    case Wait::kNotReady:
      reason = "waits for " + remote + " to be moved to RTR";
      break;
    case Wait::kReceive:
      reason = "waits for " + remote + " to have a receive";
      break;
    case Wait::kAnswer:
    case Wait::kFar:
    case Wait::kRoom:
      reason = "waits for an answer of " + remote;
      break;
  }
  const Request& oldest = qp_.sq[qp_.sq.completed()];
  lines->push_back("QP " + std::to_string(number_) + " has " +
                   std::to_string(waiting) + " outstanding requests; request " +
                   std::to_string(qp_.sq.completed() + 1) + ", a " +
                   NameOf(oldest) + " of " + std::to_string(oldest.length) +
                   " bytes, " + reason);
}

uint32_t QueuePairSteps::NumberOf(const Request& request) const {
  uint32_t number = qp_.sq.completed();
  while (&qp_.sq[number] != &request) ++number;
  return number + 1;
}

void QueuePairSteps::Posted(uint32_t first) {
  for (uint32_t number = first; number != qp_.sq.end(); ++number) {
    const Request& request = qp_.sq[number];
    char local[kMaxPlace] = "";
    char remote[kMaxPlace] = "";
    if (request.inlined) {
      std::snprintf(local, sizeof(local), " inline");
    } else if (request.num_sge > 0) {
      WritePlace(qp_.device.regions(), request.sges[0].lkey,
                 request.sges[0].addr, "here", local);
    }
    if (request.operation != Operation::kSend && qp_.remote != nullptr) {
      WritePlace(qp_.remote->impl_->device.regions(), request.rkey,
                 request.remote_addr, "there", remote);
    }
    trace_.Add("QP %u posts request %u: %s of %" PRIu64 " bytes%s%s%s%s",
               number_, number + 1, NameOf(request), request.length, local,
               remote, request.signaled ? ", signaled" : "",
               request.fence ? ", fenced" : "");
  }
}

void QueuePairSteps::Tries(const Request& request) {
  trace_.Add("QP %u tries request %u", number_, NumberOf(request));
}

void QueuePairSteps::Tried(const Request& request, const Verdict& verdict) {
  using Outcome = Verdict::Outcome;
  const char* outcome = "was refused";
  switch (verdict.outcome) {
    case Outcome::kDone:
    case Outcome::kSent:
      return;
    case Outcome::kNotReady:
      outcome = "found its remote not ready";
      break;
    case Outcome::kNoReceive:
      outcome = "found no receive";
      break;
    case Outcome::kNoAnswer:
      outcome = "had no answer";
      break;
    case Outcome::kLost:
      outcome = "was lost";
      break;
    case Outcome::kUnderWay:
      outcome = "is under way";
      break;
    case Outcome::kFailed:
      break;
  }
  trace_.Add("QP %u: request %u %s", number_, NumberOf(request), outcome);
}

void QueuePairSteps::Completed(const CompletionQueue& cq, const Cqe& cqe,
                               CompletionQueue::PushResult result) {
  scheduler_.NoteEvent();
  const char* const lost =
      result == CompletionQueue::PushResult::kOk ? "" : ", which is lost";
  if (cqe.slots != nullptr) {
    trace_.Add("CQ %u gets request %u of QP %u, status %d%s", cq.number(),
               cqe.frees_up_to, number_, cqe.wc.status, lost);
  } else if (cqe.wc.status == IBV_WC_SUCCESS) {
    trace_.Add("CQ %u gets a receive of QP %u, %u bytes%s", cq.number(),
               number_, cqe.wc.byte_len, lost);
  } else {
    trace_.Add("CQ %u gets a receive of QP %u, status %d%s", cq.number(),
               number_, cqe.wc.status, lost);
  }
}

void QueuePairSteps::PostedReceive() {
  trace_.Add("QP %u posts receive %u", number_, qp_.rq.posted());
}

void QueuePairSteps::TakesReceive(uint32_t number) {
  if (qp_.attributes.srq == nullptr) {
    trace_.Add("QP %u takes receive %u", number_, number);
  } else {
    trace_.Add("QP %u takes receive %u of SRQ %u", number_, number,
               qp_.attributes.srq->number());
  }
}

}  // namespace rpma::emu
