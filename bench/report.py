#!/usr/bin/env python3
"""Figures of a run: read and written as JSON, and shown as a table.  report.py [--markdown] FILE.json"""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import estimate

SCHEMA = "callgate-bench/1"
BOUND = "bound"  # in the place of a rival's name: see Run.bound
STARTED = ("start", "real")  # groups whose figures include the start
SAID = 200  # characters of a reason
# Rows that a document leaves out, since they are like others: "true, extended", with a network "true, extended npm".
ALIKE = ("true, python", "true, data", "true, python pypi", "true, extended debian", "true, extended github-read")


class BadFile(Exception):
    """str() says what is wrong with which file."""


class Run:
    """One JSON file."""

    def __init__(self, data, part=0.5):
        self.data, self.part = data, part  # part: of the samples, those below the figure that is shown
        self.facts = data["facts"]
        self.rivals = data["rivals"]
        self.workloads = data["workloads"]

    def columns(self):
        return list(self.rivals)

    def samples(self, workload, rival):
        return self.workloads.get(workload, {}).get("samples", {}).get(rival, [])

    def median(self, workload, rival):
        if rival == BOUND:
            return self.bound(workload)
        samples = self.samples(workload, rival)
        return quantile(samples, self.part) if samples else None

    def bound(self, workload):
        """
        The lowest figure that the mechanism allows here: the floor's figure, since judging costs at least that.
        Where the start counts, plus what bwrap's start adds to `true`, since a sandbox has to set up namespaces. One
        executable can do both, so one start of a program (`true` itself) is subtracted. None where that is unknown.
        """
        floor = self.median(workload, "floor")
        if floor is None or self.workloads[workload].get("group") not in STARTED:
            return floor
        sandboxed, alone = self.median("true", "bwrap"), self.median("true", "native")
        return None if sandboxed is None or alone is None else floor + max(0.0, sandboxed - 2 * alone)

    def rounds(self, workload, rival):
        """{round: sample}"""
        samples = self.samples(workload, rival)
        rounds = self.workloads.get(workload, {}).get("rounds", {}).get(rival, range(len(samples)))
        return dict(zip(rounds, samples))

    def estimate(self, figure, *cells):
        """
        An estimate of figure(sample, ...), over the rounds in which all these (workload, rival) have a sample. None
        where there is no such round.
        """
        if len({self.workloads.get(name, {}).get("block") for name, _ in cells}) != 1:  # older files have none
            return None
        of_rounds = [self.rounds(*cell) for cell in cells]
        common = [number for number in of_rounds[0] if all(number in other for other in of_rounds[1:])]
        samples = [[by_round[number] for by_round in of_rounds] for number in common]
        return estimate.of([figure(*each) for each in samples if all(each)])

    def compared(self, workload, rival, base):
        """An estimate of the ratio."""
        return self.estimate(lambda above, below: above / below, (workload, rival), (workload, base))

    def ratio(self, workload, rival, base):
        """The bound is made of medians, and so is its ratio."""
        if BOUND in (rival, base):
            above, below = self.median(workload, rival), self.median(workload, base)
            return above / below if above is not None and below else None
        found = self.compared(workload, rival, base)
        return found.value if found else None

    def cold(self, workload):
        """The rivals of which a sample that counts has read from the disk."""
        disk = self.workloads[workload].get("disk", {})
        return [rival for rival, (_, blocks, _) in disk.items() if blocks]


def quantile(samples, part):
    """Between two samples it is interpolated. 0.5: the median."""
    ordered = sorted(samples)
    below, beyond = divmod(part * (len(ordered) - 1), 1)
    return ordered[int(below)] + beyond * (ordered[math.ceil(below + beyond)] - ordered[int(below)])


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def numbers(values):
    return isinstance(values, list) and bool(values) and all(number(value) for value in values)


