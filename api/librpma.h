/* SPDX-License-Identifier: BSD-3-Clause */
/* librpma: the C API for remote access to persistent memory over RDMA. */

#ifndef LIBRPMA_H
#define LIBRPMA_H 1

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A program reads and writes registered memory of a program on another host
 * without involving the CPU there, and learns when what it wrote has become
 * visible, or persistent, on the other side. The comments below refer to the
 * parts of this overview as, for example, "(see 6)".
 *
 *
 * 1. Life cycle
 *
 *   ibv_context  an RDMA device: rpma_utils_get_ibv_context()
 *   peer         a protection domain on that device: rpma_peer_new()
 *   region       memory the device may access: rpma_mr_reg(). The other side
 *                needs its descriptor: rpma_mr_get_descriptor() here,
 *                rpma_mr_remote_from_descriptor() there.
 *   endpoint     where a server listens: rpma_ep_listen()
 *   request      a connection to be. The client makes one with
 *                rpma_conn_req_new(), the server receives one from
 *                rpma_ep_next_conn_req(); either deletes it, which refuses an
 *                incoming one, or turns it into a connection with
 *                rpma_conn_req_connect().
 *   connection   usable after rpma_conn_next_event() gave
 *                RPMA_CONN_ESTABLISHED
 *   operations   rpma_write(), rpma_flush(), rpma_send(), ... post a request
 *                and return; the device executes it later
 *   completions  rpma_cq_wait() and rpma_cq_get_wc() tell what has finished
 *   the end      rpma_conn_disconnect(), RPMA_CONN_CLOSED, rpma_conn_delete();
 *                then regions and shared receive queues, at last the peer
 *
 * One thread may play both sides. On InfiniBand and RoCE the server sees
 * RPMA_CONN_ESTABLISHED only after the client has fetched its own, so such a
 * thread reads the client's event first.
 *
 * Ownership. Every object belongs to the caller until it is deleted by the
 * function named at its type. An object must outlive what was made from it: the
 * ibv_context its peer; the peer its regions, shared receive queues, endpoints,
 * requests and connections; a shared receive queue the connections that use it.
 * Requests and connections do not need their endpoint. Configurations and
 * descriptors are copied by the calls that take them. Deleting functions take
 * the address of the handle, set it to NULL on success, and return 0 at once if
 * it is NULL already.
 *
 *
 * 2. Results
 *
 * Functions return 0 or one of the negative RPMA_E_* codes, except the two that
 * return a string. A function that fails leaves its out-parameters untouched,
 * unless its comment says otherwise, and leaves nothing half done behind. The
 * value of errno after a call is unspecified.
 *
 * RPMA_E_PROVIDER means that a call of libibverbs or librdmacm failed; the
 * comments below name the calls. Each failure writes one message to the log
 * with that call, its errno and the sizes or addresses that matter. The answers
 * RPMA_E_NO_EVENT and RPMA_E_NO_COMPLETION are no failures and write none,
 * unless a comment says otherwise.
 *
 *
 * 3. Threads
 *
 * Calls on different objects may always run at the same time. On one object:
 *   - peers, regions, configurations, shared receive queues and the log may be
 *     used by any number of threads;
 *   - on one connection, rpma_read(), rpma_write(), rpma_write_with_imm(),
 *     rpma_atomic_write(), rpma_flush(), rpma_send(), rpma_send_with_imm(),
 *     rpma_recv(), rpma_conn_apply_remote_peer_cfg(), rpma_conn_disconnect()
 *     and the getters may run in any number of threads, and so may
 *     rpma_cq_wait() and rpma_cq_get_wc() on its completion queues;
 *   - rpma_conn_next_event() and rpma_conn_wait() may each run in one thread at
 *     a time for a connection;
 *   - rpma_ep_next_conn_req() may run in several threads: each request goes to
 *     one of them;
 *   - a request (struct rpma_conn_req) is for one thread at a time;
 *   - a deleting function must not overlap with any other call on the object or
 *     on what belongs to it.
 *
 *
 * 4. Waiting
 *
 * Four calls wait for something to happen: rpma_ep_next_conn_req(),
 * rpma_conn_next_event(), rpma_cq_wait() and rpma_conn_wait(). Each waits on a
 * file descriptor that the caller may get, watch with poll(2) or epoll(7), and
 * set O_NONBLOCK on with fcntl(2); with O_NONBLOCK the call answers
 * RPMA_E_NO_EVENT or RPMA_E_NO_COMPLETION at once if nothing is there. The same
 * answer comes if a signal handler installed without SA_RESTART interrupts the
 * wait; nothing is lost, call again. The descriptor is readable while events
 * wait. It belongs to the library: do not read from it or close it, and do not
 * use it after its object was deleted.
 *
 * The four calls hold no lock while they wait. rpma_utils_get_ibv_context(),
 * rpma_ep_listen() and rpma_conn_req_new() may take long to resolve names and
 * addresses. No other call waits for the other side.
 *
 *
 * 5. Requests and completions
 *
 * Requests of a connection are executed in the order posted. SEND, WRITE and
 * ATOMIC_WRITE take effect at the other side in that order; a READ may take
 * effect after later ones; wait for its completion where that matters. Memory
 * named in a request must stay registered, and a source unchanged, until the
 * request completed.
 *
 * Every receive yields a completion. Other requests do if their flags ask for
 * one, or if they fail. Requests without a completion keep their place in the
 * send queue until the completion of a later request has been fetched; so ask
 * for one with at least every sq_size-th request. A full queue is
 * RPMA_E_PROVIDER (ENOMEM) and the request is not posted. A completion queue
 * must have room for all completions that may wait in it; if it overruns,
 * completions are lost and its connections break.
 *
 * Valid fields of struct ibv_wc:
 *   always      wr_id (the op_context of the request), status, qp_num
 *   on success  opcode; wc_flags (test bits, there may be more than asked for);
 *               byte_len of receives and reads; imm_data, in network byte
 *               order, if wc_flags has IBV_WC_WITH_IMM
 *   on error    vendor_err
 *
 * Frequent errors:
 *   IBV_WC_LOC_PROT_ERR     a local region lacks the right or belongs to
 *                           another peer
 *   IBV_WC_LOC_LEN_ERR      (receive) the message is longer than the buffer
 *   IBV_WC_REM_ACCESS_ERR   the remote region is gone or lacks the right
 *   IBV_WC_REM_INV_REQ_ERR  (send) the message does not fit the receive
 *   IBV_WC_REM_OP_ERR       the other side could not use its receive buffer
 *   IBV_WC_RETRY_EXC_ERR    the other side does not answer
 *   IBV_WC_WR_FLUSH_ERR     the connection had failed or ended before
 * After an error no request of the connection succeeds any more: those waiting
 * complete with IBV_WC_WR_FLUSH_ERR. On InfiniBand and RoCE no event tells it;
 * disconnect. On iWARP the connection ends by itself, and a send or write that
 * the other side refuses has completed with success already.
 *
 *
 * 6. Visible and persistent
 *
 * The completion of a write only says that its source may be reused. Wait for
 * the completion of a flush, posted on the same connection after the writes:
 *   RPMA_FLUSH_TYPE_VISIBILITY  every reader of the other host sees the data
 *   RPMA_FLUSH_TYPE_PERSISTENT  the data also survive a power failure there
 * The second is possible only where the platform lets the device write straight
 * into the persistence domain ("direct write to pmem", for example with DDIO
 * off). Only the owner of the memory knows that: it sets it in a peer
 * configuration (rpma_peer_cfg_set_direct_write_to_pmem()), sends that over,
 * and the other side applies it (rpma_conn_apply_remote_peer_cfg()). The
 * library believes what it is told. The region must have been registered with
 * the usage of the flush type, too.
 *
 * Where device and peer configuration allow it, a flush of less than 4 GiB is
 * the native request of the IBTA (annex A19); otherwise it is a read, which
 * forces earlier writes out of the device.
 *
 *
 * 7. Wire formats
 *
 * The library exchanges no data of its own; the program carries two kinds of
 * descriptors, for example as private data or with send and receive:
 *   memory region, 21 bytes: address (8), size (8) and rkey (4), little-endian;
 *       usage (1): bits RPMA_MR_USAGE_*
 *   peer configuration, 1 byte: bit 0 is direct write to pmem; bit 1, written
 *       only together with bit 0, allows native flush requests. When read, any
 *       value but 0 means direct write to pmem.
 * Both are compatible with librpma 1.3.0. A region's descriptor gives whoever
 * is connected to its peer the access that its usage names.
 *
 *
 * 8. Addresses and ports
 *
 * An address is an IPv4 or IPv6 address or a host name that leads to an RDMA
 * device. A port is a number in decimal, "0" to "65535", or a service name. A
 * port that is empty, or starts with a digit, sign or space and is no such
 * number, is RPMA_E_INVAL; an unknown name is RPMA_E_PROVIDER
 * (rdma_getaddrinfo).
 *
 *
 * 9. Without RDMA hardware
 *
 * With RPMA_TRANSPORT=emulator in the environment, all of this runs on a device
 * in software; see librpma_emu.h. Without it, or with RPMA_TRANSPORT=verbs, it
 * takes a real device.
 */

