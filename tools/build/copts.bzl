# SPDX-License-Identifier: BSD-3-Clause
"""Compiler flags of this project's own C and C++; external code does not get them."""

load("@compiler//:copts.bzl", "COMPILER_COPTS", "RELOCATED_COPTS")

RPMA_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
] + COMPILER_COPTS

# Of what depends on GoogleTest, which it need not parse. Clang finds what is precompiled by the
# whole path only.
TEST_COPTS = RPMA_COPTS + RELOCATED_COPTS + [
    "-include",
    "$(BINDIR)/external/com_google_googletest/googletest_precompiled.h",
]
