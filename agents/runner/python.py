"""The Python interpreter of a context: runs the requests that come on descriptor 0, and tells what they did.

It runs in a sandbox, started by agents/context, which describes the protocol. It imports little: each module that is
not needed at once would make the start of each context longer. Its parts python_*.py come by "source" requests and are
compiled when they are needed first.
"""

import _signal
import _thread
import os
import sys

try:
    from _json import encode_basestring_ascii  # json itself would import re
except ImportError:
    from json.encoder import encode_basestring_ascii

ONLY_AST = 0x400  # ast.PyCF_ONLY_AST: importing ast takes longer than a run
TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80  # inspect.CO_COROUTINE
EVENT_BYTES_MAX = 15 << 20  # the server drops longer events
FRAME_BYTES_MAX = 4096  # PIPE_BUF: a shorter write is never mixed with another one's bytes
SOURCE_NAME = "<callgate>"


class State:
    """What the runner knows; one object, so that functions need no "global"."""

    pid = os.getpid()
    nonce = b""
    request_fd = event_fd = error_fd = -1
    buffer = b""
    count = 0  # execution_count
    is_running = False
    is_emitting = False
    is_interrupted = False  # while an event was written
    lock = _thread.allocate_lock()
    sources = {}  # parts: name to source, and when it was needed to its namespace
    cells = {}  # file names of cells that linecache does not know yet
    loop = None  # asyncio's, for top-level await
    namespace = {}


# ---- events ----


def write_all(fd, data):
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # the user's code has made the pipe non-blocking
            import select

            select.select([], [fd], [])


def quote(text):
    """A JSON string. Lone surrogates, which no UTF-8 text can have, are escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "backslashreplace").decode()
    return encode_basestring_ascii(text)


def encode(value):
    if isinstance(value, str):
        return quote(str(value))
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    return load("display")["encode_json"](value)


def emit(event, fd=None):
    """Writes an event: a JSON line, in frames that text on the same pipe cannot tear apart."""
    if os.getpid() != State.pid:
        return  # a child of the user's code
    line = "{" + ",".join(quote(key) + ":" + encode(value) for key, value in event.items()) + "}\n"
    data = line.encode()
    if len(data) > EVENT_BYTES_MAX:
        note = "[a result of %d bytes is too long to be shown]\n" % len(data)
        return write_all(State.error_fd, note.encode())
    room = FRAME_BYTES_MAX - len(State.nonce) - 8
    with State.lock:
        State.is_emitting = True
        try:
            flush()
            for i in range(0, len(data), room):
                part = data[i : i + room]
                write_all(State.event_fd if fd is None else fd, b"\x1e%s%d:%s" % (State.nonce, len(part), part))
        finally:
            State.is_emitting = False
    if State.is_interrupted:
        State.is_interrupted = False
        raise KeyboardInterrupt


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # whatever the user's code has put there
            pass


def on_sigint(_number, _frame):
    if not State.is_running:
        return
    if State.is_emitting:
        State.is_interrupted = True
    else:
        raise KeyboardInterrupt


# ---- requests ----


def read_field():
    while b"\0" not in State.buffer:
        more = os.read(State.request_fd, 1 << 18)
        if not more:
            os._exit(0)
        State.buffer += more
    field, State.buffer = State.buffer.split(b"\0", 1)
    return field.decode("utf-8", "surrogateescape")


def read_request():
    """The number of fields, then the fields, each with a zero byte at its end."""
    return [read_field() for _ in range(int(read_field()))]


def load(part):
    """The namespace of a part of the runner, compiled now if it was not needed before."""
    if isinstance(State.sources[part], str):
        namespace = {"__name__": "callgate_" + part}
        exec(compile(State.sources[part], SOURCE_NAME, "exec"), namespace)
        State.sources[part] = namespace
    return State.sources[part]


# ---- hooks: what python_display.py does after a module was imported ----


class HookLoader:
    """A module's own loader, and the hook afterwards."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self.loader
        load("display")["HOOKS"][module.__name__](module)


