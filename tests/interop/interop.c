/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two sides exercise on each other every operation of librpma, step by step:
 *
 *   interop server ADDRESS PORT   prints "listening" once a client may start
 *   interop client ADDRESS PORT
 *   interop both ADDRESS PORT     both in this process
 *
 * Each side prints a line for each step that went well, and at last how many
 * there were. At the first that did not, it says on stderr what differed, and
 * exits with 1. The sides may use different builds of librpma.
 */
#define _POSIX_C_SOURCE 200809L
#include <librpma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "side.h"
#include "steps.h"

enum {
  ALL_USAGES = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST |
               RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
               RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
               RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_SEND |
               RPMA_MR_USAGE_RECV,
  PAGE = 4096 /* bytes */
};

static void prepare(struct side *s) {
  struct ibv_context *context;
  void *memory;
  begin(s, "preparation", s->address);
  OK(s, rpma_utils_get_ibv_context(s->address, RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                   &context));
  s->iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
  OK(s, rpma_peer_new(context, &s->peer));
  EXPECT(s, 0, posix_memalign(&memory, PAGE, REGION));
  s->memory = memory;
  memset(memory, 0, REGION);
  OK(s, rpma_mr_reg(s->peer, memory, REGION, ALL_USAGES, &s->mr));
  if (s->is_server) {
    OK(s, rpma_ep_listen(s->peer, s->address, s->port, &s->ep));
  }
}

/* The address of the meeting of two processes, in the abstract namespace. */
static struct sockaddr_un meeting_address(const struct side *s) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "interop-%s",
           s->port);
  return address;
}

static void open_meeting(struct side *s) {
  const struct sockaddr_un address = meeting_address(s);
  const struct sockaddr *const name = (const struct sockaddr *)&address;
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  begin(s, "meeting", s->port);
  if (s->is_server) {
    EXPECT(s, 0, bind(fd, name, sizeof address));
    EXPECT(s, 0, listen(fd, 1));
    puts("listening");
    await(s, fd, "client");
    s->meeting = accept(fd, NULL, NULL);
    EXPECT(s, true, s->meeting >= 0);
    close(fd);
  } else {
    EXPECT(s, 0, connect(fd, name, sizeof address));
    s->meeting = fd;
  }
}

static void *run(void *side) {
  struct side *const s = side;
  connections(s);
  begin(s, "end", s->address);
  meet(s);
  OK(s, rpma_ep_shutdown(&s->ep));
  OK(s, rpma_mr_dereg(&s->mr));
  OK(s, rpma_peer_delete(&s->peer));
  close(s->meeting);
  free(s->memory);
  printf("%s: %d steps passed\n", s->is_server ? "server" : "client",
         s->passed);
  return NULL;
}

static int run_both(struct side *server, struct side *client) {
  pthread_t thread;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  server->meeting = ends[0];
  client->meeting = ends[1];
  prepare(server);
  prepare(client);
  if (pthread_create(&thread, NULL, run, server) != 0) return 1;
  run(client);
  return pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: interop server|client|both ADDRESS PORT\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct side client = {.address = argv[2], .port = argv[3], .meeting = -1};
  struct side server = client;
  server.is_server = true;
  if (strcmp(argv[1], "both") == 0) return run_both(&server, &client);
  struct side *const side = strcmp(argv[1], "server") == 0 ? &server : &client;
  prepare(side);
  open_meeting(side);
  run(side);
  return 0;
}
