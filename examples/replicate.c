/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest complete use of librpma: a client writes into the persistent
 * memory of a server and makes sure that it is there to stay.
 *
 *   bazel run //examples:replicate -- [ADDRESS]
 *
 * Server and client share one thread, which shows the order of events and needs
 * no second terminal. They run on the emulator unless RPMA_TRANSPORT says
 * otherwise, so no RDMA hardware is needed.
 */

#define _POSIX_C_SOURCE 200112L /* setenv() */

#include <librpma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT "7204"
#define REGION_SIZE 4096
#define MR_DESCRIPTOR_SIZE 21 /* rpma_mr_get_descriptor_size() */

/* Ends the program if a call fails; the log on stderr says why. */
#define CHECK(call) check(call, #call)

static void check(int ret, const char *call) {
  if (ret == 0) return;
  fprintf(stderr, "%s: %s\n", call, rpma_err_2str(ret));
  exit(EXIT_FAILURE);
}

/* What each side has. */
struct side {
  char *memory;
  struct rpma_peer *peer;
  struct rpma_mr_local *region;
  struct rpma_conn *connection;
};

/* What the server tells the client: where to write, and how to flush. */
struct offer {
  char region[MR_DESCRIPTOR_SIZE];
  char peer_cfg[1];
};

static void open_side(struct side *side, const char *address,
                      enum rpma_util_ibv_context_type type, int usage) {
  struct ibv_context *device = NULL;
  CHECK(rpma_utils_get_ibv_context(address, type, &device));
  CHECK(rpma_peer_new(device, &side->peer));

  /* A real server would map a file of persistent memory (DAX) here. */
  side->memory = calloc(1, REGION_SIZE);
  if (side->memory == NULL) check(RPMA_E_NOMEM, "calloc");
  CHECK(
      rpma_mr_reg(side->peer, side->memory, REGION_SIZE, usage, &side->region));
}

static void close_side(struct side *side) {
  CHECK(rpma_conn_delete(&side->connection));
  CHECK(rpma_mr_dereg(&side->region));
  CHECK(rpma_peer_delete(&side->peer));
  free(side->memory);
}

static void expect_event(struct side *side, enum rpma_conn_event expected) {
  enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
  CHECK(rpma_conn_next_event(side->connection, &event));
  if (event == expected) return;
  fprintf(stderr, "unexpected event: %s\n", rpma_utils_conn_event_2str(event));
  exit(EXIT_FAILURE);
}

static void make_offer(const struct side *server, struct offer *offer) {
  struct rpma_peer_cfg *cfg = NULL;
  CHECK(rpma_mr_get_descriptor(server->region, offer->region));
  CHECK(rpma_peer_cfg_new(&cfg));
  CHECK(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true));
  CHECK(rpma_peer_cfg_get_descriptor(cfg, offer->peer_cfg));
  CHECK(rpma_peer_cfg_delete(&cfg));
}

static void connect_sides(struct side *server, struct side *client,
                          const char *address) {
  struct rpma_ep *endpoint = NULL;
  struct rpma_conn_req *outgoing = NULL;
  struct rpma_conn_req *incoming = NULL;
  struct offer offer;
  struct rpma_conn_private_data answer = {&offer, sizeof(offer)};
  make_offer(server, &offer);
  CHECK(rpma_ep_listen(server->peer, address, PORT, &endpoint));

  /* Sends the request and returns; the server answers below. */
  CHECK(rpma_conn_req_new(client->peer, address, PORT, NULL, &outgoing));
  CHECK(rpma_conn_req_connect(&outgoing, NULL, &client->connection));

  CHECK(rpma_ep_next_conn_req(endpoint, NULL, &incoming));
  CHECK(rpma_conn_req_connect(&incoming, &answer, &server->connection));
  CHECK(rpma_ep_shutdown(&endpoint)); /* one client is enough */

  /* The client first: its event completes the connection for the server. */
  expect_event(client, RPMA_CONN_ESTABLISHED);
  expect_event(server, RPMA_CONN_ESTABLISHED);
}

/* Accepts the offer; the caller deletes the view of the server's region. */
static struct rpma_mr_remote *take_offer(const struct side *client) {
  struct rpma_conn_private_data data;
  struct rpma_peer_cfg *cfg = NULL;
  struct rpma_mr_remote *target = NULL;
  CHECK(rpma_conn_get_private_data(client->connection, &data));
  if (data.len < sizeof(struct offer)) check(RPMA_E_INVAL, "offer");

  const struct offer *offer = data.ptr;
  CHECK(rpma_peer_cfg_from_descriptor(offer->peer_cfg, sizeof(offer->peer_cfg),
                                      &cfg));
  CHECK(rpma_conn_apply_remote_peer_cfg(client->connection, cfg));
  CHECK(rpma_peer_cfg_delete(&cfg));
  CHECK(rpma_mr_remote_from_descriptor(offer->region, sizeof(offer->region),
                                       &target));
  return target;
}

/* Waits for the completion of the only request that asked for one. */
static void wait_for_completion(const struct side *side) {
  struct rpma_cq *cq = NULL;
  struct ibv_wc wc;
  int ret;
  CHECK(rpma_conn_get_cq(side->connection, &cq));
  do { /* a wait may end without a completion */
    CHECK(rpma_cq_wait(cq));
    ret = rpma_cq_get_wc(cq, 1, &wc, NULL);
  } while (ret == RPMA_E_NO_COMPLETION);
  check(ret, "rpma_cq_get_wc");
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "the request failed with status %d\n", (int)wc.status);
  exit(EXIT_FAILURE);
}

int main(int argc, char *argv[]) {
  const char *address = argc > 1 ? argv[1] : "127.0.0.1";
  const char text[] = "hello";
  struct side server = {NULL, NULL, NULL, NULL};
  struct side client = {NULL, NULL, NULL, NULL};
  if (setenv("RPMA_TRANSPORT", "emulator", 0) != 0) return EXIT_FAILURE;
  CHECK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING));

  open_side(&server, address, RPMA_UTIL_IBV_CONTEXT_LOCAL,
            RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
  open_side(&client, address, RPMA_UTIL_IBV_CONTEXT_REMOTE,
            RPMA_MR_USAGE_WRITE_SRC);
  connect_sides(&server, &client, address);
  struct rpma_mr_remote *target = take_offer(&client);

  /* When the flush completes, so has the write before it. */
  memcpy(client.memory, text, sizeof(text));
  CHECK(rpma_write(client.connection, target, 0, client.region, 0, sizeof(text),
                   RPMA_F_COMPLETION_ON_ERROR, NULL));
  CHECK(rpma_flush(client.connection, target, 0, sizeof(text),
                   RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS, NULL));
  wait_for_completion(&client);

  int replicated = memcmp(server.memory, text, sizeof(text)) == 0;
  printf("the server %s \"%s\"\n", replicated ? "has" : "lacks", text);

  /* Each side disconnects; each gets RPMA_CONN_CLOSED. */
  CHECK(rpma_conn_disconnect(client.connection));
  expect_event(&server, RPMA_CONN_CLOSED);
  CHECK(rpma_conn_disconnect(server.connection));
  expect_event(&client, RPMA_CONN_CLOSED);

  CHECK(rpma_mr_remote_delete(&target));
  close_side(&client);
  close_side(&server);
  return replicated ? EXIT_SUCCESS : EXIT_FAILURE;
}
