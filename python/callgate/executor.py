"""callgate.Executor: functions of this process, called in sandboxes."""

import concurrent.futures
import functools
import os
import queue
import secrets
import threading
import time
from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple, TypeVar

from . import values
from .connection import CancelScope, Cancelled, Connection, cancel_scope, parse_json
from .errors import AuthenticationException, InvalidArgumentException, SandboxEndedException, SandboxException
from .functions import Bundle
from .models import Result
from .sandbox import Sandbox
from .server import Server, Template

T = TypeVar("T")

SANDBOX_LIFE_S = 3600  # renewed before each task
RENEW_BEFORE_S = 1800
CODE_BYTES_MAX = 7 << 20  # the server takes bodies of 8 MiB
RESULT_BYTES_MAX = 7 << 20  # quotes are escaped once more, and the sandbox sends 15 MiB at most
OUTPUT_KEPT_CHARACTERS = 8192
TEMPLATE = "executor"
MODULES = ("base64", "datetime", "decimal", "json", "math", "traceback")  # of what runs in each sandbox

# What calls the function, in the sandbox. Its answer is the main result of the code, by _repr_json_: the nonce of the
# task, a letter, and JSON. What the function prints or displays is never looked at. The nonce tells the answer from one
# of a task before it.
CALL = '''
class _Answer:
    def __init__(self, text):
        self.text = text
    def __repr__(self):
        return "answer"
    def _repr_json_(self):
        return self.text

def _call(values, source, expression, arguments, nonce, most):
    import json, traceback
    space = {"__name__": "__callgate__", "decode": values["decode"]}
    try:
        exec(compile(source, "<function>", "exec"), space)
        args, kwargs = values["decode"](arguments)
        value = eval(expression, space)(*args, **kwargs)
        if hasattr(value, "__await__") and hasattr(value, "send"):
            import asyncio
            value = asyncio.run(value)
        text = values["encode"](value)
        if len(text) > most:
            raise values["ValueTypeError"]("the result has %d bytes of JSON, the most is %d" % (len(text), most))
        return _Answer(nonce + "V" + text)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        parts = [type(error).__name__, str(error), traceback.format_exc(limit=-20)]
        return _Answer(nonce + "E" + json.dumps([part[-100000:] for part in parts]))
'''


class TaskError(SandboxException):
    """The function has raised an exception. Its parts are texts: the exception itself stays in the sandbox."""

    def __init__(self, name: str, value: str, traceback: str = "", output: str = "") -> None:
        super().__init__(name, value, traceback, output)
        self.name, self.value, self.traceback = name, value, traceback
        self.output = output
        """The end of what the function has written."""

    def __str__(self) -> str:
        return "%s: %s" % (self.name, self.value)


class InterpreterDiedError(TaskError):
    """The function has ended its interpreter, or the kernel has, for want of memory."""


@functools.lru_cache(maxsize=1)
def _read_values() -> str:
    with open(values.__file__, encoding="utf-8") as file:
        return file.read()


def _make_preparation() -> str:
    """What a sandbox runs once: values.py, and what calls functions."""
    return ("_values = {'__name__': 'callgate_values'}\nexec(compile(%s, '<values>', 'exec'), _values)\n%s"
            % (ascii(_read_values()), CALL))


def make_call(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any], most: int,
              ) -> Tuple[str, str]:
    """The code that calls a function, and the nonce of its answer. TypeError: it cannot be sent."""
    bundle = Bundle()
    expression = bundle.add(function)
    for name, value in [*enumerate(args), *kwargs.items()]:
        try:
            values.encode(value)
        except values.ValueTypeError as error:
            raise values.ValueTypeError("argument %s: %s" % (name, error)) from None
    nonce = secrets.token_hex(16)
    code = "_call(_values, %s)" % ", ".join(
        ascii(part) for part in (bundle.make_source(), expression, values.encode([list(args), dict(kwargs)]), nonce,
                                 most))
    if len(code) > CODE_BYTES_MAX:
        raise values.ValueTypeError("function and arguments have %d bytes, the most is %d"
                                    % (len(code), CODE_BYTES_MAX))
    return code, nonce


