/* SPDX-License-Identifier: BSD-3-Clause */
/* What the check is tried on: rpma_in_a_comment(1) is no function. */
#ifndef RPMA_TESTS_CALLED_FUNCTIONS_EXAMPLE_H_
#define RPMA_TESTS_CALLED_FUNCTIONS_EXAMPLE_H_

#define RPMA_TWICE(x) rpma_of_a_macro(x) + rpma_of_a_macro(x)

typedef void rpma_of_a_typedef(int level, ...);

struct rpma_struct {
  int member;
};

int rpma_called(void); /* of which rpma_trailing(2) is part */

int rpma_address_taken(void);

const char *rpma_split(int first, struct rpma_struct *second);

#endif /* RPMA_TESTS_CALLED_FUNCTIONS_EXAMPLE_H_ */