/* A protection domain on a device. Ended by rpma_peer_delete(). */
struct rpma_peer;

/*
 * What a peer tells the other side of itself. Ended by rpma_peer_cfg_delete().
 */
struct rpma_peer_cfg;

/* A region of own memory. Ended by rpma_mr_dereg(). */
struct rpma_mr_local;

/* A view of the other side's region. Ended by rpma_mr_remote_delete(). */
struct rpma_mr_remote;

/* What a connection shall be like. Ended by rpma_conn_cfg_delete(). */
struct rpma_conn_cfg;

/* What a shared receive queue shall be like. Ended by rpma_srq_cfg_delete(). */
struct rpma_srq_cfg;

/* A receive queue that connections share. Ended by rpma_srq_delete(). */
struct rpma_srq;

/* An endpoint, where a server listens. Ended by rpma_ep_shutdown(). */
struct rpma_ep;

/*
 * A connection to be. Ended by rpma_conn_req_delete() or
 * rpma_conn_req_connect().
 */
struct rpma_conn_req;

/* A connection. Ended by rpma_conn_delete(). */
struct rpma_conn;

/* A completion queue. It belongs to its connection or shared receive queue. */
struct rpma_cq;

/* --- Error codes ---------------------------------------------------------- */

/*
 * What happened fits no other code: the provider failed without giving a
 * reason, or delivered something that it never should.
 */
#define RPMA_E_UNKNOWN (-100000)

/* The device, the region or the other side does not support what was asked. */
#define RPMA_E_NOSUPP (-100001)

/* A call of libibverbs or librdmacm failed; the log names it and its errno. */
#define RPMA_E_PROVIDER (-100002)

/* Out of memory. */
#define RPMA_E_NOMEM (-100003)

/* An argument is invalid; nothing was done. */
#define RPMA_E_INVAL (-100004)

/* No completion is there, or the wait for one was cut short. */
#define RPMA_E_NO_COMPLETION (-100005)

/* No event is there, or the wait for one was cut short. */
#define RPMA_E_NO_EVENT (-100006)

/* Try again. Kept for old programs; this library never returns it. */
#define RPMA_E_AGAIN (-100007)

/* The completion channel is shared: use rpma_conn_wait(). */
#define RPMA_E_SHARED_CHANNEL (-100008)

/* The completion channel is not shared: use rpma_cq_wait(). */
#define RPMA_E_NOT_SHARED_CHNL (-100009)

/*
 * Describes the result of a function of this library. Returns a constant
 * string, "Success" for 0 and "Unknown error" for RPMA_E_UNKNOWN and for values
 * that are no result; never NULL.
 */
const char *rpma_err_2str(int ret);

/* --- Log ------------------------------------------------------------------ */

/* How much a message matters; a lower value matters more. */
enum rpma_log_level {
  /* As a threshold: no messages at all. */
  RPMA_LOG_DISABLED = -1,
  /* The library cannot work at all. */
  RPMA_LOG_LEVEL_FATAL = 0,
  /* A call failed. */
  RPMA_LOG_LEVEL_ERROR = 1,
  /* A call succeeded in a way that the caller may not expect. */
  RPMA_LOG_LEVEL_WARNING = 2,
  /* Something worth knowing happened, for example a connection event. */
  RPMA_LOG_LEVEL_NOTICE = 3,
  /* What the library decided. */
  RPMA_LOG_LEVEL_INFO = 4,
  /* Details for those who debug the library. */
  RPMA_LOG_LEVEL_DEBUG = 5
};

enum rpma_log_threshold {
  /*
   * Messages of this level and below reach the log function. Initially
   * RPMA_LOG_LEVEL_WARNING.
   */
  RPMA_LOG_THRESHOLD = 0,
  /*
   * Of those, the default log function prints messages of this level and below
   * on stderr, too. Initially RPMA_LOG_DISABLED.
   */
  RPMA_LOG_THRESHOLD_AUX = 1,
  /* How many thresholds there are; not a threshold. */
  RPMA_LOG_THRESHOLD_MAX = 2
};

