"""Sandbox: the class that everything begins with."""

import re
import urllib.parse
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar, Union

from .commands import Commands
from .connection import Connection, SandboxConnection, expecting_protocol, parse_json
from .errors import InvalidArgumentException, SandboxEndedException, SandboxException, SandboxNotFoundException
from .files import Filesystem, _get_texts, _parse_time
from .models import (OUTPUT_BYTES_MAX, Context, Execution, ExecutionError, OutputMessage, Result, SandboxInfo,
                     SandboxMetrics, RESULT_FORMATS)
from .server import Server

DEFAULT_TEMPLATE = "code-interpreter-v1"
SANDBOX_TIMEOUT_S = 300
CODE_TIMEOUT_S = 300.0
ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")
LIST_PAGE = 100

Self = TypeVar("Self", bound="Sandbox")


def _make_context(fields: Mapping[str, Any]) -> Context:
    with expecting_protocol():
        return Context(str(fields["id"]), str(fields["language"]), str(fields["cwd"]))


def _check_id(sandbox_id: str) -> str:
    if not ID_PATTERN.fullmatch(sandbox_id):
        raise InvalidArgumentException("%r is no sandbox's id" % sandbox_id)
    return sandbox_id


def _make_info(fields: Mapping[str, Any]) -> SandboxInfo:
    with expecting_protocol():
        return SandboxInfo(str(fields["sandboxID"]), str(fields["templateID"]),
                           _get_texts(fields.get("metadata")) or {}, _parse_time(fields["startedAt"]),
                           _parse_time(fields["endAt"]), str(fields["state"]), int(fields["cpuCount"]),
                           int(fields["memoryMB"]), str(fields["envdVersion"]))


class SandboxPaginator:
    """The sandboxes of a key, page by page."""

    def __init__(self, connection: Connection, query: Mapping[str, str]) -> None:
        self._connection, self._query = connection, dict(query)
        self.has_next = True
        self.next_token: Optional[str] = None

    def next_items(self) -> List[SandboxInfo]:
        """The next page. Raises if there is none."""
        if not self.has_next:
            raise SandboxException("there are no more sandboxes")
        query = {**self._query, **({"nextToken": self.next_token} if self.next_token else {})}
        found, answer = self._connection.manage("GET", "/v2/sandboxes?" + urllib.parse.urlencode(query))
        self.next_token = answer.header("X-Next-Token")
        self.has_next = self.next_token is not None
        with expecting_protocol():
            return [_make_info(fields) for fields in found]


class _Output:
    """Collects what an execution tells, and passes it on."""

    def __init__(self, callbacks: Mapping[str, Optional[Callable[[Any], Any]]]) -> None:
        self.execution = Execution()
        self._callbacks = callbacks
        self._room = OUTPUT_BYTES_MAX

    def take(self, line: bytes) -> bool:
        """True: it was the last."""
        with expecting_protocol():
            event = parse_json(line)
            kind = event["type"]
            make = self._makers.get(kind)
            value = make(self, event, len(line)) if make else None
        callback = self._callbacks.get(kind)
        if callback and make:
            callback(value)
        return bool(kind == "end_of_execution")

    def _has_room(self, size: int) -> bool:
        if size > self._room:
            self.execution.dropped_bytes += size
            return False
        self._room -= size
        return True

    def _make_output(self, event: Dict[str, Any], size: int) -> OutputMessage:
        message = OutputMessage(str(event["text"]), int(event["timestamp"]), event["type"] == "stderr")
        if self._has_room(size):
            logs = self.execution.logs
            (logs.stderr if message.error else logs.stdout).append(message.line)
        return message

    def _make_result(self, event: Dict[str, Any], size: int) -> Result:
        fields = {name: event.get(name) for name in (*RESULT_FORMATS, "extra")}
        result = Result(is_main_result=event.get("is_main_result") is True, **fields)
        if self._has_room(size):
            self.execution.results.append(result)
        return result

    def _make_error(self, event: Dict[str, Any], _size: int) -> ExecutionError:
        error = ExecutionError(str(event["name"]), str(event["value"]), str(event["traceback"]))
        self.execution.error = error
        return error

    def _make_count(self, event: Dict[str, Any], _size: int) -> None:
        self.execution.execution_count = int(event["execution_count"])

    def _make_denials(self, event: Dict[str, Any], size: int) -> None:
        denials = [dict(denial) for denial in event["denials"]]
        if self._has_room(size):
            self.execution.denials += denials

    _makers: Dict[str, Callable[["_Output", Dict[str, Any], int], Any]] = {
        "stdout": _make_output, "stderr": _make_output, "result": _make_result, "error": _make_error,
        "number_of_executions": _make_count, "denials": _make_denials}


