#!/usr/bin/python3
"""Runs real programs natively and inside callgate, as a new user would, and compares what they print and how they end.

    run.py [--light] [--heavy] [--repeat N] [--table FILE] [--with OPTIONS] [--keep] [NAME...]

light.cases and heavy.cases hold the cases: "=== NAME", a comment that says what the program does, and a shell script,
run in an empty directory that is also its home. Lines "# KEY: VALUE" at its beginning say:
    needs:    commands; without one of them the case is skipped
    as:       the user and group id of both runs where this is run by root; libnss-wrapper gives it a name
    options:  further options of callgate run
    policy:   JSON of a policy that is added to the profile
    files:    globs of files whose bytes are compared beside the output
    refused:  why the program does not work inside; the run must differ from the native one then
    fetch:    a shell command that is run once, natively and in a directory kept for it ($CACHE), before both runs
    risky:    why learn.py grants the secrets that it uses
The environment: CALLGATE, the program under test; PROGRAMS_CACHE, where "fetch" keeps what it got; PROGRAMS_PATH, the
PATH of the programs. "fetch" finds the tree that this file is in as $SOURCE.
Ends with 1 when a case differs from what it says.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CALLGATE = os.environ.get("CALLGATE", str(HERE.parent.parent / "build" / "callgate"))
CACHE = pathlib.Path(os.environ.get("PROGRAMS_CACHE", "/var/tmp/callgate-programs"))
PATH = os.environ.get("PROGRAMS_PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
SECONDS = 300
WITH = []  # options of every run


class Case:
    def __init__(self, text):
        self.name, self.script = text.split("\n", 1)
        self.about, *head = re.findall(r"^# (.*)$", re.match(r"(?:#.*\n)*", self.script).group(), re.MULTILINE)
        self.head = dict(line.split(": ", 1) for line in head)
        unknown = set(self.head) - {"needs", "as", "options", "policy", "files", "refused", "fetch", "risky"}
        if unknown:
            sys.exit(f"{self.name}: what is {', '.join(sorted(unknown))}?")

    def missing(self):
        """What "needs" lists and is not there: programs in PATH, and files, as absolute globs."""
        return [name for name in self.head.get("needs", "").split()
                if not (glob.glob(name) if name.startswith("/") else shutil.which(name, path=PATH))]

    def cache(self):
        """The directory that "fetch" filled, made by the first run that needs it; None when it cannot be."""
        if "fetch" not in self.head:
            return "/nonexistent"
        kept = CACHE / self.name
        if not kept.exists():
            kept.with_suffix(".new").mkdir(parents=True, exist_ok=True)
            got = subprocess.run(["sh", "-ec", self.head["fetch"]], cwd=kept.with_suffix(".new"), capture_output=True,
                                 env=dict(os.environ, SOURCE=str(HERE.parent.parent)))
            if got.returncode:
                return None
            kept.with_suffix(".new").rename(kept)
        return str(kept)


class Side:
    """One run of a case: what it printed, how it ended, its files, and its time in seconds."""

    def __init__(self, case, where, command, environ):
        shutil.rmtree(where, ignore_errors=True)
        os.mkdir(where)
        if "as" in case.head and os.getuid() == 0:
            os.chown(where, int(case.head["as"]), int(case.head["as"]))
        begin = time.monotonic()
        child = subprocess.Popen(command, cwd=where, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            self.out, self.err = child.communicate(timeout=SECONDS)
            self.status = child.returncode
        except subprocess.TimeoutExpired as late:
            self.status, self.out, self.err = "timeout", late.stdout or b"", late.stderr or b""
        self.seconds = time.monotonic() - begin
        try:  # what a case left running holds its port
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.files = {}
        for pattern in case.head.get("files", "").split():
            for name in sorted(glob.glob(os.path.join(where, pattern), recursive=True)):
                self.files[os.path.relpath(name, where)] = open(name, "rb").read() if os.path.isfile(name) else b""

    def difference(self, other):
        """What of the other differs from this one, or an empty string."""
        if self.status != other.status:
            return f"status {other.status} instead of {self.status}"
        if self.out != other.out:
            return "other output"
        if self.files != other.files:
            changed = sorted(n for n in {*self.files, *other.files} if self.files.get(n) != other.files.get(n))
            return "other files: " + ", ".join(changed)
        return ""


def cases_of(half):
    text = (HERE / f"{half}.cases").read_text()
    return [Case(part) for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def name_user(base, home, uid):
    """Variables that give a user id a name, a home and a shell."""
    for file, line in (("passwd", f"me:x:{uid}:{uid}::{home}:/bin/sh\n"), ("group", f"me:x:{uid}:\n")):
        pathlib.Path(base, file).write_text(line)
    return {"LD_PRELOAD": "libnss_wrapper.so", "NSS_WRAPPER_PASSWD": f"{base}/passwd",
            "NSS_WRAPPER_GROUP": f"{base}/group", "USER": "me"}


def native_command(case):
    """As the program inside: no capabilities, no privileges to be gained."""
    command = ["bash", "-euc", case.script]
    if os.getuid() != 0:
        return command
    ids = [f"--reuid={case.head['as']}", f"--regid={case.head['as']}", "--clear-groups"] if "as" in case.head else []
    return ["setpriv", *ids, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--", *command]


def inside_command(case, home, base, environ):
    command = [CALLGATE, "run", "--profile", "extended", "-w", home, "--audit", f"{base}/audit"]
    if "policy" in case.head:
        with open(f"{base}/policy.json", "w") as policy:
            policy.write(case.head["policy"])
        command += ["-p", f"{base}/policy.json"]
    if os.path.isdir(environ["CACHE"]):
        command += ["-r", environ["CACHE"], "-x", environ["CACHE"]]
    for file in ("passwd", "group"):
        command += ["-r", f"{base}/{file}"] if "as" in case.head else []
    if "as" in case.head and os.getuid() == 0:
        command += ["--user", f"{case.head['as']}:{case.head['as']}"]
    for name, value in environ.items():
        command += ["-e", f"{name}={value}"]
    return command + case.head.get("options", "").split() + WITH + ["--", "bash", "-euc", case.script]


def judged(audit):
    """How many calls the log's trailer counts; 0 without one."""
    try:
        with open(audit, "rb") as log:
            log.seek(max(0, os.path.getsize(audit) - 4096))
            return json.loads(log.read().splitlines()[-1]).get("judged", 0)
    except (OSError, ValueError, IndexError):
        return 0