/*
 * A log function of the program. It is called for each message that passes
 * RPMA_LOG_THRESHOLD, by the thread whose call has something to say, possibly
 * by several threads at once. The library holds no lock meanwhile. The function
 * must return normally.
 *   level           RPMA_LOG_LEVEL_FATAL to RPMA_LOG_LEVEL_DEBUG
 *   file_name, line_no, function_name
 *                   the place in the library's source, never NULL
 *   message_format  as of printf(3), with its arguments following; the message
 *                   ends with a newline
 * All strings are valid only until the function returns.
 */
typedef void rpma_log_function(enum rpma_log_level level, const char *file_name,
                               const int line_no, const char *function_name,
                               const char *message_format, ...);

/* For rpma_log_set_function(): back to the default log function. */
#define RPMA_LOG_USE_DEFAULT_FUNCTION 0

/*
 * Sets the log function; RPMA_LOG_USE_DEFAULT_FUNCTION (or NULL) restores the
 * default one, which writes to syslog(3) with facility LOG_LOCAL7 and, as
 * RPMA_LOG_THRESHOLD_AUX says, to stderr. It does not call openlog(3). Messages
 * under way in other threads may still reach the previous function shortly
 * after the call.
 *
 * Returns 0.
 */
int rpma_log_set_function(rpma_log_function *log_function);

/*
 * Sets a threshold to a level, RPMA_LOG_DISABLED included.
 *
 *   RPMA_E_INVAL  threshold is not RPMA_LOG_THRESHOLD or
 *                 RPMA_LOG_THRESHOLD_AUX; level is not in the enum
 */
int rpma_log_set_threshold(enum rpma_log_threshold threshold,
                           enum rpma_log_level level);

/*
 * Gets the level of a threshold.
 *
 *   RPMA_E_INVAL  threshold is not RPMA_LOG_THRESHOLD or
 *                 RPMA_LOG_THRESHOLD_AUX; level is NULL
 */
int rpma_log_get_threshold(enum rpma_log_threshold threshold,
                           enum rpma_log_level *level);

/* --- Devices -------------------------------------------------------------- */

/* What the address given to rpma_utils_get_ibv_context() is. */
enum rpma_util_ibv_context_type {
  /* One of this host: find the device that owns it. */
  RPMA_UTIL_IBV_CONTEXT_LOCAL = 0,
  /* One of another host: find the device of this host that leads to it. */
  RPMA_UTIL_IBV_CONTEXT_REMOTE = 1
};

/*
 * Finds an RDMA device of this host by an address (see 8) and gives its
 * context. The context belongs to the library and stays open until the process
 * ends; do not close it. Blocks while the name is resolved, and with
 * RPMA_UTIL_IBV_CONTEXT_REMOTE up to 1000 ms for the address.
 *
 *   RPMA_E_INVAL     addr or ibv_ctx_ptr is NULL; type is not in the enum
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  rdma_getaddrinfo (unknown name), rdma_create_id,
 *                    rdma_bind_addr (LOCAL) or rdma_resolve_addr (REMOTE)
 *                    failed; no device owns the address, as with 0.0.0.0; this
 *                    build lacks the transport asked for (see 9)
 */
int rpma_utils_get_ibv_context(const char *addr,
                               enum rpma_util_ibv_context_type type,
                               struct ibv_context **ibv_ctx_ptr);

/*
 * Sets *is_odp_capable to 1 if the device can register memory that is paged in
 * on demand, and read and write it over a connection; to 0 otherwise.
 *
 *   RPMA_E_INVAL     ibv_ctx or is_odp_capable is NULL
 *   RPMA_E_PROVIDER  ibv_query_device_ex failed; ibv_ctx is of no transport of
 *                    this build
 */
int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx,
                                          int *is_odp_capable);

/* --- Peers ---------------------------------------------------------------- */

/*
 * Creates a peer on a device; delete it with rpma_peer_delete(). Connections
 * can be made only on the context that librdmacm itself uses for the device,
 * which is the one rpma_utils_get_ibv_context() gives.
 *
 *   RPMA_E_INVAL     ibv_ctx or peer_ptr is NULL
 *   RPMA_E_NOMEM     out of memory; ibv_alloc_pd failed with ENOMEM
 *   RPMA_E_PROVIDER  ibv_query_device_ex failed; ibv_alloc_pd failed with
 *                    another errno; ibv_ctx is of no transport of this build
 *   RPMA_E_UNKNOWN   ibv_alloc_pd failed without setting errno
 */
int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr);

/*
 * Deletes a peer. On failure *peer_ptr is unchanged and the peer works as
 * before: delete what was made from it, then try again.
 *
 *   RPMA_E_INVAL     peer_ptr is NULL
 *   RPMA_E_PROVIDER  ibv_dealloc_pd failed (EBUSY: something made from the
 *                    peer still exists)
 */
int rpma_peer_delete(struct rpma_peer **peer_ptr);

/* --- Peer configurations -------------------------------------------------- */

/*
 * Creates a configuration that describes a peer to the other side. Direct write
 * to pmem is false. Delete it with rpma_peer_cfg_delete().
 *
 *   RPMA_E_INVAL  pcfg_ptr is NULL
 *   RPMA_E_NOMEM  out of memory
 */
int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr);

/*
 * Deletes a peer configuration.
 *
 *   RPMA_E_INVAL  pcfg_ptr is NULL
 */
int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr);

/*
 * Declares whether data that the device wrote into the peer's persistent memory
 * are persistent without help of the CPU (see 6).
 *
 *   RPMA_E_INVAL  pcfg is NULL
 */
int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg,
                                           bool supported);

/*
 * Gets what rpma_peer_cfg_set_direct_write_to_pmem() or the descriptor said.
 *
 *   RPMA_E_INVAL  pcfg or supported is NULL
 */
int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg,
                                           bool *supported);

/*
 * Writes the descriptor of the configuration (see 7) to desc, which must have
 * room for rpma_peer_cfg_get_descriptor_size() bytes.
 *
 *   RPMA_E_INVAL  pcfg or desc is NULL
 */
int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc);

/*
 * Gets the size of the descriptor in bytes: 1.
 *
 *   RPMA_E_INVAL  pcfg or desc_size is NULL
 */