class HookFinder:
    """First of sys.meta_path: wraps the loaders of the modules that have a hook."""

    names = ("matplotlib", "matplotlib.pyplot", "matplotlib.figure", "PIL.Image", "IPython.core.display_functions")

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in HookFinder.names:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not HookFinder else None
            if spec and spec.loader:
                spec.loader = HookLoader(spec.loader)
                return spec
        return None


class StandInFinder:
    """Last of sys.meta_path: where IPython is not installed, its display functions are there nevertheless."""

    names = ("IPython", "IPython.display", "IPython.core", "IPython.core.display")

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in StandInFinder.names:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, StandInFinder, is_package=name in ("IPython", "IPython.core"))

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        load("display")["fill_stand_in"](module)


def display(*values, **options):
    """Shows values, as IPython.display.display() does."""
    load("display")["display"](*values, **options)


# ---- code ----


def dedent(code):
    """Takes the first line's indentation from all lines, as IPython does."""
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return code
    return "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)


def parse(code, name):
    """The syntax tree. Magics and shell commands (%cd, !ls) are translated when it is no Python without that."""
    try:
        return compile(code, name, "exec", ONLY_AST | TOP_LEVEL_AWAIT, True), code
    except SyntaxError:
        lines = code.split("\n")
        if not any(
            line.lstrip()[:1] in ("!", "%") or "!" in line or "%" in line or line.rstrip()[-1:] == "?"
            for line in lines
        ):
            raise
        translated = load("magics")["translate"](code)
        if translated == code:
            raise
        return compile(translated, name, "exec", ONLY_AST | TOP_LEVEL_AWAIT, True), code


def remember_cell(name, code):
    """Lets tracebacks and inspect show the lines."""
    State.cells[name] = code
    linecache = sys.modules.get("linecache")
    if not linecache:
        return
    for cell, source in State.cells.items():
        linecache.cache[cell] = (len(source), None, [line + "\n" for line in source.split("\n")], cell)
    State.cells.clear()


def execute(code):
    """Runs a code object, awaiting it if it has top-level await."""
    value = eval(code, State.namespace)
    if not code.co_flags & COROUTINE:
        return value
    import asyncio

    if State.loop is None or State.loop.is_closed():
        State.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(State.loop)
    task = State.loop.create_task(value)
    try:
        return State.loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            try:
                State.loop.run_until_complete(task)
            except BaseException:
                pass
        raise


def is_silent(code):
    """Whether the last expression ends with a semicolon. A comment may follow it."""
    end = code.rstrip()
    if end.endswith(";"):
        return True
    last = end[end.rfind("\n") + 1 :]
    return "#" in last and last[: last.rfind("#")].rstrip().endswith(";")


def run_source(code, name):
    """Runs a cell. The value of its last expression, or None."""
    tree, code = parse(code, name)
    remember_cell(name, code)
    last = None
    if tree.body and type(tree.body[-1]).__name__ == "Expr" and not is_silent(code):
        import _ast

        last = compile(_ast.Expression(tree.body.pop().value), name, "eval", TOP_LEVEL_AWAIT, True)
    if tree.body:
        execute(compile(tree, name, "exec", TOP_LEVEL_AWAIT, True))
    return None if last is None else execute(last)


def hide_runner(trace):
    """Takes the runner's frames out of a traceback and of those that it is chained to."""
    for part in (trace, trace.__cause__, trace.__context__):
        if part:
            part.stack[:] = [frame for frame in part.stack if frame.filename != SOURCE_NAME]
    return trace


def tell_error(error):
    import traceback

    remember_cell("<cell 0>", "")  # traceback has loaded linecache
    name, value = type(error).__name__, ""
    try:
        value = str(error)
        text = "".join(hide_runner(traceback.TracebackException.from_exception(error)).format())
    except Exception as second:
        text = "%s (its traceback cannot be shown: %s)\n" % (name, type(second).__name__)
    emit({"type": "error", "name": name, "value": value, "traceback": text})


def show_value(value):
    State.namespace["_"] = value
    if type(value) in (int, float, bool):
        emit({"type": "result", "is_main_result": True, "text": repr(value)})
    else:
        load("display")["show"](value, True)


