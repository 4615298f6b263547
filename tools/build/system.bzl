# SPDX-License-Identifier: BSD-3-Clause
"""What this machine has, as Bazel repositories: a compiler, and libraries of its packages."""

# Flags that one compiler knows and another refuses.

# g++ looks for garbage whenever its heap has grown by a part. The precompiled header fills the
# heap, so that this takes a sixth of the time of a test that mocks.
_ROOMY_HEAP = ["--param=ggc-min-heapsize=500000"]

# Clang: paths in a precompiled header are relative to the folder in which an action runs.
_RELOCATED = ["-Xclang", "-isysroot", "-Xclang", "."]

def _compiler_impl(ctx):
    cxx = ctx.os.environ.get("CC", "gcc")
    ctx.file("probe.cc", "", executable = False)
    known = [
        flags if ctx.execute(
            [cxx, "-Werror", "-fsyntax-only"] + flags + ["probe.cc"],
        ).return_code == 0 else []
        for flags in [_ROOMY_HEAP, _RELOCATED]
    ]
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", "")
    ctx.file("copts.bzl", "COMPILER_COPTS = %r\nRELOCATED_COPTS = %r\n" % tuple(known))

system_compiler = repository_rule(
    implementation = _compiler_impl,
    configure = True,
    environ = ["CC"],
    local = True,
)

# GoogleTest and GoogleMock, compiled from the sources of Debian's googletest:
# so they get the sanitizer and the standard library of the tests' own build.

_GOOGLETEST_BUILD = """
load("@rpma//tools/build:precompiled_header.bzl", "precompiled_header")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["googletest/include/**/*.h", "googlemock/include/**/*.h"]),
    includes = ["googlemock/include", "googletest/include"],
)

precompiled_header(
    name = "googletest_precompiled.h",
    includes = ["gmock/gmock.h", "gtest/gtest.h"],
    library = ":headers",
)

cc_library(
    name = "gtest",
    srcs = ["googlemock/src/gmock-all.cc", "googletest/src/gtest-all.cc"],
    copts = ["-w"],
    textual_hdrs = glob(
        ["googletest/src/*", "googlemock/src/*"],
        exclude = ["**/*-all.cc", "**/*_main.cc"],
    ),
    includes = ["googlemock", "googletest"],
    linkopts = ["-pthread"],
    deps = [":googletest_precompiled.h", ":headers"],
)

cc_library(
    name = "gtest_main",
    srcs = ["googlemock/src/gmock_main.cc"],
    copts = ["-w"],
    deps = [":gtest"],
)
"""

def _googletest_impl(ctx):
    for folder in ["googletest", "googlemock"]:
        if not ctx.path(ctx.attr.path + "/" + folder).exists:
            fail("no %s/%s; apt-get install googletest" % (ctx.attr.path, folder))
        ctx.symlink(ctx.attr.path + "/" + folder, folder)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", _GOOGLETEST_BUILD)

system_googletest = repository_rule(
    implementation = _googletest_impl,
    attrs = {"path": attr.string(default = "/usr/src/googletest")},
    local = True,
)

# rdma-core: libibverbs and librdmacm, with defines for what its headers declare.

_RDMA_FEATURES = {
    "RPMA_HAVE_IBV_ADVISE_MR": "(void)sizeof(ibv_advise_mr(nullptr, {}, 0, nullptr, 0));",
    "RPMA_HAVE_IBV_WR_ATOMIC_WRITE": "(void)&ibv_wr_atomic_write;",
    "RPMA_HAVE_IBV_WR_FLUSH": "(void)&ibv_wr_flush;",
}

_PROBE = """
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
int main() { %s }
"""

_RDMA_CORE_BUILD = """
package(default_visibility = ["//visibility:public"])

# The types and constants only; nothing is linked.
cc_library(
    name = "headers",
    defines = %r,
)

cc_library(
    name = "rdma_core",
    linkopts = %r,
    deps = [":headers"],
)
"""

def _compiles(ctx, cxx, body):
    ctx.file("probe.cc", _PROBE % body, executable = False)
    return ctx.execute([cxx, "-fsyntax-only", "probe.cc"])

def _linkopts(ctx):
    # Debian needs no flags beyond the two; elsewhere pkg-config may know better.
    pkg_config = ctx.which("pkg-config")
    if pkg_config:
        got = ctx.execute([pkg_config, "--libs", "libibverbs", "librdmacm"])
        if got.return_code == 0:
            return [flag for flag in got.stdout.strip().split(" ") if flag]
    return ["-libverbs", "-lrdmacm"]

def _rdma_core_impl(ctx):
    cxx = ctx.os.environ.get("CC", "c++")
    usable = _compiles(ctx, cxx, "")
    if usable.return_code != 0:
        fail("apt-get install libibverbs-dev librdmacm-dev\n" + usable.stderr)
    defines = [
        define
        for define, body in _RDMA_FEATURES.items()
        if _compiles(ctx, cxx, body).return_code == 0
    ]
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", _RDMA_CORE_BUILD % (defines, _linkopts(ctx)))

system_rdma_core = repository_rule(
    implementation = _rdma_core_impl,
    configure = True,
    environ = ["CC"],
    local = True,
)

# OpenSSL: libcrypto.

_OPENSSL_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "crypto",
    linkopts = ["-lcrypto"],
)
"""

def _openssl_impl(ctx):
    cxx = ctx.os.environ.get("CC", "c++")
    ctx.file("probe.cc", "#include <openssl/evp.h>\n", executable = False)
    usable = ctx.execute([cxx, "-fsyntax-only", "probe.cc"])
    if usable.return_code != 0:
        fail("apt-get install libssl-dev\n" + usable.stderr)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", _OPENSSL_BUILD)

system_openssl = repository_rule(
    implementation = _openssl_impl,
    configure = True,
    environ = ["CC"],
    local = True,
)

# The librpma.h of Debian's librpma-dev, or nothing: not every Debian has it.

def _librpma_impl(ctx):
    header = ctx.path("/usr/include/librpma.h")
    if header.exists:
        ctx.symlink(header, "include/librpma.h")
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", """
cc_library(
    name = "header",
    hdrs = glob(["include/*.h"], allow_empty = True),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""")

system_librpma = repository_rule(implementation = _librpma_impl, local = True)