int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg,
                                      size_t *desc_size);

/*
 * Creates a configuration from a descriptor of desc_size bytes; bytes beyond
 * the first are ignored. Delete it with rpma_peer_cfg_delete().
 *
 *   RPMA_E_INVAL  desc or pcfg_ptr is NULL; desc_size is 0
 *   RPMA_E_NOMEM  out of memory
 */
int rpma_peer_cfg_from_descriptor(const void *desc, size_t desc_size,
                                  struct rpma_peer_cfg **pcfg_ptr);

/* --- Memory regions ------------------------------------------------------- */

/*
 * What a region is for, a bit mask. An operation that the usage does not cover
 * may complete with an error.
 */
/* The other side reads it with rpma_read(). */
#define RPMA_MR_USAGE_READ_SRC (1 << 0)
/* Destination of rpma_read(). On iWARP this also lets the other side write. */
#define RPMA_MR_USAGE_READ_DST (1 << 1)
/* Source of rpma_write(). Alone, it also allows read-only memory. */
#define RPMA_MR_USAGE_WRITE_SRC (1 << 2)
/* The other side writes it: rpma_write(), rpma_atomic_write(). */
#define RPMA_MR_USAGE_WRITE_DST (1 << 3)
/*
 * The other side flushes it to visibility, or to persistence. Each also lets
 * the other side read the region, because a flush may be a read.
 */
#define RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY (1 << 4)
#define RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT (1 << 5)
/* Source of rpma_send(). */
#define RPMA_MR_USAGE_SEND (1 << 6)
/* Destination of rpma_recv(). */
#define RPMA_MR_USAGE_RECV (1 << 7)

/*
 * Registers size bytes of memory at ptr, to be used as the bits of usage say;
 * undo it with rpma_mr_dereg(). The memory stays the caller's and must stay
 * mapped until then. Any alignment will do, except for rpma_atomic_write().
 * Registering pins the pages, which counts against RLIMIT_MEMLOCK; memory that
 * cannot be pinned is paged in on demand if the device can do that.
 *
 *   RPMA_E_INVAL     peer, ptr or mr_ptr is NULL; size is 0; usage is 0 or has
 *                    bits other than RPMA_MR_USAGE_*
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  ibv_reg_mr failed: not mapped, read-only, more than may be
 *                    locked (ENOMEM), or neither pinning nor paging on demand
 *                    is possible (EOPNOTSUPP)
 */
int rpma_mr_reg(struct rpma_peer *peer, void *ptr, size_t size, int usage,
                struct rpma_mr_local **mr_ptr);

/*
 * Ends a registration. When it returns, no transfer touches the memory any
 * more, and whoever still uses its descriptor gets an error completion. On
 * failure *mr_ptr is unchanged and the region works as before.
 *
 *   RPMA_E_INVAL     mr_ptr is NULL
 *   RPMA_E_PROVIDER  ibv_dereg_mr failed
 */
int rpma_mr_dereg(struct rpma_mr_local **mr_ptr);

/*
 * Gets the address that was registered.
 *
 *   RPMA_E_INVAL  mr or ptr is NULL
 */
int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr);

/*
 * Gets the size that was registered, in bytes.
 *
 *   RPMA_E_INVAL  mr or size is NULL
 */
int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size);

/*
 * Writes the region's descriptor (see 7) to desc, which must have room for
 * rpma_mr_get_descriptor_size() bytes. It is good until rpma_mr_dereg().
 *
 *   RPMA_E_INVAL  mr or desc is NULL
 */
int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc);

/*
 * Gets the size of the descriptor in bytes: 21.
 *
 *   RPMA_E_INVAL  mr or desc_size is NULL
 */
int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr,
                                size_t *desc_size);

/*
 * Advises the device about len bytes from offset of a region that is paged in
 * on demand: see ibv_advise_mr(3) for advice (IBV_ADVISE_MR_ADVICE_*) and flags
 * (0 or IBV_ADVISE_MR_FLAG_FLUSH: return only when it is done). Longer ranges
 * are handed on in pieces of at most 2 GiB; if one fails, those before it stay
 * advised.
 *
 *   RPMA_E_INVAL     mr is NULL; the range leaves the region; ibv_advise_mr
 *                    refused (EINVAL, EFAULT, EPERM, EACCES): unknown flags, a
 *                    region that is pinned, or advice that its usage does not
 *                    allow
 *   RPMA_E_NOSUPP    the device does not take this advice, or none (EOPNOTSUPP)
 *   RPMA_E_PROVIDER  ibv_advise_mr failed otherwise
 */
int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len,
                   int advice, uint32_t flags);

/*
 * Creates the remote side's view of a region from its descriptor of desc_size
 * bytes; bytes beyond the 21st are ignored. Whether the region exists shows
 * only when it is used. Delete it with rpma_mr_remote_delete(); it belongs to
 * no connection.
 *
 *   RPMA_E_INVAL   desc or mr_ptr is NULL; desc_size is below 21; the usage in
 *                  the descriptor is 0
 *   RPMA_E_NOSUPP  the descriptor names no possible region: its size is 0, or
 *                  it runs past the end of the address space
 *   RPMA_E_NOMEM   out of memory
 */
int rpma_mr_remote_from_descriptor(const void *desc, size_t desc_size,
                                   struct rpma_mr_remote **mr_ptr);

/*
 * Deletes the view of a remote region. The region itself, and requests already
 * posted, are not affected.
 *
 *   RPMA_E_INVAL  mr_ptr is NULL
 */
int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr);

/*
 * Gets the size of a remote region in bytes.
 *
 *   RPMA_E_INVAL  mr or size is NULL
 */
int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size);

/*
 * Gets which flush types a remote region is registered for: a mask of
 * RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY and _PERSISTENT, 0 for neither.
 *
 *   RPMA_E_INVAL  mr or flush_type is NULL
 */
int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr,
                                  int *flush_type);

/* --- Connection configurations -------------------------------------------- */

/* The timeout of a new connection configuration, in milliseconds. */
#define RPMA_DEFAULT_TIMEOUT_MS 1000

/*
 * Creates a connection configuration: what rpma_conn_req_new() and
 * rpma_ep_next_conn_req() need to know. The default values, which also hold
 * where NULL is given for a configuration:
 *   timeout                    RPMA_DEFAULT_TIMEOUT_MS
 *   cq_size                    10
 *   rcq_size                   0
 *   sq_size                    10
 *   rq_size                    10
 *   shared completion channel  false
 *   shared receive queue       none
 * Delete it with rpma_conn_cfg_delete().
 *
 *   RPMA_E_INVAL  cfg_ptr is NULL
 *   RPMA_E_NOMEM  out of memory
 */
