"""What is measured. A workload is one command in a working directory of its own; a figure is time, and less is better.

micro: bench-micro prints nanoseconds an operation. start, real: milliseconds by the wall clock, start-up included.
many: several sandboxes at once, wall time divided by their number. threads: threads inside one, nanoseconds an
operation of them all. size: bytes, of callgate alone (see sizes.py). How they are sampled: sampling.py.

Some workloads make the table in which every rival has a column ("table" is their name together).
"""

import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
from typing import Callable, Optional

import trees
from rivals import EXTENDED

PYTHON = "/usr/bin/python3"
GIT = ("/usr/bin/git",)
TABLE = "table"
OURS = ("native", "before", "callgate")
STARTS = (*OURS, "changes", "bwrap")
FAST = (*OURS, "changes", "bwrap")  # with the others it would take minutes
DATA = ("--profile", "data")  # what Python programs are meant to run under; it hides nothing of what it grants
IMPORTS = [PYTHON, "-c", "import json, ssl, sqlite3, email, asyncio"]
PANDAS = """
import pandas as pd, numpy as np
frame = pd.DataFrame({"key": np.arange(200000) % 97, "value": np.arange(200000) * 0.5})
print(frame.groupby("key").value.mean().sum())
"""
SPAWN = ["/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do /usr/bin/true; i=$((i+1)); done"]
FIND = ["/usr/bin/find", "/usr/include", "/usr/lib/python3", "-type", "f", "-size", "+100k"]
REFUSED = "/sys/bus/cpu/drivers_probe"  # it exists, no policy grants it, and natively not even root can read it
PROFILES = (("python",), ("data",), ("extended",))  # `true` itself runs under minimal
NETWORKS = (("python", "pypi"), ("extended", "npm"), ("extended", "debian"), ("extended", "github-read"))
NPM_CI = (
    "npm", "ci", "--offline", "--cache", "cache", "--ignore-scripts", "--no-audit", "--no-fund",
    "--no-update-notifier", "--loglevel", "error",
)
POLICY = '{"version": 1, "name": "bench", "extends": ["extended"], %s}\n'


@dataclasses.dataclass
class Workload:
    name: str
    group: str
    command: list
    floor: bool = False  # the floor performs what it does
    parallel: bool = False  # does several things at once: one processor, where the floor would keep it, is too few
    nolog: bool = False  # a row of the diagnosis as well
    setup: Optional[Callable] = None  # once: setup(place, workdir)
    prepare: Optional[Callable] = None  # before every sample, not timed: prepare(workdir)
    options: tuple = EXTENDED  # of callgate run
    bare: bool = False  # callgate run gets these options and no others: no workdir, none of the bench's tools
    only: tuple = ()  # these rivals and no others; empty: all
    table: bool = False  # every rival does it, unless only says otherwise
    needs: tuple = ()  # files that have to exist
    at_once: int = 1
    block: str = ""  # rows that are compared with each other are measured in the same rounds; empty: the row alone
    timeout: int = 90
    sizes: bool = False  # not timed: sizes.py

    @property
    def unit(self):
        return "B" if self.sizes else "ns" if self.group in ("micro", "threads") else "ms"

    def matches(self, pattern):
        if pattern == TABLE:
            return self.table
        return re.search(pattern, self.name) or re.fullmatch(pattern, self.group)

    def why_not(self):
        missing = [path for path in self.needs if not os.path.exists(path)]
        return f"{missing[0]} is not there (bench/fetch?)" if missing else None


def again(*names):
    """
    A prepare that moves away what the last sample made. Removing it would be measured: for minutes, ext4 takes no inode
    that was freed (recently_deleted() in fs/ext4/ialloc.c), and searches past all of them for each new file.
    """

    def prepare(workdir):
        for name in names:
            made = os.path.join(workdir, name)
            if os.path.lexists(made):
                os.rename(made, os.path.join(tempfile.mkdtemp(prefix="made.", dir=os.path.dirname(workdir)), "made"))

    return prepare


