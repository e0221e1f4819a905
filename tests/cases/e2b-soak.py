#!/usr/bin/python3
"""Clients of callgate serve that die at random moments. Usage: e2b-soak.py SECONDS SEED; addresses as e2b-client.py."""

import base64
import importlib.util
import json
import os
import random
import signal
import struct
import sys
import time
import urllib.parse
from typing import Any, Callable, Dict, List

SPEC = importlib.util.spec_from_file_location("client", os.path.join(os.path.dirname(__file__), "e2b-client.py"))
assert SPEC and SPEC.loader
client: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(client)

CLIENTS = 6       # at a time
LIFE_S = 1.5      # of a client, at most
SHARED = 3        # sandboxes that all clients use
SHARED_LIFE_S = 20


class Shared:
    """A sandbox that several clients use: what Box has, without making one."""

    def __init__(self, given: Dict[str, Any]) -> None:
        self.id, self.headers = given["id"], given["headers"]

    rpc, stream, start = client.Box.rpc, client.Box.stream, client.Box.start


def create(_: Any) -> None:
    box = client.Box(timeout=random.choice([1, 3]), templateID=random.choice(["base", "code-interpreter-v1"]))
    box.run("echo $RANDOM; sleep 0.1")
    if random.random() < 0.5:
        box.kill()


def pause(box: Shared) -> None:
    """A sandbox that others use. When this client is killed, the sandbox stays paused until main() ends it."""
    client.call("POST", "/sandboxes/%s/pause" % box.id)
    time.sleep(random.random() / 5)
    client.call("POST", "/sandboxes/%s/connect" % box.id, {"timeout": SHARED_LIFE_S})


def program(box: Shared) -> None:
    command = random.choice(["cat", "sleep 9", "yes | head -c 5000000", "exec 0<&-; sleep 1", "exit 3", "sleep 9 &"])
    stream = box.start(command, **random.choice([{}, {"pty": {"size": {"cols": 80, "rows": 24}}}]))
    pid = next(stream)["event"]["start"]["pid"]
    if random.random() < 0.5:
        box.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": random.choice([9, 15])})
    for _ in stream:
        time.sleep(random.random() / 50)


def feed(box: Shared) -> None:
    """StreamInput: envelopes in pieces, to a program that may end or close its stdin meanwhile."""
    stream = box.start(random.choice(["cat >/dev/null", "exec 0<&-; sleep 1", "sleep 0.2", "head -c 10"]))
    pid = next(stream)["event"]["start"]["pid"]
    made = client.connection()
    made.putrequest("POST", "/process.Process/StreamInput")
    for name, value in {**box.headers, "Content-Type": "application/connect+json",
                        "Transfer-Encoding": "chunked"}.items():
        made.putheader(name, value)
    made.endheaders()
    data = base64.b64encode(b"x" * random.choice([1, 1000, 100000])).decode()
    messages: List[Any] = [{"start": {"process": {"pid": pid}}}] + [{"data": {"input": {"stdin": data}}}] * 20
    for message in messages:
        text = json.dumps(message).encode()
        text = struct.pack(">BI", 0, len(text)) + text
        made.send(b"%x\r\n%s\r\n" % (len(text), text))
        time.sleep(random.random() / 20)
    made.send(b"0\r\n\r\n")
    made.getresponse().read()


def files(box: Shared) -> None:
    path = "/files?" + urllib.parse.urlencode({"path": "f%d" % random.randrange(9)})
    data = os.urandom(random.choice([0, 10, 300000]))
    client.call("POST", path, data, {**box.headers, "Content-Type": "application/octet-stream"})
    client.call("GET", path, headers=box.headers)
    body, kind = client.form(*[("g%d" % i, data) for i in range(random.randrange(1, 12))])
    client.call("POST", "/files", body, {**box.headers, "Content-Type": kind})
    for method in ("ListDir", "Stat", "Remove"):
        box.rpc("filesystem.Filesystem/" + method, {"path": "g%d" % random.randrange(9)})


def watch(box: Shared) -> None:
    stream = box.stream("filesystem.Filesystem/WatchDir", {"path": ".", "recursive": True, "includeEntry": True})
    next(stream)
    client.call("POST", "/files?path=w", b"x", {**box.headers, "Content-Type": "application/octet-stream"})
    for _ in stream:
        time.sleep(random.random() / 20)


