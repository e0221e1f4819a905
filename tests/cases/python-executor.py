#!/usr/bin/python3
"""callgate.Executor: how values and functions are sent, and functions that mean harm. Started by
tests/live/agents/python.sh."""

import concurrent.futures
import datetime
import decimal
import functools
import json
import math
import os
import random
import signal
import sys
import threading
import time
import unittest

import callgate
from callgate import Executor, FunctionError, InterpreterDiedError, TaskError, ValueTypeError, functions, values

SCALE = 3
TABLE = {"a": 1}


class Values(unittest.TestCase):
    def test_round_trip(self):
        moment = datetime.datetime(2026, 11, 28, 15, 0, 0, 123456, tzinfo=datetime.timezone.utc)
        for value in (None, True, 0, -1, 2**53, -2**64, 10**5000, 1.5, -0.0, 1e308, math.inf, -math.inf, 1 + 2j, "",
                      "\0\x1e\u00e9\u2028\U0001f600\ud800", b"", bytes(range(256)), bytearray(b"x"), [], [[1], ()],
                      (1, (2, "x")), {}, {"$": 1}, {"": None}, {1: "a", (2, 3): {4}, None: frozenset([5]), b"k": 1.0},
                      {"a": {"b": [{"c": (1,)}]}}, set(), {1, "a", 2.5}, range(0, 10**30, 7),
                      decimal.Decimal("1.10"), moment, moment.date(), moment.time(),
                      datetime.timedelta(-1, 5, 7), {"\0": 1, "x\ny": 2}):
            back = values.decode(values.encode(value))
            self.assertEqual((type(back), back), (type(value), value))
            self.assertEqual(values.encode(back), values.encode(value))
            self.assertTrue(values.encode(value).isascii())
        self.assertTrue(math.isnan(values.decode(values.encode(math.nan))))
        self.assertEqual(math.copysign(1, values.decode(values.encode(-0.0))), -1)

    def test_refusals(self):
        class Number(int):
            pass

        deep = []
        for _ in range(values.DEPTH_MAX + 1):
            deep = [deep]
        endless = []
        endless.append(endless)
        for value in (object(), Number(1), self, len, deep, endless, {"a": object()}, {object()}, [1, (2, {3: self})]):
            self.assertRaises(ValueTypeError, values.encode, value)

    def test_hostile(self):
        """Whatever the text is, the answer is a value or ValueError, and soon."""
        equal = json.dumps({"$": "set", "v": [{"$": "int", "v": hex(i * (2**61 - 1))} for i in range(1000)]})
        pairs = json.dumps({"$": "dict", "v": [[i * (2**61 - 1), 0] for i in range(1000)]})
        for text in (equal, pairs, "[" * 100000, "[" * 990 + "]" * 990, '{"$":' * 500, "", "NaN", "Infinity",
                     "9" * 5000, '{"$": 1}', '{"$": "set"}', '{"$": "set", "v": [[]]}', '{"$": "set", "v": 5}',
                     '{"$": "dict", "v": [1]}', '{"$": "dict", "v": [[[], 1]]}', '{"$": ["x"], "v": 1}',
                     '{"$": "pickle", "v": "gASVBQAAAAAAAABLAS4="}', '{"$": "__import__", "v": "os"}',
                     '{"$": "int", "v": 5}', '{"$": "int", "v": "x"}', '{"$": "bytes", "v": "\u00e9"}',
                     '{"$": "bytes", "v": "A"}', '{"$": "range", "v": ["1", "2", "0"]}', '{"$": "range", "v": []}',
                     '{"$": "datetime", "v": "x"}', '{"$": "datetime", "v": 1}', '{"$": "decimal", "v": "x"}',
                     '{"$": "timedelta", "v": [1e308, 0, 0]}', '{"$": "timedelta", "v": [{}]}',
                     '{"$": "complex", "v": ["1"]}', '{"$": "float", "v": []}', '{"$": "str", "v": "/w=="}'):
            with self.subTest(text=text[:40]):
                self.assertRaises(ValueError, values.decode, text)
        before = time.monotonic()
        generator = random.Random(1)
        letters = '[]{}:,"$v0e-. ' + "".join(values._DECODERS)
        base = values.encode([{1: (2, {3})}, b"x", decimal.Decimal(1), datetime.timedelta(1), "\ud800"])
        for _ in range(3000):
            text = list(base)
            for _ in range(generator.randrange(1, 5)):
                text[generator.randrange(len(text))] = generator.choice(letters)
            try:
                values.decode("".join(text))
            except ValueError:
                pass
        self.assertLess(time.monotonic() - before, 60)


def triple(number):
    return number * SCALE


def tells(number: "pandas.DataFrame", *more, key=SCALE, **named) -> "numpy.array":
    if number > 2:
        return tells(2)
    return [triple(number), math.floor(2.5), os.path.basename("a/b"), functools.reduce(max, [1, 2]), more, key, named]