int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr);

/*
 * Deletes a connection configuration. What was made with it is not affected.
 *
 *   RPMA_E_INVAL  cfg_ptr is NULL
 */
int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr);

/*
 * The setters and getters below store and give one value each. The device
 * judges sizes when the connection is created: it may round them up, and what
 * exceeds its limits is RPMA_E_PROVIDER then.
 */

/*
 * The longest time that rpma_conn_req_new() waits for the address, and once
 * more for the route, in milliseconds; 0 or more. It does not limit how long
 * the other side takes to answer.
 *
 *   RPMA_E_INVAL  a pointer is NULL; (set) timeout_ms is negative
 */
int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg *cfg, int timeout_ms);
int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg *cfg, int *timeout_ms);

/*
 * Entries of the completion queue: completions that may wait in it. Values
 * above INT_MAX count as INT_MAX.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg *cfg, uint32_t cq_size);
int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg *cfg,
                              uint32_t *cq_size);

/*
 * Entries of the receive completion queue, to which completions of receives go.
 * With 0 there is none, and they go to the completion queue. Ignored if the
 * connection uses a shared receive queue that has one. Values above INT_MAX
 * count as INT_MAX.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg *cfg, uint32_t rcq_size);
int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg *cfg,
                               uint32_t *rcq_size);

/*
 * Entries of the send queue: requests, other than receives, outstanding.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg *cfg, uint32_t sq_size);
int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg *cfg,
                              uint32_t *sq_size);

/*
 * Entries of the receive queue: receives outstanding.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg *cfg, uint32_t rq_size);
int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg *cfg,
                              uint32_t *rq_size);

/*
 * Whether both completion queues of a connection share one completion channel,
 * so that one wait serves both: rpma_conn_wait() and rpma_conn_get_compl_fd()
 * if true, rpma_cq_wait() and rpma_cq_get_fd() if false. It excludes a shared
 * receive queue that has a receive completion queue of its own.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg *cfg, bool shared);
int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg *cfg,
                                    bool *shared);

/*
 * The shared receive queue that the connection takes its receives from; it must
 * be of the same peer. The getter gives NULL if none was set. One that was set
 * can be replaced and not be unset.
 *
 *   RPMA_E_INVAL  a pointer, srq included, is NULL
 */
int rpma_conn_cfg_set_srq(struct rpma_conn_cfg *cfg, struct rpma_srq *srq);
int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg *cfg,
                          struct rpma_srq **srq_ptr);

/* --- Shared receive queues ------------------------------------------------ */

/*
 * Creates a configuration of a shared receive queue. The default values, which
 * also hold where NULL is given for a configuration:
 *   rq_size   100
 *   rcq_size  100
 * Delete it with rpma_srq_cfg_delete().
 *
 *   RPMA_E_INVAL  cfg_ptr is NULL
 *   RPMA_E_NOMEM  out of memory
 */
int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr);

/*
 * Deletes a configuration. What was made with it is not affected.
 *
 *   RPMA_E_INVAL  cfg_ptr is NULL
 */
int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr);

/*
 * Entries of the shared receive queue: receives outstanding.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size);
int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size);

/*
 * Entries of the receive completion queue that the shared receive queue brings
 * along, for the receives of all its connections; with 0 it has none. Values
 * above INT_MAX count as INT_MAX.
 *
 *   RPMA_E_INVAL  a pointer is NULL
 */
int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size);
int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg,
                              uint32_t *rcq_size);

/*
 * Creates a receive queue that several connections of a peer share; cfg may be
 * NULL. Delete it with rpma_srq_delete().
 *
 *   RPMA_E_INVAL     peer or srq_ptr is NULL
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  ibv_create_srq, ibv_create_comp_channel, ibv_create_cq or
 *                    ibv_req_notify_cq failed
 */
int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg,
                 struct rpma_srq **srq_ptr);

/*
 * Deletes a shared receive queue and its receive completion queue. The
 * connections that use it must have been deleted before. *srq_ptr is NULL
 * afterwards, on failure too; the first error is returned after all has been
 * tried.
 *
 *   RPMA_E_INVAL     srq_ptr is NULL
 *   RPMA_E_PROVIDER  ibv_destroy_cq, ibv_destroy_comp_channel or
 *                    ibv_destroy_srq failed (EBUSY: still in use)
 */
int rpma_srq_delete(struct rpma_srq **srq_ptr);

/*
 * Gets the receive completion queue of a shared receive queue, NULL if it has
 * none. It belongs to the shared receive queue and ends with it.
 *
 *   RPMA_E_INVAL  srq or rcq_ptr is NULL
 */
int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr);

/*
 * Posts a receive to a shared receive queue, as rpma_recv() does to that of a
 * connection. The message of any of its connections may use it.
 *
 *   RPMA_E_INVAL     srq is NULL; dst is NULL while offset or len is not 0; the
 *                    range leaves dst; len exceeds 32 bits
 *   RPMA_E_PROVIDER  ibv_post_srq_recv failed (ENOMEM: the queue is full)
 */
int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst,
                  size_t offset, size_t len, const void *op_context);

/* --- Endpoints ------------------------------------------------------------ */

/*
 * Listens for connection requests on an address and a port (see 8); shut it
 * down with rpma_ep_shutdown(). With 0.0.0.0 or :: it listens on every device,
 * but only requests that arrive on the peer's own can be taken. With port "0"
 * the system chooses one.
 *
 *   RPMA_E_INVAL     peer, addr, port or ep_ptr is NULL; port is invalid
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  rdma_create_event_channel, rdma_create_id,
 *                    rdma_getaddrinfo, rdma_bind_addr (the address is not of
 *                    this host) or rdma_listen (the port is taken) failed
 */
int rpma_ep_listen(struct rpma_peer *peer, const char *addr, const char *port,
                   struct rpma_ep **ep_ptr);

/*
 * Stops listening. Requests not fetched yet are dropped; requests and
 * connections that came from the endpoint live on. On failure *ep_ptr is
 * unchanged and the endpoint still listens.
 *
 *   RPMA_E_INVAL     ep_ptr is NULL
 *   RPMA_E_PROVIDER  rdma_destroy_id failed
 */
int rpma_ep_shutdown(struct rpma_ep **ep_ptr);

/*
 * Gets the file descriptor (see 4) that is readable while
 * rpma_ep_next_conn_req() has something to fetch.
 *
 *   RPMA_E_INVAL  ep or fd is NULL
 */