def parse_answer(text: Any, nonce: str, output: str) -> Any:
    """The value that the sandbox says the function has returned; TaskError if it says that it has raised."""
    if not isinstance(text, str) or not text.startswith(nonce):
        raise TaskError("BadAnswer", "the sandbox does not say what the function has returned", "", output)
    kind, text = text[len(nonce):len(nonce) + 1], text[len(nonce) + 1:]
    try:
        if kind == "V":
            return values.decode(text)
        name, error, traceback = [str(part) for part in parse_json(text)]
    except (ValueError, TypeError) as problem:
        raise TaskError("BadAnswer", "what the sandbox says of the result is not to be understood: %s" % problem, "",
                        output) from None
    raise TaskError(name, error, traceback, output)


class _Task:
    def __init__(self, code: str, nonce: str) -> None:
        self.code, self.nonce = code, nonce
        self.future: "concurrent.futures.Future[Any]" = concurrent.futures.Future()


class _Output:
    """The end of what a task has written, and its main result."""

    def __init__(self) -> None:
        self.text = ""
        self.result: Optional[Result] = None
        self.died: Optional[Tuple[str, str]] = None

    def add(self, message: Any) -> None:
        self.text = (self.text + message.line[-OUTPUT_KEPT_CHARACTERS:])[-OUTPUT_KEPT_CHARACTERS:]

    def add_result(self, result: Result) -> None:
        if result.is_main_result:
            self.result = result


