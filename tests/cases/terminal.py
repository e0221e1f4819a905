#!/usr/bin/python3
"""--tty with a terminal outside: each case drives callgate on its own pseudoterminal, as a user at a keyboard would.

Called with callgate, a directory for the runs' workdirs and further options of `callgate run`. CASES names some of the
cases.
"""
import fcntl, importlib.util, os, pty, re, select, signal, struct, subprocess, sys, termios, time

CALLGATE, TMP, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
PATIENCE = 60
failed = []


def pause(seconds):
    """Before a key, for what nothing on the terminal tells of. Longer on a busy machine."""
    time.sleep(seconds * min(max(os.getloadavg()[0] / os.cpu_count(), 1), 5))


def fail(text):
    failed.append(text)
    print("FAIL: %s: %s" % (current, text), file=sys.stderr)


class Run:
    """callgate on a terminal of 24 rows and 100 columns; `before` is how its modes were found."""

    def __init__(self, *program, options=(), wrap=(), command=None):
        self.argv = command or [*wrap, CALLGATE, "run", "--profile", "extended", *OPTIONS, "--tty", "-q", "-e",
                                "PS1=ready> ",
                                *options, "--", *program]
        self.master, slave = pty.openpty()
        self.keep = slave  # so that its modes can be read when callgate is gone
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.output = b""
        self.all = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 100)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            os.environ["TERM"] = "xterm"
            os.execv(self.argv[0], self.argv)

    def pump(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            data = os.read(self.master, 65536)
            self.output += data
            self.all += data
            return data
        return b""

    def until(self, pattern):
        """Reads until the pattern has appeared behind what was waited for last."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = re.search(pattern, self.output)
            if found:
                self.output = self.output[found.end():]
                return found
            self.pump(0.1)
        fail("no %r in %r" % (pattern, self.all[-400:]))
        return None

    def type(self, keys):
        os.write(self.master, keys)

    def modes(self):
        return termios.tcgetattr(self.keep)

    def is_raw(self):
        return not self.modes()[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def await_raw(self, raw=True):
        end = time.monotonic() + PATIENCE
        while self.is_raw() != raw and time.monotonic() < end:
            self.pump(0.02)
        if self.is_raw() != raw:
            fail("the caller's terminal is %s raw" % ("not" if raw else "still"))

    def end(self, status):
        """Waits for callgate's end: its status is compared, and the terminal must be as it was."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            self.pump(0.02)
            pid, raw = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
        else:
            fail("did not end within %s s: %r" % (PATIENCE, self.all[-400:]))
            os.kill(self.pid, signal.SIGKILL)
            _, raw = os.waitpid(self.pid, 0)
        while self.pump(0.02):
            pass
        got = os.waitstatus_to_exitcode(raw)
        if status is not None and got != status:
            fail("ended with %s, not %s: %r" % (got, status, self.all[-400:]))
        if self.modes() != self.before:
            fail("the terminal's modes were not restored")
        os.close(self.master)
        os.close(self.keep)
        return self.all


def descendants(pid):
    parent = {}
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                fields = open("/proc/%s/stat" % name, errors="replace").read().rsplit(")", 1)[1].split()
                parent[int(name)] = int(fields[1])
        except OSError:
            pass
    below, grown = {pid}, True
    while grown:
        more = {p for p, q in parent.items() if q in below and p not in below}
        below |= more
        grown = bool(more)
    return below - {pid}


def stat_field(pid, field):
    """None for a process that is gone."""
    try:
        return open("/proc/%d/stat" % pid, errors="replace").read().rsplit(")", 1)[1].split()[field - 3]
    except OSError:
        return None


def is_callgate(pid):
    try:
        return open("/proc/%d/comm" % pid, errors="replace").read().strip() == os.path.basename(CALLGATE)
    except OSError:
        return False


def supervisor_of(keeper):
    return [pid for pid in descendants(keeper) if is_callgate(pid)][0]


def of_run(keeper, name):
    for pid in descendants(keeper):
        try:
            if open("/proc/%d/comm" % pid, errors="replace").read().strip() == name:
                return pid
        except OSError:
            pass
    return None


# ---- the cases ----

def shows_a_terminal():
    run = Run("sh", "-c", "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all three; "
              "echo direct >/dev/tty; echo by-name >$(tty); echo by-fd >/proc/self/fd/0; ls /dev/pts; exit 3")
    out = run.end(3)
    for text in (rb"^/dev/pts/(\d+)\r\n24 100\r\nall three\r\ndirect\r\nby-name\r\nby-fd\r\n\1 +ptmx\r\n$",):
        if not re.search(text, out):
            fail("%r" % out)


def size_is_handed_on():
    run = Run("bash", "--norc", "-c", "trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep 0.1; done")
    run.until(rb"ready")
    fcntl.ioctl(run.keep, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    run.until(rb"33 77")
    run.end(4)


def job_control():
    run = Run("bash", "--norc", "-i")
    run.until(rb"ready> ")
    run.type(b"sleep 1000\n")
    while not of_run(run.pid, "sleep") and run.pump(0.1) is not None and len(failed) == 0:
        pass
    pause(0.3)
    run.type(b"\x1a")
    run.until(rb"Stopped +sleep 1000")
    run.type(b"bg\n")
    run.until(rb"sleep 1000 &")
    run.type(b"jobs\n")
    run.until(rb"Running +sleep 1000")
    run.type(b"fg\n")
    run.until(rb"\rsleep 1000\r\n")
    pause(0.3)
    run.type(b"\x03")
    run.until(rb"ready> ")
    run.type(b"echo status $?; cat | cat\n")
    run.until(rb"status 130")
    pause(0.3)
    run.type(b"line\n")
    run.until(rb"line\r\nline")
    run.type(b"\x04")
    run.until(rb"ready> ")
    run.type(b"exit 7\n")
    run.end(7)


def python_prompt_of(status, *options):
    run = Run("python3", "-q", options=options)
    run.until(rb">>> ")
    run.type(b"print(6 * 7)\n")
    run.until(rb"\b42\r\n")
    run.until(rb">>> ")
    run.type(b"import time; time.sleep(1000)\n")
    pause(0.5)
    run.type(b"\x03")
    run.until(rb"KeyboardInterrupt")
    run.until(rb">>> ")
    run.type(b"\x04")
    run.end(status)


def python_prompt():
    python_prompt_of(130, "-e", "PYTHON_BASIC_REPL=1")  # natively it kills itself by SIGINT then
    if importlib.util.find_spec("_pyrepl"):  # the default since 3.13: draws what is typed, and ends with 0
        python_prompt_of(0)


def editor():
    where = os.path.join(TMP, "edit")
    os.mkdir(where)
    run = Run("vim", "-u", "NONE", "-i", "NONE", "-n", "text.txt", options=("-w", where))
    run.until(rb"text.txt")
    pause(0.5)
    run.type(b"itwo words\x1b:wq\r")
    run.end(0)
    if open(os.path.join(where, "text.txt")).read() != "two words\n":
        fail("what vim wrote: %r" % open(os.path.join(where, "text.txt")).read())


def pager():
    run = Run("sh", "-c", "seq 1 500 | less")
    run.until(rb"\n22\r\n23\r\n:")
    run.type(b"G")
    run.until(rb"500")
    run.type(b"q")
    run.end(0)


def interrupt_key_is_the_programs():
    run = Run("sh", "-c", "trap 'echo caught; exit 6' INT; echo ready; while :; do sleep 0.1; done")
    run.until(rb"ready")
    if not run.is_raw():
        fail("the caller's terminal is not raw")
    run.type(b"\x03")
    run.until(rb"caught")
    run.end(6)


def no_output_is_lost():
    run = Run("sh", "-c", "seq 1 60000; printf 'the end'")
    out = run.end(0)
    if out != b"".join(b"%d\r\n" % i for i in range(1, 60001)) + b"the end":
        fail("%d bytes, ending in %r" % (len(out), out[-40:]))


def input_that_ends():
    got = subprocess.run([CALLGATE, "run", "--profile", "extended", *OPTIONS, "--tty", "-q", "--", "sh", "-c",
                          "stty size; cat"],
                         input=b"one\ntwo", stdout=subprocess.PIPE, timeout=PATIENCE)
    if got.returncode != 0 or b"24 80\r\n" not in got.stdout or got.stdout.count(b"two") != 2:
        fail("%r" % got)


def json_result():
    import json
    got = subprocess.run([CALLGATE, "run", "--profile", "extended", *OPTIONS, "--tty", "--json", "--output-limit", "20",
                          "--",
                          "sh", "-c", "echo out; echo err >&2; seq 1 100"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE,
                         timeout=PATIENCE)
    result = json.loads(got.stdout)
    if (not result["stdout"].startswith("out\r\nerr\r\n1\r\n") or result["stdout_truncated"] is not True or
            result["stdout_bytes"] != 10 + 392 or result["stderr"] != ""):
        fail("%r" % {k: v for k, v in result.items() if k.startswith("std")})
    os.unlink(result["stdout_path"])


def timeout():
    run = Run("sh", "-c", "echo ready; sleep 1000", options=("-t", "1s"))
    run.until(rb"ready")
    run.end(124)


def signals_to_callgate():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        run = Run("sh", "-c", "trap '' TERM HUP INT; echo ready; sleep 1000; sleep 1000")
        run.until(rb"ready")
        run.await_raw()
        os.kill(run.pid, number)
        run.end(128 + number)


def crash_of_the_keeper():
    run = Run("sh", "-c", "echo ready; sleep 1000")
    run.until(rb"ready")
    run.await_raw()
    os.kill(run.pid, signal.SIGSEGV)
    run.end(None)


def supervisor_killed():
    run = Run("sh", "-c", "echo ready; sleep 1000")
    run.until(rb"ready")
    run.await_raw()
    os.kill(supervisor_of(run.pid), signal.SIGKILL)
    run.end(125)


def escape_keys():
    run = Run("sh", "-c", "trap '' INT TERM; stty raw -echo; echo ready; sleep 1000; sleep 1000")
    run.until(rb"ready")
    run.type(b"\x1d\x1d")
    time.sleep(3)
    run.type(b"\x1d")
    pause(0.3)
    if os.waitpid(run.pid, os.WNOHANG)[0]:
        fail("three keys in more than a second ended it")
        return
    run.type(b"\x1d\x1d\x1d")
    run.end(128 + signal.SIGTERM)


def hang_up():
    run = Run("sh", "-c", "echo ready; sleep 1000")
    run.until(rb"ready")
    os.close(run.keep)
    os.close(run.master)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and os.waitpid(run.pid, os.WNOHANG)[0] == 0:
        time.sleep(0.02)
    if time.monotonic() >= end:
        fail("outlives its terminal")
        os.kill(run.pid, signal.SIGKILL)


def stop_and_continue():
    run = Run("sh", "-c", "echo ready; while :; do sleep 0.05; echo tick; done", wrap=("/usr/bin/env", "-u", "NOTHING"))
    # in a group of its own below a "shell", or no process could continue it and the kernel stops nothing
    run.until(rb"tick")
    run.end_group = None
    os.kill(run.pid, signal.SIGTSTP)
    pause(0.5)
    if not run.is_raw():
        fail("an orphaned group was stopped, or came back without raw mode")
    run.output = b""
    run.until(rb"tick")
    os.kill(run.pid, signal.SIGTERM)
    run.end(143)


SHELL = """
import fcntl, os, signal, struct, sys, termios, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    pid, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        os.tcsetpgrp(0, os.getpgrp())
        cooked = termios.tcgetattr(0)[3] & termios.ICANON
        sys.stdout.write("[stopped%s]" % ("" if cooked else ", still raw"))
        sys.stdout.flush()
        time.sleep(4)
        os.tcsetpgrp(0, child)
        sys.stdout.write("[continues]")
        sys.stdout.flush()
        os.killpg(child, signal.SIGCONT)
    else:
        sys.exit(os.waitstatus_to_exitcode(status))
"""


def stop_below_a_shell():
    script = os.path.join(TMP, "shell.py")
    open(script, "w").write(SHELL)
    run = Run("sh", "-c", "echo ready; while :; do sleep 0.05; echo tick; done", wrap=("/usr/bin/python3", script))
    run.until(rb"tick")
    keeper = [pid for pid in descendants(run.pid) if stat_field(pid, 4) == str(run.pid)][0]
    os.kill(keeper, signal.SIGTSTP)
    run.until(rb"\[stopped\]")
    run.output = b""
    time.sleep(0.6)
    states = {stat_field(pid, 3) for pid in descendants(keeper) if stat_field(pid, 3) == "T"}
    if not states:
        fail("the program was not stopped")
    run.until(rb"\[continues\]")
    run.until(rb"tick")
    if not run.is_raw():
        fail("raw mode did not come back")
    os.kill(keeper, signal.SIGTERM)
    run.end(143)


def below_an_interactive_shell():
    """The caller's own shell: in the background --tty waits to be fetched; Ctrl-Z and Ctrl-C without --tty."""
    os.environ["PS1"] = "outer> "
    run = Run(command=["/bin/bash", "--norc", "-i"])
    callgate = " ".join([CALLGATE, "run", "-q", "--profile", "extended", *OPTIONS]).encode()

    def say(text, then, seconds=0.3):
        pause(seconds)
        run.type(text)
        run.until(then)

    run.until(rb"outer> ")
    say(callgate + b" --tty -- sh -c 'read line; echo got $line; stty -a' &\n", rb"outer> ")
    say(b"jobs\n", rb"Stopped ")
    say(b"fg\n", rb"\n")
    say(b"hello\n", rb"got hello\r\n(?s:.*) icanon ")
    say(b"stty -a\n", rb" icanon ")
    say(callgate + b" -- sh -c 'for i in 1 2 3 4 5; do echo tick; sleep .5; done'\n", rb"tick\r")
    say(b"\x1a", rb"Stopped ", 0)
    pause(0.3)
    run.pump(0.1)
    run.output = b""
    say(b"fg\n", rb"tick\r(?s:.*)outer> ", 0.5)
    say(callgate + b" -- sleep 1000\n", rb"\n")
    say(b"\x03", rb"outer> ", 0.6)
    say(b"exit $?\n", rb"exit")
    run.end(130)


def nobody_of_ours_has_it():
    run = Run("sh", "-c", "tty; sleep 1000", wrap=("/usr/bin/setsid", "-w"))
    number = int(run.until(rb"/dev/pts/(\d+)\r\n").group(1))
    for pid in descendants(run.pid):
        device, ours = int(stat_field(pid, 7) or -1), is_callgate(pid)
        if device < 0:
            continue  # gone
        if ours:
            if device == (136 << 8 | number):
                fail("%d of callgate's own processes has the run's terminal" % pid)
            continue
        name = open("/proc/%d/comm" % pid, errors="replace").read().strip()
        if name in ("sh", "sleep") and device != (136 << 8 | number):
            fail("the program's terminal is %x" % device)
    keeper = [pid for pid in descendants(run.pid) if stat_field(pid, 4) == str(run.pid)] or [run.pid]
    os.kill(keeper[0], signal.SIGTERM)
    run.end(143)


def nothing_is_typed():
    attempt = ("import fcntl, os, termios\n"
               "for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR), os.open(os.ttyname(0), os.O_RDWR)):\n"
               "    for name, request in (('TIOCSTI', termios.TIOCSTI), ('TIOCSTI high', termios.TIOCSTI | 1 << 40),\n"
               "                          ('TIOCLINUX', 0x541c), ('TIOCCONS', termios.TIOCCONS),\n"
               "                          ('TIOCSETD', termios.TIOCSETD)):\n"
               "        try:\n"
               "            fcntl.ioctl(fd, request & 0xffffffff, b'\\0' * 8)\n"
               "            print('GOT', name, fd)\n"
               "        except OSError as error:\n"
               "            pass\n"
               "print('tried')\n")
    run = Run("python3", "-c", attempt)
    out = run.end(0)
    if b"GOT" in out or b"tried" not in out:
        fail("%r" % out)


def a_new_session_has_none():
    run = Run("setsid", "-w", "sh", "-c", "(: </dev/tty) 2>/dev/null && echo GOT; ls /dev/tty")
    if b"GOT" in run.end(0):
        fail("a session without a terminal opened /dev/tty")


cases = (shows_a_terminal, size_is_handed_on, job_control, python_prompt, editor, pager, interrupt_key_is_the_programs,
         no_output_is_lost, input_that_ends, json_result, timeout, signals_to_callgate, crash_of_the_keeper,
         supervisor_killed,
         escape_keys, hang_up, stop_and_continue, stop_below_a_shell, below_an_interactive_shell, nobody_of_ours_has_it,
         nothing_is_typed,
         a_new_session_has_none)
chosen = os.environ.get("CASES_OF_TERMINAL", "").split()
for case in cases:
    current = case.__name__
    if chosen and current not in chosen:
        continue
    begin = time.monotonic()
    case()
    print("%s: %.1f s" % (current, time.monotonic() - begin))
sys.exit(1 if failed else 0)
