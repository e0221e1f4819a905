"""Contexts in a sandbox, through tests/cases/contexts.c. Arguments: it, callgate, options of session create."""

import json
import os
import select
import subprocess
import sys
import time
import unittest

COMMAND = sys.argv[1:]
HAS_NODE = os.environ.get("HAS_NODE") == "1"


class Driver:
    def __init__(self, extra=()):
        self.process = subprocess.Popen(COMMAND + list(extra), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.data, self.events, self.names = b"", [], 0
        self.id = self.read(lambda event: event["type"] == "sandbox")["id"]

    def send(self, op, **rest):
        self.process.stdin.write(json.dumps(dict(rest, op=op)).encode() + b"\n")
        self.process.stdin.flush()

    def read(self, wanted, timeout=100):
        """Reads until an event is wanted; all others are kept in self.events."""
        deadline = time.monotonic() + timeout
        while True:
            while b"\n" in self.data:
                line, self.data = self.data.split(b"\n", 1)
                event = json.loads(line)
                self.events.append(event)
                if wanted(event):
                    return event
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(repr(self.events[-5:])[:2000])
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise EOFError(repr(self.events[-5:])[:2000])
            self.data += more

    def ask(self, op, **rest):
        self.send(op, **rest)
        return self.read(lambda event: event["type"] == "done")["result"]

    def create(self, name, language="python", **rest):
        self.names += 1
        assert self.ask("create", context=name, language=language, **rest) == 0

    def start(self, context, code, **rest):
        self.names += 1
        name = "%s-%d" % (context, self.names)
        assert self.ask("run", context=context, run=name, code=code, **rest) == 0
        return name

    def finish(self, name, timeout=100):
        if not any(event["type"] == "over" and event["run"] == name for event in self.events):
            self.read(lambda event: event["type"] == "over" and event["run"] == name, timeout)
        return Outcome([event for event in self.events if event.get("run") == name and event["type"] != "over"])

    def run(self, context, code, **rest):
        return self.finish(self.start(context, code, **rest))

    def wait_for_output(self, name, text):
        self.read(lambda event: event.get("run") == name and text in event.get("text", ""))

    def close(self):
        self.process.stdin.close()
        while os.read(self.process.stdout.fileno(), 1 << 20):  # it must not wait for its reader
            pass
        status = self.process.wait(20)
        self.process.stdout.close()
        return status


class Outcome:
    def __init__(self, events):
        self.events = events
        self.results = [event for event in events if event["type"] == "result"]
        self.text = next((event.get("text") for event in self.results if event["is_main_result"]), None)
        self.errors = [event for event in events if event["type"] == "error"]
        self.error = self.errors[0]["name"] if self.errors else None
        self.value = self.errors[0]["value"] if self.errors else None
        self.denials = sum((event["denials"] for event in events if event["type"] == "denials"), [])
        self.stdout = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.stderr = "".join(event["text"] for event in events if event["type"] == "stderr")


class Contexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = Driver()
        cls.driver.create("p")

    @classmethod
    def tearDownClass(cls):
        assert cls.driver.close() == 0

    def run_code(self, code, **rest):
        return self.driver.run("p", code, **rest)

    def test_python(self):
        self.run_code("x = 20")
        outcome = self.run_code("print('o')\nimport sys; print('e', file=sys.stderr)\ndisplay(1)\nx + 1")
        self.assertEqual((outcome.text, outcome.stdout, outcome.stderr, outcome.error), ("21", "o\n", "e\n", None))
        self.assertEqual(
            [event["type"] for event in outcome.events if event["type"] != "stderr"],
            ["number_of_executions", "stdout", "result", "result"],
        )
        self.assertAlmostEqual(outcome.events[1]["timestamp"] / 1e9, time.time(), delta=20)
        self.assertEqual(self.run_code("1 / 0").error, "ZeroDivisionError")
        self.assertEqual(self.run_code("import os; os.environ['A']", env={"A": "b"}).text, "'b'")
        self.assertEqual(self.run_code("os.environ.get('A')").text, None)
        self.assertEqual(self.run_code("!echo $((40 + 2))").stdout, "42\n")
        self.assertEqual(self.run_code("print('\u20ac' * 100000)").stdout, "\u20ac" * 100000 + "\n")
        self.assertEqual(
            self.run_code("os.write(1, b'\\xff\\xe2\\x82'); os.write(1, b'\\xac\\xe2');").stdout, "\ufffd\u20ac\ufffd"
        )
        self.assertEqual(len(self.run_code("'y' * 9000000").text), 9000002)
        self.assertEqual(self.run_code("#" * 3000000 + "\n7").text, "7")

    def test_other_languages(self):
        self.driver.create("b", "bash", cwd="/tmp", env={"GIVEN": "g"})
        self.driver.run("b", "x=5")
        outcome = self.driver.run("b", "echo $x $GIVEN $FOO; pwd; false", env={"FOO": "it's"})
        self.assertEqual((outcome.stdout, outcome.error, outcome.value), ("5 g it's\n/tmp\n", "ExitStatus", "1"))
        self.assertEqual(self.driver.run("b", "sleep 60", timeout_ms=300).error, "TimeoutError")
        self.assertEqual(self.driver.run("b", "echo $x").stdout, "5\n")
        if HAS_NODE:
            self.driver.create("j", "javascript")
            self.driver.run("j", "const x = {a: [1]}")
            outcome = self.driver.run("j", "console.log('o'); await x")
            self.assertEqual((outcome.stdout, outcome.results[0]["json"]), ("o\n", {"a": [1]}))
            self.assertEqual(self.driver.run("j", "while (true) {}", timeout_ms=300).error, "TimeoutError")
            self.assertEqual(self.driver.run("j", "x.a[0]").text, "1")

    def test_wrong_requests(self):
        self.driver.names += 1
        self.assertEqual(self.driver.ask("create", context="none", language="cobol"), -95)
        for rest, error in (
            ({"env": {"1A": "x"}}, -22),
            ({"env": {"A=": "x"}}, -22),
            ({"env": {"A[$(touch made)]": "x"}}, -22),
            ({"code": "x" * ((16 << 20) + 1)}, -90),
        ):
            self.assertEqual(
                self.driver.ask("run", **dict({"context": "p", "run": "wrong", "code": "1"}, **rest)), error
            )

    def test_queue(self):
        names = [self.driver.start("p", "import time; time.sleep(0.01); %d" % i) for i in range(20)]
        self.assertEqual([self.driver.finish(name).text for name in names], [str(i) for i in range(20)])
        running = self.driver.start("p", "time.sleep(60)")
        names = [self.driver.start("p", str(i)) for i in range(63)]
        self.assertEqual(self.driver.ask("run", context="p", run="more", code="1"), -11)
        self.driver.ask("interrupt", run=names[0])
        self.assertEqual(self.driver.finish(names[0]).error, "KeyboardInterrupt")
        self.driver.ask("free_run", run=names[1])
        self.driver.ask("interrupt", run=running)
        self.assertEqual(self.driver.finish(running).error, "KeyboardInterrupt")
        self.assertEqual(self.driver.finish(names[62]).text, "62")
        self.assertFalse(any(event.get("run") == names[1] for event in self.driver.events))

    def test_interrupts_and_timeouts(self):
        self.run_code("kept = 1")
        name = self.driver.start("p", "import time\nprint('in', flush=True)\ntime.sleep(60)")
        self.driver.wait_for_output(name, "in")
        self.driver.ask("interrupt", run=name)
        self.assertEqual(self.driver.finish(name).error, "KeyboardInterrupt")
        name = self.driver.start("p", "time.sleep(60)")  # perhaps before it has begun
        self.driver.ask("interrupt", run=name)
        self.assertEqual(self.driver.finish(name).error, "KeyboardInterrupt")
        outcome = self.run_code("time.sleep(60)", timeout_ms=1000)
        self.assertEqual((outcome.error, outcome.value), ("TimeoutError", "it took longer than 1000 ms"))
        self.assertIn("time.sleep(60)", outcome.errors[0]["traceback"])
        self.assertEqual(self.run_code("kept").text, "1")
        name = self.driver.start("p", "time.sleep(60)")
        self.driver.ask("free_run", run=name)  # its client has gone
        self.assertEqual(self.run_code("kept").text, "1")  # in time: an interpreter that was ended has no "kept"
        self.driver.create("d")
        self.driver.run("d", "1")  # the time limit is not for the interpreter's start
        code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)"
        outcome = self.driver.run("d", code, timeout_ms=1000)
        self.assertEqual([error["name"] for error in outcome.errors], ["TimeoutError"])
        self.assertEqual(self.driver.run("d", "'code' in dir()").text, "False")

    def test_death(self):
        self.driver.create("d")
        self.driver.run("d", "v = 1")
        for code, value in (
            ("import os; os._exit(3)", "exit status 3"),
            ("import os; os.kill(os.getpid(), 11)", "signal 11"),
            ("import os; os.killpg(0, 9)", "signal 9"),
        ):
            outcome = self.driver.run("d", "print('first', flush=True)\n" + code)
            self.assertEqual((outcome.stdout, outcome.error), ("first\n", "InterpreterDied"), code)
            self.assertIn(value, outcome.value)
            self.assertEqual(self.driver.run("d", "v").error, "NameError")
        self.driver.run(
            "d", "import os, subprocess; subprocess.Popen(['sh', '-c', 'sleep 0.3; kill -9 %d' % os.getpid()]);"
        )
        time.sleep(3)
        outcome = self.driver.run("d", "5")
        self.assertEqual(outcome.text, "5")
        self.assertIn("signal 9", outcome.stderr)

    def test_denials(self):
        self.driver.create("s")
        outcome = self.driver.run("s", "1")
        self.assertEqual(outcome.denials, [])  # nor those of the start
        code = "try: open('/etc/shadow')\nexcept OSError as e: print(e.errno)"
        outcome = self.driver.run("s", code)
        self.assertEqual([(denial["target"], denial["count"]) for denial in outcome.denials], [("/etc/shadow", 1)])
        self.assertEqual(outcome.events[-1]["type"], "denials")
        self.assertEqual(self.driver.run("s", "2").denials, [])
        outcome = self.driver.run("s", code + "\nimport os; os._exit(1)")
        self.assertEqual((len(outcome.denials), outcome.error), (1, "InterpreterDied"))
        outcome = self.driver.run("s", "import subprocess; subprocess.run(['cat', '/etc/shadow']).returncode")
        self.assertEqual((len(outcome.denials), outcome.text), (1, "1"))
        self.driver.create("sb", "bash")
        self.assertEqual(len(self.driver.run("sb", "cat /etc/shadow").denials), 1)

    def test_restart(self):
        self.driver.create("r")
        self.driver.run("r", "v = 1")
        names = [self.driver.start("r", "import time; time.sleep(60)") for _ in range(3)]
        self.driver.ask("restart", context="r")
        self.assertEqual([self.driver.finish(name).error for name in names], ["ContextRestarted"] * 3)
        self.assertEqual(self.driver.run("r", "v").error, "NameError")
        self.driver.ask("free", context="r")

    def test_fresh(self):
        self.driver.create("f", fresh=True, warm=["decimal"])
        self.driver.run("f", "v = 1")
        self.assertEqual(self.driver.run("f", "v").error, "NameError")
        self.assertEqual(self.driver.run("f", "import sys; 'decimal' in sys.modules").text, "True")
        values = {self.driver.run("f", "import random; random.random()").text for _ in range(3)}
        self.assertEqual(len(values), 3)
        self.assertEqual(self.driver.run("f", "import time; time.sleep(60)", timeout_ms=200).error, "TimeoutError")
        self.assertEqual(self.driver.run("f", "import os; os.kill(os.getpid(), 9)").error, "InterpreterDied")
        self.assertEqual(self.driver.run("f", "6").text, "6")

    def test_slow_consumer(self):
        name = self.driver.start("p", "for i in range(100): print('z' * 99999)")
        self.driver.ask("pause", run=name)
        time.sleep(0.5)
        paused = sum(len(event.get("text", "")) for event in self.driver.events if event.get("run") == name)
        self.assertLess(paused, 2000000)
        self.driver.ask("resume", run=name)
        self.assertEqual(len(self.driver.finish(name).stdout), 10000000)

    def test_no_interpreter(self):
        self.driver.create("n", interpreter="nosuchpython")
        self.assertEqual(self.driver.run("n", "1").error, "InterpreterFailed")
        self.assertIn("nosuchpython", self.driver.run("n", "1").value)
        self.driver.create("n2", interpreter="/bin/true")
        self.assertEqual(self.driver.run("n2", "1").error, "InterpreterFailed")
        self.driver.create("n3", cwd="/nosuch")
        self.assertIn("/nosuch", self.driver.run("n3", "1").value)

    def test_hostile_events(self):
        """The code finds the nonce in the runner's memory and says what it likes."""
        self.driver.create("h")
        frame = (
            "import callgate_runner as c, os\nn = c.State.nonce\n"
            "def say(text, fd=1):\n"
            "    data = text.encode() + b'\\n'\n"
            "    for i in range(0, len(data), 4000):\n"
            "        part = data[i:i + 4000]; os.write(fd, b'\\x1e%s%d:%s' % (n, len(part), part))\n"
        )
        self.driver.run("h", frame)
        code = (
            'say(\'not json\'); say(\'[]\'); say(\'{"type": "shell"}\');\n'
            'say(\'{"type": "result", "text": 5, "x": 1}\')\n'
            "say('{\"type\": \"result\", \"json\": ' + '[' * 70 + ']' * 70 + '}')\n"
            "say('{\"type\": \"result\", \"json\": [' + '1,' * 600000 + '1]}')\n"
            'say(\'{"type": "result", "text": "\' + \'x\' * (17 << 20) + \'"}\')\n'
            'say(\'{"type": "ready"}\'); say(\'{"type": "end", "run": 99999}\'); say(\'{"type": "end"}\')\n'
            'say(\'{"type": "number_of_executions", "execution_count": "x"}\')\n'
            "os.write(1, b'\\x1e' + n + b'99999:'); os.write(1, b'\\x1e' + n + b'x'); os.write(1, b'\\x1e' + n[:5])\n"
            'say(\'{"type": "result", "is_main_result": true, "text": "last"}\')'
        )
        outcome = self.driver.run("h", code)
        self.assertEqual(
            [{key: event[key] for key in event if key not in ("run", "type")} for event in outcome.results],
            [{"is_main_result": False}, {"is_main_result": True, "text": "last"}],
        )
        outcome = self.driver.run(
            "h", 'say(\'{"type": "end", "run": 3}\'); say(\'{"type": "end", "run": 3}\', 2); print(1)'
        )
        self.assertEqual(outcome.stdout, "")  # it has ended its own run
        self.assertTrue(self.driver.run("h", "print(2)").stdout.endswith("2\n"))

    def test_contexts_at_once(self):
        for i in range(8):
            self.driver.create("m%d" % i)
        names = [self.driver.start("m%d" % i, "v = %d; import time; time.sleep(0.2); v" % i) for i in range(8)]
        self.assertEqual([self.driver.finish(name).text for name in names], [str(i) for i in range(8)])
        for i in range(8):
            self.driver.ask("free", context="m%d" % i)


class End(unittest.TestCase):
    def test_end_of_sandbox(self):
        driver = Driver()
        driver.create("e")
        name = driver.start("e", "import time; print('in', flush=True); time.sleep(60)")
        driver.wait_for_output(name, "in")
        later = driver.start("e", "1")
        subprocess.run([COMMAND[1], "session", "stop", driver.id], check=True)
        self.assertEqual(driver.finish(name).error, "InterpreterDied")
        self.assertEqual(driver.finish(later).error, "InterpreterFailed")
        self.assertEqual(driver.close(), 0)

    def test_end_while_it_runs(self):
        driver = Driver()
        driver.create("e")
        driver.start("e", "while True: print('x' * 1000)")
        driver.start("e", "1")
        driver.create("starts", warm=["decimal"])
        self.assertEqual(driver.close(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
