#!/usr/bin/env python3
"""Times the same work natively, under the bare emulator, under callgate and under its rivals, interleaved in one run.

A speed is a ratio: read the columns of a row against each other, never against another machine's.
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the source directory stays as it is

import estimate
import place as places
import report
import rivals
import sampling
import targets
import workloads

BUDGET = 12  # seconds
BUDGET_TARGETS = 6


def all_rows(place, options, chosen, data):
    """Measures and prints row after row. An interrupted run keeps its rows so far. Returns them and the exit status."""
    run = report.Run(data)
    working = data.pop("working")
    print(report.machine(run))
    print(report.line(report.columns(run)), flush=True)
    status = 0
    for block in sampling.blocks(chosen):
        rows = [sampling.Row(place, one, working, options, targets.rivals_of(one.name)) for one in block]
        try:
            sampling.measure(rows)
        except places.Interrupted as signal:
            data["interrupted"], status = f"{signal} during {block[0].name}", signal.status
        for row in rows:
            add(data, row.workload, row.data())
            if row.workload.name in data["workloads"]:
                print(report.line(report.cells(run, row.workload.name)), flush=True)
        if options.json:
            report.save(options.json, data)
        if status:
            break
    print(report.LEGEND)
    print("\n".join(report.remarks(run)))
    return run, status


def add(data, workload, row):
    if row["samples"]:
        data["workloads"][workload.name] = row
    elif "interrupted" not in data:
        data["missing_workloads"][workload.name] = "; ".join(row["failed"].values()) or "none of these does it"


def prepare(place, options):
    """The head of the JSON, and the workloads to do."""
    working, missing = rivals.choose(place, options.rivals.split(",") if options.rivals else None)
    chosen, impossible = workloads.choose(place, options.only, options.quick)
    if options.targets and not options.only:
        chosen = [workload for workload in chosen if workload.name in targets.WORKLOADS]
    working = [rival for rival in working if any(sampling.fits(workload, rival) for workload in chosen)]
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
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=sampling.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default=os.getcwd(), help="directory with callgate, bench-floor and bench-micro")
    parser.add_argument("--fetched", metavar="DIR", help="what bench/fetch has fetched (BUILD/bench-fetched)")
    parser.add_argument("--before", metavar="DIR", help="build directory of an earlier callgate: a rival more")
    parser.add_argument(
        "--rounds", type=int, default=5,
        help=f"samples of a rival; up to {sampling.FINE} times as many of native, floor, callgate and the rivals that "
        f"a target names, {sampling.FINEST} times where samples are short",
    )
    parser.add_argument("--only", metavar="REGEX", help="workloads whose name matches, of this group, or: table")
    parser.add_argument("--rivals", metavar="LIST", help=", ".join(kind.name for kind in rivals.ALL))
    parser.add_argument("--json", metavar="FILE", help="write figures and facts to this file, row after row")
    parser.add_argument("--add", action="store_true", help="keep what FILE has of other workloads")
    parser.add_argument("--quick", action="store_true", help="smaller workloads: to try it, not to measure")
    parser.add_argument("--targets", action="store_true", help="only what the targets need; say which hold")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS",
        help=f"time of a rival for a workload ({BUDGET}; with --targets {BUDGET_TARGETS}); it gets at least one "
        f"sample, three where a target names the rival, {estimate.LEAST} of native, floor and callgate",
    )
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
    if options.budget is None:
        options.budget = BUDGET_TARGETS if options.targets else BUDGET
    return options


def measured(place, options):
    """The run and the exit status; ends what it has started."""
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(options.busy)]
    place.busy = {loop.pid for loop in loops}
    try:
        chosen, data = prepare(place, options)
        return all_rows(place, options, chosen, data)
    except places.Interrupted as signal:
        sys.exit(signal.status)
    except (places.Failed, RuntimeError, OSError, report.BadFile, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
    finally:
        for loop in loops:
            loop.kill()
        os.chdir("/")
        place.close()


def main():
    options = arguments()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places.watch_signals()
    try:
        build = os.path.abspath(options.build)
        fetched = os.path.abspath(options.fetched or os.path.join(build, "bench-fetched"))
        place = places.Place(build, source, options.before, fetched)
    except OSError as error:
        sys.exit(f"bench: {error}")
    run, status = measured(place, options)
    if options.json:
        report.save(options.json, run.data)
    if options.targets:
        targets.show(run)
    sys.exit(status)


if __name__ == "__main__":
    main()
