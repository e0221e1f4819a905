#!/usr/bin/env python3
"""Which targets hold, by the figures of one run: targets.py [--markdown] FILE.json

A target passes when the whole interval of the measurement meets it, fails when none of it does, and is unsure otherwise
(estimate.py). The exit status is 1 when a target fails or is unsure. A target that even a supervisor as fast as the
mechanism allows on this machine (report.Run.bound) would miss is reported as out of reach, and fails all the same.
"""

import argparse
import dataclasses
import sys
from typing import Callable, Optional

sys.dont_write_bytecode = True

import estimate
import report
import workloads

LOOP = "20,000 x open, close, stat"
FIND = "find -size +100k"
STATUS = "git status, 300 files"
EXTENDED = "true, extended"  # the start of what runs under this profile
SLACK_MS = 3
FSTAT = ("fstat", "fstat, extended", "fstat, no mountns")
RECORDS = ("audit a record", "audit a record, compact")


@dataclasses.dataclass
class Found:
    """What a target is about: an estimate, whether it keeps the target (None: may be either), and how it is said."""

    estimate: estimate.Estimate
    holds: Optional[bool]
    form: str  # of one number
    after: str = ""

    def __str__(self):
        one = self.estimate
        text = self.form.format(one.value) + self.after
        if one.low == one.high:
            return text
        few = f", of {one.count} rounds" if one.count < estimate.LEAST else ""
        return f"{text} ({self.form.format(one.low)} to {self.form.format(one.high)}{few})"


@dataclasses.dataclass
class Target:
    """judge(run): what was found, or None where it was not measured. bound(run): what there would be at the bound, and
    whether that would hold; None where that is unknown."""

    text: str
    judge: Callable
    workloads: tuple
    rivals: tuple = ()  # whose figures it is about, but for native, floor and callgate
    who: str = "callgate"  # from whom it is demanded
    bound: Callable = lambda run: None


def at_most(limit, workload, rival="native", who="callgate"):
    def judge(run):
        found = run.compared(workload, who, rival)
        return found and Found(found, found.within(limit), "{:.2f}", f" × {rival}")

    def bound(run):  # of what judges every call
        value = run.ratio(workload, report.BOUND, rival) if who == "callgate" else None
        return value and (f"{value:.2f} × {rival}", value <= limit)

    demand = f"{row(workload, who)}: at most {limit:.2f} × {rival}"
    return Target(demand, judge, (workload,), (rival, who), who, bound)


def row(workload, who):
    return workload if who == "callgate" else f"{workload}, {who}"


def both(limit, workload, rival="native"):
    """The same is demanded whether reading is judged or not."""
    return at_most(limit, workload, rival), at_most(limit, workload, rival, "changes")


def fraction(part, workload, rival):
    def judge(run):
        found = run.compared(workload, rival, "callgate")
        return found and Found(found, found.at_least(part), "1/{:.1f}", f" of {rival}")

    def bound(run):
        value = run.ratio(workload, rival, report.BOUND)
        return value and (f"1/{value:.1f} of {rival}", value >= part)

    return Target(f"{workload}: at most 1/{part} of {rival}", judge, (workload,), (rival,), bound=bound)


def git_status(run):
    """The start-up is what `true` takes, natively included."""
    beyond = run.estimate(
        lambda took, start, native: (took - start) / native,
        (STATUS, "callgate"), (EXTENDED, "callgate"), (STATUS, "native"),
    )
    if not beyond or beyond.value < 0:  # the latter is noise: of a machine that was not quiet
        return None
    start = run.median(EXTENDED, "callgate")
    return Found(beyond, beyond.within(3), "{:.2f}", f" × native and {start:.1f} ms start-up")


def git_status_bound(run):
    took, start, native = run.bound(STATUS), run.bound("true"), run.median(STATUS, "native")
    if None in (took, start, native):
        return None
    value = (took - start) / native
    return f"{value:.2f} × native", value <= 3


def git_status_changes(run):
    beyond = run.estimate(lambda took, other: took - other, (STATUS, "changes"), (STATUS, "bwrap"))
    return beyond and Found(beyond, beyond.within(SLACK_MS), "bwrap + {:.1f}", " ms")


def memory(run):
    found = run.estimate(lambda size: size / 1e6, ("PSS", "callgate"))
    return found and Found(found, found.within(6), "{:.1f}", " MB")


