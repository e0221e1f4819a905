"""Sandboxes of callgate for Python: the names of E2B's SDK, without a service, with the standard library alone.

    from callgate import Sandbox

    with Sandbox.create() as sandbox:
        print(sandbox.run_code("sum(range(10))").text)
        sandbox.files.write("hello.txt", "hello")
        print(sandbox.commands.run("cat hello.txt").stdout)

doc/python.md has the rest.
"""

from .aio import AsyncCommandHandle, AsyncSandbox
from .commands import CommandHandle
from .connection import Connection
from .errors import (AlreadyExistsException, AuthenticationException, FileNotFoundException,
                     InvalidArgumentException, NotEnoughSpaceException, NotFoundException, RateLimitException,
                     SandboxEndedException, SandboxException, SandboxNotFoundException, ServerException,
                     TimeoutException)
from .executor import Executor, InterpreterDiedError, TaskError
from .files import FileStreamReader, WatchHandle, WriteEntry
from .functions import FunctionError
from .models import (CommandExitException, CommandResult, Context, EntryInfo, Execution, ExecutionError, FileType,
                     FilesystemEvent, FilesystemEventType, Logs, OutputMessage, ProcessInfo, Result, SandboxInfo,
                     SandboxMetrics, WriteInfo)
from .sandbox import Sandbox
from .server import Server, Template
from .values import ValueTypeError

__all__ = [name for name in dir() if name[0].isupper()]
__version__ = "0.1.0"
