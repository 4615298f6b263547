/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled against ours and Debian's librpma.h, with ABI_TABLE as the name of
 * the result. A constant that is missing, or a function whose type is not the
 * documented one, is an error of compilation. */
#include "tests/abi/abi_table.h"

#if __has_include(<librpma.h>)

#include <librpma.h>
#include <stddef.h>
#include <stdint.h>

/* Through intptr_t, as a null pointer is one of the constants. */
#define ABI_CONSTANT(name, documented) {#name, (intptr_t)(name), documented},
static const struct AbiConstant constants[] = {
#include "tests/abi/constants.inc"
};

#define ABI_LAYOUT(expression) {#expression, expression},
static const struct AbiLayout layouts[] = {
    /* clang-format off */
    ABI_LAYOUT(sizeof(struct rpma_conn_private_data))
    ABI_LAYOUT(offsetof(struct rpma_conn_private_data, ptr))
    ABI_LAYOUT(offsetof(struct rpma_conn_private_data, len))
    ABI_LAYOUT(sizeof(enum rpma_util_ibv_context_type))
    ABI_LAYOUT(sizeof(enum rpma_conn_event))
    ABI_LAYOUT(sizeof(enum rpma_flush_type))
    ABI_LAYOUT(sizeof(enum rpma_log_level))
    ABI_LAYOUT(sizeof(enum rpma_log_threshold))
    /* clang-format on */
};

/* The pointers serve for the check of types only. */
#define ABI_FUNCTION(name, pointer) \
  __attribute__((unused)) static pointer = name;
#include "tests/abi/functions.inc"
#undef ABI_FUNCTION

/* The type of the only function that the program writes and librpma calls. */
static void Log(enum rpma_log_level level, const char *file_name,
                const int line_no, const char *function_name,
                const char *message_format, ...) {
  (void)level;
  (void)file_name;
  (void)line_no;
  (void)function_name;
  (void)message_format;
}
__attribute__((unused)) static rpma_log_function *const log_function = Log;

#define ABI_FUNCTION(name, pointer) {#name, (void (*)(void))name},
static const struct AbiFunction functions[] = {
#include "tests/abi/functions.inc"
};

const struct AbiTable ABI_TABLE = {
    constants, sizeof(constants) / sizeof(constants[0]),
    layouts,   sizeof(layouts) / sizeof(layouts[0]),
    functions, sizeof(functions) / sizeof(functions[0]),
};

#else

const struct AbiTable ABI_TABLE = {0};

#endif
