#!/bin/bash
# How bench.py samples, with made-up runs: what runs before each sample, which samples count, how many there are. A real
# run reports whether it read from the disk.
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
import estimate
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
    return types.SimpleNamespace(name=name, ours=name == "callgate", everywhere=True)


def row(group, names, rounds=2, budget=12.0, named=(), **samples):
    calls.clear()
    made.clear()
    made.update({(name, "work"): queue for name, queue in samples.items()})
    result = new_row(group, "work", names, rounds, budget, named)
    sampling.measure([result])
    return result


def new_row(group, command, names, rounds, budget=12.0, named=()):
    place = types.SimpleNamespace(environment={}, workdir=lambda name: name, root="/nowhere")
    options = types.SimpleNamespace(rounds=rounds, budget=budget, quick=False)
    workload = workloads.Workload(command, group, [command])
    return sampling.Row(place, workload, [rival(name) for name in names], options, named)


whole = sampling.sample
sampling.sample = fake
sample = sampling.Sample
fine, sampling.FINE, sampling.FINEST = sampling.FINE, 1, 1

# Before each sample the same natively, then the rival's start; natively itself, just the same.
for group in ("start", "real", "many"):
    row(group, ["native", "callgate"])
    once = [("native", "work")] * 2, [("native", "work"), ("callgate", "/usr/bin/true"), ("callgate", "work")]
    hold(calls == once[0] + once[1] + once[1] + once[0], f"{group}: what goes before a sample")

# What takes long natively, or is a loop, has no native run before it.
found = row("real", ["callgate"], native=[sample(1, sampling.QUICK + 1)])
hold(calls.count(("native", "work")) == 1, "a slow command runs natively once")
found = row("micro", ["native", "callgate"])
both = [("native", "work"), ("callgate", "work")]
hold(calls == both + both + both[::-1], "a loop is not warmed, and no cell is always the second")
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
found = row("real", ["proot"], rounds=5, budget=6, named=["proot"], proot=[sample(9000, 9)])
hold(found.data()["samples"]["proot"] == [9000] * 3, "no fewer than the target needs")
found = row("real", ["proot"], rounds=5, budget=6, proot=[sample(2000, 2)])
hold(len(found.data()["samples"]["proot"]) == 3, "as many as there is time for")

# Those that are compared most have more samples, side by side in each round, and as many as each other; those of the
# rest are spread. Who is named by a target is compared most as well.
sampling.FINE = sampling.FINEST = fine
found = row("micro", ["native", "proot", "callgate", "strace"], named=["proot"], callgate=[sample(1, 2.0)])
made_in = found.data()["rounds"]
hold(made_in["native"] == made_in["callgate"] == made_in["proot"] == list(range(1, 7)), f"rounds: {made_in}")
hold(made_in["strace"] == [1, 4], f"rounds of the others are spread: {made_in}")
order = [name for name, _ in calls[4:]]
hold(order[:7] == ["native", "callgate", "proot", "strace", "proot", "callgate", "native"], f"side by side: {order}")
found = row("real", ["native", "callgate"], rounds=1)
hold(found.data()["rounds"]["callgate"] == [0, 2, 3, 4, 5], f"the first one is of round 0: {found.data()['rounds']}")

# Rows of one block share their rounds; the one of fewer samples has them spread over those.
calls.clear()
made.clear()
made[("callgate", "slow")] = [sample(1, 2.0)]
pair = [new_row("micro", command, ["native", "callgate"], 2) for command in ("quick", "slow")]
sampling.measure(pair)
quick, slow = ([each.data()["rounds"][name] for name in ("native", "callgate")] for each in pair)
hold(quick == [list(range(1, 11))] * 2, f"rounds of the quick row: {quick}")
hold(slow == [[1, 2, 4, 6, 7, 9]] * 2, f"rounds of the slow row: {slow}")
names = [[one.name for one in block] for block in sampling.blocks(
    [workloads.Workload(name, "real", [], block=block)
     for name, block in (("a", "x"), ("b", ""), ("c", "x"), ("d", ""))])]
hold(names == [["a", "c"], ["b"], ["d"]], f"blocks: {names}")

# The interval: so many of the rounds may lie on one side of the true median, in 2.5 of 100 runs at most.
outside = {count: estimate.outside(count) for count in (1, 5, 6, 8, 9, 12, 25, 100)}
hold(outside == {1: 0, 5: 0, 6: 0, 8: 0, 9: 1, 12: 2, 25: 7, 100: 39}, f"outside the interval: {outside}")
one = estimate.of(list(range(25, 0, -1)))
hold((one.value, one.low, one.high, one.count) == (13, 8, 18, 25), f"the estimate: {one}")
hold((one.within(18), one.within(17), one.within(7)) == (True, None, False), f"within: {one}")
hold((one.at_least(8), one.at_least(9), one.at_least(19)) == (True, None, False), f"at least: {one}")
hold(estimate.of([]) is None and estimate.of([1, 2]).uncertainty is None, "nothing, and two")

# A command that reads what is not in the cache tells so, where the disk is one.
path = os.path.join(sys.argv[2], "cold")


def chill():
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


place = types.SimpleNamespace(
    environment={}, workdir=lambda name: sys.argv[2], logs=sys.argv[2], running=set(), clear_logs=lambda: None,
    busy=set())
native = types.SimpleNamespace(command=lambda folder, command, how: command, environment={})

# What a rival leaves running is ended before the next sample, other children of the bench are not.
places.watch_signals()
sampling.ENDING = 0
loop = subprocess.Popen(["/bin/sleep", "60"])
place.busy = {loop.pid}
leaves = workloads.Workload("leaves", "real", ["/bin/sh", "-c", "sleep 60 & echo $! >left"])
whole(place, leaves, native)
with open(os.path.join(sys.argv[2], "left"), encoding="ascii") as file:
    left = int(file.read())
hold(not os.path.exists(f"/proc/{left}"), "a process outlives its sample")
hold(loop.poll() is None, "a busy loop was ended")
loop.kill()
loop.wait()

chill()
subprocess.run(["/bin/cat", path], stdout=subprocess.DEVNULL, check=True)
if resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock:
    work = workloads.Workload("row", "real", ["/bin/cat", path])
    chill()
    hold(whole(place, work, native).cold, "a cold file is not noticed")
    # Other processes that need the memory may push it out again: once of ten times it stays.
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
