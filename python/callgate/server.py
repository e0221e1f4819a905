"""A server of one's own: callgate serve on a socket that only this user can reach. It ends with the process."""

import atexit
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional

from .errors import InvalidArgumentException, ServerException

START_TIME_S = 30.0
STOP_TIME_S = 10.0
SOCKET_DIRECTORY_BYTES_MAX = 80  # unix(7): the path of a socket has at most 107
DEFAULT_POLICY: Dict[str, Any] = {"version": 1, "extends": ["extended"], "judge": "changes",
                                  "network": {"listen": ["*"]}}  # as agents/templates/base/policy.json
CALLGATE_PLACES = ("/usr/local/bin/callgate", "/usr/bin/callgate")


def find_callgate() -> str:
    """The program callgate: $CALLGATE, or that of PATH."""
    given = os.environ.get("CALLGATE")
    found = given or shutil.which("callgate") or next((place for place in CALLGATE_PLACES if os.access(place, os.X_OK)),
                                                      None)
    if not found:
        raise ServerException("callgate is not found: install it, set CALLGATE to its path, or set CALLGATE_API_URL "
                              "and CALLGATE_API_KEY to a server that runs")
    return found


@dataclass
class Template:
    """What the sandboxes of a server are made of; see TEMPLATES in callgate-serve(1)."""

    policy: Optional[Mapping[str, Any]] = None
    """As of callgate-policy(5). None: that of the built-in template "base": all installed programs, no network."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Content of files in /home/user, by their relative paths."""
    modules: Iterable[str] = ()
    """What the Python of the sandboxes has imported before code comes."""
    warm: int = 0
    """How many sandboxes wait, ready."""
    python: Optional[str] = None
    memory: Optional[str] = None
    disk: Optional[str] = None
    pids: Optional[int] = None
    setup: Optional[str] = None
    env: Mapping[str, str] = field(default_factory=dict)

    def write(self, directory: str) -> None:
        """Writes the template as callgate serve reads it."""
        os.mkdir(directory)
        with open(os.path.join(directory, "policy.json"), "w", encoding="utf-8") as text:
            json.dump(DEFAULT_POLICY if self.policy is None else self.policy, text)
        known = {"modules": list(self.modules), "warm": self.warm, "python": self.python, "memory": self.memory,
                 "disk": self.disk, "pids": self.pids, "setup": self.setup, "env": dict(self.env)}
        with open(os.path.join(directory, "template.json"), "w", encoding="utf-8") as text:
            json.dump({name: value for name, value in known.items() if value}, text)
        for name, content in self.files.items():
            path = os.path.normpath(os.path.join(directory, "files", name))
            if not path.startswith(os.path.join(directory, "files") + os.sep):
                raise InvalidArgumentException("the file %r of a template is not below /home/user" % name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)


class Server:
    """callgate serve, started by this process.

    The server ends by stop(), at the end of a with statement, or when this process and those it has forked have ended,
    however they do. All its sandboxes end with it.
    """

    def __init__(self, templates: Optional[Mapping[str, Template]] = None, sandboxes: Optional[int] = None,
                 audit_dir: Optional[str] = None, callgate: Optional[str] = None) -> None:
        """Starts the server.

        templates: beside the built-in "base" and "code-interpreter-v1", by name. sandboxes: the most at a time.
        audit_dir: a directory for the audit log of each sandbox.
        """
        self.callgate = callgate or find_callgate()
        self.api_key = "callgate_" + secrets.token_hex(32)
        self._creator = os.getpid()
        place = tempfile.gettempdir()
        self._directory = tempfile.mkdtemp(
            prefix="callgate-server-", dir=place if len(os.fsencode(place)) < SOCKET_DIRECTORY_BYTES_MAX else "/tmp")
        try:
            self._process = self._start(templates or {}, sandboxes, audit_dir)
            self._await()
        except BaseException:
            self.stop()
            raise
        atexit.register(self.stop)

    _process: Optional[subprocess.Popen[bytes]] = None

    @property
    def api_url(self) -> str:
        """The address, as CALLGATE_API_URL has it."""
        return "unix:" + os.path.join(self._directory, "socket")

    @property
    def log(self) -> str:
        """The server's log, JSON lines: its first MiB."""
        return self._read("log")

    def is_running(self) -> bool:
        """Whether the server runs."""
        if self._creator != os.getpid():
            return os.path.exists(os.path.join(self._directory, "socket"))
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ends the server and its sandboxes. In a forked child it does nothing: the server is its parent's."""
        if self._creator != os.getpid():
            return
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        if process:
            assert process.stdin
            process.stdin.close()  # keep_server.py takes that for the end of this process
            try:
                process.wait(STOP_TIME_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self._directory, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def _write_templates(self, templates: Mapping[str, Template]) -> str:
        directory = os.path.join(self._directory, "templates")
        os.mkdir(directory)
        for name, template in templates.items():
            if not name or "/" in name or name.startswith("."):
                raise InvalidArgumentException("%r is no name of a template" % name)
            template.write(os.path.join(directory, name))
        return directory

    def _start(self, templates: Mapping[str, Template], sandboxes: Optional[int],
               audit_dir: Optional[str]) -> subprocess.Popen[bytes]:
        key_file = os.path.join(self._directory, "key")
        with open(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(self.api_key + "\n")
        command = [self.callgate, "serve", "--listen", self.api_url, "--key-file", key_file, "--port-file",
                   os.path.join(self._directory, "port")]
        if templates:
            command += ["--templates", self._write_templates(templates)]
        if sandboxes is not None:
            command += ["--sandboxes", str(sandboxes)]
        if audit_dir is not None:
            command += ["--audit-dir", os.path.abspath(audit_dir)]
        keeper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keep_server.py")
        # A session of its own: Ctrl-C is for this process, which then ends the server or does not.
        return subprocess.Popen([sys.executable or "python3", "-I", "-S", keeper, self._directory, *command],
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def _await(self) -> None:
        end = time.monotonic() + START_TIME_S
        while not os.path.exists(os.path.join(self._directory, "port")):
            if not self.is_running():
                raise ServerException("callgate serve has not started: %s" % (self.log.strip() or "it says nothing"))
            if time.monotonic() > end:
                raise ServerException("callgate serve has not started within %d seconds" % START_TIME_S)
            time.sleep(0.002)


_lock = threading.Lock()
_servers: List[Server] = []


def get_default_server() -> Server:
    """The server of this process, started when it is needed for the first time, and again when it has died."""
    with _lock:
        if not _servers or not _servers[0].is_running():
            for server in _servers:
                server.stop()
            _servers[:] = [Server()]
        return _servers[0]


def _after_fork() -> None:
    global _lock  # pylint: disable=global-statement
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
