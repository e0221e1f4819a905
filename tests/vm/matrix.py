#!/usr/bin/env python3
"""Tries callgate on the kernels and settings of MACHINES, in QEMU, and makes the table of doc/kernels.md from that.

    matrix.py [--json FILE] [MACHINE…]   boot them, or all but the longest, and put the results into FILE
    matrix.py --smoke                    boot one for a minute and keep no results
    matrix.py --list                     name the machines
    matrix.py --table [FILE [DOCUMENT]]  put FILE's table into the document
    matrix.py --check [FILE [DOCUMENT]]  whether all in FILE is as it must be, and the document has its table

FILE is tests/vm/kernels.json and DOCUMENT doc/kernels.md. The results of machines that are not named stay in FILE.
Exit status: 0, or 1 when something is not as it must be, or 77 when QEMU or what it boots cannot be had.
"""
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "kernels.json")
DOCUMENT = os.path.join(SOURCE, "doc", "kernels.md")
SCHEMA = "callgate-kernels/1"
SURROUNDINGS = {"root": "root", "user": "a user", "delegated": "a user, delegated", "scope": "a user, in a scope",
                "service": "a service", "docker": "root, in Docker's confinement",
                "docker-user": "a user, in Docker's confinement"}
LAYERS = {  # in the order of the table, with their heads there
    "landlock": "Landlock", "userns": "user", "mountns": "mount", "pidns": "pid", "ipcns": "ipc", "utsns": "uts",
    "netns": "net", "cgroupns": "cgroup", "cgroups": "control groups", "seccomp_notify": "seccomp",
    "no_new_privs": "no new privileges", "capabilities": "capabilities", "self_filter": "own filter"}
NAMESPACES = frozenset(name for name in LAYERS if name.endswith("ns"))
WIDTH = 100

# What tells whether each part and layer works. None takes long where processors are emulated.
CORE = """supervisor/one-of-each.sh threats/01-clone.sh threats/02-exec.sh threats/08-same-uid.sh threats/13-arches.sh
    threats/24-procfs.sh threats/27-setid.sh limits/cgroup-v2.sh""".split()
ROOT_ONLY = frozenset(["limits/cgroup-v2.sh"])  # of these; users skip them
# Of these, what settings of a kernel have an effect on.
BRIEF = ["supervisor/one-of-each.sh", "threats/08-same-uid.sh"]
# And what depends on an architecture: its registers, numbers and machine code.
ARCHITECTURE = BRIEF + ["threats/01-clone.sh", "threats/02-exec.sh", "threats/13-arches.sh", "threats/16-chdir.sh",
                        "threats/44-ptrace.sh"]


@dataclasses.dataclass(frozen=True)
class Machine:
    """A kernel with its settings, and what of callgate's layers must be lacking there: for all, and for users."""

    name: str
    kernel: str
    tests: tuple = tuple(BRIEF)
    options: str = ""   # of the kernel's command line
    prepare: str = ""   # what root does before the tests
    cpus: int = 2
    memory: int = 2048  # MiB
    surroundings: tuple = ("root", "user")
    lacking: frozenset = frozenset()
    lacking_for_users: frozenset = frozenset()
    no_run: tuple = ()  # surroundings in which no run works
    may_skip: frozenset = frozenset()  # tests that may be skipped there
    only_by_name: bool = False  # because it takes a quarter of an hour


ALL = ("root", "user", "delegated")
UNITS = ("scope", "service")  # of systemd
# What Ubuntu 24.04 sets and loads: a user namespace of a program without a profile gives it no capability. The profile
# is Ubuntu's in effect, in the words of Debian's parser.
RESTRICTED = "sysctl.kernel.apparmor_restrict_unprivileged_userns=1"
LOAD_PROFILE = """echo 'profile unprivileged_userns { audit deny capability, file, network, unix, ptrace, signal, mount,
    umount, pivot_root, dbus, }' | apparmor_parser --replace"""
