#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs librpma: libraries, headers, pkg-config files and programs.

  tools/bazelw run //:install -- --prefix /usr/local
  tools/bazelw run //:install -- --prefix /usr --destdir /tmp/package

All files are written under temporary names first, and then renamed: a failure leaves what was
there before, and programs that are running keep the library that they have.
"""
import argparse
import os
import re
import shutil
import signal
import sys

# Where a file goes, by the end of its name; any other is a program.
FOLDERS = {".h": "include", ".so.0": "lib", ".pc.in": "lib/pkgconfig"}


class Installation:
    """Files that are written and have not got their names yet, and the folders made for them."""

    def __init__(self, root):
        self.root = root
        self.names = {}  # temporary path -> path
        self.finished = []  # paths
        self.new_folders = []

    def stage(self, name, create, mode=None):
        """Has create(path) write the file `name`, a path below the root."""
        path = os.path.join(self.root, name)
        self._make_folder(os.path.dirname(path))
        if os.path.isdir(path) and not os.path.islink(path):
            raise IsADirectoryError(None, "is a folder in the place of a file", path)
        temporary = f"{path}.{os.getpid()}.new"
        self.names[temporary] = path
        try:
            create(temporary)
        except OSError as error:
            error.filename = error.filename or path
            raise
        if mode is not None:
            os.chmod(temporary, mode)

    def finish(self):
        for temporary, path in self.names.items():
            os.replace(temporary, path)
            self.finished.append(path)

    def undo(self):
        """Removes what has not got its name. Returns what that means, in words."""
        left = [path for path in self.names if not removed(os.unlink, path)]
        if not self.finished:
            left += [path for path in reversed(self.new_folders) if not removed(os.rmdir, path)]
        words = "only a part is installed" if self.finished else "nothing is installed"
        return f"{words}, but this cannot be removed: {' '.join(left)}" if left else words

    def _make_folder(self, path):
        if os.path.isdir(path):
            return
        if os.path.lexists(path):
            raise NotADirectoryError(None, "is not a folder", path)
        self._make_folder(os.path.dirname(path))
        os.mkdir(path)
        self.new_folders.append(path)
        os.chmod(path, 0o755)


def removed(remove, path):
    """Whether the path is gone after remove(path)."""
    try:
        remove(path)
    except OSError:
        return not os.path.lexists(path)
    return True


def stage_file(installation, source, prefix):
    """Stages one of the files from the BUILD file, and the links that go with it."""
    name = os.path.basename(source)
    ending = next((e for e in FOLDERS if name.endswith(e)), None)
    path = os.path.join(FOLDERS.get(ending, "bin"), name)
    if ending == ".pc.in":
        with open(source, encoding="utf-8") as template:
            text = template.read().replace("@PREFIX@", prefix)

        def write(temporary):
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)

        installation.stage(path[:-len(".in")], write, 0o644)
        return
    installation.stage(path, lambda temporary: shutil.copyfile(source, temporary),
                       0o644 if ending else 0o755)
    if ending == ".so.0":
        installation.stage(path[:-len(".0")], lambda temporary: os.symlink(name, temporary))


def absolute(path):
    """Relative to where the user called Bazel, which runs this elsewhere."""
    return os.path.normpath(os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd()),
                                         os.path.expanduser(path)))


def prefix_of(text):
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    path = absolute(text)
    if not re.fullmatch(r"[\w@%+=:,./~-]+", path):
        raise argparse.ArgumentTypeError(
            f"{path!r} has characters that pkg-config files cannot express; use letters, digits "
            "and @%+=:,./~_-")
    return path


def parse_args(arguments):
    parser = argparse.ArgumentParser(
        prog="install", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=prefix_of,
                        help="the folder to get lib, include and bin, as programs will see it")
    parser.add_argument("--destdir", type=absolute, metavar="DIR",
                        help="write below this folder instead, as packages are made; the installed "
                        "files do not know of it")
    return parser.parse_args(arguments)


def report(root, prefix, paths):
    print(f"Installed in {root}:")
    for path in sorted(paths):
        print(f"  {os.path.relpath(path, root)}")
    if root == prefix:
        print("If the loader does not look there: run ldconfig as root, or set "
              f"LD_LIBRARY_PATH={prefix}/lib")


def interrupt(*_):
    raise KeyboardInterrupt


def give_up(why, installation):
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(f"install: {why}; {installation.undo()}")


def main():
    # The BUILD file's arguments come first, and end with --.
    end = sys.argv.index("--")
    sources = sys.argv[1:end]
    args = parse_args(sys.argv[end + 1:])
    installation = Installation((args.destdir or "") + args.prefix)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        for source in sources:
            stage_file(installation, source, args.prefix)
        installation.finish()
    except OSError as error:
        give_up(f"{error.filename}: {error.strerror or error}", installation)
    except KeyboardInterrupt:
        give_up("interrupted", installation)
    report(installation.root, args.prefix, installation.finished)


if __name__ == "__main__":
    main()
