#!/usr/bin/env python3
"""What a workspace (callgate run --cow) costs: starting on a large tree, copying up, ws diff and ws apply.

Everything is on one file system and in turn, round after round; the least and the median of the rounds are printed.
Copying up is what opening files for appending takes with --cow more than without, and natively on a mount of overlayfs
(as root) or fuse-overlayfs more than on the directory; cp(1) copies the same files, and once also writes each to the
disk, as overlayfs does.
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

MOUNTS = {"overlay": ["mount", "-t", "overlay", "overlay"], "fuse": ["fuse-overlayfs"]}
TOUCH = 'cd "$0" && for file in *; do echo >>"$file"; done'


class Bench:
    def __init__(self, build, top):
        self.callgate = os.path.join(build, "callgate")
        self.top = top
        os.environ["TMPDIR"] = os.path.join(top, "tmp")
        os.mkdir(os.environ["TMPDIR"])
        self.samples = {}

    def timed(self, name, *command):
        began = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.samples.setdefault(name, []).append(time.monotonic() - began)
        return done

    def callgate_run(self, name, tree, program, *options):
        done = self.timed(name, self.callgate, "run", "--json", "--profile", "minimal", "-r", "/usr", "-x", "/usr/bin",
                          *options, "-w", tree, "--", *program)
        result = json.loads(done.stdout)
        if result["status"] != "ok":
            sys.exit(f"{name}: {result.get('error') or result.get('stderr')}")
        return (result.get("workspace") or {}).get("id")

    def ws(self, *words):
        return subprocess.run([self.callgate, "ws", *words], capture_output=True)

    def cow(self, name, tree, program):
        return self.callgate_run(name, tree, program, "--cow")

    def print(self, name, text, count=1, less=None):
        """The least and the median, of all or by item; less: the name of what is subtracted, round by round."""
        values = self.samples[name]
        if less:
            values = [value - other for value, other in zip(values, self.samples[less])]
        print(f"{text}: least {min(values) / count * 1e3:.3f} ms, median {statistics.median(values) / count * 1e3:.3f}"
              f" ms ({len(values)} rounds)", flush=True)
        return statistics.median(values)


def fill(folder, count, size, per_dir=1000):
    """So many files, in directories of at most per_dir."""
    for at in range(count):
        below = os.path.join(folder, f"d{at // per_dir}") if count > per_dir else folder
        if at % per_dir == 0:
            os.makedirs(below, exist_ok=True)
        with open(os.path.join(below, f"f{at % per_dir}"), "wb") as file:
            file.write(os.urandom(size))


def start(bench, rounds, files):
    tree = os.path.join(bench.top, "large")
    fill(tree, files, 10)
    for _ in range(rounds):
        bench.callgate_run("start", tree, ["/bin/true"])
        bench.ws("discard", bench.cow("start --cow", tree, ["/bin/true"]))
    bench.print("start", f"a run on {files} files")
    bench.print("start --cow", f"a run with --cow on {files} files")
    bench.print("start --cow", "  more than without, round by round", less="start")
    shutil.rmtree(tree)


def copy_up_natively(bench, name, tree, native, how):
    """The same on a mount, if there can be one."""
    dirs = [os.path.join(bench.top, each) for each in ("upper", "work", "mount")]
    for each in dirs:
        os.mkdir(each)
    options = f"lowerdir={tree},upperdir={dirs[0]},workdir={dirs[1]}"
    try:
        mounted = subprocess.run([*MOUNTS[how], "-o", options, dirs[2]], capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if mounted:
        bench.timed(f"{name} {how}", *native, dirs[2])
        subprocess.run(["umount", dirs[2]], check=True)
    for each in dirs:
        shutil.rmtree(each)


def copy_one(bench, name, tree, native):
    """Opens all files of a tree for appending, by what is compared."""
    for how in ("native", "callgate", "cow", "overlay", "fuse", "cp", "cp, fsync", "cp --reflink=auto"):
        if how == "native":
            bench.timed(f"{name} {how}", *native, tree)
        elif how == "callgate":
            bench.callgate_run(f"{name} {how}", tree, [*native, "."])
        elif how == "cow":
            bench.ws("discard", bench.cow(f"{name} {how}", tree, [*native, "."]))
        elif how in MOUNTS:
            copy_up_natively(bench, name, tree, native, how)
        elif how == "cp, fsync":
            copy = os.path.join(bench.top, "copy")
            bench.timed(f"{name} {how}", "/bin/sh", "-c", 'cp -a "$0" "$1" && sync "$1"/*', tree, copy)
            shutil.rmtree(copy)
        elif how.startswith("cp"):
            copy = os.path.join(bench.top, "copy")
            bench.timed(f"{name} {how}", *how.split(), "-a", tree, copy)
            shutil.rmtree(copy)


def copying(bench, rounds, count, size):
    name = f"{count} x {size}"
    tree = os.path.join(bench.top, "tree")
    fill(tree, count, size, per_dir=count)
    for _ in range(rounds):
        copy_one(bench, name, tree, ["/bin/sh", "-c", TOUCH])
    print(f"{count} files of {size} bytes, a file:")
    for how, less in (("cow", "callgate"), ("overlay", "native"), ("fuse", "native"), ("cp", None),
                      ("cp, fsync", None), ("cp --reflink=auto", None)):
        if f"{name} {how}" in bench.samples:
            took = bench.print(f"{name} {how}", f"  {how}", count, less and f"{name} {less}")
            print(f"    {count * size / took / 1e6:.0f} MB/s")
    shutil.rmtree(tree)


def changing(bench, rounds, count):
    tree = os.path.join(bench.top, "tree")
    touch = "for dir in *; do cd $dir; for file in *; do echo x >>$file; done; cd ..; done"
    for _ in range(rounds):
        fill(tree, count, 1000, per_dir=100)
        workspace = bench.cow(f"change {count}", tree, ["/bin/sh", "-c", touch])
        lines = bench.timed(f"diff {count}", bench.callgate, "ws", "diff", workspace).stdout.count(b"\n")
        done = bench.timed(f"apply {count}", bench.callgate, "ws", "apply", workspace)
        if lines != count or done.returncode != 0:
            sys.exit(f"{lines} of {count} changes; ws apply: {done.returncode} {done.stderr[:500]}")
        bench.ws("discard", workspace)
        shutil.rmtree(tree)
    bench.print(f"diff {count}", f"ws diff of {count} changed files")
    bench.print(f"apply {count}", f"ws apply of {count} changed files")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=".", help="where callgate is built")
    parser.add_argument("--dir", default="/var/tmp", help="where files are made; no overlay (default: /var/tmp)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--files", type=int, default=100000, help="of the large tree")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-workspace.", dir=args.dir) as top:
        bench = Bench(os.path.abspath(args.build), top)
        start(bench, args.rounds, args.files)
        copying(bench, max(args.rounds // 3, 1), 1000, 4096)
        copying(bench, max(args.rounds // 3, 1), 1, 64 << 20)
        for count in 1000, 10000:
            changing(bench, max(args.rounds // 5, 1), count)


if __name__ == "__main__":
    main()
