#!/usr/bin/env python3
"""Times the same work natively, under the bare emulator, under callgate and under its rivals, interleaved in one run.

A speed is a ratio: read the columns of a row against each other, never against another machine's.
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the source directory stays as it is

import place as places
import report
import rivals
import sizes
import targets
import workloads

SLOW = 3.0  # seconds; a run that takes longer is not warmed up: its first sample counts


def micro_ns(output):
    return float(output.split()[-1])


def sample(place, workload, rival):
    """(figure, seconds) of one run of the command, or of as many as the workload wants at once."""
    if workload.sizes:
        return sizes.sample(place, workload, rival), 0.0
    several = [workload.name] if workload.at_once == 1 else [f"{workload.name}{n}" for n in range(workload.at_once)]
    folders = [place.workdir(name) for name in several]
    for folder in folders:
        if workload.prepare:
            workload.prepare(folder)
    options = workload.options if rival.ours else ()
    commands = [rival.command(folder, workload.command, options) for folder in folders]
    running = [places.Process(place, *pair, rival.environment) for pair in zip(commands, folders)]
    first = running[0].began
    ended = [process.began + process.wait(workload.timeout) for process in running]
    place.clear_logs()
    took = max(ended) - first
    if workload.unit == "ns":
        return micro_ns(running[0].output()), took
    return took * 1000 / workload.at_once, took


class Cell:
    """The samples of one workload by one rival."""

    def __init__(self, place, workload, rival, options):
        self.place, self.workload, self.rival = place, workload, rival
        self.samples, self.failed, self.wanted = [], None, options.rounds
        self.budget = options.budget
        self.slow = 0 if options.quick else SLOW

    def once(self):
        """A sample, or None when a rival cannot do it; that callgate or the native command cannot is an error."""
        try:
            return sample(self.place, self.workload, self.rival)
        except places.Failed as error:
            if self.rival.ours or self.rival.name == "native":
                raise
            self.failed = str(error)
        except PermissionError as error:  # sizes: only root may look
            self.failed = str(error)
        return None

    def warm(self):
        """The first sample tells how many more there is time for."""
        result = self.once()
        if result is None:
            return
        figure, took = result
        if self.workload.sizes:
            self.samples, self.wanted = [figure], 1
            return
        least = min(self.wanted, 3 if self.rival.name in ("native", "floor", "callgate") else 1)
        self.wanted = max(least, min(self.wanted, int(self.budget / took)))
        if took > self.slow:
            self.samples = [figure]

    def step(self):
        if self.failed or len(self.samples) >= self.wanted:
            return
        result = self.once()
        if result is not None:
            self.samples.append(result[0])


def fits(workload, rival):
    if workload.only:
        return rival.name in workload.only
    if rival.name == "floor":
        return workload.floor
    return rival.name != "nolog" or workload.floor or workload.group in ("micro", "start")  # a diagnosis: some rows do


def measure(place, workload, working, options):
    """What the JSON says of a workload."""
    began = report.now()
    if workload.setup:
        workload.setup(place, place.workdir(workload.name))
    row = [Cell(place, workload, rival, options) for rival in working if fits(workload, rival)]
    for cell in row:
        cell.warm()
    for number in range(options.rounds):
        for cell in row if number % 2 == 0 else reversed(row):  # nobody is always behind the same other one
            cell.step()
    return {
        "group": workload.group,
        "unit": workload.unit,
        "began": began,
        "samples": {cell.rival.name: cell.samples for cell in row if cell.samples},
        "failed": {cell.rival.name: cell.failed for cell in row if cell.failed},
    }


def all_rows(place, options, chosen, data):
    """Measures and shows row after row; a long run that is interrupted leaves what it has."""
    run = report.Run(data)
    working = data.pop("working")
    print(report.machine(run))
    print(report.line(report.columns(run)), flush=True)
    for workload in chosen:
        row = measure(place, workload, working, options)
        if not row["samples"]:
            data["missing_workloads"][workload.name] = "; ".join(row["failed"].values()) or "none of these does it"
            continue
        data["workloads"][workload.name] = row
        print(report.line(report.cells(run, workload.name)), flush=True)
        if options.json:
            report.save(options.json, data)
    print(report.LEGEND)
    print("\n".join(report.left_out(run)))
    return run


def prepare(place, options):
    """The head of the JSON, and the workloads to do."""
    working, missing = rivals.choose(place, options.rivals.split(",") if options.rivals else None)
    chosen, impossible = workloads.choose(place, options.only, options.quick)
    if options.targets and not options.only:
        chosen = [workload for workload in chosen if workload.name in targets.WORKLOADS]
    if not chosen or not working:
        raise places.Failed("nothing to do: no workload and rival of these names that works here")
    facts = report.facts(place.source) | {"rounds": options.rounds, "quick": options.quick, "busy": options.busy}
    data = {
        "schema": report.SCHEMA,
        "facts": facts,
        "rivals": {rival.name: {"about": rival.about, "version": rival.version()} for rival in working},
        "missing_rivals": {name: {"missing": reason} for name, reason in missing.items()},
        "missing_workloads": impossible,
        "workloads": {},
        "working": working,
    }
    if options.add and os.path.exists(options.json):
        earlier = report.load(options.json).data
        for key in ("rivals", "missing_rivals", "missing_workloads", "workloads"):
            data[key] = {**earlier.get(key, {}), **data[key]}
    return chosen, data


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.getcwd(), help="directory with callgate, bench-floor and bench-micro")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", metavar="REGEX", help="workloads whose name matches, or of this group")
    parser.add_argument("--rivals", metavar="LIST", help=", ".join(kind.name for kind in rivals.ALL))
    parser.add_argument("--json", metavar="FILE", help="write figures and facts to this file")
    parser.add_argument("--add", action="store_true", help="keep what FILE has of other workloads")
    parser.add_argument("--quick", action="store_true", help="smaller workloads: to try it, not to measure")
    parser.add_argument("--targets", action="store_true", help="only what the targets need; say which hold")
    parser.add_argument("--budget", type=float, default=12, metavar="SECONDS", help="a rival has for a workload")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="keep N processors busy meanwhile")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    if options.rivals and (unknown := set(options.rivals.split(",")) - {kind.name for kind in rivals.ALL}):
        parser.error(f"--rivals: there is no {', '.join(sorted(unknown))}")
    if options.json:
        options.json = os.path.abspath(options.json)
    if options.add and not options.json:
        parser.error("--add: needs --json")
    return options


def main():
    options = arguments()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        place = places.Place(os.path.abspath(options.build), source)
    except OSError as error:
        sys.exit(f"bench: {error}")
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(options.busy)]
    try:
        chosen, data = prepare(place, options)
        run = all_rows(place, options, chosen, data)
    except (places.Failed, RuntimeError, OSError, report.BadFile, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
    finally:
        for loop in loops:
            loop.kill()
        os.chdir("/")
        place.close()
    if options.json:
        report.save(options.json, data)
    if options.targets:
        targets.show(run)


if __name__ == "__main__":
    main()
