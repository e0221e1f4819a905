"""Requests to callgate serve, by http.client over TCP or a unix socket.

Each request has a connection of its own: it costs some 20 microseconds on a unix socket, a request that is given up is
cancelled by closing it, and threads share nothing.
"""

import base64
import contextlib
import contextvars
import http.client
import json
import os
import socket
import struct
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Tuple, Type, Union

from . import errors
from .server import Server, get_default_server

REQUEST_TIMEOUT_S = 60.0
PING_INTERVAL_S = 30
SILENCE_MAX_S = 120.0  # of a stream with pings: the server does not answer any more
ANSWER_BYTES_MAX = 256 << 20  # of an answer that is kept in memory
LINE_BYTES_MAX = 64 << 20  # of a line or an envelope of a stream
CHUNK = 1 << 17

ENVD_PORT, INTERPRETER_PORT = 49983, 49999
SANDBOX_GONE = 502  # status

Body = Union[bytes, Iterator[bytes], None]


class Cancelled(Exception):
    """The request was cancelled by CancelScope.cancel()."""


class CancelScope:
    """Requests made in its context can be cancelled from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: List[socket.socket] = []
        self.is_cancelled = False

    def add(self, made: socket.socket) -> None:
        with self._lock:
            self._sockets.append(made)
            if self.is_cancelled:
                raise Cancelled

    def remove(self, made: socket.socket) -> None:
        with self._lock:
            self._sockets.remove(made)

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            for made in self._sockets:
                try:
                    made.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


cancel_scope: contextvars.ContextVar[Optional[CancelScope]] = contextvars.ContextVar("cancel_scope", default=None)


class _Connection(http.client.HTTPConnection):
    """A connection to a unix socket."""

    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


def parse_json(text: Union[str, bytes]) -> Any:
    """Parses JSON of a hostile origin. ValueError, also for what is too deep, or no JSON but Python's."""
    def refuse(name: str) -> NoReturn:
        raise ValueError("%s is no JSON" % name)

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("the JSON is too deep") from None


