"""AsyncSandbox: the same for asyncio.

The standard library has no HTTP client for asyncio. So each request runs in a thread of its own, by the code of
Sandbox; a task that is cancelled closes its request's connection, which ends what it has asked for.
"""

import asyncio
import contextvars
import functools
import inspect
import threading
from typing import Any, AsyncIterator, Callable, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from .commands import COMMAND_TIMEOUT_S, CommandHandle, Commands
from .connection import CancelScope, cancel_scope
from .files import Data, FileStreamReader, Filesystem, WatchHandle, WriteEntry
from .models import (CommandResult, Context, EntryInfo, Execution, FilesystemEvent, ProcessInfo, SandboxInfo,
                     SandboxMetrics, WriteInfo)
from .sandbox import LIST_PAGE, Sandbox, SandboxPaginator
from .server import Server

T = TypeVar("T")
Self = TypeVar("Self", bound="AsyncSandbox")
Callback = Callable[[Any], Any]
"""May be a coroutine function: it is awaited before more output is read."""


async def run_in_thread(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Calls a function of this package in a thread. Cancelling ends its request."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[T]" = loop.create_future()
    scope = CancelScope()
    context = contextvars.copy_context()
    context.run(cancel_scope.set, scope)

    def finish(result: Optional[T], error: Optional[BaseException]) -> None:
        if future.cancelled():
            return
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def call() -> None:
        result: Optional[T] = None
        problem: Optional[BaseException] = None
        try:
            result = context.run(functools.partial(function, *arguments, **named))
        except BaseException as error:  # pylint: disable=broad-except
            problem = error
        try:
            loop.call_soon_threadsafe(finish, result, problem)
        except RuntimeError:
            pass  # the loop is closed: nothing waits any more

    threading.Thread(target=call, name="callgate-request", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        scope.cancel()
        raise


def _bring_back(callback: Optional[Callback]) -> Optional[Callback]:
    """The callback, called in the event loop while the thread waits."""
    if callback is None:
        return None
    loop = asyncio.get_running_loop()

    async def call(value: Any) -> None:
        made = callback(value)
        if inspect.isawaitable(made):
            await made

    return lambda value: asyncio.run_coroutine_threadsafe(call(value), loop).result()


class AsyncCommandHandle:
    """A command that was started."""

    def __init__(self, handle: CommandHandle) -> None:
        self._handle = handle
        self.pid = handle.pid

    @property
    def stdout(self) -> str:
        return self._handle.stdout

    @property
    def stderr(self) -> str:
        return self._handle.stderr

    @property
    def exit_code(self) -> Optional[int]:
        return self._handle.exit_code

    @property
    def error(self) -> Optional[str]:
        return self._handle.error

    async def wait(self, on_stdout: Optional[Callback] = None, on_stderr: Optional[Callback] = None) -> CommandResult:
        return await run_in_thread(self._handle.wait, on_stdout=_bring_back(on_stdout),
                                   on_stderr=_bring_back(on_stderr))

    async def kill(self) -> bool:
        return await run_in_thread(self._handle.kill)

    async def send_stdin(self, data: Union[str, bytes], request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._handle.send_stdin, data, request_timeout)

    async def close_stdin(self, request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._handle.close_stdin, request_timeout)

    async def disconnect(self) -> None:
        await run_in_thread(self._handle.disconnect)


class AsyncCommands:
    """Commands of a sandbox: AsyncSandbox.commands."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def list(self, request_timeout: Optional[float] = None) -> List[ProcessInfo]:
        return await run_in_thread(self._commands.list, request_timeout)

    async def kill(self, pid: int, request_timeout: Optional[float] = None) -> bool:
        return await run_in_thread(self._commands.kill, pid, request_timeout)

    async def send_stdin(self, pid: int, data: Union[str, bytes], request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._commands.send_stdin, pid, data, request_timeout)

    async def close_stdin(self, pid: int, request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._commands.close_stdin, pid, request_timeout)

    async def run(self, cmd: str, background: bool = False, envs: Optional[Mapping[str, str]] = None,
                  user: Optional[str] = None, cwd: Optional[str] = None, on_stdout: Optional[Callback] = None,
                  on_stderr: Optional[Callback] = None, stdin: Union[bool, str, bytes, None] = None,
                  timeout: Optional[float] = COMMAND_TIMEOUT_S) -> Any:
        """A CommandResult; with background an AsyncCommandHandle."""
        if background:
            return AsyncCommandHandle(await run_in_thread(self._commands.run, cmd, True, envs, user, cwd, stdin=stdin,
                                                          timeout=timeout))
        return await run_in_thread(self._commands.run, cmd, False, envs, user, cwd, _bring_back(on_stdout),
                                   _bring_back(on_stderr), stdin, timeout)

    async def connect(self, pid: int, timeout: Optional[float] = COMMAND_TIMEOUT_S) -> AsyncCommandHandle:
        return AsyncCommandHandle(await run_in_thread(self._commands.connect, pid, timeout))


class AsyncFileStreamReader(AsyncIterator[bytes]):
    """Content that comes piece by piece."""

    def __init__(self, reader: FileStreamReader) -> None:
        self._reader = reader

    def _read(self) -> bytes:
        return next(self._reader, b"")  # StopIteration cannot be raised into a future

    async def __anext__(self) -> bytes:
        data: bytes = await run_in_thread(self._read)
        if not data:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        await run_in_thread(self._reader.close)

    async def __aenter__(self) -> "AsyncFileStreamReader":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()


class AsyncWatchHandle:
    """A directory that is watched."""

    def __init__(self, handle: WatchHandle) -> None:
        self._handle = handle

    async def get_new_events(self, request_timeout: Optional[float] = None) -> List[FilesystemEvent]:
        return await run_in_thread(self._handle.get_new_events, request_timeout)

    async def stop(self, request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._handle.stop, request_timeout)


class AsyncFilesystem:
    """Files of a sandbox: AsyncSandbox.files. As Filesystem, but for being awaited."""

    def __init__(self, files: Filesystem) -> None:
        self._files = files

    async def read(self, path: str, format: str = "text", user: Optional[str] = None,
                   request_timeout: Optional[float] = None) -> Any:
        """A str, a bytearray, or an AsyncFileStreamReader."""
        read: Callable[..., Any] = self._files.read
        got = await run_in_thread(read, path, format, user, request_timeout)
        return AsyncFileStreamReader(got) if isinstance(got, FileStreamReader) else got

    async def write(self, path: str, data: Data, user: Optional[str] = None, request_timeout: Optional[float] = None,
                    metadata: Optional[Mapping[str, str]] = None) -> WriteInfo:
        return await run_in_thread(self._files.write, path, data, user, request_timeout, metadata)

    async def write_files(self, files: Sequence[WriteEntry], user: Optional[str] = None,
                          request_timeout: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
                          ) -> List[WriteInfo]:
        return await run_in_thread(self._files.write_files, files, user, request_timeout, metadata)

    async def list(self, path: str, depth: Optional[int] = 1, user: Optional[str] = None,
                   request_timeout: Optional[float] = None) -> List[EntryInfo]:
        return await run_in_thread(self._files.list, path, depth, user, request_timeout)

    async def exists(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        return await run_in_thread(self._files.exists, path, user, request_timeout)

    async def get_info(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None,
                       ) -> EntryInfo:
        return await run_in_thread(self._files.get_info, path, user, request_timeout)

    async def remove(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._files.remove, path, user, request_timeout)

    async def rename(self, old_path: str, new_path: str, user: Optional[str] = None,
                     request_timeout: Optional[float] = None) -> EntryInfo:
        return await run_in_thread(self._files.rename, old_path, new_path, user, request_timeout)

    async def make_dir(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        return await run_in_thread(self._files.make_dir, path, user, request_timeout)

    async def watch_dir(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None,
                        recursive: bool = False, include_entry: bool = False) -> AsyncWatchHandle:
        return AsyncWatchHandle(await run_in_thread(self._files.watch_dir, path, user, request_timeout, recursive,
                                                    include_entry))


class AsyncSandboxPaginator:
    """The sandboxes of a key, page by page."""

    def __init__(self, make: Callable[[], SandboxPaginator]) -> None:
        self._make = make
        self._paginator: Optional[SandboxPaginator] = None

    @property
    def has_next(self) -> bool:
        return self._paginator is None or self._paginator.has_next

    async def next_items(self) -> List[SandboxInfo]:
        if self._paginator is None:
            self._paginator = await run_in_thread(self._make)
        return await run_in_thread(self._paginator.next_items)


class AsyncSandbox:
    """A sandbox, for asyncio.

        async with await AsyncSandbox.create() as sandbox:
            print((await sandbox.run_code("1 + 1")).text)
    """

    _sandbox_class: Type[Sandbox] = Sandbox

    def __init__(self, sandbox: Sandbox) -> None:
        """Use create() or connect()."""
        self._sync = sandbox
        self.sandbox_id = sandbox.sandbox_id
        self.connection = sandbox.connection
        self.commands = AsyncCommands(sandbox.commands)
        self.files = AsyncFilesystem(sandbox.files)

    @classmethod
    async def create(cls: Type[Self], template: Optional[str] = None, timeout: Optional[int] = None,
                     metadata: Optional[Mapping[str, str]] = None, envs: Optional[Mapping[str, str]] = None,
                     secure: bool = True, allow_internet_access: bool = True, *, server: Optional[Server] = None,
                     **options: Any) -> Self:
        """As Sandbox.create()."""
        return cls(await run_in_thread(cls._sandbox_class.create, template, timeout, metadata, envs, secure,
                                       allow_internet_access, server=server, **options))

    @classmethod
    async def connect(cls: Type[Self], sandbox_id: str, timeout: Optional[int] = None, *,
                      server: Optional[Server] = None, **options: Any) -> Self:
        return cls(await run_in_thread(cls._sandbox_class.connect, sandbox_id, timeout, server=server, **options))

    @classmethod
    def list(cls, metadata: Optional[Mapping[str, str]] = None, limit: int = LIST_PAGE, *,
             server: Optional[Server] = None, **options: Any) -> AsyncSandboxPaginator:
        return AsyncSandboxPaginator(functools.partial(cls._sandbox_class.list, metadata, limit, server=server,
                                                       **options))

    async def kill(self, request_timeout: Optional[float] = None) -> bool:
        return await run_in_thread(self._sync.kill, request_timeout)

    async def set_timeout(self, timeout: int, request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._sync.set_timeout, timeout, request_timeout)

    async def is_running(self, request_timeout: Optional[float] = None) -> bool:
        return await run_in_thread(self._sync.is_running, request_timeout)

    async def get_info(self, request_timeout: Optional[float] = None) -> SandboxInfo:
        return await run_in_thread(self._sync.get_info, request_timeout)

    async def get_metrics(self, request_timeout: Optional[float] = None) -> List[SandboxMetrics]:
        return await run_in_thread(self._sync.get_metrics, request_timeout)

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.kill()

    async def run_code(self, code: str, language: Optional[str] = None, context: Union[Context, str, None] = None,
                       on_stdout: Optional[Callback] = None, on_stderr: Optional[Callback] = None,
                       on_result: Optional[Callback] = None, on_error: Optional[Callback] = None,
                       envs: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> Execution:
        return await run_in_thread(self._sync.run_code, code, language, context, _bring_back(on_stdout),
                                   _bring_back(on_stderr), _bring_back(on_result), _bring_back(on_error), envs,
                                   timeout)

    async def create_code_context(self, cwd: Optional[str] = None, language: Optional[str] = None,
                                  request_timeout: Optional[float] = None) -> Context:
        return await run_in_thread(self._sync.create_code_context, cwd, language, request_timeout)

    async def list_code_contexts(self, request_timeout: Optional[float] = None) -> List[Context]:
        return await run_in_thread(self._sync.list_code_contexts, request_timeout)

    async def restart_code_context(self, context: Union[Context, str], request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._sync.restart_code_context, context, request_timeout)

    async def remove_code_context(self, context: Union[Context, str], request_timeout: Optional[float] = None) -> None:
        await run_in_thread(self._sync.remove_code_context, context, request_timeout)
