// SPDX-License-Identifier: BSD-3-Clause
// What processes say to each other, byte by byte, and the check of what comes.
//
// Both are on one machine: integers have its byte order. kVersion changes with
// every layout and with every meaning.

#ifndef RPMA_EMULATOR_WIRE_MESSAGE_H_
#define RPMA_EMULATOR_WIRE_MESSAGE_H_

#include <linux/types.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace rpma::emu::wire {

inline constexpr uint32_t kMagic = 0x5250'4d57;
inline constexpr uint32_t kVersion = 3;

// --- Datagrams of the socket. Besides them there is one byte, which wakes.

// The first of a link, with the descriptor of its memory.
struct Hello {
  uint32_t magic, version;
  uint32_t size;                      // of Hello
  uint32_t pid;                       // for the log
  uint8_t token[16], peer_token[16];  // of the sender; of the receiver
  uint32_t ring_bytes;                // of each lane
  uint32_t reserved;
};

enum class GoodbyeReason : uint32_t {
  kOtherVersion,  // is that of the receiver of the Hello
  kRubbish,
  kResources,  // the link cannot be had: descriptors, memory
  kStranger,   // the token is not the receiver's
};

// The last of a link that ends for a reason.
struct Goodbye {
  uint32_t magic, version;
  uint32_t size;  // of Goodbye
  GoodbyeReason why;
};

// --- Records of the rings: a Head, the body of its type, a payload.

// A record starts at a multiple of this.
inline constexpr size_t kRecordAlignment = 64;
inline constexpr uint32_t kMaxPart = 32768;  // bytes of payload
inline constexpr uint32_t kMaxRecord = 64 + kMaxPart;
inline constexpr size_t kMaxText = 319;  // bytes of an explanation

// Of each direction of a link. Records of one lane arrive in order; replies are
// read before requests.
enum class Lane : uint8_t { kRequests, kReplies };

enum class Type : uint8_t {
  kPad,      // of a ring: up to its end there is nothing
  kRequest,  // lane kRequests
  kReply,    // lane kReplies
  kResume,   // lane kReplies: try again; only a hint
  kCm,       // lane kRequests
};

struct Head {
  uint32_t size;  // of head, body and payload
  Type type;
  uint8_t flags;  // of kRequest, else 0
  uint16_t reserved;
  uint32_t to, from;  // QP numbers; 0 in kCm
};

// Head::flags.
inline constexpr uint8_t kLast = 1 << 0;     // part of the message
inline constexpr uint8_t kHold = 1 << 1;     // a failure has no effect
inline constexpr uint8_t kPatient = 1 << 2;  // waits for RTR
inline constexpr uint8_t kRefuse = 1 << 3;   // with RequestBody::status
inline constexpr uint8_t kAllFlags = (1 << 4) - 1;

// In the order of rpma::emu::Operation.
enum class Operation : uint8_t { kSend, kWrite, kRead, kAtomicWrite, kFlush };

// RequestBody::op_flags.
inline constexpr uint8_t kWithImm = 1 << 0;     // of SEND and WRITE
inline constexpr uint8_t kSolicited = 1 << 1;   // completion
inline constexpr uint8_t kPersistent = 1 << 2;  // FLUSH
inline constexpr uint8_t kPerformed = 1 << 3;   // before; the answer was lost
inline constexpr uint8_t kAllOpFlags = (1 << 4) - 1;

// A request, or `part` bytes of it from `skip` on. The payload is: of SEND and
// WRITE those bytes; of ATOMIC WRITE its 8, the only part; else nothing. A READ
// asks for `part` bytes. A FLUSH has one part, of 0 bytes whatever `total` is.
//
// A payload of a `total` of up to kMaxSmall bytes is not behind the body but in
// the place of `skip`, which is 0: so the record is one cache line.
struct RequestBody {
  uint32_t seq;  // of the request; its parts have the same
  uint32_t rkey;
  uint64_t remote_addr;
  uint64_t total;  // bytes of the message
  uint64_t skip;
  uint32_t part;
  __be32 imm;
  uint32_t outstanding;  // READs; of kRefuse the rule of the sender's plan
  Operation operation;
  uint8_t op_flags;
  uint8_t status;  // ibv_wc_status of kRefuse, else 0
  uint8_t max_rd_atomic;
};

