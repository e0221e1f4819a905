#!/usr/bin/python3
"""The Python package against callgate serve: Sandbox, AsyncSandbox, Server. Started by tests/live/agents/python.sh."""

import asyncio
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import callgate
from callgate import AsyncSandbox, CommandExitException, FileType, Sandbox, Server, Template

DENIALS = {"version": 1, "extends": ["extended"]}


class SandboxTest(unittest.TestCase):
    server: Server
    box: Sandbox

    @classmethod
    def setUpClass(cls):
        cls.server = Server(templates={
            "own": Template(policy=DENIALS, files={"given/file": b"given"}, setup="echo made >made",
                            env={"NAME": "n"})})
        cls.box = Sandbox.create(server=cls.server, metadata={"a": "1&2"}, envs={"GLOBAL": "g"})

    @classmethod
    def tearDownClass(cls):
        cls.box.kill()
        cls.server.stop()

    def test_code(self):
        self.assertEqual(self.box.run_code("x = 20; x + 1").text, "21")
        told = []
        done = self.box.run_code("import sys; print('out'); print('err', file=sys.stderr); display('seen'); x",
                                 on_stdout=lambda m: told.append(str(m)), on_result=told.append)
        self.assertEqual((done.logs.stdout, done.logs.stderr, done.text), (["out\n"], ["err\n"], "20"))
        self.assertEqual(told[0], "out\n")
        self.assertEqual([r.is_main_result for r in done.results], [False, True])
        self.assertEqual(done.results[1].formats(), ["text"])
        self.assertEqual(json.loads(done.to_json())["results"][1], {"text": "20"})
        error = self.box.run_code("1/0").error
        self.assertEqual((error.name, error.value), ("ZeroDivisionError", "division by zero"))
        self.assertEqual(self.box.run_code("import os; os.environ['GLOBAL'] + os.environ['A']", envs={"A": "a"}).text,
                         "ga")
        self.assertEqual(self.box.run_code("echo $((6*7))", language="bash").logs.stdout, ["42\n"])
        self.assertEqual(self.box.run_code("import os; os._exit(3)").error.name, "InterpreterDied")

    def test_contexts(self):
        made = self.box.create_code_context(cwd="/tmp")
        self.assertEqual(self.box.run_code("y = 1; import os; os.getcwd()", context=made).text, "/tmp")
        self.assertIn(made, self.box.list_code_contexts())
        self.box.restart_code_context(made)
        self.assertEqual(self.box.run_code("y", context=made.id).error.name, "NameError")
        self.box.remove_code_context(made)
        with self.assertRaises(callgate.NotFoundException):
            self.box.run_code("1", context=made)
        with self.assertRaises(callgate.InvalidArgumentException):
            self.box.run_code("1", language="python", context=made)
        with self.assertRaises(callgate.SandboxException):
            self.box.run_code("1", language="cobol")

    def test_code_timeout(self):
        with self.assertRaises(callgate.TimeoutException):
            self.box.run_code("import time\nwhile True: print('x', flush=True); time.sleep(0.01)", timeout=0.3)
        self.assertEqual(self.box.run_code("5").text, "5")

    def test_denials(self):
        with Sandbox.create("own", server=self.server) as box:
            denials = box.run_code("import os; os.path.exists('/etc/shadow')").denials
            self.assertIn("/etc/shadow", json.dumps(denials[0]))
            self.assertEqual(box.files.read("given/file"), "given")
            self.assertEqual(box.commands.run("cat made; echo $NAME").stdout, "made\nn\n")

    def test_commands(self):
        run = self.box.commands.run
        done = run("echo out; echo err >&2; echo $GLOBAL$MINE; pwd", envs={"MINE": "m"}, cwd="/tmp")
        self.assertEqual((done.stdout, done.stderr, done.exit_code, done.error), ("out\ngm\n/tmp\n", "err\n", 0, None))
        with self.assertRaises(CommandExitException) as caught:
            run("echo why >&2; exit 3")
        self.assertEqual((caught.exception.exit_code, caught.exception.stderr), (3, "why\n"))
        self.assertIsInstance(caught.exception, callgate.CommandResult)
        pieces = []
        run("printf 'a\\303'; sleep 0.1; printf '\\251\\377'", on_stdout=pieces.append)
        self.assertEqual("".join(pieces), "a\u00e9\ufffd")
        self.assertEqual(run("wc -c", stdin="x" * 300000).stdout, "300000\n")
        self.assertEqual(len(run("cat", stdin=b"y" * 3000000).stdout), 3000000)
        self.assertEqual(run("cat").stdout, "")
        with self.assertRaises(callgate.TimeoutException):
            run("sleep 20", timeout=0.2)
        with self.assertRaises(callgate.InvalidArgumentException):
            run("true", cwd="/nowhere")
        with self.assertRaises(callgate.AuthenticationException):
            run("true", user="root")

    def test_background(self):
        handle = self.box.commands.run("cat; echo end", background=True, stdin=True)
        self.assertIn(handle.pid, [process.pid for process in self.box.commands.list()])
        other = self.box.commands.connect(handle.pid)
        handle.send_stdin("hello\n")
        self.assertEqual(next(iter(handle))[0], "hello\n")
        handle.disconnect()
        other.close_stdin()
        self.assertEqual(other.wait().stdout, "hello\nend\n")
        sleeper = self.box.commands.run("sleep 60", background=True)
        self.assertTrue(sleeper.kill())
        with self.assertRaises(CommandExitException):
            sleeper.wait()
        self.assertEqual(sleeper.exit_code, -1)
        self.assertFalse(sleeper.kill())

    def test_files(self):
        files = self.box.files
        written = files.write("d/a \u00e9.txt", "text", metadata={"Author": "me"})
        self.assertEqual((written.name, written.path, written.type), ("a \u00e9.txt", "/home/user/d/a \u00e9.txt",
                                                                      FileType.FILE))
        self.assertEqual(files.read("~/d/a \u00e9.txt"), "text")
        info = files.get_info("d/a \u00e9.txt")
        self.assertEqual((info.size, info.mode, info.metadata, info.type), (4, 0o644, {"author": "me"}, FileType.FILE))
        big = bytes(range(256)) * 20000
        files.write("big", io.BytesIO(big))
        self.assertEqual(files.read("big", "bytes"), bytearray(big))
        with files.read("big", "stream") as reader:
            self.assertEqual(b"".join(reader), big)
        files.write_files([{"path": "d/%d" % i, "data": b"\xff"} for i in range(3)])
        self.assertEqual(files.read("d/1"), "\ufffd")
        self.assertEqual(sorted(entry.name for entry in files.list("d")), ["0", "1", "2", "a \u00e9.txt"])
        self.assertTrue(files.make_dir("d/e/f"))
        self.assertFalse(files.make_dir("d/e/f"))
        self.assertEqual(files.rename("d/1", "d/e/one").path, "/home/user/d/e/one")
        self.assertEqual([files.exists("d/1"), files.exists("d/e/one")], [False, True])
        watch = files.watch_dir("d", recursive=True)
        files.write("d/e/new", "")
        events = []
        while not events:
            events = watch.get_new_events()
        self.assertEqual((events[0].name, events[0].type), ("e/new", callgate.FilesystemEventType.CREATE))
        watch.stop()
        files.remove("d")
        for call in (files.read, files.list, files.get_info):
            with self.assertRaises(callgate.FileNotFoundException):
                call("d")
        self.assertRaises(callgate.SandboxException, files.write, "/usr/bin/x", "x")

    def test_odd_paths(self):
        files = self.box.files
        for name in ("%2e%2e\na?b=c&d", "-\u202ea\\b\"'", "x" * 255):
            path = "odd/" + name + "/file"
            files.write(path, name)
            self.assertEqual(files.read(path), name)
        self.assertRaises(callgate.SandboxException, files.write, "x" * 300, "")
        self.box.commands.run("touch odd/$'\\377'")
        self.assertIn("\ufffd", [entry.name for entry in files.list("odd")])
        for path in ("a\0b", "\udcff"):
            self.assertRaises(callgate.SandboxException, files.write, path, "")
            self.assertRaises(callgate.SandboxException, files.get_info, path)
        for name in ("", "../x", "a/b", "a\r\nX-API-Key: x", "\u00e9", "x" * 65):
            self.assertRaises(callgate.InvalidArgumentException, Sandbox.connect, name, server=self.server)
        self.assertRaises(callgate.SandboxException, self.box.commands.run, "echo \udcff")
        self.assertRaises(callgate.SandboxException, self.box.commands.run, "echo a\0b")

    def test_life(self):
        box = Sandbox.create("base", timeout=60, server=self.server)
        info = box.get_info()
        self.assertEqual((info.template_id, info.state), ("base", "running"))
        box.set_timeout(120)
        self.assertGreater((box.get_info().end_at - info.end_at).total_seconds(), 50)
        self.assertEqual(Sandbox.connect(box.sandbox_id, server=self.server).commands.run("echo x").stdout, "x\n")
        self.assertEqual([found.sandbox_id for found in Sandbox.list({"a": "1&2"}, server=self.server).next_items()],
                         [self.box.sandbox_id])
        pages = Sandbox.list(limit=1, server=self.server)
        found = [pages.next_items()[0].sandbox_id, pages.next_items()[0].sandbox_id]
        self.assertEqual(set(found), {box.sandbox_id, self.box.sandbox_id})
        self.assertGreater(box.get_metrics()[0].mem_total, 0)
        handle = box.commands.run("sleep 60", background=True)
        self.assertTrue(box.kill())
        self.assertRaises(callgate.SandboxEndedException, handle.wait)
        self.assertFalse(box.kill() or box.is_running())
        self.assertRaises(callgate.SandboxEndedException, box.commands.run, "true")
        self.assertRaises(callgate.SandboxEndedException, box.run_code, "1")
        self.assertRaises(callgate.SandboxNotFoundException, box.set_timeout, 1)
        self.assertRaises(callgate.NotFoundException, Sandbox.create, "none", server=self.server)
        self.assertRaises(callgate.AuthenticationException, Sandbox.list(api_url=self.server.api_url,
                                                                         api_key="e2b_wrong").next_items)

    def test_async(self):
        async def go():
            async with await AsyncSandbox.create("base", server=self.server) as box:
                pieces = []

                async def take(piece):
                    pieces.append(piece)

                done = await box.commands.run("echo 1; echo 2 >&2", on_stdout=take, on_stderr=pieces.append)
                self.assertEqual((done.exit_code, sorted(pieces)), (0, ["1\n", "2\n"]))
                runs = [box.commands.run("echo %d" % i) for i in range(10)]
                self.assertEqual([r.stdout for r in await asyncio.gather(*runs)], ["%d\n" % i for i in range(10)])
                task = asyncio.create_task(box.run_code("import time; time.sleep(60)"))
                await asyncio.sleep(0.2)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual((await box.run_code("1 + 1")).text, "2")
                await box.files.write("f", "x" * 200000)
                reader = await box.files.read("f", "stream")
                self.assertEqual(sum([len(piece) async for piece in reader]), 200000)
                handle = await box.commands.run("cat", background=True, stdin=True)
                await handle.send_stdin("in")
                await handle.close_stdin()
                self.assertEqual((await handle.wait()).stdout, "in")
                self.assertTrue(await box.is_running())
                self.assertIn(box.sandbox_id,
                              [i.sandbox_id for i in await AsyncSandbox.list(server=self.server).next_items()])

        asyncio.run(go())

    def test_threads(self):
        results = []
        threads = [threading.Thread(target=lambda i=i: results.append(self.box.commands.run("echo %d" % i).stdout))
                   for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), sorted("%d\n" % i for i in range(16)))


