"""Part of the Python runner: IPython's magics and shell commands that people use in notebooks, as plain Python.

A cell is translated only when it is no Python as it stands. The translation calls functions of `callgate_magics`, which
is put into the namespace under the name MAGIC.
"""

import re
import shlex
import subprocess
import sys
import time

from callgate_runner import State, flush, load, run_source

MAGIC = "__callgate_magic__"
ASSIGNED = re.compile(r"^(\s*)([\w.\[\]'\", ]+?)\s*=\s*([!%])(?!=)(.*)$")
CALLED = re.compile(r"^(\s*)([!%]{1,2})(?=[\w!./~$(\"'{\[])(.*)$")
HELP = re.compile(r"^(\s*)([\w.]+)\?{1,2}\s*$")


class UsageError(Exception):
    """No such magic, or not with these arguments."""

    __module__ = "builtins"  # tracebacks show the name alone


# ---- shell commands ----


def expand(command):
    """Puts in the values of {expression} and $name, as IPython does; $$ and ${...} are left to the shell."""

    def get_value(match):
        try:
            return str(eval(match.group(1) or match.group(2), State.namespace))
        except Exception:
            return match.group(0)

    return re.sub(r"(?<![$\\]){([^{}]+)}|(?<![$\\])\$([A-Za-z_]\w*)", get_value, command)


def start_shell(command, **options):
    import os

    flush()
    shell = next((path for path in ("/bin/bash", "/usr/bin/bash", "/bin/sh") if os.access(path, os.X_OK)), "/bin/sh")
    return subprocess.Popen([shell, "-c", expand(command)], stdin=subprocess.DEVNULL, **options)


def wait_for(process):
    try:
        output = process.communicate()[0]
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        raise
    State.namespace["_exit_code"] = process.returncode
    return output


def run_shell(command):
    wait_for(start_shell(command))


def get_shell(command):
    return wait_for(start_shell(command, stdout=subprocess.PIPE)).decode("utf-8", "replace").splitlines()


# ---- line magics ----


def magic_cd(line):
    import os

    os.chdir(os.path.expanduser(line.strip().strip("'\"") or "~"))
    print(os.getcwd())


def magic_pwd(_line):
    import os

    return os.getcwd()


def magic_env(line):
    import os

    name, equals, value = line.partition("=")
    if not equals:
        name, _, value = line.partition(" ")
    if not name.strip():
        return dict(os.environ)
    if not value.strip():
        return os.environ.get(name.strip())
    os.environ[name.strip()] = expand(value.strip())
    print("env: %s=%s" % (name.strip(), os.environ[name.strip()]))
    return None


def magic_pip(line):
    flush()
    wait_for(subprocess.Popen([sys.executable, "-m", "pip"] + shlex.split(expand(line)), stdin=subprocess.DEVNULL))
    import importlib

    importlib.invalidate_caches()


def magic_time(line):
    return time_code(line)


def time_code(code):
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        return run_source(code, "<timed>")
    finally:
        print("CPU times: %.3g s\nWall time: %.3g s" % (time.process_time() - cpu, time.perf_counter() - wall))


def magic_timeit(line):
    import timeit

    timer = timeit.Timer(line, globals=State.namespace)
    number, _ = timer.autorange()
    best = min(timer.repeat(3, number)) / number
    print("%.3g s per loop (best of 3, %d loops each)" % (best, number))


def magic_run(line):
    import runpy

    arguments = shlex.split(expand(line))
    if not arguments:
        raise UsageError("%run needs the name of a file")
    before, sys.argv = sys.argv, arguments
    try:
        result = runpy.run_path(arguments[0], run_name="__main__")
    finally:
        sys.argv = before
    State.namespace.update((name, value) for name, value in result.items() if not name.startswith("__"))


def magic_who(_line):
    names = [name for name in State.namespace if not name.startswith("_")]
    print("  ".join(sorted(names)) or "Interactive namespace is empty.")


def magic_nothing(_line):
    """Figures are shown, and modules found, without these."""


