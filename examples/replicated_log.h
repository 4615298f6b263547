/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append-only log in the persistent memory of another machine.
 *
 * A server owns the memory and takes no part in appending. A client writes
 * records into it, one after the other; a record counts as appended once it
 * would survive a power failure of the server. When the connection breaks the
 * client connects again and goes on where the log ends.
 *
 * Functions return 0, a code of librpma.h (its log says why), or LOG_E_*.
 */

#ifndef REPLICATED_LOG_H
#define REPLICATED_LOG_H 1

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connection is of no use any more: log_client_connect(). */
#define LOG_E_BROKEN (-1)
/* The log has no room for the record. */
#define LOG_E_FULL (-2)
/* What the server has is not the log that this client appended to. */
#define LOG_E_FOREIGN (-3)

#define LOG_MAX_RECORD 1024 /* bytes */

/*
 * Steps through the records in the memory of a server. *position is 0 at first
 * and belongs to the function. Sets *record and *size, and returns 1; or
 * returns 0 if there are no more.
 */
int log_next_record(const void *memory, uint64_t *position, const void **record,
                    size_t *size);

/* --- The server: one client at a time ------------------------------------- */

struct log_server;

/*
 * Opens a server with a log in `size` bytes at `memory`, which start at a
 * multiple of 8, stay the caller's, and are all zeros for a new log. After a
 * failure *server_ptr is NULL, or what could not be released either: close it.
 */
int log_server_open(const char *address, const char *port, void *memory,
                    size_t size, struct log_server **server_ptr);

/*
 * Closes a server; its client learns of it. *server_ptr is NULL afterwards, or
 * what could not be released: try again, and keep the memory until then. 0 at
 * once if it is NULL.
 */
int log_server_close(struct log_server **server_ptr);

/* Sleeps until log_server_serve() has something to do. */
int log_server_wait(const struct log_server *server);

/*
 * Does what there is to do and does not block: accepts clients, and lets go of
 * those that are gone. A new client takes the place of the one before. After a
 * failure the server is as good as before.
 */
int log_server_serve(struct log_server *server);

/* --- The client ----------------------------------------------------------- */

struct log_client;

/*
 * Makes a client for the server at address and port; it is not connected. The
 * strings must outlive it. After a failure *client_ptr is NULL, or what could
 * not be released either: close it.
 */
int log_client_open(const char *address, const char *port,
                    struct log_client **client_ptr);

/* Closes a client, as log_server_close() does a server. */
int log_client_close(struct log_client **client_ptr);

/*
 * Asks the server for a connection, in place of the one there may have been;
 * log_client_resume() waits for the answer.
 */
int log_client_connect(struct log_client *client);

/*
 * Waits until the server has accepted, and finds out where the log ends. If
 * log_client_append() failed before, its record is appended now, unless it
 * proves to be in the log already: after success it is, once.
 */
int log_client_resume(struct log_client *client);

/*
 * Gives a file descriptor that is readable once log_client_resume() has no need
 * to wait for the server.
 */
int log_client_get_fd(const struct log_client *client, int *fd);

/*
 * Appends a record. After success it is in the log to stay.
 *
 *   LOG_E_FULL    there is no room for it; nothing was done
 *   LOG_E_BROKEN  the client has not resumed, or not since the last failure,
 *                 and nothing was done; or as below
 *   RPMA_E_INVAL  it is longer than LOG_MAX_RECORD; nothing was done
 *
 * After any other failure the record may be in the log or not, and the client
 * keeps it: connect and resume to make sure.
 */
int log_client_append(struct log_client *client, const void *record,
                      size_t size);

/* --- Planted bugs --------------------------------------------------------- */

/*
 * Mistakes that people make, to try tests on: replicated_log_test.cc finds
 * them. Only for that: a program does not touch this.
 */
enum log_bug {
  LOG_BUG_NONE,
  /* A client that cannot be opened leaves its region registered. */
  LOG_BUG_LEAKED_REGION,
  /* A completion is taken for a success without looking at its status. */
  LOG_BUG_IGNORED_STATUS,
  /* A record that may have been appended is appended again. */
  LOG_BUG_APPENDED_TWICE
};
extern enum log_bug log_planted_bug; /* LOG_BUG_NONE */

#ifdef __cplusplus
}
#endif

#endif /* REPLICATED_LOG_H */
