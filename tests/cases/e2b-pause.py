#!/usr/bin/python3
"""Pauses of sandboxes, by the protocol of E2B: see pause.sh. It leaves a sandbox that is paused."""

import http.client
import importlib.util
import json
import os
import socket
import struct
import subprocess
import time
from typing import Any

SPEC = importlib.util.spec_from_file_location("client", os.path.join(os.path.dirname(__file__), "e2b-client.py"))
client = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(client)
Box, call = client.Box, client.call

GAP_S = 0.6
# Threads and a child that tick, a child that computes, a thread that waits for input, and a parent in vfork(2).
TICKS = r"""
import os, subprocess, sys, threading, time
def tick(name):
    last = time.monotonic()
    while True:
        time.sleep(0.005)
        now = time.monotonic()
        if now - last > %f:
            with open("gap-" + name, "w"):
                pass
        last = now
for name in "ab":
    threading.Thread(target=tick, args=name).start()
threading.Thread(target=os.system, args=("sleep 300",)).start()
threading.Thread(target=sys.stdin.read).start()
if os.fork() == 0:
    tick("c")
subprocess.Popen(["sh", "-c", "while :; do :; done"])
with open("up", "w"):
    pass
""" % GAP_S
# A process that traces another one: neither can be stopped by ptrace(2).
TRACES = r"""
import ctypes, os, time
child = os.fork()
if child == 0:
    time.sleep(300)
assert ctypes.CDLL(None, use_errno=True).ptrace(0x4206, child, None, None) == 0, ctypes.get_errno()
open("traces", "w").close()
time.sleep(300)
"""


def read(stream: Any) -> None:
    """Reads until the server cuts the connection."""
    try:
        for _ in stream:
            pass
    except (http.client.IncompleteRead, struct.error, OSError):
        pass


