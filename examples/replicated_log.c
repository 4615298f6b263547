/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log in memory: the number of bytes in use, 8 bytes, then the records,
 * each a uint32_t with its size and that many bytes. Records are written first
 * and the number last, each flushed to persistence, so a reader that believes
 * the number sees whole records only. Both machines have the same byte order.
 */

#define _POSIX_C_SOURCE 200112L /* poll(), fcntl() */

#include "examples/replicated_log.h"

#include <fcntl.h>
#include <librpma.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  USED_OFFSET = 0,
  USED_SIZE = 8,
  RECORDS_OFFSET = USED_OFFSET + USED_SIZE,
  MAX_STORED = sizeof(uint32_t) + LOG_MAX_RECORD,
  MR_DESCRIPTOR_SIZE = 21, /* rpma_mr_get_descriptor_size() */
  PEER_CFG_DESCRIPTOR_SIZE = 1
};

/* What the server sends with its acceptance: where the log is. */
struct offer {
  char log[MR_DESCRIPTOR_SIZE];
  char peer_cfg[PEER_CFG_DESCRIPTOR_SIZE];
};

struct log_server {
  struct rpma_peer *peer;
  struct rpma_mr_local *log;
  struct rpma_ep *endpoint;
  struct rpma_conn *client; /* NULL: there is none */
  struct offer offer;
};

struct log_client {
  const char *address;
  const char *port;
  struct rpma_peer *peer;
  struct rpma_conn *connection; /* NULL: not connected */
  struct rpma_mr_remote *log;   /* the server's; NULL: not known yet */
  size_t capacity;              /* bytes of records that it has room for */
  bool resumed;                 /* ready to append */
  uint64_t used;                /* bytes of records known to be in the log */
  bool knows_used;              /* has resumed before */

  /* A record on its way, as it is stored: not known to be in the log. */
  char pending[MAX_STORED];
  size_t pending_size; /* 0: there is none */
  struct rpma_mr_local *pending_mr;

  uint64_t remote_used; /* as read from the server */
  struct rpma_mr_local *remote_used_mr;
};

enum log_bug log_planted_bug = LOG_BUG_NONE;

static bool planted(enum log_bug bug) { return log_planted_bug == bug; }

/* For clean-up, which goes on after a failure. */
static void keep_first(int *ret, int next) {
  if (*ret == 0) *ret = next;
}

static int open_peer(const char *address, enum rpma_util_ibv_context_type type,
                     struct rpma_peer **peer_ptr) {
  struct ibv_context *device = NULL;
  int ret = rpma_utils_get_ibv_context(address, type, &device);
  if (ret == 0) ret = rpma_peer_new(device, peer_ptr);
  return ret;
}

int log_next_record(const void *memory, uint64_t *position, const void **record,
                    size_t *size) {
  const char *bytes = memory;
  const uint64_t *used = (const uint64_t *)(const void *)(bytes + USED_OFFSET);
  if (*position >= __atomic_load_n(used, __ATOMIC_ACQUIRE)) return 0;

  const char *stored = bytes + RECORDS_OFFSET + *position;
  uint32_t stored_size;
  memcpy(&stored_size, stored, sizeof(stored_size));
  *record = stored + sizeof(stored_size);
  *size = stored_size;
  *position += sizeof(stored_size) + stored_size;
  return 1;
}

/* --- The server ----------------------------------------------------------- */

static int make_offer(const struct rpma_mr_local *log, struct offer *offer) {
  struct rpma_peer_cfg *cfg = NULL;
  int ret = rpma_mr_get_descriptor(log, offer->log);
  if (ret == 0) ret = rpma_peer_cfg_new(&cfg);
  /* True only of a machine on which what the device writes is persistent. */
  if (ret == 0) ret = rpma_peer_cfg_set_direct_write_to_pmem(cfg, true);
  if (ret == 0) ret = rpma_peer_cfg_get_descriptor(cfg, offer->peer_cfg);
  keep_first(&ret, rpma_peer_cfg_delete(&cfg));
  return ret;
}

static int set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return RPMA_E_UNKNOWN;
  }
  return 0;
}

