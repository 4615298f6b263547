/* SPDX-License-Identifier: BSD-3-Clause */
/* One of the two sides of a step: how it waits, compares and tells. */

#ifndef RPMA_TESTS_INTEROP_SIDE_H_
#define RPMA_TESTS_INTEROP_SIDE_H_

#include <librpma.h>

enum {
  DEADLINE_MS = 30000, /* of any wait; on a machine that is emulated */
  LENGTH = 500,        /* of what is written, read and sent */
  RECEIVES = 4,        /* receives that are posted at any time */
  REQUEST_ID = 1,      /* the op_context of a request; receives have RECEIVE_ID
                          and up, one for each slot */
  RECEIVE_ID = 100,
  IMMEDIATE = 0x01020304,
  REGION_DESCRIPTOR = 21, /* bytes */
  /* Parts of each side's region, and its size. */
  TARGET = 0, /* what the other side writes and reads */
  SOURCE = 512,
  RESULT = 1024,
  INBOX = 2048, /* a slot for each receive */
  SLOT = 512,
  REGION = INBOX + RECEIVES * SLOT
};

/* Completions that came while those of the other kind were waited for. */
struct early {
  struct ibv_wc wc[2 * RECEIVES];
  int count;
};

struct side {
  bool is_server;
  const char *address;
  const char *port;
  char step[80]; /* under way */
  int passed;    /* steps */
  int meeting;   /* a stream socket that leads to the other side */

  bool iwarp;
  struct rpma_peer *peer;
  struct rpma_ep *ep; /* of the server */
  struct rpma_mr_local *mr;
  struct rpma_mr_remote *remote; /* the other side's region */
  char *memory;

  struct rpma_srq *srq;
  struct rpma_conn *conn;
  struct rpma_cq *cq;
  struct rpma_cq *receive_cq; /* where receives complete; may be cq */
  bool shared_channel;
  uint32_t qp_num;
  struct early requests;
  struct early receives;
  int next_slot; /* the receive that the next message uses */
};

/*
 * Each of these ends the program with 1, after a message that says what
 * differed, if what they expect is not so. The macros name the call.
 */
void fail(const struct side *s, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void expect(const struct side *s, const char *what, long long expected,
            long long got);
void expect_result(const struct side *s, const char *call, int expected,
                   int got);
#define EXPECT(s, expected, value) expect(s, #value, expected, value)
#define GIVES(s, expected, call) expect_result(s, #call, expected, call)
#define OK(s, call) GIVES(s, 0, call)

/* A step begins; it went well. */
void begin(struct side *s, const char *name, const char *detail);
void passed(struct side *s);

/* Waits until fd is readable. */
void await(const struct side *s, int fd, const char *what);

/*
 * Waits until the other side got here, too. Without it, on iWARP, a message may
 * be sent to a side that is not ESTABLISHED yet, which siw notices only when a
 * second one comes, and a receive posted after the other side disconnected,
 * which then never completes.
 */
void meet(const struct side *s);

/* LENGTH bytes that differ from step to step and from side to side. */
void fill(const struct side *s, char *bytes, bool of_server);
void expect_filled(const struct side *s, const char *what, const char *bytes,
                   bool of_server);
void expect_bytes(const struct side *s, const char *what, const char *bytes,
                  const char *expected, int length);

/* The next completion of a receive, or of another request. */
struct ibv_wc next_completion(struct side *s, bool of_receive);
/* The next completion of a request is a success. */
struct ibv_wc request_completes(struct side *s, enum ibv_wc_opcode opcode);
/* The receives that are posted complete with an error, as the connection ended.
 */
void receives_are_flushed(struct side *s);

/* The op_context of the receive into a slot. */
static inline const void *receive_context(int slot) {
  return (const void *)(uintptr_t)(RECEIVE_ID + slot);
}
/* Posts the receive of a slot, on a connection or its shared receive queue. */
void post_receive(const struct side *s, int slot);
/* Sends the first bytes of SOURCE. */
void send_message(struct side *s, size_t length);
/* Gives what the next receive got, until done_with_message() posts it again. */
const char *next_message(struct side *s, enum ibv_wc_opcode opcode,
                         uint32_t length, bool immediate);
void done_with_message(struct side *s);
/* Send a text, and expect one. */
void say(struct side *s, const char *text);
void hear(struct side *s, const char *text);

#endif /* RPMA_TESTS_INTEROP_SIDE_H_ */
