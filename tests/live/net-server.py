#!/usr/bin/env python3
"""Local servers for tests of the network: net-server.py DIR KIND... on free ports of 127.0.0.1, written to DIR/ports.

KIND: http, https (DIR/server.pem), echo (TCP), banner (TCP, speaks first), udp (echo).
DIR/access: a line for every HTTP request, {"kind", "method", "path", "host", "headers"}, and for every connection to
the other servers, {"kind", "bytes"}.
Paths: /ok  /size/N  /echo (POST)  /headers  /status/N  /slow/SECONDS  /redirect?to=URL; any other is 404.
"""
import http.server
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

DIR = sys.argv[1]
lock = threading.Lock()


def note(entry):
    with lock, open(os.path.join(DIR, "access"), "a", encoding="utf-8") as log:
        log.write(json.dumps(entry) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = "http"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            parts = []
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                parts.append(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def give(self, status, data, more=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer(self):
        body = self.body()
        note({"kind": self.kind, "method": self.command, "path": self.path, "host": self.headers.get("Host"),
              "headers": [[name, value] for name, value in self.headers.items()]})
        path, _, query = self.path.partition("?")
        words = path.strip("/").split("/")
        if words[0] == "ok":
            self.give(200, b"ok\n")
        elif words[0] == "size":
            self.give(200, b"x" * int(words[1]))
        elif words[0] == "echo":
            self.give(200, body)
        elif words[0] == "headers":
            self.give(200, json.dumps(dict(self.headers.items())).encode() + b"\n")
        elif words[0] == "status":
            self.give(int(words[1]), b"" if words[1] in ("204", "304") else b"status\n")
        elif words[0] == "slow":
            time.sleep(float(words[1]))
            self.give(200, b"slow\n")
        elif words[0] == "redirect":
            self.give(302, b"", [("Location", urllib.parse.parse_qs(query)["to"][0])])
        else:
            self.give(404, b"not found\n")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer


class TlsHandler(Handler):
    kind = "https"


class HttpServer(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


class TlsServer(HttpServer):
    def __init__(self, *args):
        super().__init__(*args)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(DIR, "server.pem"))

    def finish_request(self, request, client_address):  # in the connection's own thread
        try:
            request.settimeout(60)
            request = self.context.wrap_socket(request, server_side=True)
        except OSError:
            return
        super().finish_request(request, client_address)


class TcpServer(socketserver.ThreadingTCPServer):
    request_queue_size = 1024
    daemon_threads = True


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        total = 0
        while data := self.request.recv(65536):
            total += len(data)
            self.request.sendall(data)
        note({"kind": "echo", "bytes": total})


class Banner(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"220 ready\r\n")
        line = self.request.makefile("rb").readline()
        self.request.sendall(b"250 " + line)
        note({"kind": "banner", "bytes": len(line)})


class UdpEcho(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        note({"kind": "udp", "bytes": len(data)})
        sock.sendto(data, self.client_address)


def serve(kind):
    address = ("127.0.0.1", 0)
    if kind == "udp":
        return socketserver.ThreadingUDPServer(address, UdpEcho)
    if kind in ("echo", "banner"):
        return TcpServer(address, Echo if kind == "echo" else Banner)
    return TlsServer(address, TlsHandler) if kind == "https" else HttpServer(address, Handler)


servers = {kind: serve(kind) for kind in sys.argv[2:]}
for server in servers.values():
    threading.Thread(target=server.serve_forever, daemon=True).start()
open(os.path.join(DIR, "access"), "a", encoding="utf-8").close()
with open(os.path.join(DIR, "ports.new"), "w", encoding="utf-8") as ports:
    json.dump({kind: server.server_address[1] for kind, server in servers.items()}, ports)
os.rename(os.path.join(DIR, "ports.new"), os.path.join(DIR, "ports"))
threading.Event().wait()
