/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of every kind: how they begin, and how they end. */
#include <stdio.h>
#include <string.h>

#include "side.h"
#include "steps.h"

/* What a connection is like, on both sides. */
struct variant {
  const char *name;
  bool private_data;
  bool shared_channel;
  uint32_t rcq_size;
  bool srq;
  uint32_t srq_rcq_size;
  bool server_disconnects; /* first; else the client does */
};

static const struct variant kPlain = {.name = "plain", .private_data = true};

static const struct variant kOthers[] = {
    {.name = "no private data", .server_disconnects = true},
    {.name = "own receive CQ", .rcq_size = 10},
    {.name = "shared channel", .shared_channel = true},
    {.name = "shared channel, own receive CQ",
     .shared_channel = true,
     .rcq_size = 10,
     .server_disconnects = true},
    {.name = "SRQ with receive CQ", .srq = true, .srq_rcq_size = 10},
    {.name = "SRQ without receive CQ", .srq = true, .server_disconnects = true},
    {.name = "SRQ without receive CQ, own receive CQ, shared channel",
     .srq = true,
     .rcq_size = 10,
     .shared_channel = true},
};

/* --- Private data --------------------------------------------------------- */

enum {
  MAX_PRIVATE_DATA = 56, /* with a request, on RoCE and InfiniBand */
  REQUEST_FIELD = 56,    /* what the receiver sees there in any case */
  ACCEPT_FIELD = 196
};

static const char *greeting_of(bool of_server) {
  return of_server ? "the server's" : "the client's";
}

/* The private data of this side: descriptors of region and peer, and a text. */
static uint8_t introduce(const struct side *s, char *data) {
  const char *const greeting = greeting_of(s->is_server);
  size_t size;
  OK(s, rpma_mr_get_descriptor_size(s->mr, &size));
  EXPECT(s, REGION_DESCRIPTOR, (long long)size);
  OK(s, rpma_mr_get_descriptor(s->mr, data));
  size += describe_peer(s, false, data + size);
  memcpy(data + size, greeting, strlen(greeting));
  return (uint8_t)(size + strlen(greeting));
}

static void expect_private_data(const struct side *s, bool sent,
                                const struct rpma_conn_private_data *got) {
  const size_t peer = REGION_DESCRIPTOR + 1;
  const char *const greeting = sent ? greeting_of(!s->is_server) : "";
  const size_t length = sent ? peer + strlen(greeting) : 0;
  const size_t field = s->is_server ? REQUEST_FIELD : ACCEPT_FIELD;
  const char *const data = got->ptr;
  EXPECT(s, (long long)(s->iwarp ? length : field), got->len);
  EXPECT(s, got->len != 0, data != NULL);
  if (sent)
    expect_bytes(s, "the private data's text", data + peer, greeting,
                 (int)strlen(greeting));
  for (size_t i = length; i < got->len; ++i) EXPECT(s, 0, data[i]);
}

/* Applies what the other side sent of itself. */
static void get_acquainted(struct side *s, const char *data) {
  size_t size;
  int flush_type;
  OK(s, rpma_mr_remote_from_descriptor(data, REGION_DESCRIPTOR, &s->remote));
  OK(s, rpma_mr_remote_get_size(s->remote, &size));
  EXPECT(s, REGION, (long long)size);
  OK(s, rpma_mr_remote_get_flush_type(s->remote, &flush_type));
  EXPECT(
      s,
      RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
      flush_type);
  apply_peer(s, false, data + REGION_DESCRIPTOR, 1);
}

/* --- Connecting ----------------------------------------------------------- */

static void expect_event(const struct side *s, enum rpma_conn_event expected) {
  int fd;
  enum rpma_conn_event event;
  OK(s, rpma_conn_get_event_fd(s->conn, &fd));
  await(s, fd, rpma_utils_conn_event_2str(expected));
  OK(s, rpma_conn_next_event(s->conn, &event));
  if (event != expected)
    fail(s, "%s instead of %s", rpma_utils_conn_event_2str(event),
         rpma_utils_conn_event_2str(expected));
}

static struct rpma_conn_cfg *configure(struct side *s,
                                       const struct variant *variant) {
  struct rpma_conn_cfg *cfg;
  OK(s, rpma_conn_cfg_new(&cfg));
  OK(s, rpma_conn_cfg_set_rcq_size(cfg, variant->rcq_size));
  OK(s, rpma_conn_cfg_set_compl_channel(cfg, variant->shared_channel));
  s->shared_channel = variant->shared_channel;
  if (variant->srq) {
    struct rpma_srq_cfg *srq_cfg;
    OK(s, rpma_srq_cfg_new(&srq_cfg));
    OK(s, rpma_srq_cfg_set_rcq_size(srq_cfg, variant->srq_rcq_size));
    OK(s, rpma_srq_new(s->peer, srq_cfg, &s->srq));
    OK(s, rpma_srq_cfg_delete(&srq_cfg));
    OK(s, rpma_conn_cfg_set_srq(cfg, s->srq));
  }
  return cfg;
}

