"""The bash runner outside a sandbox."""

import os
import sys
import tempfile
import time
import unittest

import driver


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.runner = driver.Runner("bash", cwd=cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()
        cls.folder.cleanup()

    def run_code(self, code, **options):
        return self.runner.run(code, **options)

    def test_state(self):
        self.run_code('x=5; declare -a list=(1 2); f() { echo "f $1"; }; cd /; export E=e')
        outcome = self.run_code("echo $x ${list[1]}; f 3; pwd; printenv E")
        self.assertEqual((outcome.stdout, outcome.error), ("5 2\nf 3\n/\ne\n", None))
        self.run_code("cd '%s'" % self.folder.name)
        self.assertEqual(self.run_code("1=").count, outcome.count + 2)

    def test_streams(self):
        outcome = self.run_code(
            "echo 'it''s'; echo e >&2; cat; echo \"!x\" '\"'\nfor i in 1 2; do\n  echo $i\ndone; (echo g)"
        )
        self.assertEqual((outcome.stdout, outcome.stderr), ('its\n!x "\n1\n2\ng\n', "e\n"))
        self.assertEqual(len(self.run_code("head -c 3000000 /dev/zero").stdout), 3000000)
        self.assertEqual(self.run_code("ls /proc/self/fd | wc -w").stdout, "4\n")

    def test_status(self):
        for code, value in (("false", "1"), ("(exit 7)", "7"), ("nosuchcommand", "127"), ("if then", "2")):
            error = self.run_code(code).error
            self.assertEqual((error["name"], error["value"]), ("ExitStatus", value), code)
        self.assertIsNone(self.run_code("false; true").error)
        self.assertEqual(self.run_code("true").order, [])

    def test_environment(self):
        self.assertEqual(self.run_code("printenv FOO", env={"FOO": "b'a\nr"}).stdout, "b'a\nr\n")
        self.assertEqual(self.run_code("echo ${FOO:-none}").stdout, "none\n")
        self.run_code("BAR=old")
        self.assertEqual(self.run_code("echo $BAR", env={"BAR": "new"}).stdout, "new\n")
        self.assertEqual(self.run_code("echo $BAR").stdout, "old\n")

    def test_interrupts(self):
        for code in ("sleep 60; echo after", "while :; do :; done", "sleep 60 | cat; echo after"):
            self.runner.start("echo in; " + code)
            self.runner.wait_for("in\n")
            time.sleep(0.4)
            self.runner.signal()
            outcome = self.runner.finish(10)
            self.assertEqual((outcome.error["value"], outcome.stdout), ("130", ""), code)
        self.runner.signal()
        time.sleep(0.1)
        self.assertEqual(self.run_code("echo lives").stdout, "lives\n")

    def test_death(self):
        runner = driver.Runner("bash", env=dict(os.environ, HISTFILE="/nonexistent/h"))
        runner.start("echo bye; exit 3")
        with self.assertRaises(driver.Died):
            runner.finish(10)
        self.assertEqual(runner.process.wait(), 3)
        runner.close()


if __name__ == "__main__":
    sys.exit(unittest.main())
