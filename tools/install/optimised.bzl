# SPDX-License-Identifier: BSD-3-Clause
"""Files as -c opt builds them, whatever the build around them."""

# Programs are compiled as shared libraries are: nothing is compiled twice.
def _opt_impl(_settings, _attr):
    return {
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:force_pic": True,
    }

_opt = transition(
    implementation = _opt_impl,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:force_pic",
    ],
)

def _optimised_impl(ctx):
    return [DefaultInfo(
        files = depset(ctx.files.srcs),
        runfiles = ctx.runfiles(ctx.files.srcs),
    )]

# The files of `srcs`, optimised.
optimised = rule(
    implementation = _optimised_impl,
    attrs = {
        "srcs": attr.label_list(cfg = _opt),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