int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd);

/*
 * Waits for the next incoming request and prepares its connection as cfg says,
 * which may be NULL. The request ends in rpma_conn_req_connect() (accept) or
 * rpma_conn_req_delete() (refuse). If the connection cannot be prepared, the
 * client is refused and the endpoint goes on listening.
 *
 *   RPMA_E_INVAL     ep or req_ptr is NULL; the event fetched is no connection
 *                    request, and is dropped; cfg asks for a shared completion
 *                    channel together with a shared receive queue that has a
 *                    receive completion queue, and no event is fetched
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_NO_EVENT  no request waits (O_NONBLOCK), or a signal came
 *   RPMA_E_PROVIDER  rdma_get_cm_event, rdma_ack_cm_event,
 *                    rdma_create_event_channel, rdma_migrate_id,
 *                    ibv_create_comp_channel, ibv_create_cq, ibv_req_notify_cq
 *                    or rdma_create_qp_ex failed; the request arrived on
 *                    another device than the peer's
 */
int rpma_ep_next_conn_req(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg,
                          struct rpma_conn_req **req_ptr);

/* --- Connection requests -------------------------------------------------- */

/*
 * Data that travel with a connection request or with its acceptance. Without
 * data ptr is NULL and len is 0. On InfiniBand and RoCE the receiver sees the
 * whole field, padded with zeros, even if nothing was sent; on iWARP it sees
 * what was sent. So carry the length inside, if it matters.
 */
struct rpma_conn_private_data {
  /* The data. Those the library gives are its own: see the getters. */
  void *ptr;
  /*
   * Bytes. On InfiniBand and RoCE at most 56 with a request (92 of the CM's
   * REQ message less 36 for the IP header of IBTA annex A11) and 196 with an
   * acceptance (REP message); elsewhere at most 255.
   */
  uint8_t len;
};

/*
 * Prepares a connection to an address and a port (see 8), with cfg, which may
 * be NULL. Nothing is sent to the other side's program yet. The request ends in
 * rpma_conn_req_connect() or rpma_conn_req_delete(). Blocks while names,
 * address and route are resolved, the latter two for up to the configured
 * timeout each.
 *
 *   RPMA_E_INVAL     peer, addr, port or req_ptr is NULL; port is invalid; cfg
 *                    asks for a shared completion channel together with a
 *                    shared receive queue that has a receive completion queue
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  rdma_getaddrinfo, rdma_create_id, rdma_resolve_addr (no
 *                    RDMA device leads there, or the time was over),
 *                    rdma_resolve_route, ibv_create_comp_channel,
 *                    ibv_create_cq, ibv_req_notify_cq or rdma_create_qp_ex (a
 *                    size is beyond the device's limits, or it is not the
 *                    peer's device) failed
 */
int rpma_conn_req_new(struct rpma_peer *peer, const char *addr,
                      const char *port, const struct rpma_conn_cfg *cfg,
                      struct rpma_conn_req **req_ptr);

/*
 * Deletes a request without connecting. An incoming one is refused: the client
 * gets RPMA_CONN_REJECTED. *req_ptr is NULL afterwards, on failure too; the
 * first error is returned after all has been tried.
 *
 *   RPMA_E_INVAL     req_ptr is NULL
 *   RPMA_E_PROVIDER  destroying the queue pair, ibv_destroy_cq,
 *                    ibv_destroy_comp_channel, rdma_reject (incoming) or
 *                    rdma_destroy_id failed
 */
int rpma_conn_req_delete(struct rpma_conn_req **req_ptr);

/*
 * Posts a receive before the connection exists, so that the first message of
 * the other side finds it. As rpma_recv(), but dst must not be NULL.
 *
 *   RPMA_E_INVAL     req or dst is NULL; the range leaves dst; len exceeds 32
 *                    bits
 *   RPMA_E_PROVIDER  ibv_post_recv failed (ENOMEM: the queue is full); the
 *                    connection has a shared receive queue
 */
int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst,
                       size_t offset, size_t len, const void *op_context);

/*
 * Gets the private data that came with an incoming request; {NULL, 0} if none,
 * and for an outgoing one. The data are valid until the request is deleted or
 * fails to connect; if it connects, until the connection is deleted.
 *
 *   RPMA_E_INVAL  req or pdata is NULL
 */
int rpma_conn_req_get_private_data(const struct rpma_conn_req *req,
                                   struct rpma_conn_private_data *pdata);

/*
 * Sends an outgoing request or accepts an incoming one, with private data for
 * the other side unless pdata is NULL; the data are copied. It does not wait
 * for the other side: whether the connection comes about is told by
 * rpma_conn_next_event(). Delete the connection with rpma_conn_delete().
 *
 * On the connection, a request that the other side does not acknowledge is
 * retried 7 times, one that finds no receive there without limit (retry_count
 * and rnr_retry_count of rdma_connect(3), both 7).
 *
 * The request is consumed: *req_ptr is NULL afterwards, on failure too, unless
 * req_ptr or *req_ptr was NULL. An incoming request that cannot be accepted is
 * refused.
 *
 *   RPMA_E_INVAL     req_ptr, *req_ptr or conn_ptr is NULL; pdata is given and
 *                    its ptr is NULL or its len is 0
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  rdma_connect, rdma_create_event_channel, rdma_migrate_id
 *                    (outgoing), rdma_accept (incoming) or ibv_reg_mr failed;
 *                    so do rdma_connect and rdma_accept if the private data are
 *                    too long
 */
int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
                          const struct rpma_conn_private_data *pdata,
                          struct rpma_conn **conn_ptr);

/* --- Connections ---------------------------------------------------------- */

/* What rpma_conn_next_event() tells of a connection. */
enum rpma_conn_event {
  /* No event; for initializing variables. */
  RPMA_CONN_UNDEFINED = -1,
  /* Both sides may use the connection. */
  RPMA_CONN_ESTABLISHED = 0,
  /*
   * It was disconnected by either side. A second one follows on InfiniBand and
   * RoCE, when the queue pair's number may be used again.
   */
  RPMA_CONN_CLOSED = 1,
  /* It could not be established, or its device was removed. */
  RPMA_CONN_LOST = 2,
  /* The other side refused, or nobody listens there. */
  RPMA_CONN_REJECTED = 3,
  /* The other side did not answer. */
  RPMA_CONN_UNREACHABLE = 4
};

/*
 * Names an event, for messages. Returns a constant string, never NULL, for
 * values outside the enum too.
 */
