# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for the repositories that Bazel itself would download.

Bazel's own tool packages load() these; no target of ours uses them.
"""

def _stub_repository_impl(ctx):
    ctx.file("WORKSPACE", "")
    for path, text in ctx.attr.files.items():
        ctx.file(path, text, executable = False)
    for label, path in ctx.attr.links.items():
        ctx.symlink(label, path)

_stub_repository = repository_rule(
    implementation = _stub_repository_impl,
    attrs = {
        "files": attr.string_dict(),
        "links": attr.label_keyed_string_dict(),
    },
)

def _natives(*names):
    return "".join(["%s = native.%s\n" % (n, n) for n in names])

def offline_repositories():
    """Declares the stand-ins. A definition in WORKSPACE wins over Bazel's own."""

    # Every Bazel.
    _stub_repository(name = "rules_cc", files = {
        "BUILD": "",
        "cc/BUILD": "",
        "cc/defs.bzl": _natives(
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
        ),
    })

    # Bazel 4.
    _stub_repository(name = "rules_java", files = {
        "BUILD": "",
        "java/BUILD": "",
        "java/defs.bzl": _natives(
            "java_binary",
            "java_import",
            "java_library",
            "java_runtime",
            "java_toolchain",
        ),
    })

    # Bazel 7.
    _stub_repository(name = "bazel_skylib", files = {
        "BUILD": "",
        "bzl_library.bzl": "def bzl_library(**kwargs):\n    pass\n",
    })

    # Bazel 7 with --config=workspace.
    _stub_repository(name = "rules_python", files = {
        "BUILD": "",
        "python/BUILD": "",
        "python/defs.bzl": _natives("py_binary", "py_library", "py_test"),
    })

    # `bazel coverage` runs it; in Bazel 4, `bazel test` wants it to exist.
    _stub_repository(
        name = "remote_coverage_tools",
        files = {"BUILD": """
package(default_visibility = ["//visibility:public"])
filegroup(name = "lcov_merger", srcs = ["lcov_tool.py"])
filegroup(name = "coverage_report_generator", srcs = ["lcov_tool.py"])
"""},
        links = {"//tools/build:lcov_tool.py": "lcov_tool.py"},
    )
