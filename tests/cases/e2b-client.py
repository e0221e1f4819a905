"""Speaks the protocol of E2B to callgate serve, without any library of others: for e2b-basic.py and its like."""

import base64
import hashlib
import http.client
import json
import os
import socket
import struct
import urllib.parse
from typing import Any, Dict, Iterator, List, Optional, Tuple

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


def signed(box: Box, path: str, operation: str, end: str = "") -> str:
    text = ":".join([path, operation, "", box.headers["X-Access-Token"]] + ([end] if end else []))
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    query = {"path": path, "signature": "v1_" + digest, **({"signature_expiration": end} if end else {})}
    return "/files?" + urllib.parse.urlencode(query)


def form(*files: Tuple[str, bytes]) -> Tuple[bytes, str]:
    head = b'--border\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
    parts = [head % (name.encode(), data) for name, data in files]
    return b"".join(parts) + b"--border--\r\n", "multipart/form-data; boundary=border"


def run_code(box: Box, code: str, **more: Any) -> List[Any]:
    """The events of code in an interpreter."""
    made = connection()
    made.request("POST", "/execute", json.dumps({"code": code, **more}),
                 {**box.headers, "E2b-Sandbox-Port": str(INTERPRETER), "Content-Type": "application/json"})
    events = [json.loads(line) for line in made.getresponse().read().splitlines()]
    made.close()
    assert events[-1]["type"] == "end_of_execution", events
    return events


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