def uses_table():
    return TABLE


def uses_nothing_known():
    return undefined_name  # noqa: F821  pylint: disable=undefined-variable


def uses_inner():
    def inner():
        return TABLE
    return inner()


@functools.lru_cache
def cached():
    return 1


def decorator(function):
    return lambda: function()


@decorator
def decorated():
    return 1


class Functions(unittest.TestCase):
    def call(self, function, *args):
        bundle = functions.Bundle()
        expression = bundle.add(function)
        space = {"decode": values.decode}
        exec(bundle.make_source(), space)
        return eval(expression, space)(*args)

    def test_sources(self):
        self.assertEqual(self.call(triple, 5), 15)
        self.assertEqual(self.call(tells, 5), [6, 2, "b", 2, (), 3, {}])
        self.assertEqual(self.call(math.sqrt, 4), 2.0)
        self.assertEqual(self.call(pow, 2, 5), 32)
        self.assertEqual(self.call(os.path.join, "a", "b"), "a/b")

    def test_refusals(self):
        number = 5

        def closure():
            return number

        def fine():
            return 5

        self.assertEqual(self.call(fine), 5)
        for function, why in ((closure, "closure over number"), (lambda: 1, "lambda"), (uses_table, "global TABLE"),
                              (uses_inner, "global TABLE"), (uses_nothing_known, "not defined"), (cached, "cannot"),
                              (decorated, "lambda"), (Functions, "cannot"), ("x".join, "cannot"), (self.call, "cannot"),
                              (functools.partial(triple, 1), "cannot"), (eval("lambda: 1"), "lambda")):
            with self.assertRaisesRegex(FunctionError, why):
                functions.Bundle().add(function)
        exec("def unknown(): pass", globals())
        with self.assertRaisesRegex(FunctionError, "source"):
            functions.Bundle().add(globals()["unknown"])


# ---- what runs in sandboxes ----

def where():
    return os.getcwd(), os.getpid()


def fails():
    print("before")
    raise KeyError("why")


def forges():
    nonce = "0" * 32
    for text in ('{"type": "result", "is_main_result": true, "json": "%sV1"}' % nonce, "\x1e%s5:hello" % nonce,
                 '{"type": "end_of_execution"}', nonce + "V666"):
        print(text)
        print(text, file=sys.stderr)
    display({"application/json": nonce + "V666"}, raw=True)  # noqa: F821  pylint: disable=undefined-variable
    return "true"


def forges_by_frames():
    """Speaks as the runner does, of which it reads all."""
    import gc

    for state in gc.get_objects():
        if isinstance(state, type) and state.__name__ == "State" and hasattr(state, "nonce"):
            text = json.dumps({"type": "result", "is_main_result": True, "json": "0" * 32 + "V666"}).encode() + b"\n"
            os.write(state.event_fd, b"\x1e%s%d:%s" % (state.nonce, len(text), text))
    return 1


def lies():
    class Liar:
        def __repr__(self):
            raise SystemExit
    return Liar()


def exits(code):
    os._exit(code)


def raises_exit():
    sys.exit("bye")


def kills(number):
    os.kill(os.getpid(), number)
    time.sleep(10)


def allocates():
    kept = []
    while True:
        kept.append(b"x" * (1 << 20))


def big():
    return "x" * (20 << 20)


def quotes(size):
    return '"' * size


def deep():
    value = []
    for _ in range(100000):
        value = [value]
    return value


def many():
    return [[]] * 200000


def writes():
    for _ in range(2000):
        print("x" * 10000)
    return "done"


def long_error():
    raise ValueError("x" * 1000000)


def generator():
    yield 1


async def waits(seconds):
    import asyncio
    await asyncio.sleep(seconds)
    return seconds


def sleeps(seconds):
    time.sleep(seconds)
    return seconds


def prepare(name):
    os.environ["PREPARED"] = name


def prepared():
    return os.environ.get("PREPARED")


def imported(name):
    return name in sys.modules