def records(run):
    plain, compact = (run.estimate(lambda size: size, (name, "callgate")) for name in RECORDS)
    if not plain or not compact:
        return None
    least = min(plain, compact, key=lambda one: one.value)
    return Found(least, least.within(350), "{:.0f}", f" bytes, of the plain mode {plain.value:.0f}")


def crowd(kind):
    """Time a sandbox is the inverse of throughput."""

    names = tuple(f"{count} at once: {kind}" for count in (2, 32))

    def judge(run):
        found = run.estimate(lambda two, many: two / many, *((name, "callgate") for name in names))
        return found and Found(found, found.at_least(0.8), "{:.2f}", " of that of 2")

    return Target(f"32 sandboxes ({kind}): throughput at least 0.8 of that of 2", judge, names)


def fstat(run):
    """Shown: nothing is demanded of it."""
    there, hiding, absent = (run.compared(name, "callgate", "native") for name in FSTAT)
    if not there or not hiding or not absent:
        return None
    more = f" × native; a policy that hides names {hiding.value:.2f}; without it {absent.value:.2f}"
    return Found(there, None, "{:.2f}", more)


STARTS = ("true", *(f"true, {' '.join(names)}" for names in (*workloads.PROFILES, *workloads.NETWORKS)))
TARGETS = (
    *(target for name in STARTS for target in both(1.15, name, "bwrap")),
    at_most(1.35, "python imports"),
    at_most(1.05, "python imports", "bwrap", "changes"),
    at_most(1.25, "pandas group-by"),
    at_most(1.05, "pandas group-by", "bwrap", "changes"),
    fraction(12, FIND, "runsc"),
    fraction(6, FIND, "proot"),
    at_most(1.05, FIND, "bwrap", "changes"),
    Target(f"{STATUS}: at most 3 × native and the start-up", git_status, (STATUS, "true", EXTENDED),
           bound=git_status_bound),
    Target(f"{STATUS}, changes: at most bwrap + {SLACK_MS} ms", git_status_changes, (STATUS,),
           ("bwrap", "changes"), "changes"),
    at_most(1.3, "npm ci, 70 packages"),
    at_most(1.15, "npm ci, 70 packages", who="changes"),
    at_most(1.5, "make -j2, lua"),
    at_most(1.15, "make -j2, lua", who="changes"),
    *both(1.4, "200 x spawn true"),
    at_most(1.35, "open+close", "floor"),
    at_most(1.35, "stat", "floor"),
    at_most(1.2, "denied open", "floor"),
    *(fraction(12, LOOP, rival) for rival in ("runsc", "proot", "strace")),
    at_most(1.3, "fork+wait"),
    at_most(1.3, "thread"),
    Target("keeper and supervisor: at most 6 MB PSS", memory, ("PSS",)),
    Target("a record of the log: at most 350 bytes, or so in the compact mode", records, RECORDS),
    crowd("imports"),
    crowd("calls"),
    Target("fstat with the mount namespace, and without", fstat, FSTAT),
)

WORKLOADS = {name for target in TARGETS for name in target.workloads}
UNJUDGED = {FSTAT}
WORDS = {True: "pass", False: "FAIL", None: "unsure"}


def rivals_of(workload):
    return {rival for target in TARGETS if workload in target.workloads for rival in target.rivals}


def out_of_reach(run, target):
    """What a supervisor at the bound would have, where that misses the target as well; else nothing."""
    name = target.workloads[0]
    best = target.bound(run)
    if not best or best[1] or run.median(name, "callgate") < run.bound(name):  # then it bounds nothing
        return ""
    group = run.workloads[name].get("group")
    what = "floor + bwrap's start is" if group in report.STARTED else "the floor itself is"
    return f"; out of reach here: {what} {best[0]}"


def verdicts(run):
    """(word, what is demanded, what was measured) of each."""
    for target in TARGETS:
        found = target.judge(run)
        if found is None:
            yield "-", target.text, "not measured"
            continue
        word = "info" if target.workloads in UNJUDGED else WORDS[found.holds]
        yield word, target.text, f"{found}{out_of_reach(run, target) if word == 'FAIL' else ''}"


def show(run):
    """Prints them, and returns whether each that was measured passes."""
    rows = list(verdicts(run))
    for word, text, value in rows:
        print(f"{word:6} {text:62} {value}")
    counts = {word: sum(1 for row in rows if row[0] == word) for word in (*WORDS.values(), "-")}
    print(f"{counts['pass']} pass, {counts['FAIL']} fail, {counts['unsure']} unsure, {counts['-']} not measured")
    return not counts["FAIL"] and not counts["unsure"]


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
