#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a page for users: its code is that of files which are tested, and its
commands do what it shows."""
import argparse
import os
import re
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest

# Languages of code that has to stand in a source file, word for word.
CODE = {"c", "cpp", "starlark"}

# In place of Bazel: runs a test as Bazel would, and shows what it prints if that is asked for;
# what is to be built is there.
BAZEL = """\
#!/usr/bin/env bash
set -eu
command=$1 label=$2
shift 2
output=/dev/null
binary=bazel-bin/${label#//}
binary=${binary/://}
for option; do
  case $option in
    --test_filter=*) export TESTBRIDGE_TEST_ONLY=${option#*=} ;;
    --test_output=all) output=/dev/stdout ;;
    --test_env=*) export "${option#--test_env=}" ;;
    *) exit 2 ;;
  esac
done
[[ $command == build ]] && exec test -x "$binary"
[[ $command == test ]] && exec "$binary" >"$output"
exit 2
"""


class Block:
    """A piece of a page between two fences."""

    def __init__(self, line, language, text):
        self.line = line
        self.language = language
        self.text = text

    def commands(self):
        """Pairs of a command and the output that the page shows."""
        pairs = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                pairs.append((line[2:], []))
            else:
                pairs[-1][1].append(line)
        return [(command, "\n".join(output)) for command, output in pairs]


def blocks_of(page):
    pattern = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return [Block(page.count("\n", 0, match.start()) + 1, match.group(1), match.group(2))
            for match in pattern.finditer(page)]


def matches(shown, output):
    """Whether an output is as shown, where `...` stands for anything."""
    pattern = re.escape(shown.strip()).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


class PageTest(unittest.TestCase):
    def setUp(self):
        with open(ARGS.page, encoding="utf-8") as page:
            self.blocks = blocks_of(page.read())

    def test_has_only_blocks_that_are_checked(self):
        self.assertGreater(len(self.blocks), 0)
        for block in self.blocks:
            self.assertIn(block.language, CODE | {"console"}, f"line {block.line}")

    def test_code_is_that_of_a_file(self):
        sources = []
        for path in ARGS.source:
            with open(path, encoding="utf-8") as source:
                sources.append(re.sub(r"^[ \t]+", "", source.read(), flags=re.MULTILINE))
        for block in self.blocks:
            if block.language in CODE:
                code = re.sub(r"^[ \t]+", "", textwrap.dedent(block.text), flags=re.MULTILINE)
                found = any(code in source for source in sources)
                self.assertTrue(found, f"line {block.line}: no file has this code\n{block.text}")

    def test_commands_do_what_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            furnish(folder)
            for block in self.blocks:
                if block.language == "console":
                    for command, shown in block.commands():
                        self.check(block, command, shown, folder)

    def check(self, block, command, shown, folder):
        result = subprocess.run(["bash", "-c", command], cwd=folder, text=True, timeout=50,
                                env={"PATH": os.environ["PATH"]},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertTrue(matches(shown, result.stdout),
                        f"line {block.line}: {command}\nis shown to print\n{shown}\n"
                        f"and prints\n{result.stdout}")


def furnish(folder):
    """Makes a folder look like the root of the repository after a build."""
    for program in ARGS.program:
        link = os.path.join(folder, "bazel-bin", program)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(os.path.abspath(program), link)
    bazelw = os.path.join(folder, "tools", "bazelw")
    os.makedirs(os.path.dirname(bazelw))
    with open(bazelw, "w", encoding="utf-8") as file:
        file.write(BAZEL)
    os.chmod(bazelw, stat.S_IRWXU)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--program", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    ARGS = parse_args()
    unittest.main(argv=sys.argv[:1])