LOAD_DOCKER = "apparmor_parser --replace /vm/tree/tests/vm/docker-default.apparmor"
MACHINES = [
    Machine("5.10", "5.10", surroundings=ALL, lacking=frozenset(["landlock", "mountns", "pidns"])),
    Machine("6.1", "6.1", tests=tuple(CORE), surroundings=ALL),
    Machine("6.12", "6.12", tests=tuple(CORE), surroundings=ALL),
    Machine("6.1, units of systemd", "6.1", surroundings=UNITS),
    Machine("6.12, units of systemd", "6.12", surroundings=UNITS),
    Machine("6.1, Docker's AppArmor profile", "6.1", tests=tuple(CORE[:-1]), prepare=LOAD_DOCKER,
            surroundings=("docker", "docker-user"), lacking=NAMESPACES | {"cgroups"}),
    Machine("Ubuntu 22.04's 5.15", "ubuntu-5.15"),
    Machine("Ubuntu 24.04's 6.8", "ubuntu-6.8", options=RESTRICTED, prepare=LOAD_PROFILE, surroundings=("user",),
            lacking_for_users=NAMESPACES),  # root is not restricted
    Machine("6.1, arm64", "6.1-arm64", tests=tuple(ARCHITECTURE)),
    Machine("6.1, arm64, unit tests", "6.1-arm64", tests=("unit",), surroundings=("root",), only_by_name=True),
    Machine("6.1, no Landlock", "6.1", options="lsm=yama,apparmor", lacking=frozenset(["landlock"])),
    Machine("6.1, user.max_user_namespaces=0", "6.1", options="sysctl.user.max_user_namespaces=0",
            lacking=frozenset(["userns"]), lacking_for_users=NAMESPACES),
    Machine("6.1, kernel.unprivileged_userns_clone=0", "6.1", options="sysctl.kernel.unprivileged_userns_clone=0",
            lacking_for_users=NAMESPACES),
    Machine("6.1, kernel.yama.ptrace_scope=1", "6.1", options="sysctl.kernel.yama.ptrace_scope=1"),
    Machine("6.1, kernel.yama.ptrace_scope=2", "6.1", options="sysctl.kernel.yama.ptrace_scope=2",
            no_run=("root", "user")),
    Machine("6.1, kernel.yama.ptrace_scope=3", "6.1", tests=(), options="sysctl.kernel.yama.ptrace_scope=3",
            no_run=("root", "user")),
    Machine("6.1, hidepid=2", "6.1", prepare="mount -o remount,hidepid=2 /proc"),
    Machine("6.1, one CPU", "6.1", cpus=1),
    Machine("6.1, 512 MiB", "6.1", memory=512),
]
SMOKE = Machine("smoke", "6.1", tests=("supervisor/one-of-each.sh",))


def expected(machine, surrounding):
    """The layers that a run must have, or none where none may work."""
    if surrounding in machine.no_run:
        return None
    lacking = set(machine.lacking)
    if surrounding != "root":
        lacking |= machine.lacking_for_users
    if surrounding == "user":
        lacking.add("cgroups")
    return {layer for layer in LAYERS if layer not in lacking}


def boot(machine, log):
    """Boots it; what run.sh prints goes to a file. Returns its exit status."""
    environment = dict(os.environ, VM_SURROUNDINGS=" ".join(machine.surroundings), VM_TESTS=" ".join(machine.tests),
                       VM_KERNEL_OPTIONS=machine.options, VM_PREPARE=machine.prepare, VM_CPUS=str(machine.cpus),
                       VM_MEMORY=str(machine.memory))
    if machine.only_by_name:
        environment.update(VM_TEST_SECONDS="5400", VM_SECONDS="6000")
    with open(log, "w", encoding="utf-8") as out:
        return subprocess.run([os.path.join(HERE, "run.sh"), machine.kernel], env=environment, stdout=out,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False).returncode


def read_answer(result, kind, status, text):
    """What doctor or a run said, without what differs from run to run."""
    try:
        said = json.loads(text)
    except ValueError:
        said = text
    if not isinstance(said, dict):
        result[kind] = {"status": status, "said": said}
    elif kind == "doctor":
        result[kind] = {
            "status": status, "works": said["works"], "reason": said["reason"],
            "run": said["run"].get("status"), "contradictions": said["run"].get("contradictions", []),
            "layers": said["layers"],
            "checks": {check["name"]: check["text"] for check in said["checks"] if check["state"] != "works"},
            "advice": [advice["title"] for advice in said["advice"]]}
    else:
        error = said.get("error") or {}
        result[kind] = {"status": status, "run": said["status"], "error": error.get("message", error) or None,
                        "layers": {name: layer["active"] for name, layer in (said["enforcement"] or {}).items()}}


def read_line(words, facts, found):
    """Puts a line of inside.sh among the results. Raises IndexError, KeyError or ValueError when part of it is lost."""
    if words[1] == "kernel":
        facts["kernel"] = f"{words[2]} {words[3]}".rstrip(",")
    elif words[1] == "answer":
        status, _, text = words[4].partition(" ")
        read_answer(found[words[2]], words[3], int(status), text)
    elif words[1] in ("ok", "skip", "FAIL") and words[2] != "prepare:":
        seconds, _, reason = words[4].partition(" ")
        test = {"result": words[1].lower(), "seconds": int(seconds)}
        if reason:
            test["reason"] = reason.removeprefix("SKIP: ")
        found[words[2]]["tests"][words[3]] = test