@contextlib.contextmanager
def expecting_protocol() -> Iterator[None]:
    """For the code that takes an answer apart: one that has another form is an error of the server."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise errors.SandboxException("the server's answer is not what the protocol says: %s: %s"
                                      % (type(error).__name__, error)) from None


class Answer:
    """An answer that is read piece by piece. It is closed when it has been read, or by close()."""

    def __init__(self, made: http.client.HTTPConnection, deadline: Optional[float], silence: Optional[float]) -> None:
        self._made = made
        self._socket = made.sock
        self._deadline, self._silence = deadline, silence
        self._scope = cancel_scope.get()
        self._is_closed = False
        if self._scope:
            self._scope.add(self._socket)
        self._response: http.client.HTTPResponse

    def begin(self) -> int:
        """Waits for the header. Returns the status."""
        self._response = self._try(self._made.getresponse)
        return self._response.status

    def header(self, name: str) -> Optional[str]:
        return self._response.getheader(name)

    def _try(self, call: Callable[..., Any], *arguments: Any) -> Any:
        timeout = self._silence
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                self.close()
                raise errors.TimeoutException("the time for the request is over")
            timeout = left if timeout is None else min(left, timeout)
        try:
            # From Python 3.13 on, also read1() closes the socket with an answer's last byte, and then returns b"".
            if not (hasattr(self, "_response") and self._response.isclosed()):
                self._socket.settimeout(timeout)
            return call(*arguments)
        except TimeoutError as error:
            self.close()
            raise errors.TimeoutException("the time for the request is over") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            is_cancelled = self._scope is not None and self._scope.is_cancelled
            self.close()
            if is_cancelled:
                raise Cancelled from error
            raise errors.SandboxEndedException("the connection broke off, as it does when the sandbox or the server "
                                               "ends (%s)" % (error or type(error).__name__)) from error

    def read(self, most: int) -> bytes:
        """Some bytes, b"" at the end."""
        data: bytes = self._try(self._response.read1, most)
        if not data:
            if self._response.length:  # of Content-Length
                self.close()
                raise errors.SandboxEndedException("the answer is not complete")
            self.close()
        return data

    def read_all(self, most: int = ANSWER_BYTES_MAX) -> bytes:
        parts, size = [], 0
        while data := self.read(CHUNK):
            parts.append(data)
            size += len(data)
            if size > most:
                self.close()
                raise errors.SandboxException("the answer has more than %d bytes" % most)
        return b"".join(parts)

    def read_exactly(self, size: int) -> bytes:
        data: bytes = self._try(self._response.read, size)
        if len(data) != size:
            self.close()
            raise errors.SandboxEndedException("the answer broke off")
        return data

    def lines(self) -> Iterator[bytes]:
        try:
            while line := self._try(self._response.readline, LINE_BYTES_MAX):
                if not line.endswith(b"\n"):
                    raise errors.SandboxEndedException("the answer broke off, or has too long a line")
                yield line
        finally:
            self.close()

    def messages(self) -> Iterator[Any]:
        """The messages of a stream of the Connect protocol; its error is raised."""
        try:
            while True:
                flags, size = struct.unpack(">BI", self.read_exactly(5))
                if size > LINE_BYTES_MAX or flags & 1:
                    raise errors.SandboxException("the server sends what is no message")
                message = _parse_answer(self.read_exactly(size))
                if flags & 2:
                    if message.get("error"):
                        raise make_rpc_error(message["error"])
                    return
                yield message
        finally:
            self.close()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._scope:
            self._scope.remove(self._socket)
        if hasattr(self, "_response"):
            self._response.close()
        self._made.close()
        self._socket.close()

    def __del__(self) -> None:
        self.close()


def _parse_answer(text: bytes) -> Dict[str, Any]:
    try:
        message = parse_json(text)
    except ValueError as error:
        raise errors.SandboxException("the server's answer is no JSON: %s" % error) from None
    if not isinstance(message, dict):
        raise errors.SandboxException("the server's answer is no JSON object")
    return message


# ---- errors ----

RPC_ERRORS: Dict[str, Type[Exception]] = {
    "invalid_argument": errors.InvalidArgumentException, "unauthenticated": errors.AuthenticationException,
    "not_found": errors.NotFoundException, "already_exists": errors.AlreadyExistsException,
    "unavailable": errors.SandboxEndedException,
    "resource_exhausted": errors.RateLimitException, "canceled": errors.TimeoutException,
    "deadline_exceeded": errors.TimeoutException,
}
STATUS_ERRORS: Dict[int, Type[Exception]] = {
    400: errors.InvalidArgumentException, 401: errors.AuthenticationException, 404: errors.NotFoundException,
    429: errors.RateLimitException, SANDBOX_GONE: errors.SandboxEndedException, 507: errors.NotEnoughSpaceException,
}


def make_rpc_error(error: Any) -> Exception:
    fields = error if isinstance(error, dict) else {}
    code, message = str(fields.get("code", "unknown")), str(fields.get("message", "no reason is given"))
    kind = RPC_ERRORS.get(code)
    return kind(message) if kind else errors.SandboxException("%s: %s" % (code, message))


def make_status_error(status: int, body: bytes) -> Exception:
    message = body.decode("utf-8", "replace")
    try:
        fields = parse_json(body)
        if isinstance(fields, dict) and "code" in fields and isinstance(fields["code"], str):
            return make_rpc_error(fields)
        if isinstance(fields, dict):
            message = str(fields.get("message", message))
    except ValueError:
        pass
    kind = STATUS_ERRORS.get(status)
    return kind(message) if kind else errors.SandboxException("%d: %s" % (status, message))


# ---- the server ----

class Connection:
    """Where the server is, and the key for it."""

    def __init__(self, api_url: Optional[str] = None, api_key: Optional[str] = None, server: Optional[Server] = None,
                 sandbox_url: Optional[str] = None, request_timeout: float = REQUEST_TIMEOUT_S) -> None:
        """api_url: http://…, https://… or unix:PATH. Without it: that of `server`; else CALLGATE_API_URL or
        E2B_API_URL; else the server of this process, which is started."""
        self.request_timeout = request_timeout
        from_environment = not api_url and server is None
        if from_environment:
            api_url = os.environ.get("CALLGATE_API_URL") or os.environ.get("E2B_API_URL")
            sandbox_url = sandbox_url or (os.environ.get("E2B_SANDBOX_URL") if api_url else None)
        if not api_url:
            server = server or get_default_server()
            api_url, api_key = server.api_url, server.api_key
        self.api_url = api_url
        self.sandbox_url = sandbox_url or api_url
        self.api_key = api_key or os.environ.get("CALLGATE_API_KEY") or os.environ.get("E2B_API_KEY") or ""
        if not self.api_key:
            raise errors.AuthenticationException("there is no API key: pass api_key, or set CALLGATE_API_KEY")
        for url in (self.api_url, self.sandbox_url):
            self._parse(url)

    @staticmethod
    def _parse(url: str) -> Tuple[str, str, Optional[int], str]:
        """Scheme, host or path of the socket, port, and what paths begin with."""
        if url.startswith("unix:"):
            path = url[len("unix:"):]
            if path.startswith("///"):
                path = path[2:]
            return "unix", path, None, ""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise errors.InvalidArgumentException("%r is no address: write http://HOST:PORT, https://… or unix:PATH"
                                                  % url)
        return parts.scheme, parts.hostname, parts.port, parts.path.rstrip("/")

    def open(self, url: str, method: str, path: str, body: Body, headers: Mapping[str, str],
             timeout: Optional[float], silence: Optional[float] = None) -> Tuple[int, Answer]:
        """Sends a request. timeout: for all of it, in seconds; None: no limit. silence: between two bytes."""
        scheme, host, port, prefix = self._parse(url)
        deadline = None if timeout is None else time.monotonic() + timeout
        first = min(t for t in (timeout, silence, self.request_timeout) if t is not None)
        made: http.client.HTTPConnection
        if scheme == "unix":
            made = _Connection(host, first)
        elif scheme == "https":
            made = http.client.HTTPSConnection(host, port, timeout=first)
        else:
            made = http.client.HTTPConnection(host, port, timeout=first)
        try:
            made.connect()
        except OSError as error:
            raise errors.ServerException("cannot connect to %s: %s" % (url, error)) from error
        answer = Answer(made, deadline, silence)
        try:
            # The answer may come before a large body is sent: then sending fails, and the answer tells why.
            try:
                made.request(method, prefix + path, body, dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                pass
            except TimeoutError as error:
                raise errors.TimeoutException("the time for the request is over") from error
            return answer.begin(), answer
        except BaseException:
            answer.close()
            raise

    def manage(self, method: str, path: str, message: Any = None, request_timeout: Optional[float] = None,
               ) -> Tuple[Any, Answer]:
        """A request about sandboxes. Returns the answer's JSON (None: it has none), and the answer for its headers."""
        body = None if message is None else encode_json(message)
        headers = {"X-API-Key": self.api_key, "Content-Type": "application/json"}
        status, answer = self.open(self.api_url, method, path, body, headers, self._limit(request_timeout))
        text = answer.read_all()
        if status == 404 and path.startswith("/sandboxes/"):
            raise errors.SandboxNotFoundException(str(make_status_error(status, text)))
        if status >= 300:
            raise make_status_error(status, text)
        try:
            return (parse_json(text) if text else None), answer
        except ValueError as error:
            raise errors.SandboxException("the server's answer is no JSON: %s" % error) from None

    def _limit(self, request_timeout: Optional[float]) -> Optional[float]:
        """A time of 0 is none."""
        return (self.request_timeout if request_timeout is None else request_timeout) or None


