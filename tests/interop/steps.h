/* SPDX-License-Identifier: BSD-3-Clause */
/* What two sides do together. Both call these, each with its own side. */

#ifndef RPMA_TESTS_INTEROP_STEPS_H_
#define RPMA_TESTS_INTEROP_STEPS_H_

#include <stddef.h>

#include "side.h"

/* Every operation, initiated by the one side and then by the other. */
void operations(struct side *s);

/* A write and a message, initiated by the one side and then by the other. */
void conversation(struct side *s, const char *variant);

/* Connections of every kind, and on one of them every operation. */
void connections(struct side *s);

/*
 * Writes what this side tells of its memory to descriptor; gives its size in
 * bytes. The other applies it to s->conn.
 */
size_t describe_peer(const struct side *s, bool direct_write, char *descriptor);
void apply_peer(const struct side *s, bool direct_write, const char *descriptor,
                size_t size);

#endif /* RPMA_TESTS_INTEROP_STEPS_H_ */
