"""Commands of a sandbox."""

import base64
import binascii
import codecs
import threading
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Tuple, Union, overload

from .connection import Answer, SandboxConnection, expecting_protocol
from .errors import NotFoundException, SandboxEndedException, SandboxException
from .models import OUTPUT_BYTES_MAX, CommandExitException, CommandResult, ProcessInfo

COMMAND_TIMEOUT_S = 60.0

OutputCallback = Callable[[str], Any]


class _Stream:
    """The text of stdout or stderr, as far as it is kept."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: List[str] = []
        self._room = OUTPUT_BYTES_MAX
        self.dropped = 0

    def add(self, data: bytes, is_last: bool = False) -> str:
        text = self._decoder.decode(data, is_last)
        if len(data) <= self._room:
            self._parts.append(text)
            self._room -= len(data)
        else:
            self.dropped += len(data)
        return text

    @property
    def text(self) -> str:
        return "".join(self._parts)


class CommandHandle:
    """A command that was started. Its output comes by iterating, or to the callbacks of wait()."""

    def __init__(self, commands: "Commands", answer: Answer) -> None:
        self._commands, self._answer = commands, answer
        self._messages = answer.messages()
        self._streams = {"stdout": _Stream(), "stderr": _Stream()}
        self._result: Optional[CommandResult] = None
        self.pid = -1
        for message in self._messages:
            start = _get_event(message).get("start")
            if isinstance(start, dict) and isinstance(start.get("pid"), int):
                self.pid = start["pid"]
                break
        else:
            raise SandboxException("the server does not say that the command was started")

    @property
    def stdout(self) -> str:
        """What has come so far."""
        return self._streams["stdout"].text

    @property
    def stderr(self) -> str:
        return self._streams["stderr"].text

    @property
    def exit_code(self) -> Optional[int]:
        """None: the command has not ended yet, as far as its output was read."""
        return self._result.exit_code if self._result else None

    @property
    def error(self) -> Optional[str]:
        return self._result.error if self._result else None

    def __iter__(self) -> Iterator[Tuple[Optional[str], Optional[str], Optional[bytes]]]:
        """Pieces of output as (stdout, stderr, None), one of both is a text."""
        for message in self._messages:
            event = _get_event(message)
            data, end = event.get("data"), event.get("end")
            if isinstance(end, dict):
                yield from self._finish(end)
            for name, value in data.items() if isinstance(data, dict) else ():
                if name in self._streams:
                    yield from self._pieces(name, _decode(value))

    def _pieces(self, name: str, data: bytes, is_last: bool = False,
                ) -> Iterator[Tuple[Optional[str], Optional[str], Optional[bytes]]]:
        text = self._streams[name].add(data, is_last)
        if text:
            yield (text, None, None) if name == "stdout" else (None, text, None)

    def _finish(self, end: Dict[str, Any]) -> Iterator[Tuple[Optional[str], Optional[str], Optional[bytes]]]:
        for name in self._streams:
            yield from self._pieces(name, b"", True)
        error, code = end.get("error"), end.get("exitCode", 0)
        self._result = CommandResult(self.stderr, self.stdout, code if isinstance(code, int) else -1,
                                     None if error is None else str(error),
                                     sum(stream.dropped for stream in self._streams.values()))

    def wait(self, on_pty: Optional[Callable[[bytes], Any]] = None, on_stdout: Optional[OutputCallback] = None,
             on_stderr: Optional[OutputCallback] = None) -> CommandResult:
        """Waits for the end. Raises CommandExitException if the exit code is not 0."""
        del on_pty  # commands of this package have no terminal
        for stdout, stderr, _ in self:
            if stdout is not None and on_stdout:
                on_stdout(stdout)
            if stderr is not None and on_stderr:
                on_stderr(stderr)
        if self._result is None:
            raise SandboxEndedException("the stream ended before the command")
        if self._result.exit_code != 0:
            raise CommandExitException(self._result.stderr, self._result.stdout, self._result.exit_code,
                                       self._result.error, self._result.dropped_bytes)
        return self._result

    def kill(self) -> bool:
        """Kills the command. False: it has ended already."""
        return self._commands.kill(self.pid)

    def send_stdin(self, data: Union[str, bytes], request_timeout: Optional[float] = None) -> None:
        """Gives input to a command that was started with stdin. Waits until the command has taken it."""
        self._commands.send_stdin(self.pid, data, request_timeout)

    def close_stdin(self, request_timeout: Optional[float] = None) -> None:
        self._commands.close_stdin(self.pid, request_timeout)

    def disconnect(self) -> None:
        """Stops listening; the command goes on. Commands.connect() listens again."""
        self._answer.close()


def _get_event(message: Dict[str, Any]) -> Dict[str, Any]:
    event = message.get("event")
    return event if isinstance(event, dict) else {}


def _decode(value: Any) -> bytes:
    try:
        return base64.b64decode(value)
    except (TypeError, ValueError, binascii.Error):
        raise SandboxException("the server sends output that is no base64") from None


class Commands:
    """Commands of a sandbox: Sandbox.commands."""

    def __init__(self, sandbox: SandboxConnection) -> None:
        self._sandbox = sandbox

    def list(self, request_timeout: Optional[float] = None) -> List[ProcessInfo]:
        """The commands that run, also those that others have started."""
        found = self._sandbox.call("process.Process/List", {}, request_timeout).get("processes", [])
        with expecting_protocol():
            configs = [(process, process.get("config") or {}) for process in found]
            return [ProcessInfo(process.get("pid", 0), process.get("tag"), config.get("cmd", ""),
                                config.get("args", []), config.get("envs", {}), config.get("cwd"))
                    for process, config in configs]

    def kill(self, pid: int, request_timeout: Optional[float] = None) -> bool:
        """Kills a command by SIGKILL, with all that it has started. False: there is none of this number."""
        try:
            self._sandbox.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"},
                               request_timeout)
            return True
        except NotFoundException:
            return False

    def send_stdin(self, pid: int, data: Union[str, bytes], request_timeout: Optional[float] = None) -> None:
        """Gives input to a command. Waits until the command has taken it."""
        text = base64.b64encode(data.encode() if isinstance(data, str) else data).decode()
        self._sandbox.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": text}},
                           request_timeout)

    def close_stdin(self, pid: int, request_timeout: Optional[float] = None) -> None:
        self._sandbox.call("process.Process/CloseStdin", {"process": {"pid": pid}}, request_timeout)

    @overload
    def run(self, cmd: str, background: Literal[False] = False, envs: Optional[Mapping[str, str]] = None,
            user: Optional[str] = None, cwd: Optional[str] = None, on_stdout: Optional[OutputCallback] = None,
            on_stderr: Optional[OutputCallback] = None, stdin: Union[bool, str, bytes, None] = None,
            timeout: Optional[float] = COMMAND_TIMEOUT_S, request_timeout: Optional[float] = None,
            ) -> CommandResult: ...

    @overload
    def run(self, cmd: str, background: Literal[True], envs: Optional[Mapping[str, str]] = None,
            user: Optional[str] = None, cwd: Optional[str] = None, on_stdout: Optional[OutputCallback] = None,
            on_stderr: Optional[OutputCallback] = None, stdin: Union[bool, str, bytes, None] = None,
            timeout: Optional[float] = COMMAND_TIMEOUT_S, request_timeout: Optional[float] = None,
            ) -> CommandHandle: ...

    def run(self, cmd: str, background: bool = False, envs: Optional[Mapping[str, str]] = None,
            user: Optional[str] = None, cwd: Optional[str] = None, on_stdout: Optional[OutputCallback] = None,
            on_stderr: Optional[OutputCallback] = None, stdin: Union[bool, str, bytes, None] = None,
            timeout: Optional[float] = COMMAND_TIMEOUT_S, request_timeout: Optional[float] = None,
            ) -> Union[CommandResult, CommandHandle]:
        """Runs a shell command.

        background: returns a handle at once instead of waiting. stdin: True keeps it open for send_stdin(); a text or
        bytes are its input. timeout: in seconds, then the command is killed; 0 or None: no limit. Raises
        CommandExitException if the exit code is not 0.
        """
        del request_timeout  # the timeout bounds the whole request
        message = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", cmd], "envs": dict(envs or {}),
                               **({"cwd": cwd} if cwd is not None else {})},
                   "stdin": stdin is not None and stdin is not False}
        handle = CommandHandle(self, self._sandbox.stream("process.Process/Start", message, timeout or None, user))
        if isinstance(stdin, (str, bytes)):
            # In a thread: a command that writes while it reads would wait for this one to read its output.
            threading.Thread(target=self._feed, args=(handle.pid, stdin), daemon=True).start()
        return handle if background else handle.wait(on_stdout=on_stdout, on_stderr=on_stderr)

    def _feed(self, pid: int, data: Union[str, bytes]) -> None:
        try:
            if data:
                self.send_stdin(pid, data, 0)
            self.close_stdin(pid)
        except SandboxException:
            pass  # the command has ended, or has closed its stdin: as in a pipe, what is left is lost

    def connect(self, pid: int, timeout: Optional[float] = COMMAND_TIMEOUT_S,
                request_timeout: Optional[float] = None) -> CommandHandle:
        """Listens to a command that runs: to what it writes from now on."""
        del request_timeout
        return CommandHandle(self, self._sandbox.stream("process.Process/Connect", {"process": {"pid": pid}},
                                                        timeout or None))
