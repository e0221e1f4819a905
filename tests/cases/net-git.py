#!/usr/bin/env python3
"""net-git.py DIR: serves the repositories of DIR/repos by git http-backend, over TLS with DIR/server.pem.

It listens on a free port, which it writes to DIR/git-port.
Every request is a line of DIR/git-access: METHOD PATH STATUS.
"""
import gzip
import http.server
import os
import ssl
import subprocess
import sys
import threading

DIR = sys.argv[1]
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self):
        body = self.body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        path, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=DIR + "/repos", GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
                   QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   CONTENT_LENGTH=str(len(body)), GIT_PROTOCOL=self.headers.get("Git-Protocol", ""), REMOTE_USER="me",
                   REMOTE_ADDR="127.0.0.1")
        done = subprocess.run(["git", "http-backend"], env=env, input=body, stdout=subprocess.PIPE, check=False)
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        self.send_response(status)
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(data), 65536):
            part = data[at:at + 65536]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
        with lock, open(DIR + "/git-access", "a", encoding="utf-8") as log:
            log.write(f"{self.command} {path} {status}\n")

    do_GET = do_POST = answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):  # in the connection's own thread
        try:
            request.settimeout(60)
            request = context.wrap_socket(request, server_side=True)
        except OSError:
            return
        super().finish_request(request, client_address)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(DIR + "/server.pem")
server = Server(("127.0.0.1", 0), Handler)
with open(DIR + "/git-port.new", "w", encoding="utf-8") as port:
    port.write(str(server.server_address[1]))
os.rename(DIR + "/git-port.new", DIR + "/git-port")
server.serve_forever()
