#!/usr/bin/env python3
"""What has to hold, passed or failed by the figures of one run.  targets.py [--markdown] FILE.json

Exit 1 when something fails. What fails and would fail as well for a supervisor that is as fast as the mechanism allows on
this machine (report.Run.bound) is still a failure, and said to be out of reach.
"""

import argparse
import dataclasses
import sys
from typing import Callable

sys.dont_write_bytecode = True

import report

LOOP = "20,000 x open, close, stat"
FIND = "find -size +100k"
STATUS = "git status, 300 files"
EXTENDED = "true, extended"  # the start of what runs under this profile
FSTAT = ("fstat", "fstat, extended", "fstat, no mountns")
RECORDS = ("audit a record", "audit a record, compact")


@dataclasses.dataclass
class Target:
    """judge(run, who): (what was measured, whether it holds) of who, callgate or report.BOUND; None: not measured."""

    text: str
    judge: Callable
    workloads: tuple
    rivals: tuple = ()  # whose figures it is about, but for native, floor and callgate


def at_most(limit, workload, rival="native"):
    def judge(run, who):
        value = run.ratio(workload, who, rival)
        return None if value is None else (f"{value:.2f} × {rival}", value <= limit)

    return Target(f"{workload}: at most {limit:.2f} × {rival}", judge, (workload,), (rival, "bwrap"))


def fraction(part, workload, rival):
    def judge(run, who):
        value = run.ratio(workload, rival, who)
        return None if value is None else (f"1/{value:.1f} of {rival}", value >= part)

    return Target(f"{workload}: at most 1/{part} of {rival}", judge, (workload,), (rival,))


def git_status(run, who):
    """The start-up is what `true` takes, natively included; at the bound it is the bound's."""
    took, native = run.median(STATUS, who), run.median(STATUS, "native")
    start = run.median("true", who) if who == report.BOUND else run.median(EXTENDED, who)
    if None in (took, native, start) or took < start:  # the latter is noise: of a machine that was not quiet
        return None
    return f"{(took - start) / native:.2f} × native and {start:.1f} ms start-up", took <= 3 * native + start


def memory(run, who):
    value = run.median("PSS", who)
    return None if value is None else (f"{value / 1e6:.1f} MB", value <= 6e6)


def records(run, who):
    plain, compact = (run.median(name, who) for name in RECORDS)
    if plain is None or compact is None:
        return None
    return f"{plain:.0f} bytes, compact {compact:.0f}", min(plain, compact) <= 350


def crowd(kind):
    """Time a sandbox is the inverse of throughput."""

    names = tuple(f"{count} at once: {kind}" for count in (2, 32))

    def judge(run, who):
        two, many = (run.median(name, who) for name in names)
        return None if not two or not many else (f"{two / many:.2f} of that of 2", two / many >= 0.8)

    return Target(f"32 sandboxes ({kind}): throughput at least 0.8 of that of 2", judge, names)


def fstat(run, who):
    """Shown: nothing is demanded of it."""
    there, hiding, absent = (run.ratio(name, who, "native") for name in FSTAT)
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
    Target(f"{STATUS}: at most 3 × native and the start-up", git_status, (STATUS, "true", EXTENDED)),
    at_most(1.5, "200 x spawn true"),
    at_most(1.3, "fork+wait"),
    at_most(1.3, "thread"),
    Target("keeper and supervisor: at most 6 MB PSS", memory, ("PSS",)),
    Target("a record of the log: at most 350 bytes, or so in the compact mode", records, RECORDS),
    crowd("imports"),
    crowd("calls"),
    Target("fstat with the mount namespace, and without", fstat, FSTAT),
)

WORKLOADS = {name for target in TARGETS for name in target.workloads}
WORDS = {True: "pass", False: "FAIL", None: "info"}


def rivals_of(workload):
    return {rival for target in TARGETS if workload in target.workloads for rival in target.rivals}


def out_of_reach(run, target):
    """What a supervisor at the bound would have, where that misses the target as well; else nothing."""
    name = target.workloads[0]
    best = target.judge(run, report.BOUND)
    if best is None or best[1] is not False or run.median(name, "callgate") < run.bound(name):  # then it bounds nothing
        return ""
    group = run.workloads[name].get("group")
    what = "floor + bwrap's start is" if group in report.STARTED else "the floor itself is"
    return f"; out of reach here: {what} {best[0]}"


def verdicts(run):
    """(word, what is demanded, what was measured) of each."""
    for target in TARGETS:
        found = target.judge(run, "callgate")
        if found is None:
            yield "-", target.text, "not measured"
            continue
        value, holds = found
        yield WORDS[holds], target.text, value + (out_of_reach(run, target) if holds is False else "")


def show(run):
    """Prints them, and returns whether none fails."""
    rows = list(verdicts(run))
    for word, text, value in rows:
        print(f"{word:5} {text:62} {value}")
    counts = {word: sum(1 for row in rows if row[0] == word) for word in ("pass", "FAIL", "-")}
    print(f"{counts['pass']} pass, {counts['FAIL']} fail, {counts['-']} not measured")
    return counts["FAIL"] == 0


def markdown(run):
    yield "| | demanded | measured |"
    yield "|---|---|---|"
    for row in verdicts(run):
        yield f"| {' | '.join(row)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="as a table for a document")
    parser.add_argument("file")
    options = parser.parse_args()
    try:
        run = report.load(options.file)
    except report.BadFile as error:
        sys.exit(f"targets: {error}")
    if options.markdown:
        print("\n".join(markdown(run)))
        return
    sys.exit(0 if show(run) else 1)


if __name__ == "__main__":
    main()