def copy_of(original, copy):
    clear = again(copy)

    def prepare(workdir):
        clear(workdir)
        subprocess.run(["cp", "-a", original, copy], cwd=workdir, check=True)

    return prepare


def policy(place, name, words):
    path = os.path.join(place.root, name)
    trees.write(path, POLICY % words)
    return "-p", path


def micro(place, quick):
    """One row an operation of micro-operations.c; what is made includes its removal, and the other way round."""
    listens = policy(place, "listen.json", '"network": {"listen": ["*"]}')
    rows = (
        ("getpid", "getpid", "-", True),
        ("open+close", "open", "/usr/bin/env", True),
        ("missing open", "missing", "/usr/lib/not-there", True),
        ("denied open", "denied", REFUSED, True),
        ("stat", "stat", "/usr/bin/env", True),
        ("open, close, stat", "mixed", "/usr/bin/env", True),
        ("access", "access", "/usr/bin/env", True),
        ("readlink", "readlink", "/proc/self/exe" if not os.path.islink("/usr/bin/awk") else "/usr/bin/awk", True),
        ("mkdir+rmdir", "mkdir", "made", True),
        ("rename, twice", "rename", "made", True),
        ("create+unlink", "unlink", "made", True),
        ("connect unix", "unix", "socket", False),
        ("connect tcp", "tcp", "-", False),
        ("fork+wait", "fork", "-", False),
        ("fork+exec+wait", "exec", "/usr/bin/true", False),
        ("thread", "thread", "-", False),
    )
    milliseconds = "40" if quick else "60"
    for name, operation, path, floor in rows:
        options = listens if operation == "tcp" else EXTENDED
        command = [place.micro, operation, path, "20000", milliseconds]
        needs = (REFUSED,) if path == REFUSED else ()
        yield Workload(name, "micro", command, floor=floor, options=options, nolog=True, needs=needs)
    fstat = [place.micro, "fstat", "/usr/bin/env", "20000", milliseconds]
    yield Workload("fstat", "micro", fstat, floor=True, options=DATA)
    yield Workload("fstat, extended", "micro", fstat, only=OURS)
    yield Workload("fstat, no mountns", "micro", fstat, options=(*DATA, "--without", "mountns"), only=OURS)


def start(place, quick):
    """`true` as a user types it, and under each built-in profile. Those for the network grant no files."""
    true = Workload("true", "start", ["/usr/bin/true"], floor=True, nolog=True, options=(), bare=True, block="start",
                    table=True)
    yield true
    yield dataclasses.replace(true, name="true, --json", options=("--json",), only=OURS, table=False)
    for names in (*PROFILES, *NETWORKS):
        options = [word for name in names for word in ("--profile", name)]
        yield dataclasses.replace(true, name=f"true, {' '.join(names)}", options=(*options, "-x", "/usr/bin/true"),
                                  only=STARTS)


def python():
    imports = Workload("python imports", "real", IMPORTS, floor=True, nolog=True, options=DATA, needs=(PYTHON,),
                       table=True)
    needs = (PYTHON, "/usr/lib/python3/dist-packages/pandas")
    pandas = Workload("pandas group-by", "real", [PYTHON, "-c", PANDAS], floor=True, options=DATA, needs=needs,
                      table=True)
    for one in (imports, pandas):
        yield one
        yield dataclasses.replace(one, name=f"{one.name}, extended", options=EXTENDED, only=OURS, table=False)


def fetched(place):
    """What bench/fetch brings: packages of npm with an offline cache, and the sources of Lua."""
    npm, lua = (os.path.join(place.fetched, name) for name in ("npm", "lua"))
    return (
        Workload(
            "npm ci, 70 packages", "real", list(NPM_CI), setup=trees.fetched("npm"), prepare=again("node_modules"),
            needs=("/usr/bin/npm", f"{npm}/package-lock.json"), table=True,
        ),
        Workload(
            "make -j2, lua", "real", ["make", "-s", "-j2", "-C", "build/src", "linux"], floor=True, parallel=True,
            setup=trees.fetched("lua"), prepare=copy_of("source", "build"),
            needs=("/usr/bin/make", "/usr/bin/gcc", f"{lua}/source"), timeout=400, table=True,
        ),
    )


