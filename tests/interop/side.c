/* SPDX-License-Identifier: BSD-3-Clause */
/* How a side waits, compares and tells. */
#define _POSIX_C_SOURCE 200809L
#include "side.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const struct side *s) {
  return s->is_server ? "server" : "client";
}

void fail(const struct side *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: FAILED: %s: ", name_of(s), s->step);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

void expect(const struct side *s, const char *what, long long expected,
            long long got) {
  if (got != expected)
    fail(s, "%s is %lld instead of %lld", what, got, expected);
}

void expect_result(const struct side *s, const char *call, int expected,
                   int got) {
  if (got != expected)
    fail(s, "%s gives \"%s\" instead of \"%s\"", call, rpma_err_2str(got),
         rpma_err_2str(expected));
}

void begin(struct side *s, const char *name, const char *detail) {
  snprintf(s->step, sizeof s->step, "%s, %s", name, detail);
}

void passed(struct side *s) {
  printf("%s: %s\n", name_of(s), s->step);
  ++s->passed;
}

void await(const struct side *s, int fd, const char *what) {
  struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = s->meeting}};
  if (poll(fds, 2, DEADLINE_MS) < 1)
    fail(s, "no %s within %d s", what, DEADLINE_MS / 1000);
  if (!fds[0].revents) fail(s, "no %s; the other side has left", what);
}

void meet(const struct side *s) {
  char mark = 'm';
  EXPECT(s, 1, write(s->meeting, &mark, 1));
  await(s, s->meeting, "sign of the other side");
  EXPECT(s, 1, read(s->meeting, &mark, 1));
}

/* --- Memory --------------------------------------------------------------- */

/* Bytes that differ from step to step and from side to side. */
void fill(const struct side *s, char *bytes, bool of_server) {
  for (int i = 0; i < LENGTH; ++i)
    bytes[i] = (char)(i * 7 + s->passed * 31 + of_server * 101);
}

void expect_bytes(const struct side *s, const char *what, const char *bytes,
                  const char *expected, int length) {
  for (int i = 0; i < length; ++i) {
    if (bytes[i] != expected[i])
      fail(s, "byte %d of %s is 0x%02x instead of 0x%02x", i, what,
           (unsigned char)bytes[i], (unsigned char)expected[i]);
  }
}

void expect_filled(const struct side *s, const char *what, const char *bytes,
                   bool by_server) {
  char expected[LENGTH];
  fill(s, expected, by_server);
  expect_bytes(s, what, bytes, expected, LENGTH);
}

/* --- Completions ---------------------------------------------------------- */

static void wait_for_completion(const struct side *s, struct rpma_cq *cq) {
  int fd;
  if (!s->shared_channel) {
    OK(s, rpma_cq_get_fd(cq, &fd));
    await(s, fd, "completion");
    OK(s, rpma_cq_wait(cq));
    return;
  }
  struct rpma_cq *ready;
  bool is_receive_cq;
  OK(s, rpma_conn_get_compl_fd(s->conn, &fd));
  await(s, fd, "completion");
  OK(s, rpma_conn_wait(s->conn, 0, &ready, &is_receive_cq));
  if (ready != (is_receive_cq ? s->receive_cq : s->cq))
    fail(s, "rpma_conn_wait() names no completion queue of the connection");
}

static struct ibv_wc take_early(struct early *early) {
  const struct ibv_wc first = early->wc[0];
  --early->count;
  memmove(early->wc, early->wc + 1, (size_t)early->count * sizeof first);
  return first;
}

/* The next completion of a receive or of another request. */
struct ibv_wc next_completion(struct side *s, bool of_receive) {
  struct rpma_cq *const cq = of_receive ? s->receive_cq : s->cq;
  struct early *const wanted = of_receive ? &s->receives : &s->requests;
  while (!wanted->count) {
    struct ibv_wc wc;
    int got = 0;
    const int result = rpma_cq_get_wc(cq, 1, &wc, &got);
    if (result == RPMA_E_NO_COMPLETION) {
      wait_for_completion(s, cq);
      continue;
    }
    expect_result(s, "rpma_cq_get_wc", 0, result);
    EXPECT(s, 1, got);
    struct early *const early =
        wc.wr_id >= RECEIVE_ID ? &s->receives : &s->requests;
    if (early->count == 2 * RECEIVES) fail(s, "too many completions");
    early->wc[early->count++] = wc;
  }
  return take_early(wanted);
}

static void expect_completion(const struct side *s, const struct ibv_wc *wc,
                              uint64_t id, enum ibv_wc_status status) {
  if (wc->status != status)
    fail(s, "completion with \"%s\" instead of \"%s\"",
         ibv_wc_status_str(wc->status), ibv_wc_status_str(status));
  EXPECT(s, (long long)id, (long long)wc->wr_id);
  EXPECT(s, s->qp_num, wc->qp_num);
}

struct ibv_wc request_completes(struct side *s, enum ibv_wc_opcode opcode) {
  const struct ibv_wc wc = next_completion(s, false);
  expect_completion(s, &wc, REQUEST_ID, IBV_WC_SUCCESS);
  EXPECT(s, opcode, wc.opcode);
  return wc;
}

void receives_are_flushed(struct side *s) {
  for (int i = 0; i < RECEIVES; ++i) {
    const struct ibv_wc wc = next_completion(s, true);
    expect_completion(s, &wc, (uint64_t)(RECEIVE_ID + s->next_slot),
                      IBV_WC_WR_FLUSH_ERR);
    s->next_slot = (s->next_slot + 1) % RECEIVES;
  }
}

/* --- Messages ------------------------------------------------------------- */

void post_receive(const struct side *s, int slot) {
  const size_t offset = (size_t)(INBOX + slot * SLOT);
  if (s->srq)
    OK(s, rpma_srq_recv(s->srq, s->mr, offset, SLOT, receive_context(slot)));
  else
    OK(s, rpma_recv(s->conn, s->mr, offset, SLOT, receive_context(slot)));
}

/* Gives what the next receive got; done_with_message() posts it again. */
const char *next_message(struct side *s, enum ibv_wc_opcode opcode,
                         uint32_t length, bool immediate) {
  const struct ibv_wc wc = next_completion(s, true);
  expect_completion(s, &wc, (uint64_t)(RECEIVE_ID + s->next_slot),
                    IBV_WC_SUCCESS);
  EXPECT(s, opcode, wc.opcode);
  EXPECT(s, length, wc.byte_len);
  EXPECT(s, immediate, (wc.wc_flags & IBV_WC_WITH_IMM) != 0);
  if (immediate) EXPECT(s, IMMEDIATE, ntohl(wc.imm_data));
  return s->memory + INBOX + s->next_slot * SLOT;
}

void done_with_message(struct side *s) {
  post_receive(s, s->next_slot);
  s->next_slot = (s->next_slot + 1) % RECEIVES;
}

void send_message(struct side *s, size_t length) {
  OK(s, rpma_send(s->conn, s->mr, SOURCE, length, RPMA_F_COMPLETION_ALWAYS,
                  (const void *)(uintptr_t)REQUEST_ID));
  request_completes(s, IBV_WC_SEND);
}

void say(struct side *s, const char *text) {
  const size_t length = strlen(text);
  memcpy(s->memory + SOURCE, text, length);
  send_message(s, length);
}

void hear(struct side *s, const char *text) {
  const uint32_t length = (uint32_t)strlen(text);
  const char *const heard = next_message(s, IBV_WC_RECV, length, false);
  expect_bytes(s, "a message", heard, text, (int)length);
  done_with_message(s);
}
