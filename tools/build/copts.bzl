# SPDX-License-Identifier: BSD-3-Clause
"""Compiler flags of this project's own C and C++; external code does not get them."""

RPMA_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
]

# Of what depends on GoogleTest, which it need not parse.
TEST_COPTS = RPMA_COPTS + ["-include", "googletest_precompiled.h"]