LINE_MAGICS = {
    "cd": magic_cd,
    "pwd": magic_pwd,
    "env": magic_env,
    "set_env": magic_env,
    "pip": magic_pip,
    "time": magic_time,
    "timeit": magic_timeit,
    "run": magic_run,
    "who": magic_who,
    "matplotlib": magic_nothing,
    "load_ext": magic_nothing,
    "config": magic_nothing,
    "autoreload": magic_nothing,
    "ls": lambda line: run_shell("ls " + line),
    "cat": lambda line: run_shell("cat " + line),
    "mkdir": lambda line: run_shell("mkdir " + line),
    "sx": get_shell,
    "system": get_shell,
}


def run_line(name, line):
    if name not in LINE_MAGICS:
        raise UsageError("Line magic function `%%%s` not found." % name)
    return LINE_MAGICS[name](line)


# ---- cell magics ----


def run_script(line, body):
    flush()
    try:
        process = subprocess.Popen(shlex.split(line), stdin=subprocess.PIPE)
    except FileNotFoundError:
        raise UsageError("%s is not here" % line) from None
    try:
        process.communicate(body.encode())
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, line)


def write_file(line, body):
    arguments = shlex.split(line)
    name = arguments[-1] if arguments else ""
    with open(name, "a" if "-a" in arguments[:-1] else "w") as file:
        file.write(body)
    print("Writing " + name)


def capture(line, body):
    import contextlib
    import io

    captured = io.StringIO()
    with contextlib.redirect_stdout(captured):
        run_source(body, "<captured>")
    if line.strip():
        State.namespace[line.split()[0]] = captured.getvalue()


def show_as(mime):
    return lambda line, body: load("display")["publish_display_data"]({mime: body})


CELL_MAGICS = {
    "bash": lambda line, body: run_script("bash " + line, body),
    "sh": lambda line, body: run_script("sh " + line, body),
    "script": run_script,
    "writefile": write_file,
    "file": write_file,
    "capture": capture,
    "time": lambda line, body: time_code(body),
    "timeit": lambda line, body: magic_timeit(body),
    "html": show_as("text/html"),
    "HTML": show_as("text/html"),
    "markdown": show_as("text/markdown"),
    "latex": show_as("text/latex"),
    "svg": show_as("image/svg+xml"),
    "javascript": show_as("application/javascript"),
    "js": show_as("application/javascript"),
}


def run_cell_magic(name, line, body):
    if name not in CELL_MAGICS:
        raise UsageError("Cell magic `%%%%%s` not found." % name)
    return CELL_MAGICS[name](line, body)


def show_help(name):
    value = eval(name, State.namespace)
    print("%s: %s\n%s" % (name, type(value).__name__, getattr(value, "__doc__", "") or "no documentation"))


# ---- translation ----


class Magic:
    """What translated code calls."""

    run_shell, get_shell, run_line, run_cell_magic, show_help = map(
        staticmethod, (run_shell, get_shell, run_line, run_cell_magic, show_help)
    )


def split_name(text):
    name, _, line = text.strip().partition(" ")
    return name, line


def translate_line(line):
    match = ASSIGNED.match(line)
    if match and match.group(3) == "!":
        return "%s%s = %s.get_shell(%r)" % (match.group(1), match.group(2), MAGIC, match.group(4))
    if match:
        return "%s%s = %s.run_line(%r, %r)" % (match.group(1), match.group(2), MAGIC, *split_name(match.group(4)))
    match = CALLED.match(line)
    if match and match.group(2) in ("!", "!!"):
        function = "run_shell" if match.group(2) == "!" else "get_shell"
        return "%s%s.%s(%r)" % (match.group(1), MAGIC, function, match.group(3))
    if match and match.group(2) == "%":
        return "%s%s.run_line(%r, %r)" % (match.group(1), MAGIC, *split_name(match.group(3)))
    match = HELP.match(line)
    if match:
        return "%s%s.show_help(%r)" % (match.group(1), MAGIC, match.group(2))
    return line


def join_continued(lines):
    """Shell commands go on in the next line after a backslash."""
    joined = []
    for line in lines:
        if joined and joined[-1].endswith("\\") and CALLED.match(joined[-1]):
            joined[-1] = joined[-1][:-1] + line
        else:
            joined.append(line)
    return joined


def translate(code):
    State.namespace[MAGIC] = Magic
    text = code.lstrip("\n")
    if text.startswith("%%"):
        head, _, body = text.partition("\n")
        return "%s.run_cell_magic(%r, %r, %r)" % (MAGIC, *split_name(head[2:]), body)
    return "\n".join(translate_line(line) for line in join_continued(code.split("\n")))