def closes_all():
    os.closerange(0, 100)
    return 1


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.executor = Executor(2, memory="300M", initializer=prepare, initargs=("yes",), modules=["colorsys"])

    @classmethod
    def tearDownClass(cls):
        cls.executor.shutdown()

    def submit(self, *call):
        return self.executor.submit(*call)

    def test_results(self):
        self.assertEqual(self.submit(where).result()[0], "/home/user")
        self.assertEqual(list(self.executor.map(triple, range(20))), [3 * i for i in range(20)])
        self.assertEqual(self.submit(waits, 0.01).result(), 0.01)
        self.assertEqual((self.submit(prepared).result(), self.submit(imported, "colorsys").result()), ("yes", True))
        self.assertEqual(self.submit(writes).result(), "done")
        with self.assertRaises(TaskError) as caught:
            self.submit(fails).result()
        error = caught.exception
        self.assertEqual((error.name, error.value, error.output), ("KeyError", "'why'", "before\n"))
        self.assertIn("in fails", error.traceback)

    def test_forged(self):
        self.assertEqual(self.submit(forges).result(), "true")
        self.assertNotEqual(self.executor.submit(math.sqrt, 4).result(), 666)
        try:
            self.assertNotEqual(self.submit(forges_by_frames).result(), 666)
        except TaskError as error:
            self.assertEqual(error.name, "BadAnswer")
        self.assertEqual(self.submit(triple, 1).result(), 3)

    def test_bad_results(self):
        for call, name in (((lies,), "ValueTypeError"), ((big,), "ValueTypeError"), ((deep,), "ValueTypeError"),
                           ((generator,), "ValueTypeError"), ((raises_exit,), "SystemExit"),
                           ((long_error,), "ValueError")):
            with self.subTest(call=call[0].__name__):
                with self.assertRaises(TaskError) as caught:
                    self.submit(*call).result()
                self.assertEqual(caught.exception.name, name)
                self.assertLess(len(caught.exception.value), 200000)
        self.assertEqual(len(self.submit(quotes, 3 << 20).result()), 3 << 20)
        self.assertEqual(len(self.submit(many).result()), 200000)
        with self.assertRaises(TaskError):
            self.submit(quotes, 7 << 20).result()

    def test_deaths(self):
        for call in ((exits, 0), (exits, 3), (kills, 9), (allocates,), (closes_all,)):
            with self.subTest(call=call):
                with self.assertRaises(TaskError):
                    self.submit(*call).result(60)
                self.assertEqual([f.result() for f in [self.submit(triple, i) for i in range(4)]], [0, 3, 6, 9])

    def test_arguments(self):
        self.assertRaisesRegex(TypeError, "argument 0: .*object", self.submit, triple, object())
        self.assertRaisesRegex(TypeError, "argument key", self.executor.submit, tells, 1, key=self)
        self.assertRaisesRegex(TypeError, "bytes, the most", self.submit, triple, "x" * (8 << 20))
        self.assertRaises(TypeError, self.submit, lambda: 1)


class Life(unittest.TestCase):
    def test_executor(self):
        """One executor for all: servers take their time."""
        server = callgate.Server()
        with Executor(1, server=server, task_timeout=3, max_tasks_per_child=2) as executor:
            pids = [executor.submit(where).result()[1] for _ in range(2)]
            self.assertEqual(pids[0], pids[1])
            with self.assertRaises(callgate.TimeoutException):
                executor.submit(sleeps, 60).result()
            self.assertEqual(executor.submit(sleeps, 0).result(), 0)
            # the sandbox is killed by another
            executor.task_timeout = None
            first = executor.submit(sleeps, 60)
            while not (found := callgate.Sandbox.list(server=server).next_items()) or not first.running():
                pass
            time.sleep(0.1)
            callgate.Sandbox.connect(found[0].sandbox_id, server=server).kill()
            with self.assertRaises(callgate.SandboxEndedException):
                first.result()
            self.assertEqual(executor.submit(sleeps, 0).result(), 0)
            # waiting tasks are cancelled, a running one is not; kill() ends it, too
            running, waiting = executor.submit(sleeps, 60), executor.submit(sleeps, 0)
            while not running.running():
                pass
            self.assertFalse(running.cancel())
            self.assertTrue(waiting.cancel())
            waiting = executor.submit(sleeps, 0)
            executor.kill()
            self.assertRaises(concurrent.futures.CancelledError, waiting.result)
            self.assertRaises(callgate.SandboxEndedException, running.result)
        self.assertRaises(RuntimeError, executor.submit, sleeps, 0)
        self.assertEqual(callgate.Sandbox.list(server=server).next_items(), [])
        server.stop()
        with self.assertRaises(callgate.InvalidArgumentException):
            Executor(0)
        with self.assertRaises(callgate.InvalidArgumentException):
            Executor(modules=["os; evil"])

    def test_own_server_dies(self):
        with Executor(1) as executor:
            self.assertEqual(executor.submit(triple, 1).result(), 3)
            task = executor.submit(sleeps, 60)
            time.sleep(0.2)
            process = executor._own_server._process
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as children:
                os.kill(int(children.read()), signal.SIGKILL)
            process.wait()
            self.assertRaises(callgate.SandboxException, task.result)
            self.assertEqual(executor.submit(triple, 2).result(), 6)
            threads = threading.active_count()
        self.assertLess(threading.active_count(), threads)


if __name__ == "__main__":
    unittest.main(verbosity=int(os.environ.get("VERBOSE", "0")))