const char *rpma_utils_conn_event_2str(enum rpma_conn_event conn_event);

/*
 * Waits for the next event of a connection.
 *
 *   RPMA_E_INVAL     conn or event is NULL
 *   RPMA_E_NO_EVENT  no event waits (O_NONBLOCK), or a signal came
 *   RPMA_E_PROVIDER  rdma_get_cm_event or rdma_ack_cm_event failed
 *   RPMA_E_UNKNOWN   an event came that no connection should get; it is dropped
 */
int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event);

/*
 * Gets the file descriptor (see 4) that is readable while
 * rpma_conn_next_event() has something to fetch.
 *
 *   RPMA_E_INVAL  conn or fd is NULL
 */
int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd);

/*
 * Gets the private data that the other side sent: with its request, or with its
 * acceptance, which is there once RPMA_CONN_ESTABLISHED was fetched; not to be
 * called while another thread fetches that. {NULL, 0} if there are none. The
 * data are valid until the connection is deleted.
 *
 *   RPMA_E_INVAL  conn or pdata is NULL
 */
int rpma_conn_get_private_data(const struct rpma_conn *conn,
                               struct rpma_conn_private_data *pdata);

/*
 * Gets the number of the connection's queue pair, the qp_num of its
 * completions: where connections share a receive completion queue, it tells
 * them apart.
 *
 *   RPMA_E_INVAL  conn or qp_num is NULL
 */
int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num);

/*
 * Gets the connection's completion queue. It belongs to the connection and ends
 * with it.
 *
 *   RPMA_E_INVAL  conn or cq_ptr is NULL
 */
int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr);

/*
 * Gets the connection's own receive completion queue; NULL if it has none, also
 * if that of its shared receive queue is used (rpma_srq_get_rcq()). It belongs
 * to the connection and ends with it.
 *
 *   RPMA_E_INVAL  conn or rcq_ptr is NULL
 */
int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr);

/*
 * Gets the file descriptor (see 4) that is readable while rpma_conn_wait() has
 * something to fetch.
 *
 *   RPMA_E_INVAL            conn or fd is NULL
 *   RPMA_E_NOT_SHARED_CHNL  the configuration had no shared completion channel
 */
int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd);

/*
 * Waits until a completion queue of a connection with a shared completion
 * channel has something, and arms it for the next wait. *cq says which queue it
 * is, *is_rcq whether it is the receive completion queue; is_rcq may be NULL.
 * Empty that queue with rpma_cq_get_wc() until RPMA_E_NO_COMPLETION: it may
 * hold several completions, or none. flags is reserved, pass 0.
 *
 *   RPMA_E_INVAL            conn or cq is NULL
 *   RPMA_E_NO_COMPLETION    nothing waits (O_NONBLOCK), or a signal came;
 *                           ibv_get_cq_event failed otherwise, which is logged
 *   RPMA_E_NOT_SHARED_CHNL  the configuration had no shared completion channel
 *   RPMA_E_PROVIDER         ibv_req_notify_cq failed
 *   RPMA_E_UNKNOWN          a queue that is not of this connection has
 *                           something; its event is dropped
 */
int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq,
                   bool *is_rcq);

/*
 * Applies what the other side says of itself to the flushes that are posted on
 * this connection from now on. The values are copied.
 *
 *   RPMA_E_INVAL  conn or pcfg is NULL
 */
int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn,
                                    const struct rpma_peer_cfg *pcfg);

/*
 * Starts to disconnect; RPMA_CONN_CLOSED tells when it is done, on InfiniBand
 * and RoCE once the other side has disconnected as well or stays silent. Own
 * requests that wait complete with IBV_WC_WR_FLUSH_ERR at once. The other side
 * gets RPMA_CONN_CLOSED and should disconnect too. Also allowed after
 * RPMA_CONN_CLOSED, and more than once.
 *
 *   RPMA_E_INVAL     conn is NULL
 *   RPMA_E_PROVIDER  rdma_disconnect failed
 */
int rpma_conn_disconnect(struct rpma_conn *conn);

/*
 * Deletes a connection with its completion queues and private data. It may
 * still be connected: then the other side gets RPMA_CONN_CLOSED. Events and
 * completions not fetched are dropped. *conn_ptr is NULL afterwards, on failure
 * too; the first error is returned after all has been tried.
 *
 *   RPMA_E_INVAL     conn_ptr is NULL
 *   RPMA_E_PROVIDER  ibv_dereg_mr, destroying the queue pair, ibv_destroy_cq,
 *                    rdma_destroy_id or ibv_destroy_comp_channel failed
 */
int rpma_conn_delete(struct rpma_conn **conn_ptr);

/* --- Operations ----------------------------------------------------------- */

/*
 * The flags of an operation: whether it yields a completion (see 5) only if it
 * fails, or in any case. One of them must be given.
 */
#define RPMA_F_COMPLETION_ON_ERROR (1 << 0)
#define RPMA_F_COMPLETION_ALWAYS ((1 << 1) | RPMA_F_COMPLETION_ON_ERROR)

/* What rpma_atomic_write() wants its destination aligned to, in bytes. */
#define RPMA_ATOMIC_WRITE_ALIGNMENT 8

/* Kept for old programs; no function takes it. */
#define RPMA_W_WAIT_FOR_COMPLETION (1 << 0)

/* What a flush achieves (see 6). */
enum rpma_flush_type {
  RPMA_FLUSH_TYPE_PERSISTENT = 0,
  RPMA_FLUSH_TYPE_VISIBILITY = 1
};

/*
 * Common to the operations below. They post a request and return; they neither
 * wait nor allocate. op_context, which may be NULL, becomes the wr_id of the
 * completion. Offsets and lengths are in bytes; ranges must lie within their
 * regions. A length above 32 bits is RPMA_E_INVAL, except that of a flush; one
 * beyond what the device can move at once fails when posted or as
 * IBV_WC_LOC_LEN_ERR. ibv_post_send and ibv_post_recv fail with ENOMEM if the
 * queue is full, with other values if the connection is in no state to use.
 */

/*
 * Reads len bytes of the other side's src into dst. For a read of no bytes that
 * touches no memory both regions are NULL and offsets and len 0. The completion
 * has opcode IBV_WC_RDMA_READ.
 *
 *   RPMA_E_INVAL     conn is NULL; flags is 0; dst or src is NULL, except as
 *                    above; a range leaves its region; len exceeds 32 bits
 *   RPMA_E_PROVIDER  ibv_post_send failed
 */
