/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens librpma.so.0 by name, uses and closes it, and does all that again. */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int find_device(const char *address, int type,
                        struct ibv_context **device);

/* A pointer to a function may not be converted from one to an object. */
static find_device *function_at(void *address) {
  find_device *function = NULL;
  memcpy(&function, &address, sizeof(function));
  return function;
}

static int use(void) {
  struct ibv_context *device = NULL;
  void *const library = dlopen("librpma.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return -1;
  }
  find_device *const find =
      function_at(dlsym(library, "rpma_utils_get_ibv_context"));
  const int ret = find("127.0.0.1", 0, &device);
  puts(ret == 0 ? device->device->name : "no device");
  return dlclose(library);
}

int main(void) {
  const int closed = use() == 0 && use() == 0;
  /* Its objects may live as long as the process. */
  const int stays =
      dlopen("librpma.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL;
  puts(stays ? "stays loaded" : "is unloaded");
  return closed ? EXIT_SUCCESS : EXIT_FAILURE;
}
