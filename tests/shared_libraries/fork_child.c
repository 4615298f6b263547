/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks after it has used librpma: the child uses it too, and both return from
 * main(). Prints the names of both devices. */
#define _POSIX_C_SOURCE 200112L
#include <librpma.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_device(const char *who) {
  struct ibv_context *device = NULL;
  const int ret = rpma_utils_get_ibv_context(
      "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &device);
  printf("%s: %s\n", who, ret == 0 ? device->device->name : rpma_err_2str(ret));
  fflush(stdout);
}

int main(void) {
  int status = 0;
  print_device("parent");
  const pid_t child = fork();
  if (child == 0) {
    print_device("child");
    return EXIT_SUCCESS;
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  print_device("parent");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? EXIT_SUCCESS
                                                       : EXIT_FAILURE;
}
