#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs librpma as a user would, and builds and runs C programs with what is installed."""
import errno
import hashlib
import importlib.util
import os
import re
import resource
import shlex
import stat
import subprocess
import sys
import tempfile
import unittest

INSTALLER, REPLICATE, SELECT_FABRIC, *FILES = map(os.path.abspath, sys.argv[1:])

# All that is installed: its mode, or what it links to.
EXPECTED = {
    "bin/rpma_quickstart": 0o755,
    "include/librpma.h": 0o644,
    "include/librpma_emu.h": 0o644,
    "lib/librpma.so": "librpma.so.0",
    "lib/librpma.so.0": 0o644,
    "lib/librpma_emu.so": "librpma_emu.so.0",
    "lib/librpma_emu.so.0": 0o644,
    "lib/pkgconfig/librpma.pc": 0o644,
    "lib/pkgconfig/librpma_emu.pc": 0o644,
}


def load(path):
    spec = importlib.util.spec_from_file_location("install", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command, **kwargs):
    return subprocess.run(command, text=True, timeout=50, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **kwargs)


def mode_or_link(path):
    return os.readlink(path) if os.path.islink(path) else stat.S_IMODE(os.stat(path).st_mode)


def files_below(folder):
    """path -> its mode, or what it links to."""
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): mode_or_link(path) for path in paths}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class InstallTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.prefix = os.path.join(self.folder, "usr")
        self.lib = os.path.join(self.prefix, "lib")

    def install(self, *arguments, **kwargs):
        return run(INSTALLER, *FILES, "--", *arguments, **kwargs)

    def assert_installs(self, *arguments, **kwargs):
        result = self.install(*arguments, **kwargs)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def assert_fails(self, status, text, *arguments, **kwargs):
        result = self.install(*arguments, **kwargs)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertRegex(result.stderr, text)

    def pkg_config(self, *arguments):
        result = run("pkg-config", *arguments,
                     env={**os.environ, "PKG_CONFIG_PATH": os.path.join(self.lib, "pkgconfig")})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return shlex.split(result.stdout)

    def compiler(self):
        """With the options that a program needs if these libraries are built with sanitizers."""
        library = os.path.join(self.lib, "librpma.so.0")
        # Those of g++ are libraries; clang puts them into the program.
        needed = run("readelf", "--dynamic", library).stdout
        found = re.findall(r"NEEDED.*\[lib([atu]b?san)\.", needed)
        compiler = "cc"
        if not found:
            undefined = run("readelf", "--dyn-syms", "--wide", library).stdout
            found = set(re.findall(r" UND __([atu]b?san)_", undefined))
            compiler = "clang" if found else "cc"
        names = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}
        options = [f"-fsanitize={names[name]}" for name in found]
        if "ubsan" in found and compiler == "clang":
            options += ["-fsanitize-link-c++-runtime", "-lstdc++"]
        return [compiler, *options]

    def build_and_run(self, source, package, **environment):
        program = os.path.join(self.folder, "program")
        built = run(*self.compiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", "-o",
                    program, source, *self.pkg_config("--cflags", "--libs", package))
        self.assertEqual((built.returncode, built.stderr), (0, ""))
        return run(program, env={"LD_LIBRARY_PATH": self.lib, **environment})

    def test_all_files_with_their_modes_whatever_the_umask(self):
        output = self.assert_installs("--prefix", self.prefix, umask=0o077)
        self.assertEqual(files_below(self.prefix), EXPECTED)
        for name in EXPECTED:
            self.assertIn(f"  {name}\n", output)
        for folder, _, _ in os.walk(self.prefix):
            self.assertEqual(mode_or_link(folder), 0o755, folder)

    def test_program_built_with_pkg_config_runs_on_the_emulator(self):
        self.assert_installs("--prefix", self.prefix)
        result = self.build_and_run(REPLICATE, "librpma", RPMA_TRANSPORT="emulator",
                                    RPMA_EMU="fabric=private")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, 'the server has "hello"\n', ""))

    def test_program_that_controls_the_emulator(self):
        self.assert_installs("--prefix", self.prefix)
        result = self.build_and_run(SELECT_FABRIC, "librpma_emu")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "emu0\n", ""))

    def test_version_for_pkg_config(self):
        self.assert_installs("--prefix", self.prefix)
        for package in ("librpma", "librpma_emu"):
            self.assertEqual(self.pkg_config("--modversion", package), ["1.3.0"])

    def test_installed_program_runs(self):
        self.assert_installs("--prefix", self.prefix)
        program = os.path.join(self.prefix, "bin/rpma_quickstart")
        result = run(program, "--file", REPLICATE)
        self.assertEqual((result.returncode, result.stdout.count(digest(REPLICATE))), (0, 3),
                         result.stderr)

    @unittest.skipIf(os.path.exists("/dev/infiniband"), "this machine may have an RDMA device")
    def test_installed_program_knows_real_devices(self):
        self.assert_installs("--prefix", self.prefix)
        result = run(os.path.join(self.prefix, "bin/rpma_quickstart"), "--transport=verbs",
                     "--address=192.0.2.1")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("this host has no RDMA device", result.stderr)

    def test_installing_again_changes_nothing(self):
        digests = []
        for _ in range(2):
            self.assert_installs("--prefix", self.prefix)
            self.assertEqual(files_below(self.prefix), EXPECTED)
            digests.append({name: digest(os.path.join(self.prefix, name)) for name in EXPECTED})
        self.assertEqual(*digests)

    def test_library_in_use_is_replaced_and_not_overwritten(self):
        self.assert_installs("--prefix", self.prefix)
        path = os.path.join(self.lib, "librpma.so.0")
        with open(path, "rb") as used:
            self.assert_installs("--prefix", self.prefix)
            self.assertNotEqual(os.fstat(used.fileno()).st_ino, os.stat(path).st_ino)

    def test_destdir_is_in_the_paths_of_files_only(self):
        output = self.assert_installs("--prefix", "/opt/rpma", "--destdir", self.folder)
        root = self.folder + "/opt/rpma"
        self.assertIn(f"Installed in {root}:\n", output)
        self.assertEqual(files_below(root), EXPECTED)
        with open(root + "/lib/pkgconfig/librpma.pc", encoding="utf-8") as file:
            text = file.read()
        self.assertIn("prefix=/opt/rpma\n", text)
        self.assertNotIn(self.folder, text)

    def test_relative_paths_are_relative_to_the_caller_of_bazel(self):
        self.assert_installs("--prefix", "usr",
                             env={**os.environ, "BUILD_WORKING_DIRECTORY": self.folder})
        self.assertEqual(files_below(self.prefix), EXPECTED)
        self.assertIn(f"-I{self.prefix}/include", self.pkg_config("--cflags", "librpma"))

    def test_the_callers_folder_is_in_the_prefix_that_is_checked(self):
        self.assert_fails(2, "'/a b/usr' has characters that pkg-config files cannot express",
                          "--prefix", "usr",
                          env={**os.environ, "BUILD_WORKING_DIRECTORY": "/a b"})

    def test_home_folder_is_in_the_prefix_that_is_checked(self):
        self.assert_fails(2, "'/a b/usr' has characters that pkg-config files cannot express",
                          "--prefix", "~/usr", env={**os.environ, "HOME": "/a b"})

    def test_characters_that_are_not_in_the_prefix_in_the_end(self):
        self.assert_installs("--prefix", f"{self.prefix}/a b/..")
        self.assertEqual(files_below(self.prefix), EXPECTED)

    def test_file_that_cannot_be_written_is_named(self):
        def write_nothing():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        self.assert_fails(1, "^install: [^ ]+: File too large; nothing is installed$",
                          "--prefix", self.prefix, preexec_fn=write_nothing)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_cannot_be_removed_is_named(self):
        installation = load(INSTALLER).Installation(self.prefix)

        def create(path):
            for name in path, os.path.join(self.lib, "file of others"):
                open(name, "w", encoding="utf-8").close()
            raise OSError(errno.ENOSPC, "No space left on device")

        with self.assertRaises(OSError) as failure:
            installation.stage("lib/file", create)
        self.assertEqual(failure.exception.filename, self.lib + "/file")
        self.assertEqual(installation.undo(), "nothing is installed, but this cannot be removed: "
                         f"{self.lib} {self.prefix}")
        self.assertEqual(os.listdir(self.lib), ["file of others"])

    def test_prefix_that_cannot_be_a_folder(self):
        open(self.prefix, "w", encoding="utf-8").close()
        self.assert_fails(1, f"^install: {self.prefix}: is not a folder; nothing is installed$",
                          "--prefix", self.prefix)
        self.assert_fails(1, "^install: /proc/rpma: .*; nothing is installed$",
                          "--prefix", "/proc/rpma")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_prefix_that_is_not_writable(self):
        os.mkdir(self.prefix, mode=0o555)
        self.assert_fails(1, f"^install: {self.prefix}/.*Permission denied; nothing is installed$",
                          "--prefix", self.prefix)

    def test_failure_leaves_what_was_there_before_and_no_more(self):
        os.makedirs(os.path.join(self.prefix, "bin/rpma_quickstart"))
        os.mkdir(self.lib)
        with open(os.path.join(self.lib, "librpma.so.0"), "w", encoding="utf-8") as file:
            file.write("old")
        before = list(os.walk(self.folder))
        self.assert_fails(1, "bin/rpma_quickstart: is a folder in the place of a file; nothing is installed",
                          "--prefix", self.prefix)
        self.assertEqual(list(os.walk(self.folder)), before)
        with open(os.path.join(self.lib, "librpma.so.0"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_wrong_arguments(self):
        self.assert_fails(2, "arguments are required: --prefix")
        self.assert_fails(2, "expected one argument", "--prefix")
        self.assert_fails(2, "--prefix: it is empty", "--prefix=")
        self.assert_fails(2, "characters that pkg-config files cannot express", "--prefix=/a b")
        self.assert_fails(2, "unrecognized arguments: --prefxi=/x", "--prefix=/y", "--prefxi=/x")

    def test_help(self):
        self.assertIn("--destdir DIR", self.assert_installs("--help"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
