"""Speaks a session's protocol itself: what no client of ours would send, and clients that do not read or hang up.

Arguments: the socket, a directory of the host. Each part leaves the session working, which session.sh checks.
"""
import array
import json
import os
import shutil
import socket
import sys
import time

path, host = sys.argv[1:3]
failed = False


def connect():
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(path)
    sock.settimeout(60)
    return sock


def ask(message, fds=()):
    sock = connect()
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([data], extra)
    return sock


def answers(sock):
    said = []
    while data := sock.recv(1 << 20):
        said.append(json.loads(data))
        if "status" in said[-1] or "error" in said[-1]:
            break
    return said


def expect(what, condition, got):
    global failed
    if not condition:
        failed = True
        print(f"{what}: {got}", file=sys.stderr)


def refused(what, message, fds=()):
    got = answers(ask(message, fds))
    expect(what, got and got[-1].get("error", {}).get("code") == "bad_request", got)


null = [os.open("/dev/null", os.O_RDWR) for _ in range(3)]
exec_true = {"op": "exec", "argv": ["true"]}

refused("no JSON", b"{")
refused("no object", b"[1, 2]")
refused("nested", b"[" * 100000)
refused("no operation", {"argv": ["true"]})
refused("unknown operation", {"op": "own"})
refused("a signal without a program", {"op": "signal", "signal": 9})
refused("no descriptors", exec_true)
refused("two descriptors", exec_true, null[:2])
refused("no arguments", {"op": "exec", "argv": []}, null)
refused("arguments that are no texts", {"op": "exec", "argv": ["true", 1]}, null)
refused("a variable that is no text", {**exec_true, "env": {"A": 1}}, null)
refused("a variable with an equals sign", {**exec_true, "env": {"A=B": "1"}}, null)
refused("a NUL", b'{"op": "exec", "argv": ["true\\u0000"]}', null)

# A directory, a file and a socket of the host would be ways out of the view.
directory = os.open(host, os.O_RDONLY)
file = os.open(os.path.join(host, "log"), os.O_RDONLY)
handle = os.open("/dev/null", os.O_PATH)
pair = socket.socketpair()
for what, fd in (("directory", directory), ("file", file), ("O_PATH", handle), ("socket", pair[0].fileno())):
    refused(f"a descriptor of a {what}", exec_true, [fd, null[1], null[2]])

got = answers(ask(exec_true, null * 5))  # more than a program has: the kernel closes them
expect("fifteen descriptors", got[-1].get("status") == "ok", got)

got = answers(ask({"op": "exec", "argv": ["x" * 140000]}, null))
expect("arguments that are too long", got[-1]["error"]["code"] in ("too_long", "not_found"), got)
got = answers(ask({"op": "exec", "argv": ["true", "x" * 140000]}, null))
expect("too long", got[-1]["error"]["code"] == "too_long", got)
try:
    got = answers(ask({"op": "exec", "argv": ["true", "x" * 200000]}, null))
    expect("a message that is too long", got[-1]["error"]["code"] == "bad_request", got)
except OSError:
    pass  # the kernel did not take it

# Many clients that say nothing, and many that hang up at once.
idle = [connect() for _ in range(600)]
for sock in idle:
    sock.close()
for _ in range(50):
    try:
        ask(exec_true, null).close()
    except OSError:
        pass  # there are too many clients, and this one was hung up on
patience = time.monotonic() + 60
while time.monotonic() < patience:  # while there are too many, further ones are hung up on
    try:
        if answers_list := ask({"op": "list"}).recv(1 << 20):
            break
    except OSError:
        pass
    time.sleep(0.02)

# A client that sends thousands of requests and reads no answer is hung up on.
flood = connect()
try:
    for _ in range(20000):
        flood.send(b'{"op": "list"}')
    expect("a flood of requests", False, "all were taken")
except OSError:
    pass
flood.close()

# A client that never reads its answers, and one that sends a second request.
deaf = ask({"op": "list"})
twice = ask({"op": "exec", "argv": ["sleep", "5"]}, null)
twice.send(json.dumps(exec_true).encode())
got = answers(twice)
expect("a second program on one connection", got[-1].get("error", {}).get("code") == "bad_request", got)

# A program whose denials were told already was denied all the same.
end = os.pipe()
told = ask({"op": "exec", "argv": ["sh", "-c", "cat .env; read x; exit 3"]}, [end[0], null[1], null[2]])
denials = []
while not denials:
    told.send(b'{"op": "denials"}')
    while "denials" not in (answer := json.loads(told.recv(1 << 20))):
        pass
    denials = answer["denials"]
os.close(end[0])
os.close(end[1])
got = answers(told)
expect("after its denials were told", got[-1].get("status") == "denied" and got[-1]["denials"] == [], got)

# A list is not longer than a message may be.
deep = os.path.join(host, "home", *["x" * 200] * 14)
os.makedirs(deep)
shutil.copy("/bin/sleep", deep)
started = []
patience = time.monotonic() + 60
while len(started) < 60 and time.monotonic() < patience:
    sock = ask({"op": "exec", "argv": [os.path.join(deep, "sleep"), "600"]}, null)
    if "error" not in (last := json.loads(sock.recv(1 << 20))):
        started.append(sock)
    elif last["error"]["code"] == "busy":
        time.sleep(0.05)
    else:
        break
expect("programs of a long list", len(started) == 60, (len(started), last))
data = ask({"op": "list"}).recv(1 << 20)
got = json.loads(data)
expect("a list that is long", got["unlisted"] + len(got["programs"]) >= 60 and 0 < got["unlisted"] < 60 and
       len(data) < 192 << 10, (len(data), got["unlisted"], len(got["programs"])))
for sock in started:
    sock.close()
shutil.rmtree(os.path.join(host, "home", "x" * 200))

# More programs than fit: the last ones are refused, none is lost.
started = [ask({"op": "exec", "argv": ["sleep", "1"]}, null) for _ in range(270)]
ended = [answers(sock)[-1] for sock in started]
expect("many programs", all("status" in answer or answer["error"]["code"] in ("too_many_programs", "busy")
                            for answer in ended), [a for a in ended if "status" not in a][:3])
expect("many programs ran", sum(answer.get("status") == "ok" for answer in ended) >= 100, ended[:3])

deadline = time.monotonic() + 60
while answers_list := json.loads(ask({"op": "list"}).recv(1 << 20))["programs"]:
    if time.monotonic() > deadline:
        expect("all have ended", False, answers_list[:3])
        break
    time.sleep(0.05)
sys.exit(failed)