def await_files(box: Any, *names: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if all(call("GET", "/files?path=" + name, headers=box.headers)[0] == 200 for name in names):
            return
        time.sleep(0.02)
    raise AssertionError("these are not there: %s" % (names,))


def pause(box: Any) -> None:
    status, answer = call("POST", "/sandboxes/%s/pause" % box.id, {"memory": True})
    assert status == 204, (status, answer)


def resume(box: Any, timeout: int = 120) -> None:
    status, answer = call("POST", "/sandboxes/%s/connect" % box.id, {"timeout": timeout})
    assert (status, answer["sandboxID"]) == (201, box.id), (status, answer)


def state(box: Any) -> str:
    return call("GET", "/sandboxes/" + box.id)[1]["state"]


def execute(box: Any, code: str) -> Any:
    made = client.connection()
    made.request("POST", "/execute", json.dumps({"code": code}),
                 {**box.headers, "E2b-Sandbox-Port": str(client.INTERPRETER), "Content-Type": "application/json"})
    return made.getresponse()


def session_of(box: Any) -> str:
    with open(os.environ["SERVE_LOG"], encoding="utf-8") as log:
        for line in map(json.loads, log):
            if line["event"] == "sandbox_start" and line["sandbox"] == box.id:
                return line["session"]
    raise AssertionError("no session of " + box.id)


def programs(box: Any) -> None:
    stream = box.start("exec python3 -c '%s'" % TICKS, stdin=True)
    pid = next(stream)["event"]["start"]["pid"]
    assert execute(box, "x = 41").read()
    running = execute(box, "import time\nx += 1\ntime.sleep(300)")  # a call that the pause cuts
    assert b"number_of_executions" in running.read1(1000)
    await_files(box, "up")
    pause(box)
    read(stream)
    assert state(box) == "paused" and call("GET", "/health", headers=box.headers)[0] == 502
    assert box.rpc("process.Process/List", {})[0] == 502
    assert [x["sandboxID"] for x in call("GET", "/v2/sandboxes?state=paused")[1]] == [box.id]
    assert call("GET", "/v2/sandboxes?state=running") == (200, []) and call("GET", "/sandboxes") == (200, [])
    assert call("GET", "/sandboxes/%s/metrics" % box.id) == (200, [])
    for path in ("pause", "timeout", "refreshes"):
        assert call("POST", "/sandboxes/%s/%s" % (box.id, path), {"timeout": 1, "duration": 1})[0] == 409, path
    refused = subprocess.run([os.environ["CALLGATE"], "session", "exec", session_of(box), "--", "true"],
                             stderr=subprocess.PIPE, check=False)
    assert refused.returncode == 125 and b"paused" in refused.stderr, refused
    time.sleep(GAP_S + 0.1)
    resume(box)
    assert state(box) == "running"
    await_files(box, "gap-a", "gap-b", "gap-c")
    assert pid in [x["pid"] for x in box.rpc("process.Process/List", {})[1]["processes"]]
    # a context keeps its variables, and the code that was cut is interrupted
    assert b'"42"' in execute(box, "x").read()
    # and once more, with threads that wait in the kernel still
    pause(box)
    resume(box)
    assert box.run("echo x")[1] == b"x\n"


def limits(box: Any) -> None:
    """The time limit of a program does not count the time of a pause."""
    for _ in range(5):
        began = time.monotonic()
        stream = box.start("read x; exit 7", stdin=True, tag="limit", **{"Connect-Timeout-Ms": "1000"})
        next(stream)
        pause(box)
        paused = time.monotonic()
        time.sleep(1)
        resumed = time.monotonic()
        resume(box)
        again = box.stream("process.Process/Connect", {"process": {"tag": "limit"}})
        first = next(again)
        if time.monotonic() - resumed + paused - began > 0.9:
            continue  # this machine is busy
        assert "start" in first.get("event", {}), first
        return


def websocket() -> None:
    """A connection of WebSocket is cut by a pause, at both ends; the server that it led to goes on."""
    box = Box()
    server = box.stream("process.Process/Start", {"process": {"cmd": "python3", "args": ["-c", client.SERVER, "8080"]}})
    assert any("data" in event["event"] for event in server)
    headers = {**box.headers, "E2b-Sandbox-Port": "8080"}
    made, head = client.begin_upgrade("/socket", headers)
    assert b" 101 " in head and made.recv(5, socket.MSG_WAITALL) == b"hello", head
    pause(box)
    assert made.recv(1) == b"", "the client's end"
    made.close()
    assert client.begin_upgrade("/socket", headers)[1].startswith(b"HTTP/1.1 502 "), "in a pause"
    resume(box)
    await_files(box, "socket-ended")
    made, head = client.begin_upgrade("/socket", headers)
    assert b" 101 " in head and made.recv(5, socket.MSG_WAITALL) == b"hello", head
    made.sendall(b"echo")
    assert made.recv(4, socket.MSG_WAITALL) == b"echo"
    made.close()
    box.kill()


def timeouts() -> None:
    box = Box(timeout=4, autoPause=True)
    assert call("GET", "/sandboxes/" + box.id)[1]["lifecycle"]["onTimeout"] == "pause"
    stream = box.start("sleep 300")
    pid = next(stream)["event"]["start"]["pid"]
    read(stream)
    end = time.monotonic() + 60
    while state(box) != "paused" and time.monotonic() < end:
        time.sleep(0.02)
    assert state(box) == "paused"
    resume(box)
    assert [x["pid"] for x in box.rpc("process.Process/List", {})[1]["processes"]] == [pid]
    pause(box)
    status, _ = call("POST", "/sandboxes/%s/resume" % box.id, {"timeout": 120, "autoPause": False})
    assert (status, call("GET", "/sandboxes/" + box.id)[1]["lifecycle"]["onTimeout"]) == (201, "kill"), status
    box.kill()


def traced(box: Any) -> None:
    stream = box.start("exec python3 -c '%s'" % TRACES)
    pid = next(stream)["event"]["start"]["pid"]
    await_files(box, "traces")
    status, answer = call("POST", "/sandboxes/%s/pause" % box.id, {})
    assert status == 503 and "traces" in answer["message"] and state(box) == "running", (status, answer)
    assert box.run("echo x")[1] == b"x\n"
    assert box.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": 9})[0] == 200


def main() -> None:
    for wish in ({"autoPause": True, "autoPauseMemory": False}, {"autoPause": True, "autoResume": {"enabled": True}}):
        assert call("POST", "/sandboxes", {"templateID": "base", **wish})[0] == 400, wish
    box = Box()
    assert call("POST", "/sandboxes/%s/resume" % box.id, {})[0] == 409
    assert call("POST", "/sandboxes/%s/pause" % box.id, {"memory": False})[0] == 501
    programs(box)
    limits(box)
    websocket()
    timeouts()
    traced(box)
    pause(box)
    box.kill()  # without going on
    assert call("GET", "/sandboxes/" + box.id)[0] == 404
    box = Box()
    next(box.start("while :; do :; done"))
    pause(box)


if __name__ == "__main__":
    main()
