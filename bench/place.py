"""Where a bench works: a temporary directory with tools, working directories and logs, and running commands there."""

import os
import select
import shutil
import signal
import tempfile
import time

import rivals


class Failed(Exception):
    """A command that did not do what it should; str() says what, with its standard error."""


class Place:
    def __init__(self, build, source):
        self.callgate = os.path.join(build, "callgate")
        self.source = source
        for name in ("callgate", "bench-micro", "bench-floor"):
            os.stat(os.path.join(build, name))
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="callgate-bench-"))
        self.logs = self.sub("logs")
        self.tools = self.sub("tools")
        self.home = self.sub("home")
        self.tmp = self.sub("tmp")
        self.count = 0
        self.running = set()
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

    def workdir(self, name):
        return self.sub(os.path.join("work", "".join(c if c.isalnum() else "-" for c in name)))

    def fresh_log(self):
        self.count += 1
        return os.path.join(self.logs, str(self.count))

    def clear_logs(self):
        for name in os.listdir(self.logs):
            os.unlink(os.path.join(self.logs, name))

    def close(self):
        for pid in self.running:
            kill(pid)
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

    def wait(self, timeout):
        """Seconds that it ran; raises Failed when it fails or runs longer than timeout."""
        waiting = select.poll()
        waiting.register(self.pidfd, select.POLLIN)
        late = not waiting.poll(max(0.0, self.began + timeout - time.monotonic()) * 1000)
        took = time.monotonic() - self.began
        if late:
            kill(self.pid)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.pidfd)
        self.place.running.discard(self.pid)
        if late:
            raise Failed(f"{self.shown}: ran for more than {timeout} s")
        if status != 0:
            raise Failed(f"{self.shown}: ended with {status}: {self.read(self.err)[-600:].strip()}")
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


def kill(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
