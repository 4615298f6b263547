/* SPDX-License-Identifier: BSD-3-Clause */
/* What a C compiler makes of a librpma.h: once for ours, once for Debian's. */
#ifndef RPMA_TESTS_ABI_ABI_TABLE_H_
#define RPMA_TESTS_ABI_ABI_TABLE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct AbiConstant {
  const char *name;
  long long value;
  long long documented; /* as in constants.tsv */
};

struct AbiLayout {
  const char *expression; /* a sizeof or an offsetof */
  size_t value;
};

struct AbiFunction {
  const char *name;
  void (*address)(void);
};

struct AbiTable {
  const struct AbiConstant *constants;
  size_t constant_count;
  const struct AbiLayout *layouts;
  size_t layout_count;
  const struct AbiFunction *functions;
  size_t function_count;
};

/* By api/librpma.h. */
extern const struct AbiTable abi_of_this_header;

/* By the librpma.h of Debian's librpma-dev; empty on a machine without it. */
extern const struct AbiTable abi_of_debian_header;

#ifdef __cplusplus
}
#endif

#endif /* RPMA_TESTS_ABI_ABI_TABLE_H_ */