class Sandbox:
    """A sandbox. It ends by kill(), at the end of a with statement, or when its time is over.

        with Sandbox.create() as sandbox:
            print(sandbox.run_code("1 + 1").text)
    """

    default_template = DEFAULT_TEMPLATE

    def __init__(self, connection: Connection, fields: Mapping[str, Any]) -> None:
        """Use create() or connect()."""
        self.connection = connection
        self.sandbox_id = _check_id(str(fields.get("sandboxID")))
        self._sandbox = SandboxConnection(connection, self.sandbox_id, fields.get("envdAccessToken"))
        self.commands = Commands(self._sandbox)
        self.files = Filesystem(self._sandbox)

    # ---- its life ----

    @classmethod
    def create(cls: Type[Self], template: Optional[str] = None, timeout: Optional[int] = None,
               metadata: Optional[Mapping[str, str]] = None, envs: Optional[Mapping[str, str]] = None,
               secure: bool = True, allow_internet_access: bool = True, *, server: Optional[Server] = None,
               connection: Optional[Connection] = None, **options: Any) -> Self:
        """Makes a sandbox.

        timeout: seconds until it ends (300). envs: variables of all its programs. allow_internet_access: False takes
        away the network that the template has; True grants nothing. Where the server is, is said by `server`, by
        `connection`, or by `options`: api_url, api_key, sandbox_url, request_timeout, as of Connection.
        """
        connection = connection or Connection(server=server, **options)
        wish = {"templateID": template or cls.default_template, "metadata": dict(metadata or {}),
                "envVars": dict(envs or {}), "secure": secure,
                "timeout": SANDBOX_TIMEOUT_S if timeout is None else timeout}
        if not allow_internet_access:
            wish["allow_internet_access"] = False
        return cls._make(connection, "/sandboxes", wish)

    @classmethod
    def connect(cls: Type[Self], sandbox_id: str, timeout: Optional[int] = None, *, server: Optional[Server] = None,
                connection: Optional[Connection] = None, **options: Any) -> Self:
        """A sandbox that another has made. timeout: it lives for at least as many seconds more (300)."""
        connection = connection or Connection(server=server, **options)
        wish = {"timeout": SANDBOX_TIMEOUT_S if timeout is None else timeout}
        return cls._make(connection, "/sandboxes/%s/connect" % _check_id(sandbox_id), wish)

    @classmethod
    def _make(cls: Type[Self], connection: Connection, path: str, wish: Mapping[str, Any]) -> Self:
        fields = connection.manage("POST", path, wish)[0]
        with expecting_protocol():
            return cls(connection, fields)

    @staticmethod
    def list(metadata: Optional[Mapping[str, str]] = None, limit: int = LIST_PAGE, *, server: Optional[Server] = None,
             connection: Optional[Connection] = None, **options: Any) -> SandboxPaginator:
        """The sandboxes of the API key. metadata: those that have it."""
        pairs = urllib.parse.urlencode({urllib.parse.quote(k): urllib.parse.quote(v)
                                        for k, v in (metadata or {}).items()})
        return SandboxPaginator(connection or Connection(server=server, **options),
                                {"limit": str(limit), **({"metadata": pairs} if pairs else {})})

    def kill(self, request_timeout: Optional[float] = None) -> bool:
        """Ends the sandbox with all that runs in it. False: it has ended already."""
        try:
            self.connection.manage("DELETE", "/sandboxes/" + self.sandbox_id, None, request_timeout)
            return True
        except SandboxNotFoundException:
            return False

    def set_timeout(self, timeout: int, request_timeout: Optional[float] = None) -> None:
        """The sandbox ends in as many seconds from now."""
        self.connection.manage("POST", "/sandboxes/%s/timeout" % self.sandbox_id, {"timeout": timeout},
                               request_timeout)

    def is_running(self, request_timeout: Optional[float] = None) -> bool:
        try:
            self.get_info(request_timeout)
            return True
        except SandboxNotFoundException:
            return False

    def get_info(self, request_timeout: Optional[float] = None) -> SandboxInfo:
        path = "/sandboxes/" + self.sandbox_id
        return _make_info(self.connection.manage("GET", path, None, request_timeout)[0])

    def get_metrics(self, request_timeout: Optional[float] = None) -> List[SandboxMetrics]:
        """What it uses now: a list of one."""
        path = "/sandboxes/%s/metrics" % self.sandbox_id
        found = self.connection.manage("GET", path, None, request_timeout)[0]
        with expecting_protocol():
            return [SandboxMetrics(m["cpuCount"], m["cpuUsedPct"], m["diskTotal"], m["diskUsed"], m["memTotal"],
                                   m["memUsed"], _parse_time(m["timestamp"])) for m in found]

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.kill()

    # ---- code ----

    def run_code(self, code: str, language: Optional[str] = None, context: Union[Context, str, None] = None,
                 on_stdout: Optional[Callable[[OutputMessage], Any]] = None,
                 on_stderr: Optional[Callable[[OutputMessage], Any]] = None,
                 on_result: Optional[Callable[[Result], Any]] = None,
                 on_error: Optional[Callable[[ExecutionError], Any]] = None,
                 envs: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None,
                 request_timeout: Optional[float] = None) -> Execution:
        """Runs code in an interpreter that keeps its variables.

        language: "python" (the default), "javascript", "typescript" or "bash", of which the sandbox has one interpreter
        each; or context: one of create_code_context(). timeout: in seconds (300), then the code is interrupted, and
        TimeoutException raised; 0: no limit. An exception of the code is no exception here: see Execution.error.
        """
        del request_timeout
        if language and context:
            raise InvalidArgumentException("give a language or a context, not both")
        message = {"code": code, "context_id": _get_context_id(context) if context else None, "language": language,
                   "env_vars": dict(envs or {})}
        output = _Output({"stdout": on_stdout, "stderr": on_stderr, "result": on_result, "error": on_error})
        limit = CODE_TIMEOUT_S if timeout is None else timeout or None
        answer = self._sandbox.interpret("POST", "/execute", message, limit)
        for line in answer.lines():
            if output.take(line):
                answer.close()
                return output.execution
        raise SandboxEndedException("the sandbox or the server has ended before the code")

    def create_code_context(self, cwd: Optional[str] = None, language: Optional[str] = None,
                            request_timeout: Optional[float] = None) -> Context:
        """Starts another interpreter."""
        wish = {**({"cwd": cwd} if cwd else {}), **({"language": language} if language else {})}
        text = self._sandbox.interpret("POST", "/contexts", wish, self._sandbox.limit(request_timeout)).read_all()
        with expecting_protocol():
            return _make_context(parse_json(text))

    def list_code_contexts(self, request_timeout: Optional[float] = None) -> List[Context]:
        text = self._sandbox.interpret("GET", "/contexts", None, self._sandbox.limit(request_timeout)).read_all()
        with expecting_protocol():
            return [_make_context(fields) for fields in parse_json(text)]

    def restart_code_context(self, context: Union[Context, str], request_timeout: Optional[float] = None) -> None:
        """Ends the interpreter, and with it its variables; the next run starts another."""
        self._sandbox.interpret("POST", "/contexts/%s/restart" % _get_context_id(context), {},
                                self._sandbox.limit(request_timeout)).close()

    def remove_code_context(self, context: Union[Context, str], request_timeout: Optional[float] = None) -> None:
        self._sandbox.interpret("DELETE", "/contexts/" + _get_context_id(context), None,
                                self._sandbox.limit(request_timeout)).close()


def _get_context_id(context: Union[Context, str]) -> str:
    return _check_id(context.id if isinstance(context, Context) else context)
