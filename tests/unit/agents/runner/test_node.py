"""The JavaScript runner outside a sandbox."""

import sys
import tempfile
import time
import unittest

import driver


class Node(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with open(cls.folder.name + "/own.mjs", "w", encoding="utf-8") as file:
            file.write("export default 1; export const two = 2;")
        cls.runner = driver.Runner("javascript", cwd=cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()
        cls.folder.cleanup()

    def run_code(self, code, **options):
        return self.runner.run(code, **options)

    def test_values(self):
        for code, text in (
            ("1 + 1", "2"),
            ("const a = 1; let b = 2; a + b", "3"),
            ("const a = 5; a + b", "7"),
            ("class K {}; function f() { return 4 }", None),
            ("f()", "4"),
            ("'x'", "'x'"),
            ("10n", "10n"),
            ("undefined", None),
            ("null", "null"),
            ("NaN", "NaN"),
            ("-0", "-0"),
            ("await Promise.resolve('p')", "'p'"),
            ("const w = await 6; w", "6"),
            ("w", "6"),
            ("typeof require, typeof module", "'object'"),
            ("process.cwd()", repr(self.folder.name)),
        ):
            self.assertEqual(self.run_code(code).text, text, code)
        self.assertEqual(self.run_code("({a: [1]})").results[0]["json"], {"a": [1]})
        self.assertNotIn("json", self.run_code("const c = {}; c.c = c; c").results[0])
        self.assertEqual(self.run_code("'\\ud800'").text.lower(), "'\\ud800'")

    def test_streams(self):
        outcome = self.run_code("console.log('o'); console.error('e'); console.log('p'); 1")
        self.assertEqual((outcome.stdout, outcome.stderr, outcome.text), ("o\np\n", "e\n", "1"))
        outcome = self.run_code("require('child_process').execSync('cat; echo hi', {stdio: 'inherit'}); 0")
        self.assertEqual(outcome.stdout, "hi\n")
        outcome = self.run_code(
            "const {spawn} = require('child_process');"
            "await new Promise(r => spawn('cat; echo', {shell: true, stdio: 'inherit'}).on('exit', r))"
        )
        self.assertEqual((outcome.stdout, outcome.text), ("\n", "0"))
        self.assertEqual(
            len(self.run_code("process.stdout.write('x'.repeat(3000000)); 'y'.repeat(2000000)").stdout), 3000000
        )
        self.assertEqual(self.run_code("let n = 0; for await (const d of process.stdin) n++; n").text, "0")

    def test_imports(self):
        for code, text in (
            ("import { readFileSync } from 'fs'\ntypeof readFileSync", "'function'"),
            (
                "import fs, { existsSync as e } from 'fs'; import * as p from 'path'\n"
                "typeof fs.statSync + typeof e + p.sep",
                "'functionfunction/'",
            ),
            ("import one, { two } from './own.mjs'\none + two", "3"),
            ("import './own.mjs'; 4", "4"),
            ("(await import('./own.mjs')).two", "2"),
            ("import {\n  join,\n} from 'node:path'\njoin('a', 'b')", "'a/b'"),
        ):
            outcome = self.run_code(code)
            self.assertEqual((outcome.error, outcome.text), (None, text), code)

    def test_errors(self):
        error = self.run_code("function g() { throw new TypeError('boo') }\ng()").error
        self.assertEqual((error["name"], error["value"]), ("TypeError", "boo"))
        self.assertRegex(error["traceback"], r"^TypeError: boo\n    at g \(cell-\d+:1:22\)\n    at cell-\d+:2:1$")
        self.assertEqual(self.run_code("syntax error").error["name"], "SyntaxError")
        self.assertEqual(self.run_code("await Promise.reject(new RangeError('r'))").error["name"], "RangeError")
        self.assertEqual(self.run_code("throw 5").error["value"], "5")
        outcome = self.run_code(
            "setTimeout(() => { throw new Error('timer') }, 5); await new Promise(r => setTimeout(r, 30)); 1"
        )
        self.assertEqual((outcome.error["value"], outcome.text), ("timer", "1"))

    def test_display(self):
        outcome = self.run_code(
            "display({'text/html': '<b>', 'x/y': 1}, {raw: true});"
            "({[Symbol.for('Jupyter.display')]: () => ({'text/markdown': '*'})})"
        )
        self.assertEqual((outcome.results[0]["html"], outcome.results[0]["extra"]), ("<b>", {"x/y": 1}))
        self.assertEqual(outcome.results[1]["markdown"], "*")

    def test_environment(self):
        self.assertEqual(self.run_code("process.env.FOO", env={"FOO": "b=r"}).text, "'b=r'")
        self.assertEqual(self.run_code("process.env.FOO ?? 'none'").text, "'none'")

    def test_interrupts(self):
        for code in ("while (true) {}", "await new Promise(() => setTimeout(() => {}, 1e6))"):
            self.runner.start("console.log('in'); " + code)
            self.runner.wait_for("in\n")
            time.sleep(0.4)
            self.runner.signal()
            self.assertEqual(self.runner.finish(10).error["name"], "KeyboardInterrupt", code)
        self.assertEqual(self.run_code("1").text, "1")

    def test_death(self):
        runner = driver.Runner("javascript")
        runner.start("process.exit(3)")
        with self.assertRaises(driver.Died):
            runner.finish(10)
        self.assertEqual(runner.process.wait(), 3)
        runner.close()


if __name__ == "__main__":
    sys.exit(unittest.main())
