"""Where a bench works: a temporary directory with tools, working directories and logs, and running commands there."""

import ctypes
import os
import select
import shutil
import signal
import tempfile
import time

import rivals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    """A command that did not do what it should; str() says what, with its standard error."""


class Interrupted(BaseException):
    """By a signal: not an error, and nothing that handles errors catches it. str() is the signal's name."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


def on_signal(number, _):
    """The first one counts: what follows has to be able to clean up."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def watch_signals():
    """Raises Interrupted on a signal. What a rival leaves running becomes our child, so that close() finds it."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, on_signal)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Place:
    def __init__(self, build, source, before=None, fetched=""):
        self.before = os.path.abspath(before) if before else None
        self.source, self.fetched = source, fetched
        self.path = f"{rivals.PATH}:{fetched}/rivals/node_modules/.bin"
        for name in ("bench-micro", "bench-floor"):
            os.stat(os.path.join(build, name))
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="callgate-bench-"))
        self.logs = self.sub("logs")
        self.tools = self.sub("tools")
        self.callgate = self.install(build, "callgate")
        self.callgate_before = self.install(before, "before") if before else None
        self.home = self.sub("home")
        self.tmp = self.sub("tmp")
        self.count = 0
        self.running = set()
        self.busy = set()  # processes of --busy
        for name in ("bench-micro", "bench-floor"):  # a copy: the build directory may be closed to a sandbox
            shutil.copy2(os.path.join(build, name), self.tools)
        self.micro = os.path.join(self.tools, "bench-micro")
        self.floor = os.path.join(self.tools, "bench-floor")
        self.environment = {
            "PATH": rivals.PATH, "HOME": self.home, "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "CALLGATE_PROFILES": os.path.join(source, "policy", "profiles"),
        }

    def sub(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        return path

    def install(self, build, name):
        """The path of callgate, in a copy of what a build made: a start from a file as the linker writes it, page by
        page, takes 7 % longer than from one that was copied, as an installed one is."""
        folder = self.sub(name)
        shutil.copy2(os.path.join(build, "callgate"), folder)
        if os.path.exists(egress := os.path.join(build, "callgate-egress")):
            shutil.copy2(egress, folder)
        return os.path.join(folder, "callgate")

    def workdir(self, name):
        return self.sub(os.path.join("work", "".join(c if c.isalnum() else "-" for c in name)))

    def fresh_log(self):
        self.count += 1
        return os.path.join(self.logs, str(self.count))

    def clear_logs(self):
        for name in os.listdir(self.logs):
            os.unlink(os.path.join(self.logs, name))

    def close(self):
        """Ends what runs, first politely: callgate removes its control groups then."""
        for pid in self.running:
            send(pid, signal.SIGTERM)
        end_children(patience=2 if self.running else 0)
        shutil.rmtree(self.root, ignore_errors=True)


class Process:
    """A command that has been started in a session of its own; its output goes to files, a full pipe might block it."""

    def __init__(self, place, command, workdir, environment):
        self.place, self.shown = place, " ".join(command)[:160]
        self.out, self.err = (tempfile.TemporaryFile(dir=place.logs) for _ in range(2))
        os.chdir(workdir)
        self.began = time.monotonic()
        try:
            self.pid = os.posix_spawnp(
                command[0], command, environment, setsid=True,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, self.out.fileno(), 1),
                    (os.POSIX_SPAWN_DUP2, self.err.fileno(), 2),
                ],
            )
        except OSError as error:
            raise Failed(f"{self.shown}: {error.strerror}") from error
        place.running.add(self.pid)
        self.pidfd = os.pidfd_open(self.pid)
        self.usage = None  # at last; of its children as well, as far as they were waited for

    def wait(self, timeout):
        """Seconds that it ran; raises Failed when it fails or runs longer than timeout."""
        waiting = select.poll()
        waiting.register(self.pidfd, select.POLLIN)
        late = not waiting.poll(max(0.0, self.began + timeout - time.monotonic()) * 1000)
        took = time.monotonic() - self.began
        if late:
            kill(self.pid)
        _, status, self.usage = os.wait4(self.pid, 0)
        status = os.waitstatus_to_exitcode(status)
        os.close(self.pidfd)
        self.place.running.discard(self.pid)
        if late:
            raise Failed(f"{self.shown}: ran for more than {timeout} s")
        if status != 0:
            raise Failed(f"ended with {status}: {self.read(self.err)[:600].strip()} ({self.shown})")
        return took

    def output(self):
        return self.read(self.out)

    def stop(self):
        """For a command that would run on: SIGTERM to it, and whatever it ends with is fine."""
        os.kill(self.pid, signal.SIGTERM)
        try:
            self.wait(20)
        except Failed:
            pass

    @staticmethod
    def read(file):
        file.seek(0)
        return file.read().decode(errors="replace")


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def kill(pid):
    """With all below it, whatever session they are in."""
    below = [pid]
    for each in below:
        below += children(each)
    for each in below:
        send(each, signal.SIGKILL)


def end_children(patience, but=frozenset()):
    """Waits until no descendant is left, but for these; orphans are reparented to us. patience: seconds until they are
    killed."""
    began = time.monotonic()
    while (mine := set(children(os.getpid())) - but) and time.monotonic() < began + patience + 20:
        if time.monotonic() >= began + patience:
            for pid in mine:
                kill(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.02)
