#!/usr/bin/python3
"""The Python package against a server that lies: no answer makes it hang, run out of memory, or raise what it has not
documented. Started by tests/live/agents/python.sh."""

import json
import os
import socket
import struct
import tempfile
import threading
import unittest

import callgate
from callgate import Sandbox, connection

SANDBOX = {"sandboxID": "i1", "templateID": "base", "envdVersion": "0"}
TRACEBACK = {"name": "E", "value": "v", "traceback": "t"}


def answer(body, status="200 OK", extra=""):
    return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(body), extra)).encode() + body


def chunked(*parts, is_complete=True):
    text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return text + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + (b"0\r\n\r\n" if is_complete else b"")


def envelope(message, flags=0):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


BOMBS = (b"[" * 200000, b'{"a":' * 100000, b"null", b"[]", b'"x"', b"\xff" * 100, b"", b"9" * 5000, b"NaN",
         b'{"sandboxID":{}}', b'{"sandboxID":"../x"}', b'{"sandboxID":"a\\r\\nX: y"}')
BROKEN = (b"", b"HTTP/1.1", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", chunked(b"x", is_complete=False),
          b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\xff" * 100000,
          b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100000)


class HostileServerTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.answer = b""
        threading.Thread(target=self.serve, daemon=True).start()
        self.connection = callgate.Connection("unix:" + self.path, "x" * 20)
        self.box = Sandbox(self.connection, SANDBOX)

    def tearDown(self):
        self.listener.close()
        self.directory.cleanup()

    def serve(self):
        while True:
            try:
                made = self.listener.accept()[0]
            except OSError:
                return
            with made:
                try:
                    made.recv(1 << 20)
                    made.sendall(self.answer)
                except OSError:
                    pass

    def refuses(self, call, *arguments, **named):
        with self.assertRaises((callgate.SandboxException, callgate.AuthenticationException)):
            call(*arguments, **named)

    def test_bombs(self):
        for bomb in BOMBS:
            with self.subTest(bomb=bomb[:40]):
                self.answer = answer(bomb)
                self.refuses(Sandbox.create, connection=self.connection)
                self.refuses(Sandbox.connect, "i1", connection=self.connection)
                self.refuses(self.box.run_code, "1")
                self.refuses(self.box.files.write, "x", "y")
                self.refuses(self.box.commands.run, "x")
                self.answer = answer(bomb, "500 X")
                self.refuses(self.box.run_code, "1")
                self.answer = answer(envelope(bomb))
                self.refuses(self.box.commands.run, "x")
                self.answer = answer(bomb + b"\n")
                self.refuses(self.box.run_code, "1")

    def test_unexpected_shapes(self):
        shapes = (b"{}", b'{"processes": 1}', b'{"processes": [1]}', b'{"entries": {"a": 1}}', b'{"entries": 7}',
                  b'{"events": [1]}', b"[1]", b'[{"sandboxID": 1}]', b'{"entry": [], "watcherId": []}')
        calls = (lambda: self.box.commands.list(), lambda: self.box.files.list("x"),
                 lambda: self.box.files.get_info("x"), lambda: self.box.files.watch_dir("x").get_new_events(),
                 lambda: self.box.get_info(), lambda: self.box.get_metrics(), lambda: self.box.list_code_contexts(),
                 lambda: self.box.create_code_context(),
                 lambda: Sandbox.list(connection=self.connection).next_items())
        for shape in shapes:
            self.answer = answer(shape)
            for call in calls:
                try:
                    call()
                except callgate.SandboxException:
                    pass

    def test_broken(self):
        for text in BROKEN:
            with self.subTest(text=text[:40]):
                self.answer = text
                self.refuses(Sandbox.create, connection=self.connection)
                self.refuses(self.box.commands.run, "x")
                self.refuses(self.box.run_code, "1")
                if b"1000" not in text[:20] and not text.startswith(b"HTTP/1.1 200 OK\r\nX: y"):
                    self.refuses(self.box.files.read, "x")

    def test_envelopes(self):
        start = envelope({"event": {"start": {"pid": 1}}})
        end = envelope({"event": {"end": {"exitCode": 0, "exited": True}}})
        for events in ((b"\0\xff\xff\xff\xff{}",), (b"\1\0\0\0\2{}",), (b"\0\0",), (envelope(b"{}", 2),),
                       (envelope({"event": {"start": {"pid": "1"}}}), envelope(b"{}", 2)), (start,),
                       (start, envelope({"event": {"data": {"stdout": 1}}})),
                       (start, envelope({"event": {"data": {"stdout": "x"}}})),
                       (start, envelope({"event": {"data": {"stdout": "\u00e9"}}})),
                       (start, envelope({"error": "x"}, 2)), (start, envelope({"error": {"code": 5}}, 2)),
                       (start, end)):
            self.answer = chunked(*events)
            self.refuses(self.box.commands.run, "x")
        for events in ((start, envelope({"event": 1}), envelope({"event": {"data": 5, "end": 7}}), end,
                        envelope(b"{}", 2)),):
            self.answer = chunked(*events)
            self.assertEqual(self.box.commands.run("x").stdout, "")

    def test_events(self):
        end = b'{"type": "end_of_execution"}\n'
        for lines in (b"{}\n", b'{"type": 5}\n', b'{"type": "stdout"}\n', b'{"type": "error", "name": 1}\n',
                      b'{"type": "stdout", "text": "x", "timestamp": "x"}\n', b'{"type": "denials", "denials": 1}\n',
                      b'{"type": "result"', b"", b'{"type": "number_of_executions", "execution_count": []}\n'):
            self.answer = chunked(lines) if lines else chunked()
            self.refuses(self.box.run_code, "1")
        self.answer = chunked(b'{"type": "result", "text": 5, "__class__": "x"}\n{"type": "__init__"}\n'
                              b'{"type": "stdout", "text": {"a": 1}, "timestamp": 1}\n', end)
        done = self.box.run_code("1")
        self.assertEqual((done.logs.stdout, done.text), (["{'a': 1}"], None))

    def test_sizes(self):
        line = json.dumps({"type": "stdout", "text": "x" * 1000, "timestamp": 1}).encode() + b"\n"
        room, callgate.sandbox.OUTPUT_BYTES_MAX = callgate.sandbox.OUTPUT_BYTES_MAX, 10 * len(line)
        longest, connection.LINE_BYTES_MAX = connection.LINE_BYTES_MAX, 1 << 16
        try:
            seen = []
            self.answer = chunked(*[line] * 100, b'{"type": "end_of_execution"}\n')
            done = self.box.run_code("1", on_stdout=seen.append)
            self.assertEqual((len(done.logs.stdout), len(seen), done.dropped_bytes), (10, 100, 90 * len(line)))
            self.answer = chunked(b"x" * (1 << 17) + b"\n")
            self.refuses(self.box.run_code, "1")
            self.answer = answer(b"x" * (1 << 17), "500 X")
            self.refuses(self.box.files.read, "x")
        finally:
            callgate.sandbox.OUTPUT_BYTES_MAX, connection.LINE_BYTES_MAX = room, longest

    def test_silence(self):
        self.listener.close()
        silent = socket.socket(socket.AF_UNIX)
        silent.bind(self.path + "2")
        silent.listen()
        self.addCleanup(silent.close)
        made = Sandbox(callgate.Connection("unix:" + self.path + "2", "x" * 20, request_timeout=0.1), SANDBOX)
        with self.assertRaises(callgate.TimeoutException):
            made.get_info()


if __name__ == "__main__":
    unittest.main(verbosity=int(os.environ.get("VERBOSE", "0")))
