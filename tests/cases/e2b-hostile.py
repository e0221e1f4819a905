#!/usr/bin/python3
"""Cases of callgate serve: refusals, clients that mean harm, crowds. Usage: e2b-hostile.py CASE [ARGUMENT]."""

import base64
import glob
import importlib.util
import json
import os
import socket
import struct
import sys
import threading
import time
from typing import Any, Dict, List, Set

SPEC = importlib.util.spec_from_file_location("client", os.path.join(os.path.dirname(__file__), "e2b-client.py"))
client = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(client)
connection, raw, call, Box = client.connection, client.raw, client.call, client.Box
numbers, KEY, INTERPRETER = client.numbers, client.KEY, client.INTERPRETER


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


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
