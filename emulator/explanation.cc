// SPDX-License-Identifier: BSD-3-Clause
// Sentences on why a request failed.

#include "emulator/explanation.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <iterator>

namespace rpma::emu {
namespace {

// A text that grows at its end and is cut where its buffer ends.
class Text {
 public:
  explicit Text(char (&text)[kMaxExplanation]) : text_(text) {
    text_[0] = '\0';
  }

  __attribute__((format(printf, 2, 3))) void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text_ + length_, kMaxExplanation - length_,
                                     format, arguments);
    va_end(arguments);
    if (added > 0) {
      length_ =
          std::min(length_ + static_cast<size_t>(added), kMaxExplanation - 1);
    }
  }

 private:
  char* const text_;
  size_t length_ = 0;
};

const char* Name(const Request& request) {
  switch (request.operation) {
    case Operation::kSend:
      return request.with_imm ? "SEND_WITH_IMM" : "SEND";
    case Operation::kWrite:
      return request.with_imm ? "RDMA_WRITE_WITH_IMM" : "RDMA_WRITE";
    case Operation::kRead:
      return "RDMA_READ";
    case Operation::kAtomicWrite:
      return "ATOMIC_WRITE";
    case Operation::kFlush:
      return "FLUSH";
  }
  return "request";
}

void AddRequest(Text& text, const Request& request) {
  text.Add("%s of %" PRIu64 " byte%s", Name(request), request.length,
           request.length == 1 ? "" : "s");
  if (request.operation == Operation::kSend) return;
  text.Add(" %s 0x%" PRIx64,
           request.operation == Operation::kRead ? "from" : "to",
           request.remote_addr);
}

void AddRights(Text& text, unsigned rights) {
  const struct {
    unsigned right;
    const char* name;
  } names[] = {
      {IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE"},
      {IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE"},
      {IBV_ACCESS_REMOTE_READ, "REMOTE_READ"},
      {kAccessFlushGlobal, "FLUSH_GLOBAL"},
      {kAccessFlushPersistent, "FLUSH_PERSISTENT"},
  };
  for (const auto& [right, name] : names) {
    if (rights & right) text.Add(" %s", name);
  }
}

void AddBounds(Text& text, const char* range, const Reason& reason,
               const KeyFacts& facts) {
  text.Add("%s range ", range);
  if (reason.addr < facts.addr) {
    text.Add("starts %" PRIu64 " bytes before", facts.addr - reason.addr);
  } else {
    text.Add("ends %" PRIu64 " bytes past",
             (reason.addr - facts.addr) + reason.length - facts.length);
  }
  text.Add(" the region [0x%" PRIx64 ", 0x%" PRIx64 ")", facts.addr,
           facts.addr + facts.length);
}

// `range` and `key` say whose they are: "the remote" and "rkey".
void AddAccess(Text& text, const char* range, const char* key,
               const Reason& reason, const MrTable& regions) {
  switch (reason.access) {
    case AccessError::kNone:
      return;
    case AccessError::kUnknownKey:
      return text.Add("%s 0x%x was never given out", key, reason.key);
    case AccessError::kDeregistered:
      return text.Add("%s 0x%x was deregistered", key, reason.key);
    case AccessError::kOtherDomain:
      return text.Add("the region of %s 0x%x is in another protection domain",
                      key, reason.key);
    case AccessError::kOutOfBounds:
      AddBounds(text, range, reason, regions.Facts(reason.key));
      return text.Add(" of %s 0x%x", key, reason.key);
    case AccessError::kMissingRight:
      text.Add("the region of %s 0x%x lacks", key, reason.key);
      return AddRights(text, reason.rights & ~regions.Facts(reason.key).access);
  }
}

void AddNoAnswer(Text& text, const Reason& reason) {
  text.Add("the remote queue pair did not answer %" PRIu64 " %s", reason.limit,
           reason.limit == 1 ? "try" : "tries");
  if (reason.by_fault) {
    text.Add("; fault rule %zu took the last one", reason.rule);
  } else if (reason.device != nullptr) {
    text.Add("; %s %s", reason.device, reason.trouble);
  }
}

}  // namespace

const char* NameOf(ibv_wc_status status) {
  constexpr const char* kNames[] = {"SUCCESS",
                                    "LOC_LEN_ERR",
                                    "LOC_QP_OP_ERR",
                                    "LOC_EEC_OP_ERR",
                                    "LOC_PROT_ERR",
                                    "WR_FLUSH_ERR",
                                    "MW_BIND_ERR",
                                    "BAD_RESP_ERR",
                                    "LOC_ACCESS_ERR",
                                    "REM_INV_REQ_ERR",
                                    "REM_ACCESS_ERR",
                                    "REM_OP_ERR",
                                    "RETRY_EXC_ERR",
                                    "RNR_RETRY_EXC_ERR",
                                    "LOC_RDD_VIOL_ERR",
                                    "REM_INV_RD_REQ_ERR",
                                    "REM_ABORT_ERR",
                                    "INV_EECN_ERR",
                                    "INV_EEC_STATE_ERR",
                                    "FATAL_ERR",
                                    "RESP_TIMEOUT_ERR",
                                    "GENERAL_ERR",
                                    "TM_ERR",
                                    "TM_RNDV_INCOMPLETE"};
  static_assert(std::size(kNames) == IBV_WC_TM_RNDV_INCOMPLETE + 1);
  const auto index = static_cast<size_t>(status);
  return index < std::size(kNames) ? kNames[index] : "an unknown status";
}

void WriteExplanation(const Request& request, const Reason& reason,
                      const MrTable& regions, char (&buffer)[kMaxExplanation]) {
  Text text(buffer);
  AddRequest(text, request);
  text.Add(": ");
  switch (reason.cause) {
    case Cause::kNone:
    case Cause::kFlushed:
      return;
    case Cause::kMessageTooLong:
      return text.Add("the device's limit is %" PRIu64 " bytes", reason.limit);
    case Cause::kLocalAccess:
      return AddAccess(text, "the local", "lkey", reason, regions);
    case Cause::kRemoteAccess:
      return AddAccess(text, "the remote", "rkey", reason, regions);
    case Cause::kReceiveAccess:
      return AddAccess(text, "the receive buffer's", "lkey", reason, regions);
    case Cause::kReceiveTooShort:
      return text.Add("the receive has room for %" PRIu64 " bytes",
                      reason.limit);
    case Cause::kMisaligned:
      return text.Add("the remote address is not a multiple of 8");
    case Cause::kTooManyReads:
      return text.Add("the responder serves %" PRIu64 " at a time",
                      reason.limit);
    case Cause::kNoReceive:
      if (!reason.by_fault) return text.Add("no receive was posted");
      return text.Add("fault rule %zu answered with RNR NAKs", reason.rule);
    case Cause::kNoAnswer:
      return AddNoAnswer(text, reason);
    case Cause::kConnectionEnded:
      return text.Add("the remote queue pair had ended the connection");
    case Cause::kInjected:
      return text.Add("completed with %s by fault rule %zu",
                      NameOf(reason.status), reason.rule);
    case Cause::kInjectedReceive:
      return text.Add("its receive completed with %s by fault rule %zu",
                      NameOf(reason.status), reason.rule);
  }
}

}  // namespace rpma::emu