def show_figures():
    if "matplotlib.pyplot" in sys.modules:
        load("display")["show_figures"]()


def run_cell(code):
    """Runs a cell and tells results and errors. Nothing that the user's code raises gets past it."""
    name = "<cell %d>" % State.count
    try:
        State.is_running = True
        value = run_source(dedent(code), name)
        if value is not None:
            show_value(value)
        show_figures()
    except BaseException as error:
        State.is_running = False
        tell_error(error)
    State.is_running = State.is_interrupted = False
    if os.getpid() != State.pid:
        flush()
        os._exit(0)  # a child that the user's code has forked and let go on


def run_with_environment(code, variables):
    before = {}
    for variable in variables:
        name, _, value = variable.partition("=")
        before[name] = os.environ.get(name)
        os.environ[name] = value
    run_cell(code)
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ---- a fresh state for each run: a forked child runs the code ----


def reseed():
    """Gives a forked child random numbers of its own. OpenSSL, uuid4, secrets and tempfile look to it themselves."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
    if "uuid" in sys.modules:
        # The C function keeps its clock sequence over a fork: two children could make the same uuid1.
        sys.modules["uuid"]._generate_time_safe = None
        sys.modules["uuid"]._last_timestamp = None


def run_fresh(code, variables):
    flush()
    pid = os.fork()
    if pid == 0:
        State.pid = os.getpid()
        os.close(State.request_fd)
        reseed()
        run_with_environment(code, variables)
        flush()
        os._exit(0)
    State.is_running = False  # the child is in the same process group: the interrupt is for it
    status = os.waitpid(pid, 0)[1]
    if status:
        died = "signal %d" % (status & 127) if status & 127 else "exit status %d" % (status >> 8)
        emit({"type": "error", "name": "InterpreterDied", "value": died, "traceback": ""})


# ---- the loop ----


def emit_on_both(event):
    """On both pipes: what was written to either before has then been read."""
    emit(event)
    emit(event, State.error_fd)


def serve_run(number, mode, code, *variables):
    State.count += 1
    _signal.signal(_signal.SIGINT, on_sigint)
    try:
        State.is_running = True  # before the server learns of it, which may interrupt it from then on
        emit({"type": "number_of_executions", "execution_count": State.count})
        if mode == "fresh":
            run_fresh(code, variables)
        else:
            run_with_environment(code, variables)
    except KeyboardInterrupt as error:  # just before or after the code
        State.is_running = False
        tell_error(error)
    State.is_running = State.is_interrupted = False
    emit_on_both({"type": "end", "run": int(number)})


def serve_warm(*modules):
    """Imports modules, so that no run has to wait for it. What cannot be imported is no error: a run would tell it."""
    for module in modules:
        try:
            __import__(module)
            if module.startswith("matplotlib"):
                load("display")["warm_figures"]()
        except Exception:
            pass
    if modules:
        import gc

        gc.collect()
        gc.freeze()  # a forked child's collector does not touch, and so copy, these objects
    emit_on_both({"type": "ready"})


def serve():
    request = read_request()
    if request[0] == "nonce":
        State.nonce = request[1].encode()
    elif request[0] == "source":
        State.sources[request[1]] = request[2]
    elif request[0] == "warm":
        serve_warm(*request[1:])
    elif request[0] == "run":
        serve_run(*request[1:])


def start():
    State.request_fd, State.event_fd, State.error_fd = os.dup(0), os.dup(1), os.dup(2)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.close(null_fd)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=False)
    main = sys.modules["__main__"].__dict__
    for name in [name for name in main if not name.startswith("__")]:
        del main[name]
    State.namespace = main
    sys.argv[:] = [""]
    runner = sys.modules["callgate_runner"] = type(sys)("callgate_runner")  # for the parts
    runner.__dict__.update(globals())
    __builtins__["display"] = display
    sys.meta_path.insert(0, HookFinder)
    sys.meta_path.append(StandInFinder)
    _signal.signal(_signal.SIGINT, on_sigint)
    while True:
        try:
            serve()
        except OSError:
            os._exit(1)  # the user's code has closed our descriptors


start()