int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst,
              size_t dst_offset, const struct rpma_mr_remote *src,
              size_t src_offset, size_t len, int flags, const void *op_context);

/*
 * Writes len bytes of src to the other side's dst. For a write of no bytes that
 * touches no memory both regions are NULL and offsets and len 0. Nothing tells
 * the other side. The completion has opcode IBV_WC_RDMA_WRITE.
 *
 *   RPMA_E_INVAL     conn is NULL; flags is 0; dst or src is NULL, except as
 *                    above; a range leaves its region; len exceeds 32 bits
 *   RPMA_E_PROVIDER  ibv_post_send failed
 */
int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst,
               size_t dst_offset, const struct rpma_mr_local *src,
               size_t src_offset, size_t len, int flags,
               const void *op_context);

/*
 * As rpma_write(), and consumes a receive of the other side, whose completion
 * has opcode IBV_WC_RECV_RDMA_WITH_IMM and imm_data htonl(imm). The buffer of
 * that receive stays as it is.
 *
 *   RPMA_E_INVAL     as rpma_write()
 *   RPMA_E_PROVIDER  ibv_post_send failed, always so on iWARP
 */
int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst,
                        size_t dst_offset, const struct rpma_mr_local *src,
                        size_t src_offset, size_t len, int flags, uint32_t imm,
                        const void *op_context);

/*
 * Writes the 8 bytes at src to the other side's dst so that every reader there
 * sees either the old or the new 8 bytes, never a mixture. It takes effect
 * after the flushes posted before it have done their work, so it can commit
 * what they made persistent. src need not be registered and may be reused on
 * return. The completion has opcode IBV_WC_RDMA_WRITE, or IBV_WC_ATOMIC_WRITE
 * where the device has that operation.
 *
 *   RPMA_E_INVAL     conn, dst or src is NULL; flags is 0; dst_offset, or the
 *                    address it leads to, is no multiple of
 *                    RPMA_ATOMIC_WRITE_ALIGNMENT; the range leaves dst
 *   RPMA_E_PROVIDER  ibv_post_send (or ibv_wr_complete) failed
 */
int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst,
                      size_t dst_offset, const char src[8], int flags,
                      const void *op_context);

/*
 * Flushes len bytes of the other side's dst (see 6): when it completes, what
 * this connection wrote there before is visible or persistent, as type says. A
 * range that runs past the end of dst is cut there, with a warning in the log
 * once a connection; len may be 0. The completion has opcode IBV_WC_RDMA_READ,
 * or IBV_WC_FLUSH if the native request was used.
 *
 *   RPMA_E_INVAL     conn or dst is NULL; type is not in the enum; flags is 0;
 *                    dst_offset is beyond the region
 *   RPMA_E_NOSUPP    type is RPMA_FLUSH_TYPE_PERSISTENT and no peer
 *                    configuration with direct write to pmem was applied; dst
 *                    was not registered with the usage of this type
 *   RPMA_E_PROVIDER  ibv_post_send (or ibv_wr_complete) failed
 */
int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst,
               size_t dst_offset, size_t len, enum rpma_flush_type type,
               int flags, const void *op_context);

/*
 * Sends len bytes of src as a message, which consumes a receive of the other
 * side and must fit into it. If none is posted there, it waits for one (on
 * iWARP the connection ends). For an empty message src may be NULL, with offset
 * and len 0. The completion has opcode IBV_WC_SEND.
 *
 *   RPMA_E_INVAL     conn is NULL; flags is 0; src is NULL while offset or len
 *                    is not 0; the range leaves src; len exceeds 32 bits
 *   RPMA_E_PROVIDER  ibv_post_send failed
 */
int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src,
              size_t offset, size_t len, int flags, const void *op_context);

/*
 * As rpma_send(); the completion of the receive has IBV_WC_WITH_IMM in its
 * wc_flags and imm_data htonl(imm).
 *
 *   RPMA_E_INVAL     as rpma_send()
 *   RPMA_E_PROVIDER  ibv_post_send failed
 */
int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src,
                       size_t offset, size_t len, int flags, uint32_t imm,
                       const void *op_context);

/*
 * Posts a receive: a message of up to len bytes will be stored in dst. Receives
 * are consumed in the order posted. For empty messages, and for
 * rpma_write_with_imm(), dst may be NULL, with offset and len 0. The completion
 * has opcode IBV_WC_RECV or IBV_WC_RECV_RDMA_WITH_IMM.
 *
 *   RPMA_E_INVAL     conn is NULL; dst is NULL while offset or len is not 0;
 *                    the range leaves dst; len exceeds 32 bits
 *   RPMA_E_PROVIDER  ibv_post_recv failed; the connection has a shared receive
 *                    queue: use rpma_srq_recv()
 */
int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset,
              size_t len, const void *op_context);

/* --- Completion queues ---------------------------------------------------- */

/*
 * Waits until the queue has something, and arms it for the next wait. Then
 * empty it with rpma_cq_get_wc() until RPMA_E_NO_COMPLETION: it may hold
 * several completions, or none, and one that is left in it ends no later wait.
 *
 *   RPMA_E_INVAL           cq is NULL
 *   RPMA_E_NO_COMPLETION   nothing waits (O_NONBLOCK), or a signal came;
 *                          ibv_get_cq_event failed otherwise, which is logged
 *   RPMA_E_PROVIDER        ibv_req_notify_cq failed
 *   RPMA_E_SHARED_CHANNEL  the queue has a shared completion channel
 */
int rpma_cq_wait(struct rpma_cq *cq);

/*
 * Fetches up to num_entries completions into wc[], which has room for that many
 * (see 5 for their fields), and sets *num_entries_got to how many there were;
 * that pointer may be NULL if num_entries is 1. Never blocks.
 *
 *   RPMA_E_INVAL          cq or wc is NULL; num_entries is below 1;
 *                         num_entries_got is NULL and num_entries above 1
 *   RPMA_E_NO_COMPLETION  the queue is empty
 *   RPMA_E_PROVIDER       ibv_poll_cq failed
 *   RPMA_E_UNKNOWN        ibv_poll_cq claims more than num_entries
 */
int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc,
                   int *num_entries_got);

/*
 * Gets the file descriptor (see 4) that is readable while rpma_cq_wait() has
 * something to fetch; with a shared completion channel, that of the channel.
 *
 *   RPMA_E_INVAL  cq or fd is NULL
 */
int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd);

#ifdef __cplusplus
}
#endif

#endif /* LIBRPMA_H */
