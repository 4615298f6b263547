# SPDX-License-Identifier: BSD-3-Clause
"""The compiled code of tests by itself, without the libraries they link."""

_ObjectsInfo = provider(fields = {"objects": "depset of .o files"})

def _objects_aspect_impl(target, ctx):
    objects = []
    if ctx.label.package.startswith("tests/"):
        for action in target.actions:
            if action.mnemonic == "CppCompile":
                objects += [f for f in action.outputs.to_list() if f.extension == "o"]
    return [_ObjectsInfo(objects = depset(
        objects,
        transitive = [
            dep[_ObjectsInfo].objects
            for dep in getattr(ctx.rule.attr, "deps", [])
            if _ObjectsInfo in dep  # linker scripts have none
        ],
    ))]

_objects_aspect = aspect(
    implementation = _objects_aspect_impl,
    attr_aspects = ["deps"],
)

def _test_objects_impl(ctx):
    objects = depset(transitive = [test[_ObjectsInfo].objects for test in ctx.attr.tests])
    return [DefaultInfo(
        files = objects,
        runfiles = ctx.runfiles(transitive_files = objects),
    )]

# The objects of the given tests and of those of their deps that are in tests/.
test_objects = rule(
    implementation = _test_objects_impl,
    attrs = {"tests": attr.label_list(aspects = [_objects_aspect])},
)