def read_results(machine, log):
    """A machine's part of the file of results, from what run.sh printed, and the lines that cannot be read."""
    found = {name: {"tests": {}} for name in machine.surroundings}
    facts = {"kernel": "", "options": machine.options, "prepare": machine.prepare, "cpus": machine.cpus,
             "memory_mib": machine.memory, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    torn = []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.rstrip("\n").split(" ", 4)
            if words[0] != "vm:":
                continue
            try:
                read_line(words, facts, found)
            except (IndexError, KeyError, ValueError):
                torn.append(line.rstrip("\n"))
    return {**facts, "surroundings": found}, torn


def differing(wanted, found):
    """Which layers differ from those that must be there."""
    return ([f"{name} is lacking" for name in LAYERS if name in wanted and name not in found]
            + [f"{name} is there" for name in LAYERS if name in found and name not in wanted])


def wrong(machine, surrounding, result):
    """What of a surrounding's results is not as it must be."""
    doctor, run = result.get("doctor", {}), result.get("run", {})
    if "works" not in doctor or "run" not in run and expected(machine, surrounding):
        yield f"no answer: doctor {doctor.get('said', 'ended')}, run {run.get('said', 'ended')}"
        return
    wanted = expected(machine, surrounding)
    if wanted is None:
        if doctor["works"] or not doctor["reason"] or run.get("run") == "ok":
            yield "a run works, or doctor does not say why none does"
    else:
        active = {name for name, is_active in run["layers"].items() if is_active}
        told = {name for name, layer in doctor["layers"].items() if layer["active"]}
        if not doctor["works"] or run["run"] != "ok":
            yield f"no run works: {doctor['reason']}; {run['error']}"
        elif active != told:
            yield f"doctor tells {sorted(told)}, a run has {sorted(active)}"
        yield from differing(wanted, active)
    for text in doctor["contradictions"]:
        yield f"doctor contradicts itself: {text}"
    for name, test in result["tests"].items():
        if test["result"] == "fail" and wanted is not None:
            yield f"{name} fails: {test.get('reason', '')}"
        elif test["result"] == "skip" and wanted is not None and name not in machine.may_skip and (
                    surrounding == "root" or name not in ROOT_ONLY):
            yield f"{name} is skipped: {test.get('reason', '')}"
    if wanted is not None:
        yield from (f"{name} was not run" for name in machine.tests if name not in result["tests"])


def all_wrong(results):
    """What of all results is not as it must be, and which machines are no longer there."""
    known = {machine.name: machine for machine in MACHINES}
    for name, facts in results["machines"].items():
        if name not in known:
            yield f"{name}: is no machine any more"
            continue
        for surrounding, result in facts["surroundings"].items():
            yield from (f"{name}, {surrounding}: {text}" for text in wrong(known[name], surrounding, result))


class Notes:
    """What explains cells: each text once, with its number."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


def layer_cell(doctor, name, wanted, notes):
    layer = doctor["layers"].get(name, {"active": False, "why": "not told"})
    abi = re.match(r"ABI (\d+)", layer["why"])
    if layer["active"]:
        text = f"ABI {abi[1]} {notes.mark(layer['why'])}" if abi else "yes"
    else:
        text = "no " + notes.mark(layer["why"])
    return text if layer["active"] == (name in wanted) else f"**{text}**"


def tests_cell(result, notes):
    results = [test["result"] for test in result["tests"].values()]
    skipped = [notes.mark(f"{name}: {test.get('reason', 'skipped')}") for name, test in result["tests"].items()
               if test["result"] == "skip"]
    text = f"{results.count('ok')} passed"
    if skipped:
        text += f", {len(skipped)} skipped {' '.join(skipped)}"
    if "fail" in results:
        text += f", **{results.count('fail')} failed**"
    return text


def table(results):
    """The lines of the table and of its notes."""
    notes = Notes()
    known = {machine.name: machine for machine in MACHINES}
    yield "| machine | as | tests | " + " | ".join(LAYERS.values()) + " |"
    yield "|---" * (3 + len(LAYERS)) + "|"
    for name, facts in results["machines"].items():
        for surrounding, result in facts["surroundings"].items():
            wanted = expected(known[name], surrounding) if name in known else None
            doctor = result.get("doctor", {})
            if "layers" not in doctor:
                cells = ["**no answer**"] + ["-"] * len(LAYERS)
            elif wanted is None:
                cells = ["no run " + notes.mark(doctor["reason"])] + ["-"] * len(LAYERS)
            else:
                cells = [tests_cell(result, notes)] + [layer_cell(doctor, layer, wanted, notes) for layer in LAYERS]
            yield f"| {name} | {SURROUNDINGS[surrounding]} | " + " | ".join(cells) + " |"
    yield ""
    for number, text in enumerate(notes.texts, 1):
        yield from textwrap.wrap(f"{number}. {text}", WIDTH, subsequent_indent="   ", break_long_words=False,
                                 break_on_hyphens=False)
    untried = [f"`{name}`" for name in known if name not in results["machines"]]
    if untried:
        yield ""
        yield from textwrap.wrap(f"Not tried yet: {'; '.join(untried)}.", WIDTH, break_long_words=False,
                                 break_on_hyphens=False)
    kernels = ", ".join(dict.fromkeys(facts["kernel"] for facts in results["machines"].values()))
    yield ""
    yield from textwrap.wrap(f"Kernels: {kernels}.", WIDTH, break_long_words=False, break_on_hyphens=False)


def fill(document, lines):
    """The document's text with these lines between its markers."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    filled, count = re.subn(r"(<!-- kernels -->\n).*?(<!-- end -->)",
                            lambda found: found[1] + "".join(f"{line}\n" for line in lines) + found[2], text,
                            flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{document}: not one place <!-- kernels --> … <!-- end -->")
    return text, filled


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except FileNotFoundError:
        results = {"schema": SCHEMA, "machines": {}}
    if results.get("schema") != SCHEMA:
        sys.exit(f"{path}: no {SCHEMA}")
    return results


def store(path, results):
    order = [machine.name for machine in MACHINES]
    results["machines"] = {name: results["machines"][name] for name in order if name in results["machines"]}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, ensure_ascii=False)
        file.write("\n")
    os.replace(path + ".new", path)


