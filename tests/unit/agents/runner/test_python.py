"""The Python runner outside a sandbox: results, streams, errors, interrupts, displays, magics, a fresh state."""

import signal
import sys
import tempfile
import time
import unittest

import driver


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.runner = driver.Runner(cwd=cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()
        cls.folder.cleanup()

    def run_code(self, code, **options):
        return self.runner.run(code, **options)

    def test_value_of_last_expression(self):
        for code, text in (
            ("1 + 1", "2"),
            ("x = 1; x", "1"),
            ("x", "1"),
            ("x = 5", None),
            ("None", None),
            ("7;", None),
            ("7; # why", None),
            ("'it;'", "'it;'"),
            ("[1, 'a']", "[1, 'a']"),
            ("    y = 3\n    y", "3"),
            ("if 1:\n    4", None),
            ("_", "3"),
        ):
            self.assertEqual(self.run_code(code).text, text, code)

    def test_count_and_state(self):
        first = self.run_code("state = 1").count
        self.assertEqual(self.run_code("state += 1; state").text, "2")
        self.assertEqual(self.run_code("1").count, first + 2)

    def test_streams_in_order(self):
        code = (
            "import os, sys\nprint('a')\nos.system('echo b')\ndisplay(3)\nprint('c')\n"
            "print('e', file=sys.stderr)\nos.system('echo f >&2')\nprint('g', end='')\n4"
        )
        outcome = self.run_code(code)
        self.assertEqual(
            "".join(
                text if kind == "stdout" else "[%s]" % text["text"]
                for kind, text in outcome.order
                if kind in ("stdout", "result")
            ),
            "a\nb\n[3]c\ng[4]",
        )
        self.assertEqual(outcome.stderr, "e\nf\n")

    def test_output_comes_while_it_runs(self):
        self.runner.start("import time\nprint('early')\ntime.sleep(5)")
        began = time.monotonic()
        outcome = self.runner.finish(
            until=lambda outcome: outcome.stdout == "early\n"
            and (self.assertLess(time.monotonic() - began, 3), self.runner.signal())
        )
        self.assertEqual(outcome.error["name"], "KeyboardInterrupt")

    def test_much_output(self):
        outcome = self.run_code(
            "import sys\nfor i in range(200): sys.stdout.write('x' * 49999 + '\\n')\n'y' * 3000000"
        )
        self.assertEqual(len(outcome.stdout), 10000000)
        self.assertEqual(len(outcome.text), 3000002)

    def test_events_survive_output_of_others(self):
        outcome = self.run_code(
            "import subprocess, time\n"
            "noise = subprocess.Popen('while :; do echo noise; done', shell=True)\n"
            "time.sleep(0.1)\nfor i in range(20): display('z' * 200000)\n"
            "noise.kill(); noise.wait(); None"
        )
        self.assertEqual([len(result["text"]) for result in outcome.results], [200002] * 20)
        self.assertEqual(set(outcome.stdout.split("\n")) - {"noise", ""}, set())

    def test_odd_text(self):
        self.assertEqual(self.run_code(r"'\ud800 \x1b \0 \u20ac'").text, r"'\ud800 \x1b \x00 €'")
        self.assertEqual(self.run_code(r"print('\ud800')").stdout, "\\ud800\n")
        self.assertEqual(self.run_code("class O:\n def __repr__(self): return '\\ud800'\nO()").text, "\\ud800")

    def test_errors(self):
        error = self.run_code("def f():\n    return 1 / 0\n\nf()").error
        self.assertEqual((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
        self.assertRegex(error["traceback"], r"(?s)line 4, in <module>\n    f\(\).*line 2, in f\n    return 1 / 0")
        self.assertNotIn("callgate", error["traceback"])
        error = self.run_code("try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e").error
        self.assertIn("ZeroDivisionError", error["traceback"])
        self.assertEqual(self.run_code("def f(:").error["name"], "SyntaxError")
        self.assertEqual(self.run_code("nosuch").error["value"], "name 'nosuch' is not defined")
        self.assertEqual(self.run_code("import sys; sys.exit(3)").error["name"], "SystemExit")
        self.assertEqual(self.run_code("class B(Exception):\n def __str__(self): 1/0\nraise B").error["name"], "B")
        self.assertEqual(self.run_code("class R:\n def __repr__(self): 1/0\nR()").error["name"], "ZeroDivisionError")
        self.assertEqual(self.run_code("def r(): r()\nr()").error["name"], "RecursionError")

    def test_input_is_empty(self):
        self.assertEqual(self.run_code("input()").error["name"], "EOFError")
        self.assertEqual(self.run_code("import os; os.system('cat')").text, "0")
        self.assertEqual(self.run_code("import sys; sys.stdin.read()").text, "''")

    def test_await(self):
        self.assertEqual(self.run_code("import asyncio\nawait asyncio.sleep(0.01, 7)").text, "7")
        self.assertEqual(self.run_code("v = await asyncio.sleep(0, 8)\nv").text, "8")
        self.assertEqual(self.run_code("async def f(): return 9\nasyncio.run(f())").text, "9")
        self.assertEqual(self.run_code("async for x in []: pass").error["name"], "TypeError")
        self.runner.start("print('in')\nawait asyncio.sleep(60)")
        self.runner.wait_for("in\n")
        time.sleep(0.3)
        self.runner.signal()
        self.assertEqual(self.runner.finish().error["name"], "KeyboardInterrupt")
        self.assertEqual(self.run_code("await asyncio.sleep(0, 10)").text, "10")

    def test_interrupts(self):
        self.runner.signal()  # between runs: nothing
        for code in (
            "import time; time.sleep(60)",
            "while True: pass",
            "import os; os.system('sleep 60')\nwhile True: pass",
            "!sleep 60\nwhile True: pass",
        ):
            self.runner.start("print('in')\n" + code)
            self.runner.wait_for("in\n")
            time.sleep(0.4)
            self.runner.signal()
            if "while" in code and "60" in code:
                time.sleep(0.2)
                self.runner.signal()
            self.assertEqual(self.runner.finish(10).error["name"], "KeyboardInterrupt", code)
        self.assertEqual(self.run_code("1").text, "1")
        for _ in range(30):  # at every moment of a run
            self.runner.start("display(1)")
            self.runner.signal()
            self.runner.finish(10)
        self.assertEqual(self.run_code("2").text, "2")

    def test_environment(self):
        outcome = self.run_code(
            "import os; os.environ['A_B'], os.popen('echo \"$A_B\"').read()", env={"A_B": "x=y\n'"}
        )
        self.assertEqual(outcome.text, repr(("x=y\n'", "x=y\n'\n")))
        self.assertEqual(self.run_code("os.environ.get('A_B')").text, None)
        self.run_code("os.environ['KEPT'] = '1'")
        self.assertEqual(self.run_code("os.environ['KEPT']", env={"KEPT": "2"}).text, "'2'")
        self.assertEqual(self.run_code("os.environ['KEPT']").text, "'1'")

    def test_children_of_the_code(self):
        outcome = self.run_code(
            "import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait(); print('parent')"
        )
        self.assertEqual(outcome.stdout, "child\nparent\n")
        outcome = self.run_code(
            "import multiprocessing as m\nc = m.get_context('fork')\nq = c.Queue()\n"
            "p = c.Process(target=lambda: (display('no'), q.put(5)))\np.start(); v = q.get(); p.join(); v"
        )
        self.assertEqual((outcome.text, len(outcome.results)), ("5", 1))

    def test_death(self):
        for code, status in (
            ("import os; os._exit(3)", 3),
            ("import os; os.kill(os.getpid(), 9)", -9),
            ("import os\nfor fd in range(3, 30):\n    try: os.close(fd)\n    except OSError: pass", 1),
        ):
            runner = driver.Runner()
            runner.start(code)
            with self.assertRaises(driver.Died):
                runner.finish(10)
            self.assertEqual(runner.process.wait(), status)
            runner.close()

    def test_namespace(self):
        self.assertEqual(self.run_code("[n for n in dir() if n in ('s', 'n', 'State', 'serve', 'b')]").text, "[]")
        self.assertEqual(self.run_code("__name__").text, "'__main__'")
        outcome = self.run_code("import pickle\nclass K: pass\npickle.loads(pickle.dumps(K())).__class__ is K")
        self.assertEqual(outcome.text, "True")
        self.run_code("import inspect")
        self.assertIn("def g", self.run_code("def g(): return 5\nprint(inspect.getsource(g))").stdout)

    def test_representations(self):
        fields = {"html": "<b>", "markdown": "*m*", "svg": "<svg/>", "latex": "$l$", "javascript": "j()"}
        methods = "".join(" def _repr_%s_(self): return %r\n" % pair for pair in fields.items())
        result = self.run_code("class R:\n def __repr__(self): return 'r'\n" + methods + "R()").results[0]
        self.assertEqual({name: result[name] for name in fields}, fields)
        self.assertEqual((result["text"], result["is_main_result"]), ("r", True))
        result = self.run_code(
            "class P:\n def _repr_png_(self): return b'\\x89PNG'\n def _repr_jpeg_(self): return b'\\xff'\n"
            " def _repr_json_(self): return {'a': float('nan')}\nP()"
        ).results[0]
        self.assertEqual((result["png"], result["jpeg"], result["json"]), ("iVBORw==", "/w==", {"a": None}))
        result = self.run_code(
            "class B:\n def _repr_mimebundle_(self, **k): return {'text/html': 'h', 'x/y': 1}\nB()"
        ).results[0]
        self.assertEqual((result["html"], result["extra"]), ("h", {"x/y": 1}))
        outcome = self.run_code("class E:\n def _repr_html_(self): 1/0\nE()")
        self.assertIn("ZeroDivisionError", outcome.stderr)
        self.assertEqual(len(outcome.results), 1)
        self.assertEqual(self.run_code("{'a': [1, None]}").results[0]["json"], {"a": [1, None]})
        self.assertNotIn("json", self.run_code("a = []; a.append(a); a").results[0])

    def test_display(self):
        outcome = self.run_code(
            "from IPython.display import display, HTML, Markdown, Image\n"
            "display({'text/latex': 'l'}, raw=True)\ndisplay(HTML('<i>'), Markdown('*'))\n"
            "Image(data=b'\\x89PNG')"
        )
        kinds = [sorted(set(result) - {"type", "is_main_result", "text"}) for result in outcome.results]
        self.assertEqual(kinds, [["latex"], ["html"], ["markdown"], ["png"]])
        self.assertEqual([result["is_main_result"] for result in outcome.results], [False, False, False, True])

    def test_too_long_result(self):
        outcome = self.run_code("'x' * (16 << 20)")
        self.assertEqual(outcome.results, [])
        self.assertIn("too long", outcome.stderr)

    def test_magics(self):
        self.run_code("import os; name = 'n'")
        for code, out in (
            ("!echo $name {1 + 1}", "n 2\n"),
            ("if 1:\n    !echo in", "in\n"),
            ("%%bash\nx=3\necho $x", "3\n"),
            ("%cd /\n!pwd", "/\n/\n"),
            ("%env A=b\n!echo $A", "env: A=b\nb\n"),
            ("%%capture c\nprint(1)\n", ""),
            ("print(c)", "1\n\n"),
            ("!echo a \\\n  b", "a b\n"),
            ("%time 1", None),
            ("%%time\nprint(2)", None),
            ("%matplotlib inline", ""),
            ("%who", None),
        ):
            outcome = self.run_code(code)
            self.assertIsNone(outcome.error, code)
            if out is not None:
                self.assertEqual(outcome.stdout, out, code)
        self.assertEqual(self.run_code("files = !echo a; echo b\nfiles").text, "['a', 'b']")
        self.assertEqual(self.run_code("where = %pwd\nwhere").text, "'/'")
        self.assertEqual(self.run_code("%nosuch").error["name"], "UsageError")
        self.assertEqual(self.run_code("%%nosuch\n1").error["name"], "UsageError")
        self.assertEqual(self.run_code("%%html\n<b>x</b>").results[0]["html"], "<b>x</b>")
        self.assertEqual(self.run_code("x = 7 \\\n% 4\nx").text, "3")
        self.assertIn("Return", self.run_code("len?").stdout)
        self.run_code("%cd " + self.folder.name)
        self.run_code("%%writefile made.py\nmade = 5\n")
        self.assertEqual(self.run_code("%run made.py\nmade").text, "5")
        self.assertEqual(self.run_code("import made as m; m.made").text, "5")

    def test_hostile_frames(self):
        outcome = self.run_code(
            "print('\\x1e' + 'a' * 32 + '5:')\nprint('\\x1e')\nprint('\\x1e%s')" % driver.NONCE[:31]
        )
        self.assertEqual(outcome.stdout, "\x1e" + "a" * 32 + "5:\n\x1e\n\x1e" + driver.NONCE[:31] + "\n")


class Fresh(unittest.TestCase):
    def test_fresh_state(self):
        runner = driver.Runner(warm=["json", "random", "nosuchmodule"])
        try:
            runner.run("x = 1")
            self.assertEqual(runner.run("x += 1; x", mode="fresh").text, "2")
            self.assertEqual(runner.run("x").text, "1")
            outcome = runner.run(
                "print('p'); import sys; print('e', file=sys.stderr); display(1); 'json' in sys.modules", mode="fresh"
            )
            self.assertEqual(
                (outcome.stdout, outcome.stderr, len(outcome.results), outcome.text), ("p\n", "e\n", 2, "True")
            )
            codes = (
                "import random; random.random()",
                "import uuid; uuid.uuid1().int >> 64",
                "uuid.uuid4()",
                "import tempfile; tempfile.mktemp()",
                "import ssl; ssl.RAND_bytes(8)",
            )
            runner.run(
                "import random, uuid, ssl, tempfile\n"
                "random.random(), uuid.uuid1(), ssl.RAND_bytes(1), tempfile.mktemp()"
            )
            for code in codes:
                values = [runner.run(code, mode="fresh").text for _ in range(5)]
                self.assertEqual(len(set(values)), 5, code)
            self.assertEqual(runner.run("1 / 0", mode="fresh").error["name"], "ZeroDivisionError")
            died = runner.run("import os; os.kill(os.getpid(), 11)", mode="fresh").error
            self.assertEqual((died["name"], died["value"]), ("InterpreterDied", "signal 11"))
            self.assertEqual(runner.run("import os; os._exit(4)", mode="fresh").error["value"], "exit status 4")
            self.assertEqual(
                runner.run(
                    "import os\nif os.fork() == 0: display(2)\nelse: os.wait(); display(3)", mode="fresh"
                ).results[0]["text"],
                "3",
            )
            runner.start("print('in')\nimport time; time.sleep(60)", mode="fresh")
            runner.wait_for("in\n")
            time.sleep(0.4)
            runner.signal(signal.SIGINT)
            self.assertEqual(runner.finish(10).error["name"], "KeyboardInterrupt")
            self.assertEqual(runner.run("x").text, "1")
            self.assertEqual(runner.run("import os; os.read(3, 1)", mode="fresh").error["name"], "OSError")
        finally:
            runner.close()


if __name__ == "__main__":
    sys.exit(unittest.main())
