"""Who is compared: how each runs a command, and why one of them cannot take part.

Every rival runs the same command in the same working directory, with the same environment, and may write there.
"""

import re
import shutil
import subprocess

EXTENDED = ("--profile", "extended")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Native:
    name, about = "native", "the command itself"
    tool = None
    one_cpu = False  # keeps the program on one processor: nothing for parallel work
    ours = False

    def __init__(self, place):
        self.place = place
        self.environment = place.environment

    def command(self, workdir, inner, options=(), log=None):
        return list(inner)

    def version(self):
        return first_line([self.tool, "--version"]) if self.tool else ""


class Floor(Native):
    name, about = "floor", "bench/floor.c: performs opens and stats, judges and records nothing; one processor"
    one_cpu = True

    def command(self, workdir, inner, options=(), log=None):
        return [self.place.floor, *inner]


class Callgate(Native):
    name, about = "callgate", "callgate run --audit FILE --profile extended, or data for Python"
    ours = True
    audit = True

    def __init__(self, place):
        super().__init__(place)
        self.environment = {**place.environment, "TMPDIR": place.tmp}  # its own scratch space: others' runs stay theirs

    def command(self, workdir, inner, options=(), log=None):
        audit = ["--audit", log or self.place.fresh_log()] if self.audit else []
        return [
            self.place.callgate, "run", *(options or EXTENDED), "-x", self.place.tools, "-w", workdir, *audit,
            "--", *inner,
        ]

    def version(self):
        return first_line([self.place.callgate, "--version"])


class Unlogged(Callgate):
    name, about = "nolog", "callgate without --audit: judges and counts all the same, writes no log; a diagnosis"
    audit = False


class Bwrap(Native):
    name, about, tool = "bwrap", "bubblewrap: namespaces only, judges and records no call", "bwrap"

    def command(self, workdir, inner, options=(), log=None):
        return [
            "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--ro-bind", self.place.tools, self.place.tools, "--bind", workdir, workdir,
            "--chdir", workdir, "--", *inner,
        ]


class Proot(Native):
    name, about, tool = "proot", "proot: ptrace, rewrites paths, records nothing", "proot"

    def command(self, workdir, inner, options=(), log=None):
        return ["proot", *inner]

    def version(self):
        said = output(["proot", "--version"])  # a drawing of its name, and somewhere in it the number
        number = re.search(r"\d+\.\d+\.\d+", said)
        slow = "" if "seccomp_filter = yes" in said else ", without seccomp"
        return f"proot {number.group()}{slow}" if number else ""


class Strace(Native):
    name, about, tool = "strace", "strace --seccomp-bpf -f, calls of file, process, network to a file", "strace"

    def command(self, workdir, inner, options=(), log=None):
        return [
            "strace", "--seccomp-bpf", "-f", "-e", "trace=file,process,network", "-o", self.place.fresh_log(), *inner,
        ]


class Runsc(Native):
    name, tool = "runsc", "runsc"
    about = "gVisor: runsc --rootless --network=none --platform=ptrace do; what is written stays in memory"

    def command(self, workdir, inner, options=(), log=None):
        return ["runsc", "--rootless", "--network=none", "--platform=ptrace", "do", "-cwd", workdir, *inner]


ALL = (Native, Floor, Callgate, Unlogged, Bwrap, Proot, Strace, Runsc)


def output(command):
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout or done.stderr


def first_line(command):
    return (output(command).strip().splitlines() or [""])[0]


def why_not(rival):
    """None when it can run a command here, else the reason."""
    if rival.tool and not shutil.which(rival.tool, path=PATH):
        return f"{rival.tool} is not installed"
    workdir = rival.place.workdir("start")
    try:
        done = subprocess.run(
            rival.command(workdir, ["/usr/bin/true"]), cwd=workdir, env=rival.environment, timeout=20, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )
    except OSError as error:
        return f"does not start: {error}"
    except subprocess.TimeoutExpired:
        return "does not start: ran for 20 seconds"
    said = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else f"does not start: {said[-1] if said else done.returncode}"


def choose(place, wanted):
    """The rivals of these names that work here, and {name: reason} of the others. Native and callgate have to work."""
    working, missing = [], {}
    for kind in ALL:
        if wanted and kind.name not in wanted:
            continue
        rival = kind(place)
        reason = why_not(rival)
        if reason and (rival.ours or kind is Native):
            raise RuntimeError(f"{rival.name} {reason}")
        if reason:
            missing[rival.name] = reason
        else:
            working.append(rival)
    return working, missing