static int listen_on(struct log_server *server, const char *address,
                     const char *port) {
  int fd = -1;
  int ret = rpma_ep_listen(server->peer, address, port, &server->endpoint);
  if (ret == 0) ret = rpma_ep_get_fd(server->endpoint, &fd);
  if (ret == 0) ret = set_nonblocking(fd);
  return ret;
}

int log_server_open(const char *address, const char *port, void *memory,
                    size_t size, struct log_server **server_ptr) {
  struct log_server *server = calloc(1, sizeof(*server));
  *server_ptr = NULL;
  if (server == NULL) return RPMA_E_NOMEM;

  const int usage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
                    RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
  int ret = open_peer(address, RPMA_UTIL_IBV_CONTEXT_LOCAL, &server->peer);
  if (ret == 0) {
    ret = rpma_mr_reg(server->peer, memory, size, usage, &server->log);
  }
  if (ret == 0) ret = make_offer(server->log, &server->offer);
  if (ret == 0) ret = listen_on(server, address, port);
  if (ret != 0) (void)log_server_close(&server);
  *server_ptr = server;
  return ret;
}

int log_server_close(struct log_server **server_ptr) {
  struct log_server *server = *server_ptr;
  if (server == NULL) return 0;
  int ret = rpma_conn_delete(&server->client);
  keep_first(&ret, rpma_ep_shutdown(&server->endpoint));
  keep_first(&ret, rpma_mr_dereg(&server->log));
  keep_first(&ret, rpma_peer_delete(&server->peer));
  if (server->endpoint != NULL || server->peer != NULL) return ret;
  free(server);
  *server_ptr = NULL;
  return ret;
}

int log_server_wait(const struct log_server *server) {
  struct pollfd fds[2] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}}; /* -1: ignored */
  int ret = rpma_ep_get_fd(server->endpoint, &fds[0].fd);
  if (ret == 0 && server->client != NULL) {
    ret = rpma_conn_get_event_fd(server->client, &fds[1].fd);
  }
  if (ret == 0) (void)poll(fds, 2, -1);
  return ret;
}

static int accept_client(struct log_server *server,
                         struct rpma_conn_req **request_ptr) {
  const struct rpma_conn_private_data answer = {&server->offer,
                                                sizeof(server->offer)};
  int fd = -1;

  /* Nothing that the client before had under way may arrive from now on. */
  int ret = rpma_conn_delete(&server->client);
  if (ret == 0) {
    ret = rpma_conn_req_connect(request_ptr, &answer, &server->client);
  }
  if (ret == 0) ret = rpma_conn_get_event_fd(server->client, &fd);
  if (ret == 0) ret = set_nonblocking(fd);
  if (ret != 0) keep_first(&ret, rpma_conn_delete(&server->client));
  return ret;
}

static int accept_clients(struct log_server *server) {
  for (;;) {
    struct rpma_conn_req *request = NULL;
    int ret = rpma_ep_next_conn_req(server->endpoint, NULL, &request);
    if (ret == RPMA_E_NO_EVENT) return 0;
    if (ret == 0) ret = accept_client(server, &request);
    keep_first(&ret, rpma_conn_req_delete(&request));
    if (ret != 0) return ret;
  }
}

/* Lets go of the client if it is gone. */
static int watch_client(struct log_server *server) {
  while (server->client != NULL) {
    enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
    int ret = rpma_conn_next_event(server->client, &event);
    if (ret == RPMA_E_NO_EVENT) return 0;
    if (ret == 0 && event != RPMA_CONN_ESTABLISHED) {
      ret = rpma_conn_delete(&server->client);
    }
    if (ret != 0) return ret;
  }
  return 0;
}

int log_server_serve(struct log_server *server) {
  int ret = accept_clients(server);
  keep_first(&ret, watch_client(server));
  return ret;
}

/* --- The client ----------------------------------------------------------- */

