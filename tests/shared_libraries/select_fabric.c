/* SPDX-License-Identifier: BSD-3-Clause */
/* Links librpma_emu.so.0 itself, and prints the name of a device on a fabric of
 * its own. */
#include <librpma.h>
#include <librpma_emu.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  struct rpma_emu_fabric *fabric = NULL;
  struct ibv_context *device = NULL;
  rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING);
  if (rpma_emu_fabric_new(NULL, &fabric) != 0 ||
      rpma_emu_fabric_select(fabric) != 0 ||
      rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                 &device) != 0) {
    return EXIT_FAILURE;
  }
  puts(device->device->name);
  return rpma_emu_fabric_delete(&fabric) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
