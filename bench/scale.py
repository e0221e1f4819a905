#!/usr/bin/env python3
"""How calls scale: many sandboxes at once, and many threads in one. Prints a table, a row for each number of them.

A call is one judged call of `bench-micro mixed` (open, stat). Its time is that of a long run minus that of a short one,
divided by the calls that the long run makes more, so that starts do not count. "CPU" is user and system time of all
processes of the run; it means something on a busy machine as well, where "wall" does not. "of one" compares with one
thread in one sandbox, measured in the same round: calls per second of CPU time, and per second and core by the clock.
"""

import argparse
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True  # the source directory stays as it is

import place as places
import rivals
import workloads

CALLS = 2  # judged calls of one operation
ROUNDS_OF_MICRO = 5
LEAST = 400  # operations of a sandbox and a round, so that its start takes the smaller part of its CPU time
TIMEOUT = 300


class Apart(rivals.Floor):
    name, about = "apart", "the floor, with its program in a scheduling group of its own, as under callgate"

    def command(self, workdir, inner, how=None, log=None):
        return [self.place.floor, "-s", *inner]


class Case:
    """So many sandboxes with so many threads each; operations are of a thread and a round of bench-micro."""

    def __init__(self, place, rival, sandboxes, threads, calls):
        self.place, self.rival = place, rival
        self.sandboxes, self.threads = sandboxes, threads
        self.operations = max(LEAST // threads, calls // (CALLS * ROUNDS_OF_MICRO * sandboxes * threads))
        self.cpu, self.wall = [], []  # seconds a call

    def run(self, operations):
        """(CPU seconds, seconds by the clock) of all sandboxes."""
        inner = [self.place.micro, "mixed", "/usr/bin/env", str(operations), "0", str(self.threads)]
        folders = [self.place.workdir(f"scale{n}") for n in range(self.sandboxes)]
        how = workloads.Workload("scale", "many", inner, parallel=True)
        commands = [self.rival.command(folder, inner, how) for folder in folders]
        began = time.monotonic()
        running = [places.Process(self.place, *pair, self.rival.environment) for pair in zip(commands, folders)]
        ended = max(process.began + process.wait(TIMEOUT) for process in running)
        self.place.clear_logs()
        return sum(process.usage.ru_utime + process.usage.ru_stime for process in running), ended - began

    def sample(self):
        few = self.operations // 8
        calls = (self.operations - few) * CALLS * ROUNDS_OF_MICRO * self.sandboxes * self.threads
        long, short = self.run(self.operations), self.run(few)
        self.cpu.append((long[0] - short[0]) / calls)
        self.wall.append((long[1] - short[1]) / calls)

    def row(self, alone):
        cores = min(len(os.sched_getaffinity(0)), self.sandboxes)
        cpu, wall = statistics.median(self.cpu), statistics.median(self.wall)
        of_cpu = statistics.median(one / mine for one, mine in zip(alone.cpu, self.cpu) if mine)
        head = f"{self.rival.name:9} {self.sandboxes:9} {self.threads:7} {cpu * 1e6:11.2f} {of_cpu:7.2f}"
        if min(self.wall + alone.wall) <= 0:
            return f"{head} {'too noisy':>13}"
        of_wall = statistics.median(one / mine / cores for one, mine in zip(alone.wall, self.wall))
        return f"{head} {1 / wall / cores:13,.0f} {of_wall:7.2f}"


def measure(place, options):
    kinds = [kind(place) for kind in (*rivals.ALL, Apart) if kind.name in options.rivals]
    print("who       sandboxes threads CPU µs/call  of one calls/s*core  of one", flush=True)
    many = [(count, 1) for count in options.sandboxes] + [(1, count) for count in options.threads]
    for shape in dict.fromkeys([(1, 1), *many]):
        cases = [[Case(place, kind, 1, 1, options.calls), Case(place, kind, *shape, options.calls)] for kind in kinds]
        for _ in range(options.rounds):
            for alone, case in cases:
                alone.sample()
                case.sample()
        for alone, case in cases:
            print(case.row(alone), flush=True)


def numbers(most):
    def parse(text):
        found = [int(word) for word in text.split(",") if word]
        if any(not 1 <= number <= most for number in found):
            raise argparse.ArgumentTypeError(f"numbers from 1 to {most}, with commas between them")
        return found

    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.getcwd(), help="directory with callgate, bench-floor and bench-micro")
    parser.add_argument("--before", metavar="DIR", help="build directory of an earlier callgate, measured in turn")
    parser.add_argument("--rivals", metavar="LIST", help="native, floor, apart, before, callgate (callgate, before)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100000, help="of all sandboxes and threads of a row (100,000)")
    parser.add_argument("--sandboxes", type=numbers(1024), default=[8, 64, 256], metavar="LIST", help="8,64,256")
    parser.add_argument("--threads", type=numbers(64), default=[2, 8, 64], metavar="LIST", help="2,8,64")
    options = parser.parse_args()
    options.rivals = (options.rivals or ("callgate,before" if options.before else "callgate")).split(",")
    places.watch_signals()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    place = places.Place(os.path.abspath(options.build), source, options.before)
    try:
        measure(place, options)
    except places.Interrupted as signal:
        sys.exit(signal.status)
    except (places.Failed, OSError) as error:
        sys.exit(f"scale: {error}")
    finally:
        os.chdir("/")
        place.close()


main()
