// SPDX-License-Identifier: BSD-3-Clause
// Requests of one side, and their completions.

#include "tests/faults/side.h"

namespace rpma::faults {
namespace {

constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
// How many waits may bring nothing before a program gives up.
constexpr int kPatience = 8;

const void* Context(uintptr_t number) {
  return reinterpret_cast<const void*>(number);
}

}  // namespace

bool Side::Write(uintptr_t number, size_t offset, size_t size, int flags) {
  return Did(RPMA_CALL(program_, rpma_write, conn, remote, offset, mr, offset,
                       size, flags, Context(number)));
}

bool Side::WriteWithImm(uintptr_t number, size_t offset, size_t size,
                        uint32_t imm) {
  return Did(RPMA_CALL(program_, rpma_write_with_imm, conn, remote, offset, mr,
                       offset, size, kAlways, imm, Context(number)));
}

bool Side::Flush(uintptr_t number, size_t offset, size_t size,
                 rpma_flush_type type) {
  return Did(RPMA_CALL(program_, rpma_flush, conn, remote, offset, size, type,
                       kAlways, Context(number)));
}

bool Side::AtomicWrite(uintptr_t number, size_t offset,
                       const char (&value)[8]) {
  return Did(RPMA_CALL(program_, rpma_atomic_write, conn, remote, offset, value,
                       kAlways, Context(number)));
}

bool Side::Read(uintptr_t number, size_t offset, size_t size) {
  return Did(RPMA_CALL(program_, rpma_read, conn, mr, offset, remote, offset,
                       size, kAlways, Context(number)));
}

bool Side::Send(uintptr_t number, size_t offset, size_t size) {
  return Did(RPMA_CALL(program_, rpma_send, conn, mr, offset, size, kAlways,
                       Context(number)));
}

bool Side::SendWithImm(uintptr_t number, size_t offset, size_t size,
                       uint32_t imm) {
  return Did(RPMA_CALL(program_, rpma_send_with_imm, conn, mr, offset, size,
                       kAlways, imm, Context(number)));
}

bool Side::Receive(uintptr_t number, size_t offset, size_t size) {
  if (srq != nullptr) {
    return Did(RPMA_CALL(program_, rpma_srq_recv, srq, mr, offset, size,
                         Context(number)));
  }
  if (request != nullptr) {
    return Did(RPMA_CALL(program_, rpma_conn_req_recv, request, mr, offset,
                         size, Context(number)));
  }
  return Did(
      RPMA_CALL(program_, rpma_recv, conn, mr, offset, size, Context(number)));
}

bool Side::Completes(uintptr_t number, ibv_wc* wc) {
  ibv_wc got = {};
  if (!AwaitCompletion(cq, /*of_a_receive=*/false, &got)) return false;
  if (wc != nullptr) *wc = got;
  return Judge(number, got);
}

bool Side::Receives(uintptr_t number, ibv_wc* wc) {
  return AwaitCompletion(rcq, /*of_a_receive=*/true, wc) && Judge(number, *wc);
}

bool Side::FailsToComplete(uintptr_t number, ibv_wc_status status) {
  ibv_wc wc = {};
  if (!AwaitCompletion(cq, /*of_a_receive=*/false, &wc)) return false;
  failed_ = true;
  const bool as_expected = program_.policy().fails_calls
                               ? wc.status == status
                               : wc.status != IBV_WC_SUCCESS;
  if (!as_expected || wc.wr_id != number) {
    program_.findings().Add("request %llu of %s completed with status %d",
                            static_cast<unsigned long long>(wc.wr_id), name_,
                            wc.status);
  }
  return true;
}

bool Side::Judge(uintptr_t number, const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) {
    failed_ = true;
    if (program_.policy().fails_calls) {
      program_.findings().Add("a request of %s completed with status %d", name_,
                              wc.status);
    }
    return false;
  }
  if (wc.wr_id != number && program_.policy().loses_completions) {
    failed_ = true;
    return false;
  }
  if (wc.wr_id != number) {
    program_.findings().Add("%s got completion %llu, not %llu", name_,
                            static_cast<unsigned long long>(wc.wr_id),
                            static_cast<unsigned long long>(number));
  }
  return true;
}

bool Side::AwaitCompletion(rpma_cq* queue, bool of_a_receive, ibv_wc* wc) {
  for (int i = 0; i < kPatience; ++i) {
    const int rc = RPMA_CALL(program_, rpma_cq_get_wc, queue, 1, wc, nullptr);
    if (rc != RPMA_E_NO_COMPLETION) return Did(rc);
    if (of_a_receive && !AwaitReceive(queue)) return false;
    if (!Wait(queue)) return false;
  }
  failed_ = true;
  return false;
}

// Until the queue has something. False: the connection ended before, or nothing
// can come.
bool Side::AwaitReceive(rpma_cq* queue) {
  int queue_fd = -1;
  int event_fd = -1;
  const int rc =
      options_.shared_channel
          ? RPMA_CALL(program_, rpma_conn_get_compl_fd, conn, &queue_fd)
          : RPMA_CALL(program_, rpma_cq_get_fd, queue, &queue_fd);
  if (!Did(rc) ||
      !Did(RPMA_CALL(program_, rpma_conn_get_event_fd, conn, &event_fd))) {
    return false;
  }
  const int readable = program_.AwaitReadable(queue_fd, event_fd);
  if (readable == queue_fd) return true;
  if (readable == event_fd) {
    rpma_conn_event event = RPMA_CONN_UNDEFINED;
    NextEvent(&event);
  } else if (!Excuses(true) && !program_.policy().loses_completions) {
    program_.findings().Add("%s waits for ever to receive", name_);
  }
  failed_ = true;
  return false;
}

// Until the queue has told that it may have something.
bool Side::Wait(rpma_cq* queue) {
  const Program::Scope scope(program_, Program::Leave::kToGetStuck);
  int rc = WaitOnce(queue);
  // It could not be armed again, which the next wait does first.
  if (rc == RPMA_E_PROVIDER && !program_.stuck()) rc = WaitOnce(queue);
  if (program_.stuck()) {
    if (!Excuses(false) && !program_.policy().loses_completions) {
      program_.findings().Add("%s waits for ever for a completion", name_);
    }
    failed_ = true;
    return false;
  }
  // What came, if anything, was for another queue: it looks and waits again.
  if (rc == RPMA_E_NO_COMPLETION || rc == RPMA_E_UNKNOWN) return true;
  return Did(rc);
}

int Side::WaitOnce(rpma_cq* queue) {
  if (!options_.shared_channel) {
    return RPMA_CALL(program_, rpma_cq_wait, queue);
  }
  rpma_cq* which = nullptr;
  bool is_rcq = false;
  const int rc = RPMA_CALL(program_, rpma_conn_wait, conn, 0, &which, &is_rcq);
  if (rc == 0 && which != (is_rcq ? rcq : cq)) {
    program_.findings().Add("rpma_conn_wait gave a wrong queue");
  } else if (rc != 0 && which != nullptr) {
    program_.findings().Add("rpma_conn_wait failed and gave a queue");
  }
  return rc;
}

}  // namespace rpma::faults
