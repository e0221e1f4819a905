#!/usr/bin/env python3
"""Changes one thing at a time in what judges paths and endpoints, and tells which unit test notices.

Usage: tests/mutants.py BUILDDIR [REPORT.md]

Run by hand: it takes minutes. ONLY=3,17 in the environment tries these two alone.
tests/mutants.txt lists the changes. BUILDDIR is a configured build; the files of policy/
and base/ and the unit tests of policy/ are compiled anew in a temporary directory. The exit status is 1 when a mutant
lives. doc/mutants.md is the report.
"""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Most mutants die early in this order.
TESTS = ["test_decide", "test_glob", "test_net", "test_net_text", "test_compose", "test_errors", "test_move",
         "test_below", "test_phases", "test_peek", "test_observe", "test_modes",
         "test_bounds", "test_host_paths", "test_schema", "test_diff",
         "test_properties", "test_memory"]
HELPERS = {"test_properties": ["generate"]}
WRAPPED = {"test_memory": ["-Wl,--wrap=" + name for name in ("calloc", "realloc", "mmap", "arena_alloc")]}
LIBRARIES = ["jansson", "nettle", "libidn2", "libpsl", "check"]

REPORT = """# Mutants

What judges paths and endpoints, changed in one place at a time, and the first unit test that
notices. `tests/mutants.py BUILDDIR doc/mutants.md` writes this page from `tests/mutants.txt`:
%d mutants, %d alive.

| | place | was | became | killed by |
|---|---|---|---|---|
"""


def read_mutants():
    """Yields (file, old, new) for each block of the list."""
    with open(os.path.join(TOP, "tests/mutants.txt"), encoding="utf-8") as file:
        text = "\n".join(line for line in file.read().split("\n") if not line.startswith("#"))
    for block in text.split("\n\n"):
        block = block.strip("\n")
        if not block:
            continue
        name, rest = block.split("\n", 1)
        old, new = rest.split("\n+ ", 1)
        yield name, old[2:], new


class Workshop:
    """Compiles and links in a temporary directory."""

    def __init__(self, builddir, workdir, more=("-O1",)):
        config = subprocess.run(["pkg-config", "--cflags", "--libs", *LIBRARIES], check=True, text=True,
                                capture_output=True).stdout.split()
        self.workdir = workdir
        self.libs = [word for word in config if word[:2] in ("-l", "-L") or word == "-pthread"]
        self.more = list(more)
        self.flags = ["-std=gnu17", *more, "-w", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", '-DPKGDATADIR="/"',
                      '-DPKGLIBDIR="/"', "-I" + builddir, "-I" + TOP, "-include", TOP + "/base/banned.h"]
        self.flags.append('-DSCHEMA="%s/policy/schema.json"' % TOP)
        self.flags += [word for word in config if word not in self.libs]
        self.objects = {}

    def compile(self, source, output):
        """True when it compiles."""
        return subprocess.run(["gcc", *self.flags, "-c", source, "-o", output], check=False).returncode == 0

    def build_all(self):
        """Compiles the unchanged files and the tests."""
        for folder in ("base", "policy"):
            for where, _, files in os.walk(os.path.join(TOP, folder)):
                for file in sorted(files):
                    if file.endswith(".c"):
                        self.build_one(os.path.relpath(os.path.join(where, file), TOP))
        for name in TESTS + ["policy-rig", "generate"]:
            self.build_one("tests/unit/policy/%s.c" % name)

    def build_one(self, name):
        """Compiles a file of the tree, named from its root."""
        output = os.path.join(self.workdir, name.replace("/", "_") + ".o")
        if not self.compile(os.path.join(TOP, name), output):
            sys.exit("mutants: %s does not compile" % name)
        self.objects[name] = output

    def run_test(self, test, changed, replacement):
        """True when the test passes with the replacement of an object."""
        objects = [replacement if name == changed else path for name, path in self.objects.items()
                   if not name.startswith("tests/")]
        program = os.path.join(self.workdir, test)
        own = [test, "policy-rig", *HELPERS.get(test, [])]
        own = [self.objects["tests/unit/policy/%s.c" % name] for name in own]
        flags = [*self.more, *WRAPPED.get(test, [])]
        subprocess.run(["gcc", *flags, "-o", program, *own, *objects, *self.libs], check=True)
        try:
            return subprocess.run([program], cwd=self.workdir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=120, check=False,
                                  env=dict(os.environ, CK_DEFAULT_TIMEOUT="60")).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def make_mutant(shop, name, old, new):
    """Compiles a mutant. Returns its object and its line."""
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit("mutants: in %s this is there %d times, not once: %s" % (name, text.count(old), old))
    source = os.path.join(shop.workdir, "mutant.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#line 1 "%s"\n' % name + text.replace(old, new))
    if not shop.compile(source, os.path.join(shop.workdir, "mutant.o")):
        sys.exit("mutants: does not compile: %s: %s" % (name, new))
    return os.path.join(shop.workdir, "mutant.o"), text[:text.index(old)].count("\n") + 1


def show(text):
    """A change as one cell of a table."""
    return "`%s`" % " ".join(text.split()).replace("|", "\\|")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    only = {int(number) for number in os.environ.get("ONLY", "").split(",") if number}
    rows, alive = [], 0
    with tempfile.TemporaryDirectory() as workdir:
        shop = Workshop(os.path.abspath(sys.argv[1]), workdir)
        shop.build_all()
        for test in TESTS:
            if not shop.run_test(test, None, None):
                sys.exit("mutants: %s fails without a mutant" % test)
        for number, (name, old, new) in enumerate(read_mutants(), 1):
            if only and number not in only:
                continue
            mutant, line = make_mutant(shop, name, old, new)
            killer = next((test for test in TESTS if not shop.run_test(test, name, mutant)), None)
            alive += killer is None
            rows.append("| %d | %s:%d | %s | %s | %s |" % (number, name, line, show(old), show(new),
                                                          killer or "**none**"))
            print(rows[-1], flush=True)
    print("%d mutants, %d alive" % (len(rows), alive))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(REPORT % (len(rows), alive) + "\n".join(rows) + "\n")
    return alive > 0


if __name__ == "__main__":
    sys.exit(main())
