"""Who is compared: how each runs a command, and why one of them cannot take part.

Every rival runs the same command in the same working directory, with the same environment, and may write there. A rival
is an adapter of a few lines: the name of its tool, how its command line takes in another, what it needs.
"""

import json
import os
import re
import shlex
import shutil
import subprocess

EXTENDED = ("--profile", "extended")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Native:
    name, about = "native", "the command itself"
    tool = None
    ours = False  # True: what it cannot do is an error
    everywhere = True  # False: takes part only in the workloads of the table

    def __init__(self, place):
        self.place = place
        self.environment = place.environment

    def command(self, workdir, inner, how=None, log=None):
        """What to run for the command inner; how: the workload, where its way of running matters."""
        return list(inner)

    def version(self):
        return first_line([self.found(), "--version"]) if self.tool else ""

    def found(self):
        """Where its tool is; None where it is not installed."""
        return shutil.which(self.tool, path=self.place.path)


class Floor(Native):
    name, about = "floor", "bench/floor.c: performs calls by path, judges and records nothing; one processor"

    def command(self, workdir, inner, how=None, log=None):
        return [self.place.floor, *(["-f"] if how and how.parallel else []), *inner]


class Callgate(Native):
    name, about = "callgate", "callgate run --audit FILE --profile extended, data for Python, none for `true`"
    ours = True
    audit = True
    judge = ()  # options

    def __init__(self, place):
        super().__init__(place)
        self.tool = place.callgate
        self.environment = {**place.environment, "TMPDIR": place.tmp}  # its own scratch space: others' runs stay theirs

    def command(self, workdir, inner, how=None, log=None):
        audit = ["--audit", log or self.place.fresh_log()] if self.audit else []
        grants = [] if how and how.bare else ["-x", self.place.tools, "-w", workdir]
        return [self.tool, "run", *self.judge, *(how.options if how else EXTENDED), *grants, *audit, "--", *inner]


class Before(Callgate):
    name, about = "before", "an earlier callgate, of the build directory that --before names"
    ours = False

    def __init__(self, place):
        super().__init__(place)
        self.tool = place.callgate_before
        self.environment["CALLGATE_PROFILES"] = os.path.join(source_of(place.before), "policy", "profiles")

    def version(self):
        return f"{super().version()} of {self.place.before}"


class Changes(Callgate):
    """A run that would judge reading all the same is refused: it must not pass for one that does not."""

    name, about = "changes", "callgate run --judge changes: what only looks is native, the rest judged and recorded"
    ours, everywhere = False, False
    judge = ("--judge", "changes", "--require", "kernel-reads")


class Unlogged(Callgate):
    name, about = "nolog", "callgate without --audit: judges and counts all the same, writes no log; a diagnosis"
    audit = False


class Bwrap(Native):
    name, about, tool = "bwrap", "bubblewrap: namespaces only, judges and records no call", "bwrap"

    def command(self, workdir, inner, how=None, log=None):
        return [
            "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--ro-bind", self.place.tools, self.place.tools, "--bind", workdir, workdir,
            "--chdir", workdir, "--", *inner,
        ]


class Firejail(Native):
    name, about, tool = "firejail", "firejail --noprofile: namespaces, a filter; records no call", "firejail"
    everywhere = False

    def command(self, workdir, inner, how=None, log=None):
        return [
            "firejail", "--quiet", "--noprofile", "--net=none", "--private-dev", "--caps.drop=all", "--seccomp",
            "--nonewprivs", "--read-only=/", f"--read-write={workdir}", "--", *inner,
        ]

    def version(self):
        return " ".join(first_line(["firejail", "--version"]).split())


class Proot(Native):
    name, about, tool = "proot", "proot: ptrace, rewrites paths, records nothing", "proot"

    def command(self, workdir, inner, how=None, log=None):
        return ["proot", *inner]

    def version(self):
        said = output(["proot", "--version"])  # a drawing of its name, and somewhere in it the number
        number = re.search(r"\d+\.\d+\.\d+", said)
        slow = "" if "seccomp_filter = yes" in said else ", without seccomp"
        return f"proot {number.group()}{slow}" if number else ""


class Strace(Native):
    name, about, tool = "strace", "strace --seccomp-bpf -f, calls of file, process, network to a file", "strace"

    def command(self, workdir, inner, how=None, log=None):
        return [
            "strace", "--seccomp-bpf", "-f", "-e", "trace=file,process,network", "-o", self.place.fresh_log(), *inner,
        ]


class Runsc(Native):
    name, tool = "runsc", "runsc"
    platform = "ptrace"
    about = "gVisor: runsc --rootless --network=none --platform=ptrace do; what is written stays in memory"

    def command(self, workdir, inner, how=None, log=None):
        return ["runsc", "--rootless", "--network=none", f"--platform={self.platform}", "do", "-cwd", workdir, *inner]


class Systrap(Runsc):
    name, about, platform = "systrap", "gVisor with --platform=systrap, which Debian's of 2022 does not have", "systrap"
    everywhere = False


class Codex(Native):
    """Of the npm package @openai/codex. Its helpers may not lie below TMPDIR, so that is not where its home is."""

    name, about, tool = "codex", "codex sandbox: bubblewrap and a filter; judges and records no call", "codex"
    everywhere = False

    def __init__(self, place):
        super().__init__(place)
        self.environment = {**place.environment, "TMPDIR": place.tmp}

    def command(self, workdir, inner, how=None, log=None):
        return [self.found(), "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", *inner]


class Srt(Native):
    """Of the npm package @anthropic-ai/sandbox-runtime, which wants Debian's ripgrep and socat."""

    name, about, tool = "srt", "sandbox-runtime: bubblewrap, a filter and proxies; judges and records no call", "srt"
    everywhere = False
    SETTINGS = {
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
    }

    def __init__(self, place):
        super().__init__(place)
        self.settings = os.path.join(place.root, "srt.json")
        with open(self.settings, "w", encoding="ascii") as out:
            json.dump(self.SETTINGS, out)

    def command(self, workdir, inner, how=None, log=None):
        return [self.found(), "-s", self.settings, "-c", shlex.join(inner)]

    def version(self):
        return f"srt {super().version()}"


ALL = (
    Native, Floor, Before, Callgate, Changes, Unlogged, Bwrap, Firejail, Proot, Strace, Runsc, Systrap, Codex, Srt,
)


def source_of(build):
    """The source directory of a build directory."""
    with open(os.path.join(build, "Makefile"), encoding="utf-8", errors="replace") as file:
        found = re.search(r"^abs_top_srcdir = (.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else build


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
    if rival.tool and not rival.found():
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
    said = " ".join((done.stderr or done.stdout).split())
    return None if done.returncode == 0 else f"does not start: {said or done.returncode}"


def choose(place, wanted):
    """The rivals of these names that work here, and {name: reason} of the others. Native and callgate have to work."""
    working, missing = [], {}
    for kind in ALL:
        if wanted and kind.name not in wanted or kind is Before and not place.before:
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