class _Worker:
    """A thread with a sandbox of its own."""

    def __init__(self, executor: "Executor") -> None:
        self._executor = executor
        self._sandbox: Optional[Sandbox] = None
        self._end = 0.0
        self._calls = 0
        self.scope = CancelScope()
        self.thread = threading.Thread(target=self._run, name="callgate-executor", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        cancel_scope.set(self.scope)
        while True:
            task = self._executor._take()  # pylint: disable=protected-access
            if task is None:
                break
            if task.future.set_running_or_notify_cancel():
                self._serve(task)
            del task
        cancel_scope.set(None)
        self._drop()

    def _serve(self, task: _Task) -> None:
        try:
            value = self._call(task)
        except Cancelled:
            task.future.set_exception(SandboxEndedException("the executor was shut down"))
        except BaseException as error:  # pylint: disable=broad-except
            task.future.set_exception(error)
        else:
            task.future.set_result(value)

    def _call(self, task: _Task) -> Any:
        try:
            sandbox = self._get_sandbox()
            output = self._run_code(sandbox, task.code)
        except BaseException:
            self._drop()  # whatever it was: the next task gets a new one
            raise
        self._calls += 1
        if output.died:
            self._drop()
            raise InterpreterDiedError(*output.died, "", output.text)
        if self._calls == self._executor.max_tasks_per_child:
            self._drop()
        return parse_answer(output.result.json if output.result else None, task.nonce, output.text)

    def _run_code(self, sandbox: Sandbox, code: str) -> _Output:
        output = _Output()
        done = sandbox.run_code(code, on_stdout=output.add, on_stderr=output.add, on_result=output.add_result,
                                timeout=self._executor.task_timeout or 0)
        if done.error:
            output.died = (done.error.name, done.error.value)
        return output

    def _get_sandbox(self) -> Sandbox:
        now = time.monotonic()
        if self._sandbox is None:
            sandbox = self._executor._create_sandbox()  # pylint: disable=protected-access
            self._sandbox, self._calls, self._end = sandbox, 0, now + SANDBOX_LIFE_S
            for code, nonce in self._executor._preparation:  # pylint: disable=protected-access
                output = self._run_code(sandbox, code)
                if output.died:
                    raise TaskError(*output.died, "", output.text)
                if output.result:
                    parse_answer(output.result.json, nonce, output.text)
        elif self._end - now < RENEW_BEFORE_S:
            self._sandbox.set_timeout(SANDBOX_LIFE_S)
            self._end = now + SANDBOX_LIFE_S
        return self._sandbox

    def _drop(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox:
            token = cancel_scope.set(None)  # a scope that was cancelled lets no request through
            try:
                sandbox.kill()
            except (SandboxException, AuthenticationException):
                pass  # the server has ended, and with it the sandbox
            cancel_scope.reset(token)


class Executor(concurrent.futures.Executor):
    """Calls functions in sandboxes, one sandbox a worker.

        with Executor(2, modules=["math"]) as executor:
            print(list(executor.map(function, range(100))))

    A function is sent as its source, with the modules, functions and constants that it uses; arguments and results are
    sent as JSON, see values.TYPES. What raises in the sandbox is a TaskError. A sandbox that ends, or whose interpreter
    does, fails the task that ran; the next task gets a new one.

    Tasks of one sandbox can read and change what earlier ones have left, and can so spoil each other's results:
    max_tasks_per_child=1 gives each task a sandbox of its own.
    """

    def __init__(self, max_workers: Optional[int] = None, *, modules: Iterable[str] = (),
                 initializer: Optional[Callable[..., Any]] = None, initargs: Tuple[Any, ...] = (),
                 task_timeout: Optional[float] = None, max_tasks_per_child: Optional[int] = None,
                 max_result_bytes: int = RESULT_BYTES_MAX, template: Optional[str] = None,
                 policy: Optional[Mapping[str, Any]] = None, memory: Optional[str] = None,
                 server: Optional[Server] = None, connection: Optional[Connection] = None, **options: Any) -> None:
        """max_workers: sandboxes at a time (the number of processors). modules: imported beforehand. initializer: a
        function that each sandbox calls first. task_timeout: seconds; then the task fails, and its sandbox ends.

        Without server, connection, and options of Connection, the executor starts a server whose sandboxes wait ready;
        policy and memory are for these. Elsewhere template names what the sandboxes are made of.
        """
        self._workers: List[_Worker] = []
        self.max_workers = os.cpu_count() or 1 if max_workers is None else max_workers
        if self.max_workers < 1 or (max_tasks_per_child is not None and max_tasks_per_child < 1):
            raise InvalidArgumentException("max_workers and max_tasks_per_child must be at least 1")
        self.task_timeout, self.max_tasks_per_child = task_timeout, max_tasks_per_child
        self.max_result_bytes = min(max_result_bytes, RESULT_BYTES_MAX)
        modules = list(modules)
        imports = "".join("import %s\n" % name for name in modules if _check_module(name))
        self._preparation = [(_make_preparation() + imports, "")]  # code, and the nonce of its answer
        if initializer:
            self._preparation.append(make_call(initializer, initargs, {}, RESULT_BYTES_MAX))
        self._queue: "queue.SimpleQueue[Optional[_Task]]" = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_shut_down = False
        self._own_server: Optional[Server] = None
        self._template = Template(policy, modules=[*MODULES, *modules], warm=self.max_workers, memory=memory,
                                  python="/usr/bin/python3")
        self._template_name = template
        self._connection = connection
        has_server = server or connection or options or os.environ.get("CALLGATE_API_URL")
        if has_server and (policy is not None or memory is not None):
            raise InvalidArgumentException("policy and memory are those of the template of the server that is given")
        if has_server and not connection:
            self._connection = Connection(server=server, **options)
        self._get_connection()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[T]":
        """Calls the function in a sandbox. TypeError: the function or an argument cannot be sent."""
        task = _Task(*make_call(fn, args, kwargs, self.max_result_bytes))
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._queue.put(task)
            if len(self._workers) < self.max_workers:
                self._workers.append(_Worker(self))
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the sandboxes when no task is left. cancel_futures: tasks that wait are cancelled."""
        with self._lock:
            is_first, self._is_shut_down = not self._is_shut_down, True
            while cancel_futures:
                try:
                    task = self._queue.get_nowait()
                except queue.Empty:
                    break
                if task:
                    task.future.cancel()
            if is_first or cancel_futures:
                for _ in self._workers:
                    self._queue.put(None)
        if not wait:
            threading.Thread(target=self._join, name="callgate-shutdown", daemon=True).start()
        else:
            self._join()

    def kill(self) -> None:
        """Ends everything at once: tasks that run fail, those that wait are cancelled."""
        self.shutdown(False, cancel_futures=True)
        for worker in self._workers:
            worker.scope.cancel()
        self._join()

    def _join(self) -> None:
        for worker in self._workers:
            worker.thread.join()
        with self._lock:
            server, self._own_server = self._own_server, None
        if server:
            server.stop()

    def _take(self) -> Optional[_Task]:
        return self._queue.get()

    def _get_connection(self) -> Connection:
        """That to the own server, if none was given. It is started, and again when it has died."""
        if self._connection:
            return self._connection
        with self._lock:
            if self._own_server and not self._own_server.is_running():
                self._own_server.stop()
                self._own_server = None
            if not self._own_server:
                self._own_server = Server({TEMPLATE: self._template}, sandboxes=max(200, 4 * self.max_workers))
                self._template_name = TEMPLATE
            return Connection(server=self._own_server)

    def _create_sandbox(self) -> Sandbox:
        return Sandbox.create(self._template_name, SANDBOX_LIFE_S, connection=self._get_connection())


def _check_module(name: str) -> bool:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidArgumentException("%r is no module" % name)
    return True
