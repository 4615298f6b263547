/* SPDX-License-Identifier: BSD-3-Clause */
/* librpma_emu: control of the emulated RDMA network under librpma. */

#ifndef LIBRPMA_EMU_H
#define LIBRPMA_EMU_H 1

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A fabric is a network of RDMA devices in software. All that librpma does on
 * one of its devices stays in it. A program needs none of the functions below
 * to run on the emulator: with RPMA_TRANSPORT=emulator in the environment
 * librpma uses the default fabric, which is created when it is first needed,
 * with the options in the environment variable RPMA_EMU.
 *
 * The default fabrics of a user's processes are one network: what listens in
 * one of them is reached from the others, at the addresses of this host. A
 * fabric that a program creates is in its process only, unless the option
 * fabric gives it a name. Processes meet in a folder that only their user may
 * have access to; if it cannot be had, the log says why at level ERROR, and the
 * fabric is in its process only. A process that exits or is killed leaves its
 * peers as one on a device does: connections end in RPMA_CONN_CLOSED, or in
 * RPMA_CONN_REJECTED or RPMA_CONN_LOST before it has seen them established. One
 * that is stopped says nothing: after 2 seconds (on iWARP 4) requests to it end
 * as if the network were gone. What a plan of faults says, and devices and
 * addresses that are added, are of the process that says so.
 *
 *
 * 1. Devices and addresses
 *
 * A new fabric has one device, "emu0", which owns the loopback addresses and
 * every address of this host. rpma_emu_device_add() adds devices,
 * rpma_emu_address_add() gives them addresses. A connection leaves through the
 * device that owns its destination, unless rpma_emu_route_add() names another
 * one. An address with a route and no owner is a host that never answers:
 * connecting there ends in RPMA_CONN_UNREACHABLE.
 *
 *
 * 2. Options
 *
 * A text "name=value ...", separated by spaces or commas; NULL or "" changes
 * nothing. An unknown name, a name given twice and a value out of range are
 * refused, and the log says what is allowed. Of a fabric:
 *
 *   timers=inline|hardware   inline, the default: time-outs last a thousandth
 *                            of what they last on hardware
 *   strict_devices=on|off    on: no device owns the loopback addresses, as in a
 *                            host without RDMA on them (default off)
 *   empty_channel_errno=EAGAIN|ENODATA
 *                            what an empty non-blocking event channel gives
 *                            (default EAGAIN, as the kernel does)
 *   schedule=inline|stepped  inline, the default: requests execute in the call
 *                            that posts them; stepped: see section 4
 *   seed=N                   0 to 18446744073709551615, of a stepped fabric:
 *                            chooses among the orders of events (default 0)
 *   trace=PATH               of a stepped fabric: a file that its history is
 *                            written to, line by line
 *   fabric=NAME|private      the fabrics of this name, of the processes of one
 *                            user, are one network; private: this one is in its
 *                            process only, as stepped ones are (default of the
 *                            default fabric: default; of others: private)
 *   dir=PATH                 the directory in which processes find fabrics that
 *                            have a name (default /tmp/rpma-emu-UID)
 *
 * Of a device (a fabric's text may hold those of its first device, too):
 *
 *   profile=roce|ib|iwarp    the kind of provider it behaves like (default
 *                            roce); the other options change parts of it
 *   max_qp, max_qp_wr, max_sge, max_sge_rd, max_inline_data, max_cq, max_cqe,
 *   max_mr, max_mr_size, max_pd, max_srq, max_srq_wr, max_qp_rd_atom,
 *   max_qp_init_rd_atom, max_msg_sz
 *                            limits, named as in ibv_device_attr, ibv_qp_cap
 *                            and ibv_port_attr
 *   cq_overrun=error|drop    a completion queue that overruns fails, with its
 *                            queue pairs, or loses completions silently
 *   cq_rounding=exact|pow2   whether completion queues get larger than asked
 *   reads=posted|late        when a READ takes effect: in posting order, or as
 *                            late as the specification allows
 *   rnr_retry=N              0 to 7: receiver-not-ready retries, in place of
 *                            the "for ever" of librpma's connections
 *   pinning=on|off           off: memory cannot be pinned, as that of files on
 *                            DAX file systems, and registering it needs
 *                            on-demand paging (default on)
 *   memlock_limit=BYTES      what regions may lock, in whole pages, as by
 *                            RLIMIT_MEMLOCK (default no limit)
 *   on_demand_paging, advise_mr, native_atomic_write, native_flush,
 *   write_with_imm = on|off  what the device can do
 *
 *
 * 3. Faults
 *
 * A plan of faults is a text of rules, each on a line of its own or separated
 * by ";", which say what is to go wrong, and when:
 *
 *   fail ibv_reg_mr nth=3 errno=ENOMEM     the third registration fails
 *   fail any from=100                      from the 100th provider call on, all
 *                                          calls fail
 *   complete write status=REM_ACCESS_ERR   the first WRITE ends with an error
 *   drop send nth=5                        the fifth try of a SEND is lost
 *   power device=emu1 nth=40               a node fails before the 40th message
 *
 * docs/fault-plans.md describes the language. rpma_emu_set_faults() sets the
 * plan of a fabric. A program that knows nothing of the emulator runs under the
 * plan in the file that the environment variable RPMA_EMU_FAULTS names: that of
 * the default fabric, set when the fabric is created. When the program exits,
 * one warning is logged for each of its rules that has not fired.
 *
 *
 * 4. Stepped fabrics
 *
 * With schedule=stepped nothing moves by itself. One step executes one request
 * of a queue pair, delivers one message of the connection manager or, if there
 * is neither, lets a timer expire, to which the fabric's own clock jumps: no
 * time-out takes any time. The seed decides which of all that can move does, in
 * every order that the specification allows. A program that does the same on
 * the same seed gets the same history, in every process and on every machine;
 * rpma_emu_get_trace_hash() tells histories apart.
 *
 * Steps are made by calls that wait, rpma_cq_wait(), rpma_conn_wait(),
 * rpma_conn_next_event(), rpma_ep_next_conn_req() and those that delete what
 * has events which were not acknowledged, until what they wait for is there.
 * On a non-blocking descriptor they make one step, and so does rpma_cq_get_wc()
 * that finds no completion. rpma_emu_step() makes one for a program that sleeps
 * in poll(2) or the like, which moves nothing.
 *
 * If nothing can move any more, or nothing but receiver-not-ready retries for a
 * thousand times, the call that waits fails with RPMA_E_PROVIDER, and the log
 * says at level FATAL what every thread and every object waits for.
 *
 * Threads that use the fabric at a time are to be attached. The fabric moves
 * only while all of them are in such a call, and only then can it be found
 * dead; afterwards one of them goes on, which the seed decides. So one that
 * blocks anywhere else, on a lock or in pthread_join(3), detaches before; and
 * from the moment that all have made their first such call they run one at a
 * time. No thread attached: whoever calls is alone.
 *
 *
 * 5. Results and threads
 *
 * As in librpma.h: 0 or a negative RPMA_E_* code, one log message for each
 * failure, out-parameters untouched on failure. Every function may be called
 * from any thread; a fabric must not be deleted or reset while another thread
 * uses it. Where a fabric is taken, NULL means the default fabric; calls that
 * take one and find the default fabric missing create it, which may fail as
 * rpma_emu_fabric_new() does, with RPMA_E_INVAL if RPMA_EMU is wrong, or the
 * plan that RPMA_EMU_FAULTS names is wrong or cannot be read.
 *
 * A child of fork(2) must not use a fabric of its parent, nor anything on it:
 * what it has is a copy without timers, which reaches no other process, hears
 * of nothing that happens to its parent, and does nothing to its parent or to
 * the peers of that. It may create fabrics of its own.
 */

/* A network of emulated devices. Ended by rpma_emu_fabric_delete(). */
struct rpma_emu_fabric;

/*
 * Creates a fabric with the given options.
 *
 *   RPMA_E_INVAL     fabric_ptr is NULL; the options are wrong
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  the addresses of this host could not be listed, the trace
 *                    could not be written, or no descriptor was left
 */
int rpma_emu_fabric_new(const char *options,
                        struct rpma_emu_fabric **fabric_ptr);

/*
 * Deletes a fabric with its devices and sets *fabric_ptr to NULL; every
 * ibv_context of it becomes invalid. If it was selected, no fabric is selected
 * any more. 0 at once if *fabric_ptr is NULL.
 *
 *   RPMA_E_INVAL     fabric_ptr is NULL; objects of librpma still live on the
 *                    fabric (the log counts them); *fabric_ptr is untouched
 */
int rpma_emu_fabric_delete(struct rpma_emu_fabric **fabric_ptr);

/*
 * Makes the fabric as good as new, with the given options: devices, addresses
 * and routes that were added are gone, as is the plan of faults, and every
 * ibv_context of it is invalid. It has no name but that of the options.
 *
 *   RPMA_E_INVAL     objects of librpma still live on the fabric (the log
 *                    counts them); the options are wrong. It is unchanged
 *   RPMA_E_NOMEM, RPMA_E_PROVIDER
 *                    as for rpma_emu_fabric_new(); it is unchanged
 */
int rpma_emu_fabric_reset(struct rpma_emu_fabric *fabric, const char *options);

/*
 * From now on rpma_utils_get_ibv_context() finds devices of this fabric,
 * whatever RPMA_TRANSPORT says. Objects that exist stay where they are.
 *
 *   RPMA_E_INVAL, RPMA_E_NOMEM, RPMA_E_PROVIDER
 *                    only for NULL: the default fabric could not be created
 */
int rpma_emu_fabric_select(struct rpma_emu_fabric *fabric);

/*
 * Adds a device. It owns no address yet.
 *
 *   RPMA_E_INVAL     name is NULL, empty or taken; the options are wrong; the
 *                    fabric has 256 devices already
 *   RPMA_E_NOMEM     out of memory
 *   RPMA_E_PROVIDER  no descriptor was left
 */
int rpma_emu_device_add(struct rpma_emu_fabric *fabric, const char *name,
                        const char *options);

/*
 * Gives an address to a device; it is taken from the device that owned it.
 *
 *   RPMA_E_INVAL     address is NULL or no numeric IPv4 or IPv6 address; device
 *                    is NULL or no device of the fabric
 *   RPMA_E_NOMEM     out of memory
 */
int rpma_emu_address_add(struct rpma_emu_fabric *fabric, const char *address,
                         const char *device);

/*
 * Sends connections to an address through a device; replaces an earlier route.
 *
 *   RPMA_E_INVAL, RPMA_E_NOMEM
 *                    as for rpma_emu_address_add()
 */
int rpma_emu_route_add(struct rpma_emu_fabric *fabric, const char *address,
                       const char *device);

/* How many objects live on a fabric. */
struct rpma_emu_census {
  uint32_t pds;
  uint32_t mrs;
  uint32_t comp_channels;
  uint32_t cqs;
  uint32_t srqs;
  uint32_t qps;
  uint32_t cm_ids;
  uint32_t event_channels;
  uint32_t unacked_events; /* CM events fetched and not acknowledged */
};

/*
 * Counts the objects that live on the fabric.
 *
 *   RPMA_E_INVAL     census is NULL
 */
int rpma_emu_get_census(const struct rpma_emu_fabric *fabric,
                        struct rpma_emu_census *census);

/*
 * Writes one English sentence on why the last error completion of a queue pair
 * arose; an empty string if there was none. The queue pair is named by the
 * qp_num of the completion or of rpma_conn_get_qp_num(), and must still exist.
 * The text is cut to size bytes, the terminating NUL included.
 *
 *   RPMA_E_INVAL     text is NULL; size is 0; no queue pair of the fabric has
 *                    this number
 */
int rpma_emu_explain(struct rpma_emu_fabric *fabric, uint32_t qp_num,
                     char *text, size_t size);

/*
 * Takes the oldest asynchronous event of a device: ibv_get_async_event(3),
 * which cannot reach an emulated device. Does not block; the async_fd of the
 * device's ibv_context is readable while events wait. The event needs no
 * acknowledgement.
 *
 *   RPMA_E_INVAL     context is no device of the fabric; event is NULL
 *   RPMA_E_NO_EVENT  none waits; nothing is logged
 */
int rpma_emu_get_async_event(struct rpma_emu_fabric *fabric,
                             struct ibv_context *context,
                             struct ibv_async_event *event);

/*
 * Replaces the plan of faults of the fabric; all counts start at 0. NULL: there
 * is no plan any more, and nothing is counted. "" is a plan without rules: what
 * happens is counted only. The text is not needed afterwards.
 *
 * Other threads may use the fabric meanwhile. What they do at that moment
 * follows the old plan or the new one.
 *
 *   RPMA_E_INVAL     the plan is wrong; the log says in which line and column,
 *                    and what is allowed. The old plan stays
 *   RPMA_E_NOMEM     out of memory; the old plan stays
 */
int rpma_emu_set_faults(struct rpma_emu_fabric *fabric, const char *plan);

/* What has happened on a fabric since its plan was set; see docs/fault-plans.md
 * for what counts as one. */
struct rpma_emu_fault_counts {
  uint64_t calls;       /* provider calls that can fail */
  uint64_t requests;    /* tries of work requests */
  uint64_t messages;    /* transmissions of CM messages */
  uint64_t events;      /* CM events */
  uint64_t completions; /* of work requests and receives */
  uint64_t fired;       /* faults, over all rules */
};

/*
 * Counts what has happened since the plan was set; all 0 without a plan.
 *
 *   RPMA_E_INVAL     counts is NULL
 */
int rpma_emu_get_fault_counts(struct rpma_emu_fabric *fabric,
                              struct rpma_emu_fault_counts *counts);

/*
 * Tells how often a rule has fired, by its number in the plan, from 0.
 *
 *   RPMA_E_INVAL     fired is NULL; the plan has no such rule, or there is none
 */
int rpma_emu_get_fired(struct rpma_emu_fabric *fabric, size_t rule,
                       uint64_t *fired);

/*
 * Does something to a device at once: "link device=D state=down|up [time=T]",
 * "exit device=D", "power device=D" or "remove device=D", as in a plan, but
 * whether or not there is one. It is not counted, and no rule fires.
 *
 *   RPMA_E_INVAL     action is NULL, none of these, or names no device of the
 *                    fabric
 *   RPMA_E_NOMEM     out of memory
 */
int rpma_emu_inject(struct rpma_emu_fabric *fabric, const char *action);

/*
 * Destroys what has outlived the program's handles. Where a provider call that
 * destroys an object fails because of a plan, as in rpma_conn_delete(), the
 * object stays alive, and so does what it uses, but librpma gives its handle
 * up. For a program that goes on with another plan, or deletes the fabric.
 *
 * First delete again what a failing rpma_mr_dereg() or rpma_ep_shutdown() left
 * the handle of. A peer can be deleted only afterwards.
 *
 *   RPMA_E_INVAL     something is in use by what the program still has; it
 *                    stays
 */
int rpma_emu_reclaim(struct rpma_emu_fabric *fabric);

/*
 * The same for a program that has ended: also destroys the peers, regions and
 * endpoints that it failed to delete, whose handles must not be used any more.
 * What rpma_emu_get_census() counts afterwards it never tried to delete.
 *
 *   RPMA_E_INVAL     as for rpma_emu_reclaim()
 */
int rpma_emu_reclaim_all(struct rpma_emu_fabric *fabric);

/*
 * Makes one step of a stepped fabric. In a function that the log calls during a
 * step it makes none.
 *
 *   RPMA_E_INVAL     the fabric is not stepped
 *   RPMA_E_NO_EVENT  nothing can move; nothing is logged
 */
int rpma_emu_step(struct rpma_emu_fabric *fabric);

/*
 * Gives a number that stands for all that has happened on a stepped fabric so
 * far, in its order.
 *
 *   RPMA_E_INVAL     hash is NULL; the fabric is not stepped
 */
int rpma_emu_get_trace_hash(struct rpma_emu_fabric *fabric, uint64_t *hash);

/*
 * The calling thread takes part in what a stepped fabric does from now on, or
 * no longer does. It has to detach before it ends. If the fabric is not stepped
 * they do nothing.
 *
 *   RPMA_E_INVAL     the thread is attached already, or is not
 *   RPMA_E_NOMEM     out of memory
 */
int rpma_emu_thread_attach(struct rpma_emu_fabric *fabric);
int rpma_emu_thread_detach(struct rpma_emu_fabric *fabric);

#ifdef __cplusplus
}
#endif

#endif /* LIBRPMA_EMU_H */
