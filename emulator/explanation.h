// SPDX-License-Identifier: BSD-3-Clause
// Why a request failed, and how to say it in a sentence.

#ifndef RPMA_EMULATOR_EXPLANATION_H_
#define RPMA_EMULATOR_EXPLANATION_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "emulator/memory_region.h"
#include "emulator/send_queue.h"

namespace rpma::emu {

// Also the vendor_err of the completion.
enum class Cause : uint32_t {
  kNone,
  kFlushed,          // the queue pair was in ERR before; has no sentence
  kMessageTooLong,   // for the device
  kLocalAccess,      // a buffer of the request
  kRemoteAccess,     // what the rkey names
  kReceiveAccess,    // a buffer of the receive
  kReceiveTooShort,  // for the message
  kMisaligned,       // an atomic write
  kTooManyReads,     // for the responder
  kNoReceive,        // was posted
  kNoAnswer,         // of the remote queue pair
  kConnectionEnded,  // iWARP: before the request was executed
  kInjected,         // a fault completed the request
  kInjectedReceive,  // a fault completed its receive
};

struct Reason {
  Cause cause = Cause::kNone;
  // For the three causes with a key: what was refused and why.
  AccessError access = AccessError::kNone;
  uint32_t key = 0;
  uint64_t addr = 0;
  uint64_t length = 0;
  unsigned rights = 0;  // that the access needs
  uint64_t limit = 0;   // that was exceeded, or the number of tries
  // For the causes with a fault, also that of the last loss before kNoAnswer.
  bool by_fault = false;
  size_t rule = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;  // that the fault chose
  // The device that was silent, and its trouble; both live as long as it.
  const char* device = nullptr;
  const char* trouble = nullptr;
};

// "REM_ACCESS_ERR" for IBV_WC_REM_ACCESS_ERR.
const char* NameOf(ibv_wc_status status);

constexpr size_t kMaxExplanation = 320;  // bytes, the NUL included

// Writes one sentence, without a full stop. `regions` is the table of the
// device that checked the key.
void WriteExplanation(const Request& request, const Reason& reason,
                      const MrTable& regions, char (&text)[kMaxExplanation]);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_EXPLANATION_H_