static int register_buffers(struct log_client *client) {
  int ret = rpma_mr_reg(client->peer, client->pending, sizeof(client->pending),
                        RPMA_MR_USAGE_WRITE_SRC, &client->pending_mr);
  if (ret == 0) {
    ret = rpma_mr_reg(client->peer, &client->remote_used,
                      sizeof(client->remote_used), RPMA_MR_USAGE_READ_DST,
                      &client->remote_used_mr);
  }
  return ret;
}

int log_client_open(const char *address, const char *port,
                    struct log_client **client_ptr) {
  struct log_client *client = calloc(1, sizeof(*client));
  *client_ptr = NULL;
  if (client == NULL) return RPMA_E_NOMEM;

  client->address = address;
  client->port = port;
  int ret = open_peer(address, RPMA_UTIL_IBV_CONTEXT_REMOTE, &client->peer);
  if (ret == 0) ret = register_buffers(client);
  if (ret != 0 && planted(LOG_BUG_LEAKED_REGION)) {
    (void)rpma_peer_delete(&client->peer);
    free(client);
    client = NULL;
  }
  if (ret != 0) (void)log_client_close(&client);
  *client_ptr = client;
  return ret;
}

/* The connection is gone afterwards, on failure too. */
static int end_connection(struct log_client *client) {
  client->resumed = false;
  int ret = rpma_conn_delete(&client->connection);
  keep_first(&ret, rpma_mr_remote_delete(&client->log));
  return ret;
}

int log_client_close(struct log_client **client_ptr) {
  struct log_client *client = *client_ptr;
  if (client == NULL) return 0;
  int ret = end_connection(client);
  keep_first(&ret, rpma_mr_dereg(&client->pending_mr));
  keep_first(&ret, rpma_mr_dereg(&client->remote_used_mr));
  keep_first(&ret, rpma_peer_delete(&client->peer));
  if (client->peer != NULL) return ret;
  free(client);
  *client_ptr = NULL;
  return ret;
}

int log_client_connect(struct log_client *client) {
  struct rpma_conn_req *request = NULL;
  int ret = end_connection(client);
  if (ret == 0) {
    ret = rpma_conn_req_new(client->peer, client->address, client->port, NULL,
                            &request);
  }
  if (ret == 0)
    ret = rpma_conn_req_connect(&request, NULL, &client->connection);
  return ret;
}

int log_client_get_fd(const struct log_client *client, int *fd) {
  if (client->connection == NULL) return LOG_E_BROKEN;
  return rpma_conn_get_event_fd(client->connection, fd);
}

static int wait_until_established(struct log_client *client) {
  enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
  int ret;
  do { /* a signal ends the wait early */
    ret = rpma_conn_next_event(client->connection, &event);
  } while (ret == RPMA_E_NO_EVENT);
  if (ret == 0 && event != RPMA_CONN_ESTABLISHED) ret = LOG_E_BROKEN;
  return ret;
}

static int apply_peer_cfg(struct log_client *client,
                          const struct offer *offer) {
  struct rpma_peer_cfg *cfg = NULL;
  int ret = rpma_peer_cfg_from_descriptor(offer->peer_cfg,
                                          sizeof(offer->peer_cfg), &cfg);
  if (ret == 0) ret = rpma_conn_apply_remote_peer_cfg(client->connection, cfg);
  keep_first(&ret, rpma_peer_cfg_delete(&cfg));
  return ret;
}

/* Makes the server's log known to the client. */
static int open_log(struct log_client *client, const struct offer *offer) {
  size_t size = 0;
  int ret = rpma_mr_remote_from_descriptor(offer->log, sizeof(offer->log),
                                           &client->log);
  if (ret == 0) ret = rpma_mr_remote_get_size(client->log, &size);
  if (ret == 0 && size < RECORDS_OFFSET) ret = LOG_E_FOREIGN;
  if (ret == 0) client->capacity = size - RECORDS_OFFSET;
  return ret;
}

static int take_offer(struct log_client *client) {
  struct rpma_conn_private_data data = {NULL, 0};
  int ret = rpma_conn_get_private_data(client->connection, &data);
  if (ret == 0 && data.len < sizeof(struct offer)) ret = LOG_E_FOREIGN;
  if (ret == 0) ret = apply_peer_cfg(client, data.ptr);
  if (ret == 0) ret = open_log(client, data.ptr);
  return ret;
}

