/* SPDX-License-Identifier: BSD-3-Clause */
/* A step for each operation; `active` is the side that initiates it. */
#include <stdio.h>
#include <string.h>

#include "side.h"
#include "steps.h"

static void write_step(struct side *s, bool active) {
  if (active) {
    fill(s, s->memory + SOURCE, s->is_server);
    OK(s, rpma_write(s->conn, s->remote, TARGET, s->mr, SOURCE, LENGTH,
                     RPMA_F_COMPLETION_ALWAYS, (const void *)REQUEST_ID));
    request_completes(s, IBV_WC_RDMA_WRITE);
    say(s, "written");
    hear(s, "seen");
  } else {
    hear(s, "written");
    expect_filled(s, "what was written", s->memory + TARGET, !s->is_server);
    say(s, "seen");
  }
}

static void write_with_imm_step(struct side *s, bool active) {
  if (active) {
    fill(s, s->memory + SOURCE, s->is_server);
    GIVES(s, s->iwarp ? RPMA_E_PROVIDER : 0,
          rpma_write_with_imm(s->conn, s->remote, TARGET, s->mr, SOURCE, LENGTH,
                              RPMA_F_COMPLETION_ALWAYS, IMMEDIATE,
                              (const void *)REQUEST_ID));
    if (!s->iwarp) request_completes(s, IBV_WC_RDMA_WRITE);
    hear(s, "done");
  } else {
    if (!s->iwarp) {
      next_message(s, IBV_WC_RECV_RDMA_WITH_IMM, LENGTH, true);
      expect_filled(s, "what was written", s->memory + TARGET, !s->is_server);
      done_with_message(s);
    }
    say(s, "done");
  }
}

static void read_step(struct side *s, bool active) {
  if (active) {
    hear(s, "ready");
    OK(s, rpma_read(s->conn, s->mr, RESULT, s->remote, TARGET, LENGTH,
                    RPMA_F_COMPLETION_ALWAYS, (const void *)REQUEST_ID));
    EXPECT(s, LENGTH, request_completes(s, IBV_WC_RDMA_READ).byte_len);
    expect_filled(s, "what was read", s->memory + RESULT, !s->is_server);
    say(s, "read");
  } else {
    fill(s, s->memory + TARGET, s->is_server);
    say(s, "ready");
    hear(s, "read");
  }
}

static void atomic_write_step(struct side *s, bool active) {
  static const char bytes[8] = "8 bytes";
  if (active) {
    OK(s,
       rpma_atomic_write(s->conn, s->remote, TARGET + 8, bytes,
                         RPMA_F_COMPLETION_ALWAYS, (const void *)REQUEST_ID));
    request_completes(s, IBV_WC_RDMA_WRITE);
    say(s, "written");
    hear(s, "seen");
  } else {
    hear(s, "written");
    expect_bytes(s, "what was written", s->memory + TARGET + 8, bytes, 8);
    say(s, "seen");
  }
}

static void flush(struct side *s, enum rpma_flush_type type) {
  fill(s, s->memory + SOURCE, s->is_server);
  OK(s, rpma_write(s->conn, s->remote, TARGET, s->mr, SOURCE, LENGTH,
                   RPMA_F_COMPLETION_ON_ERROR, NULL));
  OK(s, rpma_flush(s->conn, s->remote, TARGET, LENGTH, type,
                   RPMA_F_COMPLETION_ALWAYS, (const void *)REQUEST_ID));
  request_completes(s, IBV_WC_RDMA_READ);
  say(s, "flushed");
  hear(s, "seen");
}

static void find_flushed(struct side *s) {
  hear(s, "flushed");
  expect_filled(s, "what was flushed", s->memory + TARGET, !s->is_server);
  say(s, "seen");
}

static void flush_visibility_step(struct side *s, bool active) {
  if (active)
    flush(s, RPMA_FLUSH_TYPE_VISIBILITY);
  else
    find_flushed(s);
}

static void flush_not_granted_step(struct side *s, bool active) {
  if (active) {
    GIVES(s, RPMA_E_NOSUPP,
          rpma_flush(s->conn, s->remote, TARGET, LENGTH,
                     RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS,
                     (const void *)REQUEST_ID));
    say(s, "refused");
  } else {
    hear(s, "refused");
  }
}

