/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the name of the device behind the loopback address, with the transport
 * that the environment asks for; twice, as a first failure may leave a trace.
 */
#include <librpma.h>
#include <stdio.h>
#include <stdlib.h>

static int find_device(void) {
  struct ibv_context *device = NULL;
  int ret = rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                       &device);
  if (ret == 0) {
    puts(device->device->name);
  } else {
    fprintf(stderr, "%s\n", rpma_err_2str(ret));
  }
  return ret;
}

int main(void) {
  rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING);
  const int first = find_device();
  const int second = find_device();
  return first == 0 && second == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
