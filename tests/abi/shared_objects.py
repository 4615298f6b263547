#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what librpma.so.0 and librpma_emu.so.0 export, need and look for.

Prints a line for each thing that is wrong, and exits with 1 if there is one.
"""
import argparse
import collections
import csv
import re
import subprocess
import sys

PUBLIC, PRIVATE, EMULATOR = "LIBRPMA_1.0", "LIBRPMA_PRIVATE", "LIBRPMA_EMU_1.0"

# Of which there is to be one in a process, that of librpma.so.0: the log, and where to register.
SHARED_STATE = re.compile(r"_ZN4rpma(3log|\d+RegisterEmulator)")

# Of thread-local variables that each thread allocates when it first uses them. LeakSanitizer may
# take the header of such a block for one of the loader's, and crash (GCC 12).
DYNAMIC_TLS = re.compile(r"DTPMOD|TLSDESC")

DYNAMIC = re.compile(r"\((\w+)\).*\[(.*)\]")
SYMBOL = re.compile(r"\s*\d+: [0-9a-f]+\s+\S+ \w+\s+(?P<bind>\w+)\s+\w+\s+"
                    r"(?:\[.*\]\s+)?(?P<section>\w+) (?P<name>[^@\s]+)(?:@@?(?P<node>\S+))?")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], check=True, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout.splitlines()


class SharedObject:
    """What readelf tells of one."""

    def __init__(self, path):
        self.path = path
        self.dynamic = collections.defaultdict(list)  # tag -> values
        for tag, value in filter(None, map(self._entry, readelf("--dynamic", path))):
            self.dynamic[tag].append(value)
        self.exported = collections.defaultdict(set)  # node -> names
        self.imported = collections.defaultdict(set)
        for symbol in filter(None, map(SYMBOL.match, readelf("--dyn-syms", path))):
            names = self.imported if symbol["section"] == "UND" else self.exported
            # The linker defines a symbol for each node itself.
            if symbol["bind"] != "LOCAL" and symbol["section"] != "ABS":
                names[symbol["node"]].add(symbol["name"])
        self.has_dynamic_tls = any(map(DYNAMIC_TLS.search, readelf("--relocs", path)))
        self.defined = {symbol["name"]
                        for symbol in filter(None, map(SYMBOL.match, readelf("--syms", path)))
                        if symbol["section"] != "UND"}

    @staticmethod
    def _entry(line):
        found = DYNAMIC.search(line)
        return found and found.groups()


def difference(what, found, expected):
    for name in sorted(found - expected):
        yield f"{what} has {name}, which does not belong there"
    for name in sorted(expected - found):
        yield f"{what} lacks {name}"


def check_names(shared_object, soname, needed):
    """Its name, the libraries that it needs at least, and where it looks for them."""
    if shared_object.dynamic["SONAME"] != [soname]:
        yield f"{soname}: the soname is {shared_object.dynamic['SONAME']}"
    for library in sorted(needed - set(shared_object.dynamic["NEEDED"])):
        yield f"{soname} does not need {library}"
    for path in shared_object.dynamic["RPATH"] + shared_object.dynamic["RUNPATH"]:
        if path != "$ORIGIN":
            yield f"{soname} looks for libraries in {path}"


def check_library(library, functions):
    yield from check_names(library, "librpma.so.0", {"libibverbs.so.1", "librdmacm.so.1"})
    for needed in library.dynamic["NEEDED"]:
        if "rpma" in needed:
            yield f"librpma.so.0 needs {needed}"
    yield from difference(PUBLIC, library.exported[PUBLIC], functions)


def check_emulator(emulator, functions):
    yield from check_names(emulator, "librpma_emu.so.0", {"librpma.so.0"})
    yield from difference(EMULATOR, emulator.exported[EMULATOR], functions)
    for name in sorted(filter(SHARED_STATE.match, emulator.defined)):
        yield f"librpma_emu.so.0 defines {name} itself"
    if emulator.has_dynamic_tls:
        yield "librpma_emu.so.0 has thread-local variables that are not of the initial-exec model"


def check_pair(library, emulator):
    """The one exports privately what the other uses, and neither exports more."""
    yield from difference(PRIVATE, library.exported[PRIVATE], emulator.imported[PRIVATE])
    for shared_object, nodes in ((library, {PUBLIC, PRIVATE}), (emulator, {EMULATOR})):
        for node in shared_object.exported.keys() - nodes:
            for name in sorted(shared_object.exported[node]):
                yield f"{shared_object.path} exports {name} in the node {node}"


def documented_functions(path):
    with open(path, encoding="utf-8") as table:
        return {row["function"] for row in csv.DictReader(table, delimiter="\t")}


def declared_functions(path):
    with open(path, encoding="utf-8") as header:
        return set(re.findall(r"\b(rpma_emu_\w+)\(", COMMENT.sub("", header.read())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="librpma.so.0")
    parser.add_argument("emulator", help="librpma_emu.so.0")
    parser.add_argument("functions", help="a table of the functions of librpma.h")
    parser.add_argument("header", help="librpma_emu.h")
    args = parser.parse_args()

    library, emulator = SharedObject(args.library), SharedObject(args.emulator)
    complaints = [
        *check_library(library, documented_functions(args.functions)),
        *check_emulator(emulator, declared_functions(args.header)),
        *check_pair(library, emulator),
    ]
    for complaint in complaints:
        print(complaint)
    for what, names in (("librpma.so.0", library.exported[PUBLIC]),
                        ("librpma_emu.so.0", emulator.exported[EMULATOR]),
                        ("librpma.so.0 for librpma_emu.so.0 alone", library.exported[PRIVATE])):
        print(f"{what}: {len(names)} functions")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
