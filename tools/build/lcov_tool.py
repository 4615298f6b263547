#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `bazel coverage` runs: per test, gcov data to lcov; at the end, one lcov file of all.

Stands in for Bazel's Java tool of the same command line, which it would download.
Needs gcc's gcov (JSON output), not clang.
"""
import json
import os
import subprocess
import sys
from collections import defaultdict

opts = dict(arg.lstrip("-").split("=", 1) for arg in sys.argv[1:])
lines = defaultdict(lambda: defaultdict(int))  # file -> line -> count
funcs = defaultdict(dict)  # file -> name -> [line, count]

def add_func(src, name, line, count):
    funcs[src].setdefault(name, [line, 0])[1] += count

def read_gcda(path, keep):
    gcov = os.environ.get("COVERAGE_GCOV_PATH", "gcov")
    text = subprocess.run([gcov, "--json-format", "--stdout", path], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout
    for entry in (e for doc in text.splitlines() for e in json.loads(doc)["files"]):
        src = entry["file"]
        if src not in keep:
            continue
        for fn in entry["functions"]:
            add_func(src, fn["name"], fn["start_line"], fn["execution_count"])
        for ln in entry["lines"]:
            lines[src][ln["line_number"]] += ln["count"]

def read_lcov(path):
    src, starts = "", {}
    with open(path, encoding="utf-8") as f:
        for row in f:
            tag, _, rest = row.strip().partition(":")
            if tag == "SF":
                src, starts = rest, {}
            elif tag == "FN":
                line, name = rest.split(",", 1)
                starts[name] = int(line)
            elif tag == "FNDA":
                count, name = rest.split(",", 1)
                add_func(src, name, starts[name], int(count))
            elif tag == "DA":
                line, count = rest.split(",")
                lines[src][int(line)] += int(count)

if "coverage_dir" in opts:
    with open(opts["source_file_manifest"], encoding="utf-8") as f:
        sources = set(f.read().split())
    for folder, _, names in os.walk(opts["coverage_dir"]):
        for name in sorted(names):
            stem, ext = os.path.splitext(os.path.join(folder, name))
            if ext == ".gcda" and os.path.exists(stem + ".gcno"):
                read_gcda(stem + ext, sources)
else:
    with open(opts["reports_file"], encoding="utf-8") as f:
        for dat in f.read().split():
            if os.path.exists(dat):
                read_lcov(dat)

with open(opts["output_file"], "w", encoding="utf-8") as out:
    for src in sorted(lines):
        out.write(f"SF:{src}\n")
        for name, (line, _) in sorted(funcs[src].items()):
            out.write(f"FN:{line},{name}\n")
        for name, (_, count) in sorted(funcs[src].items()):
            out.write(f"FNDA:{count},{name}\n")
        out.write(f"FNF:{len(funcs[src])}\nFNH:{sum(1 for f in funcs[src].values() if f[1])}\n")
        for line, count in sorted(lines[src].items()):
            out.write(f"DA:{line},{count}\n")
        out.write(f"LF:{len(lines[src])}\nLH:{sum(1 for c in lines[src].values() if c)}\n")
        out.write("end_of_record\n")
