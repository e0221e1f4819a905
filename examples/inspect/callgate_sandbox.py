"""A sandbox provider of Inspect (inspect-ai): sandbox="callgate" runs a sample's commands and files in a sandbox.

The configuration, as in sandbox=("callgate", "NAME"), is the name of a template; without it "base" is used. Where
the server is, is said by CALLGATE_API_URL and CALLGATE_API_KEY; without these a server of this process is started.
"""

import shlex
from typing import Literal, Union, overload

from inspect_ai.util import (ExecResult, OutputLimitExceededError, SandboxEnvironment, SandboxEnvironmentConfigType,
                             SandboxEnvironmentLimits, sandboxenv)
from inspect_ai.util._sandbox.environment import SandboxUnavailableError, SandboxUserUnsupportedError

import callgate

SANDBOX_LIFE_S = 24 * 3600
TEMPLATE = "base"
USER = "user"  # the only one there is


@sandboxenv(name="callgate")
class CallgateSandboxEnvironment(SandboxEnvironment):
    """A sandbox of one sample. Relative paths begin at its workdir, /home/user."""

    def __init__(self, sandbox: callgate.AsyncSandbox) -> None:
        super().__init__()
        self.sandbox = sandbox

    # ---- its life ----

    @classmethod
    async def sample_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str],
                          ) -> dict[str, SandboxEnvironment]:
        if config is not None and not isinstance(config, str):
            raise ValueError("the configuration of the sandbox callgate is the name of a template")
        made = await callgate.AsyncSandbox.create(config or TEMPLATE, timeout=SANDBOX_LIFE_S,
                                                  metadata={"task": task_name[:1000]})
        return {"default": cls(made)}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: SandboxEnvironmentConfigType | None,
                             environments: dict[str, SandboxEnvironment], interrupted: bool) -> None:
        for environment in environments.values():
            await environment.as_type(cls).sandbox.kill()

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Ends sandboxes that an evaluation has left, on a server that runs on: all of the key, or one."""
        pages = callgate.AsyncSandbox.list()
        while pages.has_next:
            for info in await pages.next_items():
                if id in (None, info.sandbox_id) and "task" in info.metadata:
                    await (await callgate.AsyncSandbox.connect(info.sandbox_id)).kill()

    # ---- commands ----

    async def exec(self, cmd: list[str], input: str | bytes | None = None, cwd: str | None = None,
                   env: dict[str, str] | None = None, user: str | None = None, timeout: int | None = None,
                   timeout_retry: bool = True, concurrency: bool = True) -> ExecResult[str]:
        """Runs a command. One that runs out of time is not tried again: its effects may be half done."""
        if user not in (None, USER):
            raise SandboxUserUnsupportedError("the sandbox has no user but %s" % USER)
        try:
            done = await self.sandbox.commands.run(shlex.join(cmd), envs=env, cwd=cwd, timeout=timeout,
                                                   stdin="" if input is None else input)
        except callgate.CommandExitException as error:
            done = error
        except (callgate.SandboxEndedException, callgate.ServerException) as error:
            raise SandboxUnavailableError(str(error)) from error
        except callgate.TimeoutException as error:
            raise TimeoutError("the command has run for %s seconds" % timeout) from error
        if done.exit_code == 126:
            raise PermissionError(done.stderr)
        self._check_size(max(len(done.stdout), len(done.stderr)) + done.dropped_bytes,
                         SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
                         SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, done.stdout)
        return ExecResult(done.exit_code == 0, done.exit_code, done.stdout, done.stderr)

    @staticmethod
    def _check_size(size: int, most: int, most_text: str, output: str | None) -> None:
        if size > most:
            raise OutputLimitExceededError(limit_str=most_text, truncated_output=output and output[:most])

    # ---- files ----

    async def write_file(self, file: str, contents: str | bytes) -> None:
        try:
            await self.sandbox.files.write(file, contents)
        except callgate.SandboxException as error:
            raise await self._explain(file, error) from error

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        most, parts, size = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE, [], 0
        try:
            async with await self.sandbox.files.read(file, "stream") as reader:
                async for part in reader:
                    parts.append(part)
                    size += len(part)
                    self._check_size(size, most, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        except callgate.SandboxException as error:
            raise await self._explain(file, error) from error
        content = b"".join(parts)
        return content.decode() if text else content

    async def _explain(self, file: str, error: callgate.SandboxException) -> Exception:
        """The exception that Inspect wants for one of this package."""
        if isinstance(error, (callgate.SandboxEndedException, callgate.ServerException)):
            return SandboxUnavailableError(str(error))
        if isinstance(error, callgate.TimeoutException):
            return TimeoutError(str(error))
        if isinstance(error, callgate.FileNotFoundException):
            return FileNotFoundError(str(error))
        if isinstance(error, callgate.InvalidArgumentException):
            info = await self.sandbox.files.get_info(file) if await self.sandbox.files.exists(file) else None
            return IsADirectoryError(file) if info and info.type == callgate.FileType.DIR else ValueError(str(error))
        return PermissionError(str(error)) if str(error).startswith("403") else error