def real(place, quick):
    """bench-micro makes five rounds of its calls."""
    calls = 500 if quick else 4000
    yield from python()

    def work(name, *command, **more):
        return Workload(name, "real", list(command), floor=True, **more)

    yield work("git status, 300 files", "git", "status", "--short", setup=trees.repository, needs=GIT, block="start",
               table=True)
    yield work("200 x spawn true", *SPAWN, table=True)
    yield work("find -size +100k", *FIND, table=True)
    yield from fetched(place)
    loop = [place.micro, "mixed", "/usr/bin/env", str(calls)]
    yield work(f"{calls * 5:,} x open, close, stat", *loop, nolog=True)
    yield work(
        "git clone", "git", "clone", "-q", "--no-hardlinks", "origin", "clone", setup=trees.origin,
        prepare=again("clone"), needs=GIT,
    )
    yield work(
        "git gc", "git", "-C", "clone", "gc", "-q", setup=trees.origin, prepare=copy_of("origin", "clone"), needs=GIT,
    )
    yield work("node_modules walk", "node", "walk.js", setup=trees.node_modules, needs=("/usr/bin/node",))
    yield work(
        "tar create+extract", "/bin/sh", "-c", "tar -cf t.tar tree && mkdir out && tar -xf t.tar -C out",
        setup=trees.plain, prepare=again("t.tar", "out"),
    )
    yield work("rm -r", "rm", "-r", "victim", setup=trees.plain, prepare=copy_of("tree", "victim"))
    yield work(
        "sqlite3", "/bin/sh", "-c", "sqlite3 data.db <script.sql", setup=trees.database,
        prepare=again("data.db", "data.db-journal"), needs=("/usr/bin/sqlite3",),
    )


def scaling(place, quick):
    calls = "40" if quick else "400"
    for count in (1, 2) if quick else (1, 2, 8, 32):
        many = {"at_once": count, "only": FAST}
        yield Workload(f"{count} at once: imports", "many", IMPORTS, options=DATA, needs=(PYTHON,), block="imports",
                       **many)
        loop = [place.micro, "mixed", "/usr/bin/env", calls]
        yield Workload(f"{count} at once: calls", "many", loop, block="calls", **many)
    for count in (1, 2) if quick else (1, 2, 4, 8):
        milliseconds = "40" if quick else "150"
        command = [place.micro, "mixed", "/usr/bin/env", "20000", milliseconds, str(count)]
        yield Workload(f"{count} threads: calls", "threads", command, floor=True)


def sizes(place, quick):
    mixed = f"{' '.join(FIND)}; {PYTHON} -c 'import json, ssl, sqlite3, email, asyncio'; {SPAWN[2]}; git --version"
    calm = ["/bin/sh", "-c", f"({mixed}) >/dev/null; echo ready >ready; exec sleep 60"]
    yield Workload("PSS", "size", calm, only=("callgate",), prepare=again("ready"), sizes=True)
    compact = policy(place, "compact.json", '"audit": {"compact": true}')
    record = Workload("audit a record", "size", ["/bin/sh", "-c", mixed], only=("callgate",), sizes=True)
    yield record
    yield dataclasses.replace(record, name="audit a record, compact", options=compact)


def choose(place, pattern, quick):
    """The workloads whose name or group matches, or those of the table, and {name: reason} of what cannot run here."""
    every = [workload for kind in (micro, start, real, scaling, sizes) for workload in kind(place, quick)]
    chosen = [one for one in every if not pattern or one.matches(pattern)]
    missing = {one.name: one.why_not() for one in chosen if one.why_not()}
    return [one for one in chosen if one.name not in missing], missing
