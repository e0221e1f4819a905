#!/usr/bin/env python3
"""What has to hold, passed or failed by the figures of one run.  targets.py FILE.json; exit 1 when something fails."""

import sys

sys.dont_write_bytecode = True

import report

LOOP = "20,000 x open, close, stat"
FIND = "find -size +100k"
STATUS = "git status, 300 files"
FSTAT = ("fstat", "fstat, extended", "fstat, no mountns")
RECORDS = ("audit a record", "audit a record, compact")


def at_most(limit, workload, rival="native"):
    def judge(run):
        value = run.ratio(workload, "callgate", rival)
        return None if value is None else (f"{value:.2f} × {rival}", value <= limit)

    return f"{workload}: at most {limit:.2f} × {rival}", judge, (workload,)


def fraction(part, workload, rival):
    def judge(run):
        value = run.ratio(workload, rival, "callgate")
        return None if value is None else (f"1/{value:.1f}", value >= part)

    return f"{workload}: at most 1/{part} of {rival}", judge, (workload,)


def git_status(run):
    took, native = (run.median(STATUS, rival) for rival in ("callgate", "native"))
    start = run.median("true", "callgate")
    if None in (took, native, start):
        return None
    return f"{(took - start) / native:.2f} × native and {start:.1f} ms start-up", took <= 3 * native + start


def memory(run):
    value = run.median("PSS", "callgate")
    return None if value is None else (f"{value / 1e6:.1f} MB", value <= 6e6)


def records(run):
    plain, compact = (run.median(name, "callgate") for name in RECORDS)
    if plain is None or compact is None:
        return None
    return f"{plain:.0f} bytes, compact {compact:.0f}", min(plain, compact) <= 350


def crowd(kind):
    """Time a sandbox is the inverse of throughput."""

    names = tuple(f"{count} at once: {kind}" for count in (2, 32))

    def judge(run):
        two, many = (run.median(name, "callgate") for name in names)
        return None if not two or not many else (f"{two / many:.2f} of that of 2", two / many >= 0.8)

    return f"32 sandboxes ({kind}): throughput at least 0.8 of that of 2", judge, names


def fstat(run):
    """Shown: nothing is demanded of it."""
    there, hiding, absent = (run.ratio(name, "callgate", "native") for name in FSTAT)
    if None in (there, hiding, absent):
        return None
    return f"{there:.2f} × native; a policy that hides names {hiding:.2f}; without it {absent:.2f}", None


TARGETS = (
    at_most(1.35, "open+close", "floor"),
    at_most(1.35, "stat", "floor"),
    at_most(1.2, "denied open", "floor"),
    *(fraction(12, LOOP, rival) for rival in ("runsc", "proot", "strace")),
    *(fraction(15, FIND, rival) for rival in ("runsc", "proot", "strace")),
    at_most(1.0, "true", "bwrap"),
    at_most(1.25, "python imports"),
    at_most(1.12, "pandas group-by"),
    at_most(1.25, "make -j2"),
    (f"{STATUS}: at most 3 × native and the start-up", git_status, (STATUS, "true")),
    at_most(1.5, "200 x spawn true"),
    at_most(1.3, "fork+wait"),
    at_most(1.3, "thread"),
    ("keeper and supervisor: at most 6 MB PSS", memory, ("PSS",)),
    ("a record of the log: at most 350 bytes, or so in the compact mode", records, RECORDS),
    crowd("imports"),
    crowd("calls"),
    ("fstat with the mount namespace, and without", fstat, FSTAT),
)

WORKLOADS = {name for _, _, names in TARGETS for name in names}
WORDS = {True: "pass", False: "FAIL", None: "info"}


def verdicts(run):
    """(word, what is demanded, what was measured) of each."""
    for text, judge, _ in TARGETS:
        found = judge(run)
        yield ("-", text, "not measured") if found is None else (WORDS[found[1]], text, found[0])


def show(run):
    """Prints them, and returns whether none fails."""
    rows = list(verdicts(run))
    for word, text, value in rows:
        print(f"{word:5} {text:62} {value}")
    counts = {word: sum(1 for row in rows if row[0] == word) for word in ("pass", "FAIL", "-")}
    print(f"{counts['pass']} pass, {counts['FAIL']} fail, {counts['-']} not measured")
    return counts["FAIL"] == 0


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: targets.py FILE.json")
    try:
        run = report.load(sys.argv[1])
    except report.BadFile as error:
        sys.exit(f"targets: {error}")
    sys.exit(0 if show(run) else 1)


if __name__ == "__main__":
    main()
