# SPDX-License-Identifier: BSD-3-Clause
"""A precompiled header: parsing GoogleMock takes half of the time of compiling a test."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":copts.bzl", "RPMA_COPTS")

# Those of a test. If they differ, g++ reads the header itself, which costs time only, and clang
# fails.
def _flags(ctx, toolchain):
    flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + RPMA_COPTS
    flags += ["-x", "c++-header"]
    if toolchain.compiler == "clang":
        # It is used in sandboxes, where what it includes has other times, and other paths: they
        # are relative to the folder that _compile() adds.
        flags += ["-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"]
        flags += ["-Xclang", "-relocatable-pch"]
    return flags

def _compile(ctx, header, precompiled, context):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = precompiled.path,
        user_compile_flags = _flags(ctx, toolchain),
        system_include_directories = context.system_includes,
        use_pic = True,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )
    folder = ' -Xclang -isysroot -Xclang "$PWD"' if toolchain.compiler == "clang" else ""
    ctx.actions.run_shell(
        mnemonic = "CppPrecompile",
        command = '"$@"' + folder,
        arguments = [compiler] + cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [precompiled],
    )

def _precompiled_header_impl(ctx):
    header = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        header,
        "".join(["#include <%s>\n" % name for name in ctx.attr.includes]),
    )
    headers = [header]
    context = ctx.attr.library[CcInfo].compilation_context

    # With -c opt, what is linked statically is not compiled with -fPIC.
    if ctx.var["COMPILATION_MODE"] != "opt":
        precompiled = ctx.actions.declare_file(ctx.label.name + ".gch")
        _compile(ctx, header, precompiled, context)
        headers.append(precompiled)
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(headers),
    ))]

# A header NAME that includes `includes`, which `library` has; compiled before, unless with
# -c opt. Who depends on it may -include its path.
precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(mandatory = True),
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