def encode_json(message: Any) -> bytes:
    """The message as the server takes it."""
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError) as error:
        raise errors.InvalidArgumentException("the request is no JSON in UTF-8: %s" % error) from None


class SandboxConnection:
    """Requests for one sandbox."""

    def __init__(self, connection: Connection, sandbox_id: str, token: Optional[str]) -> None:
        self.connection, self.sandbox_id = connection, sandbox_id
        self._headers = {"E2b-Sandbox-Id": sandbox_id, "E2b-Sandbox-Port": str(ENVD_PORT)}
        if token:
            self._headers["X-Access-Token"] = token

    def open(self, method: str, path: str, body: Body = None, headers: Optional[Mapping[str, str]] = None,
             timeout: Optional[float] = None, silence: Optional[float] = None, user: Optional[str] = None) -> Answer:
        """Sends a request; an answer that is an error is raised."""
        sent = {**self._headers, **(headers or {})}
        if user is not None:
            sent["Authorization"] = "Basic " + base64.b64encode(user.encode() + b":").decode()
        status, answer = self.connection.open(self.connection.sandbox_url, method, path, body, sent, timeout, silence)
        if status >= 300:
            raise make_status_error(status, answer.read_all(LINE_BYTES_MAX))
        return answer

    def limit(self, request_timeout: Optional[float]) -> Optional[float]:
        return self.connection._limit(request_timeout)  # pylint: disable=protected-access

    def call(self, method: str, message: Any, request_timeout: Optional[float] = None,
             user: Optional[str] = None) -> Dict[str, Any]:
        """A unary call of the Connect protocol."""
        answer = self.open("POST", "/" + method, encode_json(message), {"Content-Type": "application/json"},
                           self.limit(request_timeout), user=user)
        return _parse_answer(answer.read_all())

    def stream(self, method: str, message: Any, timeout: Optional[float], user: Optional[str] = None) -> Answer:
        """A call of the Connect protocol that answers with a stream: see Answer.messages()."""
        text = encode_json(message)
        headers = {"Content-Type": "application/connect+json", "Keepalive-Ping-Interval": str(PING_INTERVAL_S)}
        if timeout is not None:
            headers["Connect-Timeout-Ms"] = str(max(1, int(timeout * 1000)))
        return self.open("POST", "/" + method, struct.pack(">BI", 0, len(text)) + text, headers, None, SILENCE_MAX_S,
                         user)

    def interpret(self, method: str, path: str, message: Any = None, timeout: Optional[float] = None) -> Answer:
        """A request for the code interpreter."""
        return self.open(method, path, None if message is None else encode_json(message),
                         {"E2b-Sandbox-Port": str(INTERPRETER_PORT), "Content-Type": "application/json"}, timeout)
