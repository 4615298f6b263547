#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects that a change of the core could bring: clean-up calls and error checks that are missing.

Each replaces a text that occurs once in its file, and the result compiles.
"""
import collections

Mutation = collections.namedtuple("Mutation", "file what text replacement")

MUTATIONS = (
    # --- Clean-up
    Mutation(
        "core/connection_end.cc", "the queue pair's receive CQ is not closed",
        "Rc rc = rcq_ ? rcq_->Close() : Rc::kOk;",
        "Rc rc = Rc::kOk;"),
    Mutation(
        "core/connection_end.cc", "the CQ is not closed",
        "  if (cq_) rc = FirstError(rc, cq_->Close());\n",
        ""),
    Mutation(
        "core/connection_end.cc", "the id is not closed",
        "  rc = FirstError(rc, id_.Close());\n",
        ""),
    Mutation(
        "core/connection_end.cc", "the shared channel is not destroyed",
        "  rc = FirstError(rc, shared_channel_.DestroyOrAbandon());\n",
        ""),
    Mutation(
        "core/connection.cc", "the buffer of flushes stays registered",
        "const Rc flusher = flusher_.Close();",
        "const Rc flusher = Rc::kOk;"),
    Mutation(
        "core/connection.cc", "a buffer that the device may write to is reused",
        "  if (flusher != Rc::kOk && queue_pair != Rc::kOk) flusher_.AbandonBuffer();\n",
        ""),
    Mutation(
        "core/connection.cc", "an event of the shared channel is not acknowledged",
        "  transport_.AckCqEvents(source, 1);\n",
        ""),
    Mutation(
        "core/completion_queue.cc", "an event of a CQ is not acknowledged",
        "  transport_->AckCqEvents(cq, 1);\n",
        ""),
    Mutation(
        "core/completion_queue.cc", "the channel of a CQ is not destroyed",
        "return FirstError(rc, own_channel_.DestroyOrAbandon());",
        "return rc;"),
    Mutation(
        "core/cm_id.cc", "a request that ends is not refused",
        "if (id_ && role_ == Role::kPassive && !answered_) {",
        "if (id_ && role_ == Role::kPassive && answered_) {"),
    Mutation(
        "core/endpoint.cc", "an endpoint that cannot be shut down is lost",
        "const Rc rc = id_.Destroy();",
        "const Rc rc = id_.DestroyOrAbandon();"),
    Mutation(
        "core/shared_receive_queue.cc", "the SRQ's receive CQ is not closed",
        "const Rc rc = rcq_ ? rcq_->Close() : Rc::kOk;",
        "const Rc rc = Rc::kOk;"),
    Mutation(
        "core/owned.h", "what goes out of scope is not destroyed",
        "  ~Owned() { (void)DestroyOrAbandon(); }\n",
        "  ~Owned() = default;\n"),

    # --- Error checks
    Mutation(
        "core/connection.cc", "a failed acknowledgement of an event is ignored",
        "  rc = cm_event.Destroy();\n  if (rc != Rc::kOk) return rc;\n",
        "  rc = cm_event.Destroy();\n"),
    Mutation(
        "core/connection.cc", "a connection that has no channel of its own goes on",
        "  if (rc != Rc::kOk) return rc;\n  rc = connection->flusher_.Register(",
        "  rc = connection->flusher_.Register("),
    Mutation(
        "core/connection.cc", "an event of an unknown CQ is taken for one's own",
        "    if (queue == nullptr || queue->get() != source) continue;\n",
        "    if (queue == nullptr) continue;\n"),
    Mutation(
        "core/connection.cc", "a shared channel that cannot be armed again is not told of",
        "  if (armed != Rc::kOk) return armed;\n",
        "  (void)armed;\n"),
    Mutation(
        "core/completion_queue.cc", "a CQ that could not be armed again stays so",
        "  unarmed_.store(error != Errno::kOk, std::memory_order_relaxed);\n",
        ""),
    Mutation(
        "core/connection.cc", "a failed disconnect is ignored",
        "const Errno error = transport_.Disconnect(end_->id().get());",
        "(void)transport_.Disconnect(end_->id().get());\n  const Errno error = Errno::kOk;"),
    Mutation(
        "core/completion_queue.cc", "a new CQ that cannot be armed is used",
        "  if (rc == Rc::kOk) out->emplace(std::move(queue));\n  return rc;\n",
        "  (void)rc;\n  out->emplace(std::move(queue));\n  return Rc::kOk;\n"),
    Mutation(
        "core/completion_queue.cc", "a failed wait is taken for a completion",
        "  const Rc rc = NextCqEvent(*transport_, channel_, &cq);\n  if (rc != Rc::kOk) return rc;\n",
        "  const Rc rc = NextCqEvent(*transport_, channel_, &cq);\n"
        "  if (rc != Rc::kOk) return Rc::kOk;\n"),
    Mutation(
        "core/connection_request.cc", "an unacknowledged request is accepted",
        "  Rc rc = event.Destroy();\n  if (rc != Rc::kOk) return rc;\n",
        "  Rc rc = event.Destroy();\n"),
    Mutation(
        "core/connection_request.cc", "a request stays on the channel of its endpoint",
        "  rc = end.MoveToOwnChannel();\n  if (rc != Rc::kOk) return rc;\n",
        "  rc = end.MoveToOwnChannel();\n"),
    Mutation(
        "core/connection_request.cc", "a route that cannot be resolved is used",
        "  rc = ResolveRoute(transport, id.get(), address, timeout_ms);\n"
        "  if (rc != Rc::kOk) return rc;\n",
        "  rc = ResolveRoute(transport, id.get(), address, timeout_ms);\n"),
    Mutation(
        "core/connection_request.cc", "a queue pair that is not destroyed is not told of",
        "const Rc rc = end_->CloseQueuePair();",
        "(void)end_->CloseQueuePair();\n  const Rc rc = Rc::kOk;"),
    Mutation(
        "core/endpoint.cc", "an endpoint that cannot listen is given out",
        "             log::Reason(error));\n    return Rc::kProvider;\n",
        "             log::Reason(error));\n"),
    Mutation(
        "core/device.cc", "the id that found a device is not destroyed, and nobody is told",
        "  if (rc == Rc::kOk) *context = found;\n  return rc;\n",
        "  *context = found;\n  return Rc::kOk;\n"),
    Mutation(
        "core/connection_io.cc", "a request that was not posted is taken for posted",
        "return PostFailure(\"ibv_post_send\", operation, length, peer_.caps(), error);",
        "(void)PostFailure(\"ibv_post_send\", operation, length, peer_.caps(), error);"),
    Mutation(
        "core/peer.cc", "the limits of a device are unknown",
        "  if (rc != Rc::kOk) return rc;\n\n  ibv_pd* pd = nullptr;",
        "  (void)rc;\n\n  ibv_pd* pd = nullptr;"),
)