/*
 * Waits for the completion of the only request that asked for one. Those before
 * it complete only if they fail, and then it fails after them.
 */
static int wait_for_completion(struct log_client *client) {
  struct rpma_cq *cq = NULL;
  struct ibv_wc wc;
  int ret = rpma_conn_get_cq(client->connection, &cq);
  if (ret != 0) return ret;
  while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION) {
    ret = rpma_cq_wait(cq);
    if (ret != 0 && ret != RPMA_E_NO_COMPLETION) return ret;
  }
  if (ret != 0 || planted(LOG_BUG_IGNORED_STATUS)) return ret;
  return wc.status == IBV_WC_SUCCESS ? 0 : LOG_E_BROKEN;
}

static int read_remote_used(struct log_client *client) {
  int ret =
      rpma_read(client->connection, client->remote_used_mr, 0, client->log,
                USED_OFFSET, USED_SIZE, RPMA_F_COMPLETION_ALWAYS, NULL);
  if (ret == 0) ret = wait_for_completion(client);
  return ret;
}

/*
 * Writes the pending record behind those that are known to be in the log. May
 * be repeated: then it writes the same bytes to the same place.
 */
static int append_pending(struct log_client *client) {
  struct rpma_conn *connection = client->connection;
  const uint64_t offset = RECORDS_OFFSET + client->used;
  const uint64_t used = client->used + client->pending_size;
  char used_bytes[USED_SIZE];
  memcpy(used_bytes, &used, sizeof(used_bytes));

  int ret = rpma_write(connection, client->log, offset, client->pending_mr, 0,
                       client->pending_size, RPMA_F_COMPLETION_ON_ERROR, NULL);
  if (ret == 0) {
    ret = rpma_flush(connection, client->log, offset, client->pending_size,
                     RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ON_ERROR,
                     NULL);
  }
  if (ret == 0) {
    ret = rpma_atomic_write(connection, client->log, USED_OFFSET, used_bytes,
                            RPMA_F_COMPLETION_ON_ERROR, NULL);
  }
  if (ret == 0) {
    ret =
        rpma_flush(connection, client->log, USED_OFFSET, USED_SIZE,
                   RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS, NULL);
  }
  if (ret == 0) ret = wait_for_completion(client);
  if (ret != 0) return ret;
  client->used = used;
  client->pending_size = 0;
  return 0;
}

/* Brings together what the client knows of the log and what the server has. */
static int settle(struct log_client *client) {
  const uint64_t end = client->remote_used;
  if (end > client->capacity) return LOG_E_FOREIGN;
  if (!client->knows_used || planted(LOG_BUG_APPENDED_TWICE)) {
    client->used = end;
    client->knows_used = true;
  }
  /* The pending record may have arrived before the connection broke. */
  if (end != client->used && end != client->used + client->pending_size) {
    return LOG_E_FOREIGN;
  }
  return client->pending_size != 0 ? append_pending(client) : 0;
}

int log_client_resume(struct log_client *client) {
  if (client->connection == NULL || client->log != NULL) return LOG_E_BROKEN;
  int ret = wait_until_established(client);
  if (ret == 0) ret = take_offer(client);
  if (ret == 0) ret = read_remote_used(client);
  if (ret == 0) ret = settle(client);
  client->resumed = ret == 0;
  return ret;
}

int log_client_append(struct log_client *client, const void *record,
                      size_t size) {
  const uint32_t stored_size = (uint32_t)size;
  if (size > LOG_MAX_RECORD) return RPMA_E_INVAL;
  if (!client->resumed) return LOG_E_BROKEN;
  if (sizeof(stored_size) + size > client->capacity - client->used) {
    return LOG_E_FULL;
  }
  memcpy(client->pending, &stored_size, sizeof(stored_size));
  memcpy(client->pending + sizeof(stored_size), record, size);
  client->pending_size = sizeof(stored_size) + size;
  int ret = append_pending(client);
  client->resumed = ret == 0;
  return ret;
}
