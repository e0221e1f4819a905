"""Drives a runner (agents/runner/) as agents/context does: requests to its stdin, frames from stdout and stderr."""

import json
import os
import select
import signal
import subprocess
import sys
import time

FOLDER = os.path.join(os.environ.get("top_srcdir", "."), "agents", "runner")
NONCE = "0123456789abcdef0123456789abcdef"


def read_source(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def quote_for_bash(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Died(Exception):
    """The interpreter has ended before the run has."""


class Outcome:
    """What one run has told."""

    def __init__(self):
        self.order = []  # ("stdout", text), ("result", event) …
        self.events = []
        self.count = None

    def get(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def stdout(self):
        return "".join(text for kind, text in self.order if kind == "stdout")

    @property
    def stderr(self):
        return "".join(text for kind, text in self.order if kind == "stderr")

    @property
    def results(self):
        return self.get("result")

    @property
    def text(self):
        return next((event.get("text") for event in self.results if event["is_main_result"]), None)

    @property
    def error(self):
        return next(iter(self.get("error")), None)


class Stream:
    """One pipe: text, with frames in it: RS, nonce, length, colon, a part of a JSON line."""

    def __init__(self, fd, kind):
        self.fd, self.kind, self.data, self.line = fd, kind, b"", b""

    def take(self):
        """Everything that is complete: ("stdout", bytes) and ("event", object)."""
        start = b"\x1e" + NONCE.encode()
        found = []
        while self.data:
            at = self.data.find(start)
            if at != 0:
                text = self.data if at < 0 else self.data[:at]
                hold = self.data.rfind(b"\x1e") if at < 0 else -1
                if hold >= 0 and start.startswith(self.data[hold : hold + len(start)]):
                    text = self.data[:hold]
                if text:
                    found.append((self.kind, text.decode("utf-8", "replace")))
                self.data = self.data[len(text) :]
                if at < 0:
                    break
                continue
            head, colon, rest = self.data[len(start) :].partition(b":")
            if not colon or len(rest) < int(head):
                break
            self.line += rest[: int(head)]
            self.data = rest[int(head) :]
            if self.line.endswith(b"\n"):
                found.append(("event", json.loads(self.line)))
                self.line = b""
        return found


class Runner:
    """A started interpreter. `argv` may be a prefix such as [callgate, run, …, --]."""

    def __init__(self, language="python", cwd=None, env=None, prefix=(), interpreter=None, warm=()):
        self.language, self.number = language, 0
        source = {"python": "python.py", "javascript": "node.js", "bash": "bash.sh"}[language]
        source = read_source(source)
        if language == "python":
            argv = [interpreter or sys.executable, "-c", read_source("python-boot.py"), str(len(source.encode()))]
        elif language == "javascript":
            argv = [interpreter or "node", "-e", read_source("node-boot.js"), str(len(source.encode()))]
        else:
            argv = [interpreter or "bash", "--noprofile", "--norc", "--noediting", "-i"]
        self.process = subprocess.Popen(
            list(prefix) + argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        self.streams = [
            Stream(self.process.stdout.fileno(), "stdout"),
            Stream(self.process.stderr.fileno(), "stderr"),
        ]
        if language == "bash":
            self.write(source.replace("@NONCE@", NONCE).encode())
        else:
            self.write(source.encode())
            self.request("nonce", NONCE)
        if language == "python":
            for part in ("display", "charts", "magics"):
                self.request("source", part, read_source("python_%s.py" % part))
        if language != "bash":
            self.request("warm", *warm)
        self.wait_until_ready()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def request(self, *fields):
        self.write(b"".join(str(field).encode() + b"\0" for field in (len(fields),) + fields))

    def read(self, timeout):
        """What comes next: a list of ("stdout", text) and ("event", event)."""
        ready = select.select([stream.fd for stream in self.streams], [], [], timeout)[0]
        if not ready:
            raise TimeoutError
        found = []
        for stream in self.streams:
            if stream.fd in ready:
                data = os.read(stream.fd, 1 << 16)
                if not data:
                    raise Died
                stream.data += data
                found += stream.take()
        return found

    def wait_until_ready(self):
        ready = 0
        while ready < 2:
            ready += sum(what == "event" and item["type"] == "ready" for what, item in self.read(60))

    def start(self, code, env=None, mode=""):
        self.number += 1
        if self.language == "bash":
            pairs = "".join(" " + quote_for_bash("%s=%s" % pair) for pair in (env or {}).items())
            self.write(
                (
                    "__callgate_begin%s; eval %s </dev/null {__callgate_out}>&- {__callgate_err}>&-\n"
                    "__callgate_end %d\n" % (pairs, quote_for_bash(code), self.number)
                ).encode()
            )
        else:
            self.request("run", self.number, mode, code, *["%s=%s" % pair for pair in (env or {}).items()])

    def finish(self, timeout=30, until=None):
        outcome, ended = Outcome(), 0
        deadline = time.monotonic() + timeout
        while ended < 2:
            for what, item in self.read(deadline - time.monotonic()):
                if what != "event":
                    outcome.order.append((what, item))
                elif item["type"] == "end":
                    ended += item["run"] == self.number
                elif item["type"] == "number_of_executions":
                    outcome.count = item["execution_count"]
                else:
                    outcome.order.append((item["type"], item))
                    outcome.events.append(item)
            if until and until(outcome):
                until = None
        return outcome

    def wait_for(self, text):
        """Until the code has printed this, which finish() does not return then."""
        seen = ""
        while text not in seen:
            seen += "".join(item for what, item in self.read(60) if what == "stdout")

    def run(self, code, env=None, mode="", timeout=30):
        self.start(code, env, mode)
        return self.finish(timeout)

    def signal(self, number=signal.SIGINT):
        os.killpg(self.process.pid, number)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                file.close()
            except BrokenPipeError:
                pass
