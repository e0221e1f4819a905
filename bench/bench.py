#!/usr/bin/env python3
"""Times the same work natively, under the bare emulator and under callgate, interleaved in one run.

A speed is a ratio: read the columns against each other, never against another machine's.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MICRO = {
    "open+close": ("open", "/usr/bin/env", 20000),
    "stat": ("stat", "/usr/bin/env", 20000),
    "denied open": ("denied", "/etc/shadow-not-granted", 20000),
}

PANDAS = """
import pandas as pd, numpy as np
frame = pd.DataFrame({"key": np.arange(200000) % 97, "value": np.arange(200000) * 0.5})
print(frame.groupby("key").value.mean().sum())
"""

WORK = {
    "true": ["/usr/bin/true"],
    "python3 start-up": ["/usr/bin/python3", "-c", "import json, ssl, sqlite3, email, asyncio"],
    "find /usr/include": ["/usr/bin/find", "/usr/include", "-type", "f", "-size", "+100k"],
    "pandas group-by": ["/usr/bin/python3", "-c", PANDAS],
}


def seconds(command):
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)[:120]} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    return took


def micro_ns(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)[:120]} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    return float(done.stdout)


def measure(options, build, scratch):
    micro, floor = os.path.join(build, "bench-micro"), os.path.join(build, "bench-floor")
    inside = [os.path.join(build, "callgate"), "run", "--profile", "extended", "-r", build, "-x", build, "-w", scratch, "--"]
    rows = {}

    for name, (what, path, count) in MICRO.items():
        row = rows.setdefault(name, {"unit": "ns", "native": [], "floor": [], "callgate": []})
        for _ in range(options.rounds):
            command = [micro, what, path, str(count)]
            row["native"].append(micro_ns(command))
            row["floor"].append(micro_ns([floor] + command))
            row["callgate"].append(micro_ns(inside + command))
    for name, command in WORK.items():
        row = rows.setdefault(name, {"unit": "ms", "native": [], "callgate": []})
        for _ in range(options.rounds):
            row["native"].append(seconds(command) * 1000)
            row["callgate"].append(seconds(inside + command) * 1000)
    spawn = ["/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do /usr/bin/true; i=$((i+1)); done"]
    row = rows.setdefault("200 x spawn true", {"unit": "ms", "native": [], "callgate": []})
    for _ in range(options.rounds):
        row["native"].append(seconds(spawn) * 1000)
        row["callgate"].append(seconds(inside + spawn) * 1000)
    return rows


def table(rows):
    print(f"{'workload':22} {'unit':4} {'native':>12} {'floor':>12} {'callgate':>12} {'x native':>9} {'x floor':>8}  spread")
    for name, row in rows.items():
        middle = {key: statistics.median(row[key]) for key in ("native", "floor", "callgate") if key in row}
        floor = f"{middle['floor']:12.1f}" if "floor" in middle else f"{'-':>12}"
        by_floor = f"{middle['callgate'] / middle['floor']:8.2f}" if "floor" in middle else f"{'-':>8}"
        spread = (max(row["callgate"]) - min(row["callgate"])) / middle["callgate"]
        print(
            f"{name:22} {row['unit']:4} {middle['native']:12.1f} {floor} {middle['callgate']:12.1f}"
            f" {middle['callgate'] / middle['native']:9.2f} {by_floor}  {spread:.0%}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.getcwd(), help="directory with callgate, bench-floor and bench-micro")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="also write the raw figures to this file")
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="callgate-bench-")
    try:
        rows = measure(options, os.path.abspath(options.build), scratch)
    finally:
        shutil.rmtree(scratch)
    table(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
