"""What is not time: how much memory callgate's own processes take, and how long a record of the log is."""

import os
import re
import time

import place as places

SECONDS = 60


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) * 1024


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
        return file.read().strip()


def own(keeper):
    """Keeper, supervisor and egress: the tree as far as it is callgate and not yet the program."""
    found = [keeper]
    for pid in found:
        found += [child for child in children(pid) if name_of(child).startswith(("callgate", "egress"))]
    return found


def memory(where, workload, rival):
    """PSS while the program sleeps, after it has done a little of everything."""
    workdir = where.workdir(workload.name)
    ready = os.path.join(workdir, "ready")
    command = rival.command(workdir, workload.command, workload)
    process = places.Process(where, command, workdir, rival.environment)
    try:
        for _ in range(SECONDS * 10):
            if os.path.exists(ready):
                return sum(pss(pid) for pid in own(process.pid))
            time.sleep(0.1)
        raise places.Failed(f"{process.shown}: not ready after {SECONDS} s: {process.read(process.err)}")
    finally:
        process.stop()


def record(where, workload, rival):
    """Bytes a line of the log."""
    workdir = where.workdir(workload.name)
    log = where.fresh_log()
    command = rival.command(workdir, workload.command, workload, log)
    places.Process(where, command, workdir, rival.environment).wait(SECONDS)
    with open(log, "rb") as file:
        lines = sum(1 for _ in file)
    return os.path.getsize(log) / lines


def sample(where, workload, rival):
    return memory(where, workload, rival) if workload.name == "PSS" else record(where, workload, rival)