class ServerTest(unittest.TestCase):
    def test_default_policy(self):
        path = os.path.join(os.environ["SRC"], "agents/templates/base/policy.json")
        with open(path, encoding="utf-8") as file:
            base = json.load(file)
        ours = callgate.server.DEFAULT_POLICY
        self.assertEqual({k: v for k, v in base.items() if k not in ("name", "description")}, ours)

    def test_refusals(self):
        self.assertRaises(callgate.ServerException, Server, callgate="/nowhere/callgate")
        self.assertRaises(callgate.ServerException, Server, sandboxes=0)
        self.assertRaises(callgate.InvalidArgumentException, Server, {"../x": Template()})
        self.assertRaises(callgate.InvalidArgumentException, Server, {"x": Template(files={"../../x": b""})})
        self.assertRaises(callgate.ServerException, Sandbox.create, api_url="unix:/nowhere", api_key="x" * 20)
        self.assertRaises(callgate.InvalidArgumentException, Sandbox.create, api_url="ftp://x", api_key="x" * 20)
        self.assertRaises(callgate.AuthenticationException, Sandbox.create, api_url="http://127.0.0.1:1")

    def test_ends_with_its_process(self):
        """A process that is killed leaves no server and no socket that answers."""
        self.end_process(lambda child: None)

    def test_ends_with_its_keeper(self):
        """Nor does one whose child, keep_server.py, is killed as well, as Ray kills children of workers."""
        def kill_keeper(child):
            with open("/proc/%d/task/%d/children" % (child.pid, child.pid), encoding="ascii") as children:
                os.kill(int(children.read().split()[0]), signal.SIGKILL)
        url = self.end_process(kill_keeper)
        shutil.rmtree(os.path.dirname(url.partition("unix:")[2]))  # which the keeper would have removed

    def end_process(self, kill):
        child = subprocess.Popen([sys.executable, "-c", "from callgate import Sandbox, server; Sandbox.create('base'); "
                                  "print(server.get_default_server().api_url, flush=True); import time; "
                                  "time.sleep(60)"], stdout=subprocess.PIPE, text=True)
        url = child.stdout.readline().strip()
        key = "x" * 20
        self.assertRaises(callgate.AuthenticationException, Sandbox.list(api_url=url, api_key=key).next_items)
        kill(child)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                Sandbox.list(api_url=url, api_key=key).next_items()
            except (callgate.AuthenticationException, callgate.SandboxEndedException):
                time.sleep(0.01)
            except callgate.ServerException:
                return url
        self.fail("the server lives")

    def test_dead_server(self):
        """A server that was killed: requests fail, and the next sandbox has another."""
        first = Sandbox.create("base")
        server = callgate.server.get_default_server()
        with open("/proc/%d/task/%d/children" % (2 * (server._process.pid,)), encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGKILL)
        server._process.wait()
        self.assertRaises(callgate.SandboxException, first.commands.run, "true")
        with Sandbox.create("base") as second:
            self.assertEqual(second.commands.run("echo x").stdout, "x\n")
        callgate.server.get_default_server().stop()


if __name__ == "__main__":
    unittest.main(verbosity=int(os.environ.get("VERBOSE", "0")))