size_t describe_peer(const struct side *s, bool direct_write,
                     char *descriptor) {
  struct rpma_peer_cfg *cfg;
  size_t size;
  OK(s, rpma_peer_cfg_new(&cfg));
  OK(s, rpma_peer_cfg_set_direct_write_to_pmem(cfg, direct_write));
  OK(s, rpma_peer_cfg_get_descriptor_size(cfg, &size));
  EXPECT(s, 1, (long long)size);
  OK(s, rpma_peer_cfg_get_descriptor(cfg, descriptor));
  OK(s, rpma_peer_cfg_delete(&cfg));
  return size;
}

void apply_peer(const struct side *s, bool direct_write, const char *descriptor,
                size_t size) {
  struct rpma_peer_cfg *cfg;
  bool granted;
  OK(s, rpma_peer_cfg_from_descriptor(descriptor, size, &cfg));
  OK(s, rpma_peer_cfg_get_direct_write_to_pmem(cfg, &granted));
  EXPECT(s, direct_write, granted);
  OK(s, rpma_conn_apply_remote_peer_cfg(s->conn, cfg));
  OK(s, rpma_peer_cfg_delete(&cfg));
}

static void flush_persistent_step(struct side *s, bool active) {
  if (active) {
    apply_peer(s, true, next_message(s, IBV_WC_RECV, 1, false), 1);
    done_with_message(s);
    flush(s, RPMA_FLUSH_TYPE_PERSISTENT);
  } else {
    send_message(s, describe_peer(s, true, s->memory + SOURCE));
    find_flushed(s);
  }
}

static void send_step(struct side *s, bool active) {
  if (active) {
    fill(s, s->memory + SOURCE, s->is_server);
    send_message(s, LENGTH);
    OK(s, rpma_send(s->conn, NULL, 0, 0, RPMA_F_COMPLETION_ALWAYS,
                    (const void *)REQUEST_ID));
    request_completes(s, IBV_WC_SEND);
    hear(s, "heard");
  } else {
    expect_filled(s, "a message", next_message(s, IBV_WC_RECV, LENGTH, false),
                  !s->is_server);
    done_with_message(s);
    hear(s, "");
    say(s, "heard");
  }
}

static void send_with_imm_step(struct side *s, bool active) {
  if (active) {
    fill(s, s->memory + SOURCE, s->is_server);
    GIVES(s, s->iwarp ? RPMA_E_PROVIDER : 0,
          rpma_send_with_imm(s->conn, s->mr, SOURCE, LENGTH,
                             RPMA_F_COMPLETION_ALWAYS, IMMEDIATE,
                             (const void *)REQUEST_ID));
    if (!s->iwarp) request_completes(s, IBV_WC_SEND);
    hear(s, "done");
  } else {
    if (!s->iwarp) {
      expect_filled(s, "a message", next_message(s, IBV_WC_RECV, LENGTH, true),
                    !s->is_server);
      done_with_message(s);
    }
    say(s, "done");
  }
}

struct operation {
  const char *name;
  void (*step)(struct side *s, bool active);
};

static void both_initiate(struct side *s, const struct operation *operation,
                          const char *variant) {
  char name[80];
  snprintf(name, sizeof name, "%s%s%s", operation->name, *variant ? ", " : "",
           variant);
  begin(s, name, "client to server");
  operation->step(s, !s->is_server);
  passed(s);
  begin(s, name, "server to client");
  operation->step(s, s->is_server);
  passed(s);
}

void operations(struct side *s) {
  static const struct operation all[] = {
      {"write", write_step},
      {"write with immediate", write_with_imm_step},
      {"read", read_step},
      {"atomic write", atomic_write_step},
      {"flush to visibility", flush_visibility_step},
      {"flush to persistence, not granted", flush_not_granted_step},
      {"flush to persistence, granted", flush_persistent_step},
      {"send", send_step},
      {"send with immediate", send_with_imm_step},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    both_initiate(s, &all[i], "");
}

void conversation(struct side *s, const char *variant) {
  static const struct operation write = {"write", write_step};
  static const struct operation send = {"send", send_step};
  both_initiate(s, &write, variant);
  both_initiate(s, &send, variant);
}
