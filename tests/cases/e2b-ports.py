#!/usr/bin/python3
"""Cases of callgate serve: servers in a sandbox, also after an upgrade. Usage: e2b-ports.py CASE [ARGUMENT]."""

import http.client
import importlib.util
import os
import socket
import sys
import threading
import time
from typing import Any, Dict, Tuple

SPEC = importlib.util.spec_from_file_location("client", os.path.join(os.path.dirname(__file__), "e2b-client.py"))
client = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(client)
connection, raw, call, Box, numbers = client.connection, client.raw, client.call, client.Box, client.numbers
SERVER, frame, begin_upgrade, ADDRESS = client.SERVER, client.frame, client.begin_upgrade, client.ADDRESS


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


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