def code(box: Shared) -> None:
    text = random.choice(["1 + 1", "print('x' * 10)", "while True: print('x' * 1000)", "import time; time.sleep(9)",
                          "import os; os._exit(1)", "1 / 0", "raise KeyboardInterrupt"])
    language = random.choice([{}, {}, {"language": "bash"}])
    client.call("POST", "/execute", {"code": text, **language},
                {**box.headers, "E2b-Sandbox-Port": str(client.INTERPRETER)})


def upgraded(box: Shared) -> None:
    """WebSocket with a server in the sandbox, either of which ends it."""
    port = str(random.randrange(1024, 49000))
    server = box.stream("process.Process/Start", {"process": {"cmd": "python3", "args": ["-c", client.SERVER, port]}})
    next(event for event in server if "data" in event.get("event", {}))
    path = random.choice(["/socket", "/socket", "/socket/flood", "/socket/gone", "/socket/noise"])
    made, _ = client.begin_upgrade(path, {**box.headers, "E2b-Sandbox-Port": port})
    for _ in range(random.randrange(9)):
        made.sendall(os.urandom(random.choice([1, 5000, 300000])))
        made.recv(random.choice([1, 100000]))
        time.sleep(random.random() / 20)
    if random.random() < 0.5:
        made.shutdown(1)
    while made.recv(1 << 16):
        pass


def nonsense(box: Shared) -> None:
    made = client.raw()
    head = "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n" % (
        random.choice(["/sandboxes", "/process.Process/Start", "/files?path=x", "/execute"]),
        "".join("%s: %s\r\n" % pair for pair in {**box.headers, "X-API-Key": client.KEY}.items()),
        random.choice([0, 5, 100000, 1 << 40]))
    text = head.encode() + os.urandom(random.randrange(2000))
    for at in range(0, len(text), 200):
        made.sendall(text[at:at + 200])
        time.sleep(random.random() / 100)
    if random.random() < 0.5:
        made.shutdown(1)
    made.recv(1000)


ACTIONS: List[Callable[[Any], None]] = [create, program, program, feed, feed, files, watch, code, code, upgraded,
                                        upgraded, nonsense, pause]


def work(shared: List[Dict[str, Any]], seed: int) -> None:
    random.seed(seed)
    try:
        random.choice(ACTIONS)(Shared(random.choice(shared)))
    except Exception:  # the sandbox or the server refuses, or has cut the connection
        os._exit(1)
    os._exit(0)


def main(seconds: float, seed: int) -> None:
    random.seed(seed)
    end, shared_end = time.monotonic() + seconds, 0.0
    shared: List[Dict[str, Any]] = []
    running: Dict[int, float] = {}
    counts = {"clients": 0, "killed": 0, "sandboxes": 0}
    while time.monotonic() < end or running:
        now = time.monotonic()
        if now > shared_end and now < end:
            for given in shared:  # one that is paused has no time to live
                client.call("DELETE", "/sandboxes/" + given["id"])
            shared = []
            for _ in range(SHARED):
                box = client.Box(templateID="code-interpreter-v1", timeout=SHARED_LIFE_S)
                shared.append({"id": box.id, "headers": box.headers})
            counts["sandboxes"] += SHARED
            shared_end = now + SHARED_LIFE_S - 2
        while now < end and len(running) < CLIENTS:
            made = random.randrange(1 << 30)
            pid = os.fork()
            if pid == 0:
                work(shared, made)
            running[pid] = now + random.random() ** 2 * LIFE_S
            counts["clients"] += 1
        for pid, due in list(running.items()):
            if now > due or now > end:
                os.kill(pid, signal.SIGKILL)
                counts["killed"] += 1
                os.waitpid(pid, 0)
                del running[pid]
            elif os.waitpid(pid, os.WNOHANG)[0]:
                del running[pid]
        time.sleep(0.01)
    for state in ("running", "paused"):
        for given in client.call("GET", "/v2/sandboxes?state=" + state)[1]:
            client.call("DELETE", "/sandboxes/" + given["sandboxID"])
    print(json.dumps(counts))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
