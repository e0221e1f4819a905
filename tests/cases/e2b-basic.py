#!/usr/bin/python3
"""Cases of callgate serve: programs, files, contexts, templates, quotas. Usage: e2b-basic.py CASE [ARGUMENT]."""

import base64
import gzip
import http.client
import importlib.util
import json
import os
import re
import struct
import sys
import time
import urllib.parse
from typing import Any, List, Optional, Tuple

SPEC = importlib.util.spec_from_file_location("client", os.path.join(os.path.dirname(__file__), "e2b-client.py"))
client = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(client)
connection, call, Box, signed = client.connection, client.call, client.Box, client.signed
form, run_code, INTERPRETER = client.form, client.run_code, client.INTERPRETER


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


def hold() -> None:
    """Leaves a sandbox with a program that makes files, and prints its id and the name of each file that is there."""
    box = Box(timeout=300)
    print(box.id, flush=True)
    for event in box.start("for ((i = 0; ; i++)); do >made$i; echo made$i; done"):
        data = event.get("event", {}).get("data", {}).get("stdout", "")
        print(base64.b64decode(data).decode(), end="", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
