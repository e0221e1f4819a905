#!/usr/bin/python3
"""Learns a policy for each real program of light.cases and heavy.cases, and holds what such a policy must be.

    learn.py [--light] [--heavy] [--table FILE] [--seconds N] [--keep] [NAME...]

Each case runs by `callgate learn` in an empty directory with secrets of 20 kinds in it, beside data that the case reads
from another directory, where the same secrets lie. Held are: the policy verifies (the program runs again without a
denial, and ends alike), `callgate check` finds nothing in it, and `callgate why` denies each secret. The table says how
many rules each policy has, how many files it lets be read, and how many of them were used.
The environment: as of run.py. PROGRAMS_CACHE should not lie in /tmp or /var/tmp, which a run has of its own.
Ends with 1 when a case differs from that, 77 when no case could run.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import run

SECRETS = [
    ".ssh/id_ed25519", ".ssh/config", "id_rsa", ".gnupg/private-keys-v1.d/A.key", ".password-store/bank.gpg",
    ".aws/credentials", ".azure/accessTokens.json", ".kube/config", ".docker/config.json", ".git-credentials",
    ".netrc", ".pgpass", ".my.cnf", ".pypirc", ".npmrc", ".vault-token", ".mozilla/firefox/p/key4.db", ".env",
    ".env.production", ".bash_history", ".python_history",
]
READ = "for file in \"$DATA\"/*.csv \"$DATA\"/one/notes.txt; do cat \"$file\" >/dev/null; done\n"
NOT_LEARNT = {  # what a run cannot be without, so that learning cannot start either
    "options": "--tty",
}


def plant(where):
    for secret in SECRETS:
        path = pathlib.Path(where, secret)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret\n")


def prepare(base):
    """The directory of data: some files are read, and secrets lie beside them."""
    data = pathlib.Path(base, "data")
    (data / "one").mkdir(parents=True)
    for number in range(6):
        (data / f"part{number}.csv").write_text("1,2\n")
    (data / "one" / "notes.txt").write_text("notes\n")
    (data / "one" / "unread.txt").write_text("unread\n")
    plant(data)
    plant(data / "one")
    return str(data)


def learn(case, home, base, environ, seconds):
    """Returns the result of callgate learn as (exit status, report, messages)."""
    policy = f"{base}/{case.name}.json"
    command = [run.CALLGATE, "learn", "--json", "-o", policy, "-w", home]
    if "as" in case.head and os.getuid() == 0:
        command += [f"--run-option=--user={case.head['as']}:{case.head['as']}"]
    for name, value in environ.items():
        command += ["-e", f"{name}={value}"]
    if "risky" in case.head:
        command += ["--allow-risky"]
    command += [f"--run-option=--timeout={seconds}", "--", "bash", "-euc", READ + case.script]
    os.makedirs(home)
    plant(home)
    if "as" in case.head and os.getuid() == 0:
        subprocess.run(["chown", "-R", f"{case.head['as']}:{case.head['as']}", home], check=True)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          env=dict(os.environ, TMPDIR="/var/tmp"))
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {}, done.stdout[-500:] + done.stderr


def exposed(policy, home, data):
    """The planted secrets that the policy lets be read."""
    found = []
    for place in (home, data, f"{data}/one"):
        for secret in SECRETS:
            why = subprocess.run([run.CALLGATE, "why", "--json", "-p", policy, "-w", home, "--open",
                                  f"{place}/{secret}"], capture_output=True, text=True)
            try:
                verdict = json.loads(why.stdout)["verdict"]
            except (ValueError, KeyError):
                verdict = f"nothing: {why.stderr}"
            if verdict != "deny":
                found.append(f"{place}/{secret} ({verdict})")
    return found


def fails_natively(case, home, environ):
    """True when the program does not work outside either."""
    os.makedirs(home)
    if "as" in case.head and os.getuid() == 0:
        os.chown(home, int(case.head["as"]), int(case.head["as"]))
    done = subprocess.run(run.native_command(case), cwd=home, env=dict(environ, HOME=home, TMPDIR=home),
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=run.SECONDS)
    return done.returncode != 0


def run_case(case, base, data, seconds):
    """Returns a row: (name, result, report, seconds, whether it is as it should be)."""
    missing = case.missing()
    cache = None if missing else case.cache()
    if missing or cache is None:
        return case.name, "skipped: " + (" ".join(missing) + " missing" if missing else "not fetched"), {}, 0, True
    home = f"{base}/{case.name}"
    environ = {"PATH": run.PATH, "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8", "TZ": "UTC", "CACHE": cache,
               "PORT": run.free_port(), "USER": "nobody", "TERM": "xterm", "DATA": data}
    if "as" in case.head:
        environ |= run.name_user(base, home, int(case.head["as"]) if os.getuid() == 0 else os.getuid())
    begin = time.monotonic()
    status, report, messages = learn(case, home, base, environ, seconds)
    took = time.monotonic() - begin
    native = f"{base}/{case.name}.native"
    if report.get("exit_code") and "refused" not in case.head and fails_natively(case, native, environ):
        return case.name, "skipped: fails natively", {}, 0, True
    policy = f"{base}/{case.name}.json"
    problems = []
    if status not in (0, 1) or not report:
        problems.append(f"learn ends with {status}")
    else:
        if not report["verified"]:
            problems.append("is denied " + ", ".join(f"{d['syscall'] or d.get('event')} {d['target']}"
                                                     for d in report["denials"][:3]))
        if report["verified_exit_code"] != report["exit_code"]:
            problems.append(f"ends with {report['verified_exit_code']} instead of {report['exit_code']}")
        if report["exit_code"] and "refused" not in case.head:
            problems.append(f"ends with {report['exit_code']} while it is observed")
        problems += exposed(policy, home, data)
        check = subprocess.run([run.CALLGATE, "check", policy], capture_output=True, text=True)
        if check.returncode:
            problems.append("check: " + check.stderr)
    if problems and messages:
        print(messages[-1500:])
    return case.name, "; ".join(problems) or "verified", report, took, not problems


def write_table(path, rows):
    lines = ["# Learnt policies", "",
             "Made by `tests/programs/learn.py --light --heavy --table doc/learnt.md`; do not edit. Each program",
             "was learnt by `callgate learn` and ran again under its policy, without a denial but of what is left",
             "out, and with the same end.", "",
             "* **rules**: grants of the policy; **left out**: rules with \"disabled\".",
             "* **exposed**: files outside the working directory that can be read and that the profile which it",
             "  extends does not grant already; **all**: with those of the profile, mostly of `/usr/lib`.",
             "* **used**: how many of all were asked for. **rounds**: how often it ran under the policy.", "",
             "No policy lets any of the planted secrets be read: 21 names of 20 kinds, each in the working",
             "directory and twice beside data that the program read.", "",
             "| program | result | extends | rules | left out | exposed | all | used | rounds | seconds |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for name, result, report, took, _ in sorted(rows):
        if result.startswith("skipped"):
            continue
        exposed_files = report["files_granted"] - report["files_by_profile"] if report else ""
        lines.append(f"| {name} | {result} | {', '.join(report.get('extends') or [])} | {report.get('rules', '')} | "
                     f"{len(report.get('left_out', []))} | {exposed_files} | {report.get('files_granted', '')} | "
                     f"{report.get('files_used', '')} | {report.get('rounds', '')} | {took:.0f} |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for half in ("light", "heavy", "keep"):
        parser.add_argument(f"--{half}", action="store_true")
    parser.add_argument("--table", help="write the results to this file, as Markdown")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of a run")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    halves = [half for half in ("light", "heavy") if getattr(args, half)] or ["light", "heavy"]
    cases = [case for half in halves for case in run.cases_of(half) if not args.names or case.name in args.names]
    unknown = set(args.names) - {case.name for case in cases}
    if unknown:
        sys.exit(f"no such case: {' '.join(sorted(unknown))}")
    base, rows = tempfile.mkdtemp(prefix="callgate-learn.", dir=os.environ.get("LEARN_TMP", "/srv")), []
    os.chmod(base, 0o711)
    data = prepare(base)
    for case in cases:
        row = run_case(case, base, data, args.seconds)
        rows.append(row)
        report = row[2]
        numbers = f" ({report['rules']} rules, {report['files_granted']} files, {report['files_used']} read)" \
            if report else ""
        print(f"{'ok  ' if row[4] else 'FAIL'} {row[0]}: {row[1]}{numbers} {row[3]:.0f} s", flush=True)
    if args.keep:
        print(f"kept: {base}")
    else:
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False)
        shutil.rmtree(base, ignore_errors=True)
    if args.table:
        write_table(args.table, rows)
    skipped = sum(row[1].startswith("skipped") for row in rows)
    failed = sum(not row[4] for row in rows)
    print(f"{len(rows)} programs, {failed} not as they should be, {skipped} skipped")
    sys.exit(1 if failed else 77 if skipped == len(rows) else 0)


if __name__ == "__main__":
    main()