inline constexpr uint64_t kMaxSmall = sizeof(RequestBody::skip);

enum class Outcome : uint8_t {
  kDone,
  kNotReady,   // in INIT
  kNoReceive,  // RNR NAK
  kNoAnswer,   // not in a state that answers, or there is no such QP
  kLost,       // the device is silent, or it has no memory
  kFailed,     // with `status`
};

// The payload of kDone are `part` bytes of a READ from `skip` on; of all others
// it is a text for the requester's log, not terminated and not to be trusted.
struct ReplyBody {
  uint32_t seq;    // of the request
  uint32_t cause;  // an rpma::emu::Cause, which the receiver checks
  uint64_t skip;
  uint64_t limit;
  uint32_t rule;  // of the responder's plan of faults
  Outcome outcome;
  uint8_t status;    // ibv_wc_status of kFailed, else 0
  uint8_t injected;  // 0 or 1
  uint8_t by_fault;  // 0 or 1
  uint32_t part;
  uint8_t reserved[12];
};

// All 0: none.
struct CmAddress {
  uint16_t family;  // AF_INET, AF_INET6
  uint16_t port;    // in network byte order, as in sockaddr_in
  uint8_t ip[16];   // the first 4 of IPv4; the others are 0
  uint32_t scope;   // sin6_scope_id
};

// The first six in the order of rpma::emu::CmMessageKind.
enum class CmKind : uint8_t {
  kReq,
  kRep,
  kRtu,
  kRej,
  kDreq,
  kDrep,
  kPatience,  // `on`: the sender needs more time to answer
  kGiveUp,    // the answer was lost, and is not sent again
};

// The payload is the private data of REQ, REP and REJ.
struct CmBody {
  uint64_t from_id;  // number of an id in the sender; 0: none sends it
  uint64_t to_id;    // in the receiver; 0: the receiver has none yet
  CmAddress source, destination;  // of REQ; else they may be none
  uint32_t qp_num;
  int32_t reason;
  CmKind kind;
  uint8_t iwarp, srq;  // 0 or 1
  uint8_t flow_control, responder_resources, initiator_depth;
  uint8_t retry_count, rnr_retry_count;  // as the program set them
  uint8_t private_length;
  uint8_t on;  // 0 or 1
  uint8_t reserved[6];
};

static_assert(sizeof(Hello) == 56 && sizeof(Goodbye) == 16);
static_assert(sizeof(Head) == 16 && offsetof(Head, to) == 8);
static_assert(sizeof(RequestBody) == 48 && sizeof(ReplyBody) == 48);
static_assert(offsetof(RequestBody, operation) == 44);
static_assert(offsetof(ReplyBody, outcome) == 28);
static_assert(sizeof(CmAddress) == 24 && sizeof(CmBody) == 88);
static_assert(offsetof(CmBody, source) == 16 && offsetof(CmBody, kind) == 72);

struct Message {
  Head head;
  union {  // by head.type
    RequestBody request;
    ReplyBody reply;
    CmBody cm;
  };
};
static_assert(std::is_trivial_v<Message>);

// A message of this type with all other fields 0.
Message NewMessage(Type type);
// Bytes of head and body.
size_t FixedSize(Type type);
// Where in its record the payload of a message is, and bytes of the record.
size_t PayloadOffset(const Message& message);
size_t RecordSize(const Message& message, size_t payload);

// Checks a record of a ring that the peer may write to meanwhile: head and body
// are copied once, and the copy is checked; *payload points into the record.
// False: it is not one of this lane, and *why says what is wrong with it; then
// *message and *payload are not to be used. True: each field is as described
// above, by itself and with the others. Whether what it names is there is for
// the receiver to see.
//
// Touches nothing but the record; does not allocate.
bool Decode(std::span<const std::byte> record, Lane lane, Message* message,
            std::span<const std::byte>* payload, const char** why);

// REQUIRES: an IPv4 or IPv6 address.
CmAddress ToCmAddress(const sockaddr& address);
// REQUIRES: of a REQ that Decode() passed.
void FromCmAddress(const CmAddress& address, sockaddr_storage* storage);

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_MESSAGE_H_