static struct rpma_conn_req *new_request(struct side *s,
                                         const struct rpma_conn_cfg *cfg) {
  struct rpma_conn_req *request;
  if (s->is_server) {
    int fd;
    OK(s, rpma_ep_get_fd(s->ep, &fd));
    await(s, fd, "connection request");
    OK(s, rpma_ep_next_conn_req(s->ep, cfg, &request));
  } else {
    OK(s, rpma_conn_req_new(s->peer, s->address, s->port, cfg, &request));
  }
  return request;
}

static void post_first_receives(struct side *s, struct rpma_conn_req *request) {
  s->next_slot = 0;
  for (int slot = 0; slot < RECEIVES; ++slot) {
    if (s->srq)
      post_receive(s, slot);
    else
      OK(s, rpma_conn_req_recv(request, s->mr, INBOX + (size_t)slot * SLOT,
                               SLOT, receive_context(slot)));
  }
}

static void find_queues(struct side *s, const struct variant *variant) {
  OK(s, rpma_conn_get_cq(s->conn, &s->cq));
  OK(s, rpma_conn_get_rcq(s->conn, &s->receive_cq));
  EXPECT(s, variant->rcq_size != 0, s->receive_cq != NULL);
  if (s->srq) {
    struct rpma_cq *srq_cq;
    OK(s, rpma_srq_get_rcq(s->srq, &srq_cq));
    EXPECT(s, variant->srq_rcq_size != 0, srq_cq != NULL);
    if (srq_cq) s->receive_cq = srq_cq;
  }
  if (!s->receive_cq) s->receive_cq = s->cq;
  OK(s, rpma_conn_get_qp_num(s->conn, &s->qp_num));
}

static void connect_step(struct side *s, const struct variant *variant) {
  char data[MAX_PRIVATE_DATA];
  struct rpma_conn_private_data sent = {data, 0}, got;
  begin(s, "connect", variant->name);
  struct rpma_conn_cfg *cfg = configure(s, variant);
  struct rpma_conn_req *request = new_request(s, cfg);
  OK(s, rpma_conn_cfg_delete(&cfg));
  if (s->is_server) {
    OK(s, rpma_conn_req_get_private_data(request, &got));
    expect_private_data(s, variant->private_data, &got);
  }
  post_first_receives(s, request);
  if (variant->private_data) sent.len = introduce(s, data);
  OK(s, rpma_conn_req_connect(&request, sent.len ? &sent : NULL, &s->conn));
  expect_event(s, RPMA_CONN_ESTABLISHED);
  meet(s);
  OK(s, rpma_conn_get_private_data(s->conn, &got));
  expect_private_data(s, variant->private_data, &got);
  if (variant->private_data) get_acquainted(s, got.ptr);
  find_queues(s, variant);
  passed(s);
}

/* --- Ending --------------------------------------------------------------- */

static void disconnect_step(struct side *s, const struct variant *variant) {
  const bool first = s->is_server == variant->server_disconnects;
  begin(
      s,
      variant->server_disconnects ? "server disconnects" : "client disconnects",
      variant->name);
  meet(s);
  if (!first) expect_event(s, RPMA_CONN_CLOSED);
  OK(s, rpma_conn_disconnect(s->conn));
  if (!s->srq) receives_are_flushed(s);
  if (first) expect_event(s, RPMA_CONN_CLOSED);
  OK(s, rpma_conn_delete(&s->conn));
  OK(s, rpma_srq_delete(&s->srq));
  passed(s);
}

static void refuse_step(struct side *s) {
  begin(s, "connect", "refused");
  struct rpma_conn_req *request = new_request(s, NULL);
  if (s->is_server) {
    OK(s, rpma_conn_req_delete(&request));
  } else {
    OK(s, rpma_conn_req_connect(&request, NULL, &s->conn));
    expect_event(s, RPMA_CONN_REJECTED);
    OK(s, rpma_conn_delete(&s->conn));
  }
  passed(s);
}

/* The client goes without a word; its peer learns of it. */
static void leave_step(struct side *s) {
  connect_step(s, &kPlain);
  begin(s, "client deletes its connection", "plain");
  if (s->is_server) {
    expect_event(s, RPMA_CONN_CLOSED);
    OK(s, rpma_conn_disconnect(s->conn));
  }
  OK(s, rpma_conn_delete(&s->conn));
  OK(s, rpma_mr_remote_delete(&s->remote));
  passed(s);
}

void connections(struct side *s) {
  leave_step(s);
  refuse_step(s);
  connect_step(s, &kPlain);
  operations(s);
  disconnect_step(s, &kPlain);
  for (size_t i = 0; i < sizeof kOthers / sizeof *kOthers; ++i) {
    connect_step(s, &kOthers[i]);
    conversation(s, kOthers[i].name);
    disconnect_step(s, &kOthers[i]);
  }
  OK(s, rpma_mr_remote_delete(&s->remote));
}