def load(path, part=0.5):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadFile(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise BadFile(f"{path}: not a file of bench.py: has no schema {SCHEMA}")
    for key in ("facts", "rivals", "workloads"):
        if not isinstance(data.get(key), dict):
            raise BadFile(f"{path}: {key} is not an object")
    for name, workload in data["workloads"].items():
        samples = workload.get("samples") if isinstance(workload, dict) else None
        if not isinstance(samples, dict) or not all(numbers(values) for values in samples.values()):
            raise BadFile(f"{path}: workload {name}: its samples are not lists of numbers")
        rounds = workload.get("rounds", samples)
        if not isinstance(rounds, dict) or any(len(samples.get(who, ())) != len(rounds[who]) for who in rounds):
            raise BadFile(f"{path}: workload {name}: not a round to each sample")
    return Run(data, part)


def save(path, data):
    """Never half a file: a long run writes it after every workload. Samples stand in one line."""
    text = json.dumps(data, indent=1)
    text = re.sub(r"\[\s+([-+\d.e,\s]+?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    with open(f"{path}.new", "w", encoding="utf-8") as out:
        out.write(text + "\n")
    os.replace(f"{path}.new", path)


def git(folder, *words):
    """What git says of a folder that may belong to another user; nothing when it knows none."""
    command = ["git", "-c", "safe.directory=*", *words]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpuinfo(*names):
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        found = [line.split(":", 1)[1].strip() for line in file if line.startswith(names)]
    return found[0] if found else ""


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def facts(source):
    return {
        "date": now(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_model": cpuinfo("model name", "CPU part") or platform.machine(),
        "virtual": "hypervisor" in cpuinfo("flags"),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "uid": os.getuid(),
        "load_before": [round(value, 2) for value in os.getloadavg()],
        "commit": git(source, "rev-parse", "--short=12", "HEAD") or "unknown",
        "changed": bool(git(source, "status", "--porcelain", "--untracked-files=no")),
    }


def figure(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(value):
    return "-" if value is None else f"{value:.2f}"


def cells(run, name):
    """The row of a workload: a text for each column of columns()."""
    row = [name, run.workloads[name]["unit"]]
    most = max(len(samples) for samples in run.workloads[name]["samples"].values())
    usual = min(most, run.facts.get("rounds", most))
    for rival in run.columns():
        count = len(run.samples(name, rival))
        fewer = f" ({count})" if 0 < count < usual else ""
        row.append(figure(run.median(name, rival)) + fewer)
    row.append(figure(run.bound(name)) if run.workloads[name].get("group") in STARTED else "-")
    ratios = [run.compared(name, "callgate", base) for base in ("native", "floor")]
    return row + [times(one and one.value) for one in ratios] + [percent(ratios[1] or ratios[0])]


def percent(found):
    uncertain = found and found.uncertainty
    return "-" if uncertain is None else f"{uncertain:.0%}"


def columns(run):
    return ["workload", "", *run.columns(), BOUND, "× native", "× floor", "±"]


def line(row):
    middle = " ".join(f"{text:>11}" for text in row[2:-3])
    return f"{row[0]:26} {row[1]:2} {middle} " + " ".join(f"{text:>8}" for text in row[-3:])


def left_out(name, reason):
    return f"{name}: left out, {' '.join(reason.split())[:SAID]}"


def remarks(run):
    for name, rival in run.data.get("missing_rivals", {}).items():
        yield left_out(name, rival["missing"])
    for name, reason in run.data.get("missing_workloads", {}).items():
        yield left_out(name, reason)
    for name, workload in run.workloads.items():
        yield from (left_out(f"{name}, {rival}", reason) for rival, reason in workload.get("failed", {}).items())
    cold = [f"{name} ({rival})" for name in run.workloads for rival in run.cold(name)]
    if cold:
        yield f"some samples read from the disk: {', '.join(cold)}"
    if "interrupted" in run.data:
        yield f"interrupted by {run.data['interrupted']}: what is there by then"


LEGEND = (
    "Medians; (n): of so few samples, as slow ones are. Ratios: the median of those of the rounds; ±: half of the\n"
    "interval of the last one before it, as a part of it (estimate.py).\n"
    "Bound: floor and bwrap's start, what the mechanism allows here.\n"
    "Figures of one row compare with each other, never with another machine's or another run's."
)


def machine(run):
    known = run.facts
    load = " ".join(str(value) for value in known.get("load_before", []))
    return (
        f"{known.get('date')}, {known.get('kernel')}, {known.get('cpus')} × {known.get('cpu_model')}"
        f"{' (virtual)' if known.get('virtual') else ''}, load {load}, busy loops {known.get('busy', 0)},"
        f" uid {known.get('uid')}, commit {known.get('commit')}{' with changes' if known.get('changed') else ''}"
    )


def markdown_table(head, rows):
    """The lines of a table whose first columns are names and whose others are numbers."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "".join("---|" if not text else "---:|" for text in head[1:])
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def markdown(run):
    return markdown_table(columns(run), [cells(run, name) for name in run.workloads])


def table(run):
    print(machine(run))
    print(line(columns(run)))
    for name in run.workloads:
        print(line(cells(run, name)))
    print(LEGEND)
    for text in remarks(run):
        print(text)


def main():
    parser = argparse.ArgumentParser(description="Shows the figures of a file that bench.py --json wrote.")
    parser.add_argument("--markdown", action="store_true", help="as a table for a document")
    parser.add_argument("--p10", action="store_true", help="the tenth percentile in the place of medians")
    parser.add_argument("file")
    options = parser.parse_args()
    try:
        run = load(options.file, 0.1 if options.p10 else 0.5)
    except BadFile as error:
        sys.exit(f"report: {error}")
    if options.markdown:
        print("\n".join(markdown(run)))
    else:
        table(run)


if __name__ == "__main__":
    main()
