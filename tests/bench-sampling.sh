#!/bin/bash
# How bench.py samples, with made-up runs: what goes before a sample, which count, how many there are; and that a real
# one tells whether it read from the disk.
set -u

bench=$(cd "${top_srcdir:-$(dirname "$0")/..}/bench" && pwd) || exit 99
command -v python3 >/dev/null || {
	echo "SKIP: python3 is not installed"
	exit 77
}
T=$(mktemp -d -p "${TMPDIR:-/var/tmp}") || exit 99
trap 'rm -rf "$T"' EXIT

PYTHONDONTWRITEBYTECODE=1 python3 - "$bench" "$T" <<'EOF'
import os
import resource
import subprocess
import sys
import types

sys.path.insert(0, sys.argv[1])
import place as places
import sampling
import workloads

failed = 0
calls = []  # (rival, first word of the command), in order
made = {}  # (rival, first word): what its samples are, in order; the last one again and again


def hold(true, text):
    global failed
    if not true:
        failed = 1
        print(f"FAIL: {text}: {calls}", file=sys.stderr)


def fake(_, workload, rival):
    key = rival.name, workload.command[0]
    calls.append(key)
    queue = made.get(key, [sampling.Sample(1.0, 0.1)])
    return queue.pop(0) if len(queue) > 1 else queue[0]


def rival(name):
    return types.SimpleNamespace(name=name, ours=name == "callgate")


def row(group, names, rounds=2, budget=12.0, least=1, **samples):
    calls.clear()
    made.clear()
    made.update({(name, "work"): queue for name, queue in samples.items()})
    place = types.SimpleNamespace(environment={}, workdir=lambda name: name, root="/nowhere")
    workload = workloads.Workload("row", group, ["work"])
    options = types.SimpleNamespace(rounds=rounds, budget=budget, quick=False)
    result = sampling.Row(place, workload, [rival(name) for name in names], options, lambda _: least)
    result.measure()
    return result


whole = sampling.sample
sampling.sample = fake
sample = sampling.Sample

# Before each sample the same natively, then the rival's start; natively itself, just the same.
for group in ("start", "real", "many"):
    row(group, ["native", "callgate"])
    once = [("native", "work")] * 2, [("native", "work"), ("callgate", "/usr/bin/true"), ("callgate", "work")]
    hold(calls == once[0] + once[1] + once[0] + once[1], f"{group}: what goes before a sample")

# What takes long natively, or is a loop, has no native run before it.
found = row("real", ["callgate"], native=[sample(1, sampling.QUICK + 1)])
hold(calls.count(("native", "work")) == 1, "a slow command runs natively once")
found = row("micro", ["native", "callgate"])
both = [("native", "work"), ("callgate", "work")]
hold(calls == both + both + both[::-1], "a loop is not warmed, and nobody is always the second")
found = row("micro", ["callgate"], callgate=[sample(9, 0.1), sample(1, 0.1)])
hold(found.data()["samples"]["callgate"] == [1, 1], "a loop's first is thrown away")
found = row("micro", ["callgate"], callgate=[sample(9, sampling.SLOW + 1), sample(1, sampling.SLOW + 1)])
hold(found.data()["samples"]["callgate"] == [9, 1], "a slow one's first counts")

# Who read from the disk does it again, some times; page faults alone are no disk.
good, cold, touched = sample(1, 0.1), sample(9, 0.1, faults=3, blocks=8), sample(2, 0.1, faults=1)
found = row("real", ["callgate"], rounds=3, callgate=[good, cold, cold, good])
hold(found.data()["samples"]["callgate"] == [1, 1, 1], "a cold sample is dropped")
hold(found.data()["disk"]["callgate"] == [0, 0, 2], "and counted as made again")
found = row("real", ["callgate"], callgate=[cold, good])
hold(found.data()["samples"]["callgate"] == [1, 1], "the first one as well")
found = row("real", ["callgate"], callgate=[cold])
hold(found.data()["samples"]["callgate"] == [9, 9], "always cold: it counts at last")
hold(found.data()["disk"]["callgate"] == [6, 16, 2], "and its blocks are on record")
found = row("real", ["callgate"], rounds=3, callgate=[touched])
hold(found.data()["disk"]["callgate"] == [3, 0, 0], "page faults without blocks are no reason")
found = row("real", ["callgate"], callgate=[cold, sample(8, sampling.SLOW + 1, blocks=8)])
hold(found.data()["disk"]["callgate"][2] == 0, "a slow sample is not made again")

# The budget.
found = row("real", ["proot"], rounds=5, budget=6, least=2, proot=[sample(9000, 9)])
hold(found.data()["samples"]["proot"] == [9000, 9000], "no fewer than the target needs")
found = row("real", ["proot"], rounds=5, budget=6, proot=[sample(2000, 2)])
hold(len(found.data()["samples"]["proot"]) == 3, "as many as there is time for")

# A command that reads what is not in the cache tells so, where the disk is one.
path = os.path.join(sys.argv[2], "cold")


def chill():
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


chill()
subprocess.run(["/bin/cat", path], stdout=subprocess.DEVNULL, check=True)
if resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock:
    place = types.SimpleNamespace(
        environment={}, workdir=lambda name: sys.argv[2], logs=sys.argv[2], running=set(), clear_logs=lambda: None)
    native = types.SimpleNamespace(command=lambda folder, command, how: command, environment={})
    work = workloads.Workload("row", "real", ["/bin/cat", path])
    chill()
    hold(whole(place, work, native).cold, "a cold file is not noticed")
    # Whoever else needs the memory may push it out again: once of ten times it stays.
    hold(any(not whole(place, work, native).cold for _ in range(10)), "a warm file is taken for a cold one")
else:
    print("not tried: nothing is read from a disk here")
if not failed:
    print("sampled as it should")
sys.exit(failed)
EOF
failed=$?
if [ -d "$bench/__pycache__" ]; then
	echo "FAIL: left in the source directory: $bench/__pycache__" >&2
	failed=1
fi
exit $failed
