#!/usr/bin/env python3
"""Prints how many branches of policy/ its unit tests take, a file each and in total.

Usage: tests/branches.py BUILDDIR [FILE]

Run by hand. BUILDDIR is a configured build; policy/, base/ and the unit tests of policy/ are compiled anew, for
gcov, in a temporary directory. With FILE (policy/show.c) the branches of that file that no test takes
are listed by their lines; with "all" those of every file.

Every branch of policy/**.c counts, as gcc -O0 makes them: each side of each && and || too, and what follows a failed
allocation. Only the branches within the macros json_is_...() of jansson do not: they are called as functions here.
"""
import json
import os
import subprocess
import sys
import tempfile

import mutants

TYPES = ["object", "array", "string", "integer", "boolean", "true", "false", "null", "number"]


def write_header(workdir):
    """Writes a header that makes functions of jansson's macros. Its path."""
    path = os.path.join(workdir, "jansson-functions.h")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#include <jansson.h>\n")
        for name in TYPES:
            file.write("static inline int json_%s_function(const json_t *json) { return json_is_%s(json); }\n"
                       "#undef json_is_%s\n#define json_is_%s(json) json_%s_function(json)\n" % ((name,) * 5))
    return path


def count_branches(workdir, name, wanted):
    """The taken and all branches of a file; prints the lines of the others when it is the wanted one."""
    notes = os.path.join(workdir, name.replace("/", "_") + ".gcno")
    output = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes], cwd=workdir,
                            check=True, text=True, capture_output=True).stdout
    with open(os.path.join(mutants.TOP, name), encoding="utf-8") as source:
        text = source.read().split("\n")
    taken = total = 0
    for file in json.loads(output)["files"]:
        if os.path.relpath(file["file"], mutants.TOP) != name: # inlined from a header
            continue
        for line in file["lines"]:
            counts = [branch["count"] for branch in line["branches"]]
            taken += sum(count > 0 for count in counts)
            total += len(counts)
            if wanted in (name, "all") and 0 in counts:
                print("%s:%d: %s | %s" % (name, line["line_number"], " ".join(str(count) for count in counts),
                                          text[line["line_number"] - 1].strip()))
    return taken, total


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2] if len(sys.argv) > 2 else None
    rows = []
    with tempfile.TemporaryDirectory() as workdir:
        flags = ["-O0", "--coverage", "-include", write_header(workdir)]
        shop = mutants.Workshop(os.path.abspath(sys.argv[1]), workdir, flags)
        shop.build_all()
        for test in mutants.TESTS:
            if not shop.run_test(test, None, None):
                sys.exit("branches: %s fails" % test)
        for name in shop.objects:
            if name.startswith("policy/"):
                rows.append((*count_branches(workdir, name, wanted), name))
    for taken, total, name in sorted(rows, key=lambda row: row[0] / max(row[1], 1)):
        if total:
            print("%6.1f %%  %4d of %4d  %s" % (100 * taken / total, taken, total, name))
    taken, total = sum(row[0] for row in rows), sum(row[1] for row in rows)
    print("%6.1f %%  %4d of %4d  in all" % (100 * taken / total, taken, total))
    return 0


if __name__ == "__main__":
    sys.exit(main())