def try_machine(machine):
    """Boots a machine and says what was not as it must be. Returns its results, none if it was skipped, and whether
    all was well."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        status = boot(machine, log)
        with open(log, encoding="utf-8", errors="replace") as lines:
            last = lines.readlines()[-40:]
        if status == 77:
            reason = next((line.strip() for line in last if line.startswith("SKIP")), "SKIP: run.sh was skipped")
            print(f"{reason} ({machine.name})", flush=True)
            return None, True
        results, torn = read_results(machine, log)
    complaints = [f"torn line: {line}" for line in torn]
    complaints += [f"{surrounding}: {text}" for surrounding, result in results["surroundings"].items()
                   for text in wrong(machine, surrounding, result)]
    print(f"{machine.name}: {'FAILED' if complaints else 'ok'} ({time.monotonic() - begin:.0f} s)")
    if complaints:
        sys.stdout.writelines(line for line in last if not line.startswith("vm: answer"))
    print("".join(f"    {text}\n" for text in complaints), end="", flush=True)
    return results, not complaints


def try_machines(path, names):
    unknown = set(names) - {machine.name for machine in MACHINES}
    if unknown:
        sys.exit(f"no machine is named {', '.join(sorted(unknown))}; --list names them")
    passed, skipped = [], 0  # machines; those that cannot be had, and tests in the others
    for machine in MACHINES:
        if machine.name in names or not names and not machine.only_by_name:
            found, is_well = try_machine(machine)
            if found is None:
                skipped += 1
                continue
            passed.append(is_well)
            skipped += sum(test["result"] == "skip" for result in found["surroundings"].values()
                           for test in result["tests"].values())
            results = load(path)
            results["machines"][machine.name] = found
            store(path, results)
    print(f"{passed.count(True)} passed, {passed.count(False)} failed, {skipped} skipped")
    if not passed:
        return 77
    return 0 if all(passed) else 1


def main():
    words = sys.argv[1:]
    if words[:1] == ["--list"] and len(words) == 1:
        print("\n".join(machine.name for machine in MACHINES))
        return 0
    if words[:1] in (["--table"], ["--check"]) and len(words) <= 3:
        path, document = (words[1:] + [RESULTS, DOCUMENT][len(words) - 1:])
        results = load(path)
        text, filled = fill(document, table(results))
        if words[0] == "--table":
            with open(document, "w", encoding="utf-8") as file:
                file.write(filled)
            return 0
        complaints = list(all_wrong(results))
        if text != filled:
            complaints.append(f"{document} has not the table of {path}: tests/vm/matrix.py --table")
        print("\n".join(complaints))
        return 1 if complaints else 0
    if words == ["--smoke"]:
        found, is_well = try_machine(SMOKE)
        return 77 if found is None else 0 if is_well else 1
    path = RESULTS
    if words[:1] == ["--json"] and len(words) > 1:
        path, words = words[1], words[2:]
    if any(word.startswith("-") for word in words):
        sys.exit(__doc__)
    return try_machines(path, words)


if __name__ == "__main__":
    sys.exit(main())