def show(name, side):
    for what, text in (("stdout", side.out), ("stderr", side.err)):
        if text.strip():
            lines = text[-1500:].decode("utf-8", "replace").strip().replace("\n", "\n         ")
            print(f"       {name} {what}: {lines}")


def run_case(case, base, repeat):
    """Returns a row: (name, about, result, ratio, calls, whether it is as the case says)."""
    missing = case.missing()
    cache = None if missing else case.cache()
    if missing or cache is None:
        why = f"{' '.join(missing)} missing" if missing else "could not be fetched"
        return case.name, case.about, f"skipped: {why}", None, None, True
    home = f"{base}/{case.name}"
    environ = {"PATH": PATH, "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8", "TZ": "UTC", "CACHE": cache,
               "PORT": free_port(), "USER": "nobody", "TERM": "xterm"}
    if "as" in case.head:
        environ |= name_user(base, home, int(case.head["as"]) if os.getuid() == 0 else os.getuid())
    natives = [Side(case, home, native_command(case), environ) for _ in range(repeat)]
    insides = []
    for _ in range(repeat):
        pathlib.Path(base, "audit").unlink(missing_ok=True)
        insides.append(Side(case, home, inside_command(case, home, base, environ), dict(os.environ, TMPDIR="/var/tmp")))
    ratio = min(s.seconds for s in insides) / min(s.seconds for s in natives)
    differs = natives[0].difference(insides[-1])
    reason = case.head.get("refused")
    if natives[0].status:
        result, good = f"fails natively with {natives[0].status}", False
    elif reason:
        result, good = f"refused: {reason}" if differs else "works, though it says that it is refused", bool(differs)
        good = good and insides[-1].status not in (125, "timeout")
    else:
        result, good = differs or "same", not differs
    if not good:
        show("native", natives[0])
        show("inside", insides[-1])
    return case.name, case.about, result, ratio, judged(f"{base}/audit"), good


def write_table(path, rows):
    lines = ["# Programs", "",
             "Made by `tests/programs/run.py --light --heavy --table doc/programs.md`; do not edit. Each program",
             "ran natively and under `--profile extended`; output, exit status and named files were compared.",
             "Time is that of the inside run over the native one, start-up included. Calls are those judged.", "",
             "| program | what it does | result | time | calls |", "|---|---|---|---|---|"]
    for name, about, result, ratio, calls, _ in sorted(rows):
        lines.append(f"| {name} | {about} | {result} | {f'{ratio:.2f}' if ratio else ''} | {calls or ''} |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for half in ("light", "heavy", "keep"):
        parser.add_argument(f"--{half}", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--table", help="write the results to this file, as Markdown")
    parser.add_argument("--with", dest="options", default="", help="further options of every run")
    parser.add_argument("--part", default="0/1", help="K/N: every Nth program, from the Kth on")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    WITH.extend(args.options.split())
    halves = [half for half in ("light", "heavy") if getattr(args, half)] or ["light", "heavy"]
    cases = [case for half in halves for case in cases_of(half) if not args.names or case.name in args.names]
    unknown = set(args.names) - {case.name for case in cases}
    if unknown:
        sys.exit(f"no such case: {' '.join(sorted(unknown))}")
    first, step = map(int, args.part.split("/"))
    cases = cases[first::step]
    base, rows = tempfile.mkdtemp(prefix="callgate-programs.", dir="/var/tmp"), []
    os.chmod(base, 0o711)
    for case in cases:
        row = run_case(case, base, args.repeat)
        rows.append(row)
        ratio = f" ({row[3]:.2f} x, {row[4]} calls)" if row[3] else ""
        print(f"{'ok  ' if row[5] else 'FAIL'} {row[0]}: {row[2]}{ratio}", flush=True)
    if args.keep:
        print(f"kept: {base}")
    else:
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False)
        shutil.rmtree(base, ignore_errors=True)
    if args.table:
        write_table(args.table, rows)
    skipped = sum(row[2].startswith("skipped") for row in rows)
    failed = sum(not row[5] for row in rows)
    print(f"{len(rows)} programs, {failed} not as they should be, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
