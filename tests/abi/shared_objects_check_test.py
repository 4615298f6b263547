#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""shared_objects.py finds what is wrong, tried on pairs of small shared objects."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1))

LIBRARY = """
int rpma_a(void) { return 1; }
int rpma_b(void) { return 2; }
int _ZN4rpma3log5Write(void) { return 3; }
int _ZN4rpma16RegisterEmulatorEm(void) { return 4; }
"""
LIBRARY_MAP = """
LIBRPMA_1.0 { global: rpma_*; local: *; };
LIBRPMA_PRIVATE { global: _ZN4rpma*; };
"""
EMULATOR = """
int _ZN4rpma3log5Write(void);
int _ZN4rpma16RegisterEmulatorEm(void);
int rpma_emu_c(void) { return _ZN4rpma3log5Write() + _ZN4rpma16RegisterEmulatorEm(); }
"""
EMULATOR_MAP = "LIBRPMA_EMU_1.0 { global: rpma_emu_*; local: *; };"

FUNCTIONS = "function\nrpma_a\nrpma_b\n"
HEADER = "/* rpma_emu_none() is not declared. */\nint rpma_emu_c(void);\n"


class SharedObjectsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # Stand-ins, so that nothing of RDMA is needed.
        self.verbs = self.link("libibverbs.so.1", "int verbs;")
        self.rdmacm = self.link("librdmacm.so.1", "int rdmacm;")
        self.functions = self.file("functions.tsv", FUNCTIONS)
        self.header = self.file("librpma_emu.h", HEADER)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def link(self, name, source, *options):
        path = os.path.join(self.folder, name)
        if not any(option.startswith("-Wl,--soname") for option in options):
            options = (f"-Wl,--soname={name}", *options)
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "c", "-o", path, "-",
                        "-x", "none", *options], input=source, encoding="utf-8", check=True)
        return path

    def library(self, *options, source=LIBRARY, nodes=LIBRARY_MAP, needed=None):
        script = self.file("librpma.map", nodes)
        return self.link("librpma.so.0", source, f"-Wl,--version-script={script}",
                         *(needed or (self.verbs, self.rdmacm)), *options)

    def emulator(self, library, *options, source=EMULATOR, nodes=EMULATOR_MAP):
        script = self.file("librpma_emu.map", nodes)
        return self.link("librpma_emu.so.0", source, f"-Wl,--version-script={script}", library,
                         *options)

    def complaints(self, library, emulator):
        result = subprocess.run([SCRIPT, library, emulator, self.functions, self.header],
                                check=False, encoding="utf-8", stdout=subprocess.PIPE)
        *complaints, _, _, _ = result.stdout.splitlines()
        self.assertEqual(result.returncode, 1 if complaints else 0)
        return complaints

    def assert_complains(self, library, emulator, *expected):
        self.assertEqual(sorted(self.complaints(library, emulator)), sorted(expected))

    def test_pair_that_is_right(self):
        library = self.library()
        self.assert_complains(library, self.emulator(library, "-Wl,-rpath,$ORIGIN"))

    def test_thread_local_variables(self):
        library = self.library()
        source = EMULATOR + "__thread int own MODEL; int rpma_emu_own(void) { return ++own; }"
        model = "-DMODEL=__attribute__((tls_model(\"initial-exec\")))"
        self.header = self.file("librpma_emu.h", HEADER + "int rpma_emu_own(void);\n")
        self.assert_complains(library, self.emulator(library, model, source=source))
        self.assert_complains(library, self.emulator(library, "-DMODEL=", source=source),
                              "librpma_emu.so.0 has thread-local variables that are not of the "
                              "initial-exec model")

    def test_soname(self):
        library = self.library("-Wl,--soname=librpma.so.1")
        emulator = self.emulator(library)
        self.assert_complains(library, emulator,
                              "librpma.so.0: the soname is ['librpma.so.1']",
                              "librpma_emu.so.0 does not need librpma.so.0")

    def test_library_that_is_not_needed(self):
        library = self.library(needed=[self.verbs])
        self.assert_complains(library, self.emulator(library),
                              "librpma.so.0 does not need librdmacm.so.1")

    def test_library_that_needs_the_emulator(self):
        emulator = self.emulator(self.library())
        library = self.library(emulator)
        self.assert_complains(library, emulator, "librpma.so.0 needs librpma_emu.so.0")

    def test_run_path(self):
        for option in ("--enable-new-dtags", "--disable-new-dtags"):
            library = self.library(f"-Wl,{option},-rpath,/home/me")
            self.assert_complains(library, self.emulator(library),
                                  "librpma.so.0 looks for libraries in /home/me")

    def test_function_that_is_missing(self):
        library = self.library(source=LIBRARY.replace("rpma_b", "rpmb_b"))
        self.assert_complains(library, self.emulator(library), "LIBRPMA_1.0 lacks rpma_b")

    def test_function_that_nobody_knows(self):
        library = self.library(source=LIBRARY + "int rpma_x;")
        self.assert_complains(library, self.emulator(library),
                              "LIBRPMA_1.0 has rpma_x, which does not belong there")

    def test_function_in_a_wrong_node(self):
        nodes = LIBRARY_MAP + "LIBRPMA_1.1 { global: rpma_b; };"
        library = self.library(nodes=nodes.replace("rpma_*", "rpma_a"))
        self.assert_complains(library, self.emulator(library),
                              "LIBRPMA_1.0 lacks rpma_b",
                              f"{library} exports rpma_b in the node LIBRPMA_1.1")

    def test_library_without_nodes(self):
        library = self.link("librpma.so.0", LIBRARY, self.verbs, self.rdmacm)
        complaints = self.complaints(library, self.emulator(library))
        self.assertIn("LIBRPMA_1.0 lacks rpma_a", complaints)
        self.assertIn(f"{library} exports rpma_a in the node None", complaints)

    def test_private_function_that_the_emulator_does_not_use(self):
        library = self.library()
        emulator = self.emulator(library, source=EMULATOR.replace("_ZN4rpma3log5Write()", "0"))
        self.assert_complains(
            library, emulator,
            "LIBRPMA_PRIVATE has _ZN4rpma3log5Write, which does not belong there")

    def test_private_function_that_the_library_lacks(self):
        emulator = self.emulator(self.library())
        library = self.library(source=LIBRARY.replace("3log5Write", "5Write"))
        self.assert_complains(
            library, emulator,
            "LIBRPMA_PRIVATE has _ZN4rpma5Write, which does not belong there",
            "LIBRPMA_PRIVATE lacks _ZN4rpma3log5Write")

    def test_emulator_with_a_log_of_its_own(self):
        library = self.library()
        own = EMULATOR + "__attribute__((used)) static int _ZN4rpma3log9Threshold;"
        self.assert_complains(library, self.emulator(library, source=own),
                              "librpma_emu.so.0 defines _ZN4rpma3log9Threshold itself")

    def test_emulator_that_exports_other_functions(self):
        library = self.library()
        emulator = self.emulator(library, source=EMULATOR + "int rpma_emu_x, rpma_y;",
                                 nodes=EMULATOR_MAP.replace("rpma_emu_*", "rpma_*"))
        self.assert_complains(library, emulator,
                              "LIBRPMA_EMU_1.0 has rpma_emu_x, which does not belong there",
                              "LIBRPMA_EMU_1.0 has rpma_y, which does not belong there")

    def test_emulator_that_lacks_a_function(self):
        library = self.library()
        emulator = self.emulator(library, source=EMULATOR.replace("emu_c", "c"))
        self.assert_complains(library, emulator, "LIBRPMA_EMU_1.0 lacks rpma_emu_c")


if __name__ == "__main__":
    unittest.main()
