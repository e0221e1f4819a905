#!/usr/bin/env python3
"""Python's http.server, and gunicorn's application: writes a line to LOG for each request that it carries out.

server.py PORT-FILE LOG [lazy]    lazy: reads no request body, and goes on reading requests
gunicorn server:app               with CORPUS_LOG
The fields of a line, separated by tabs: method, target, host, length of the body, digest of the body. As in web
frameworks, headers may override method, path and host; header names are parsed by the rules of CGI.
"""
import hashlib
import http.server
import os
import re
import sys
import threading

METHODS = ("HTTP_X_HTTP_METHOD_OVERRIDE", "HTTP_X_HTTP_METHOD", "HTTP_X_METHOD_OVERRIDE")
TARGETS = ("HTTP_X_ORIGINAL_URL", "HTTP_X_REWRITE_URL", "HTTP_X_FORWARDED_URI", "HTTP_X_FORWARDED_PREFIX")
HOSTS = ("HTTP_X_FORWARDED_HOST", "HTTP_X_HOST", "HTTP_X_ORIGINAL_HOST", "HTTP_FORWARDED")
lock = threading.Lock()


def first(environ, names, other):
    return next((environ[name] for name in names if name in environ), other)


def note(log, environ, method, target, host, body):
    line = (first(environ, METHODS, method), first(environ, TARGETS, target), first(environ, HOSTS, host),
            str(len(body)),
            hashlib.sha256(body).hexdigest()[:8])
    with lock, open(log, "a", encoding="utf-8", errors="backslashreplace") as out:
        out.write("\t".join(re.sub(r"[\t\n]", "?", word) for word in line) + "\n")
    return f"served {line[0]} {line[1]}\n".encode("utf-8", "replace")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lazy = False
    log = ""
    timeout = 20

    def log_message(self, *_):
        pass

    def read_chunks(self):
        parts = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            parts += self.rfile.read(size)
            if size == 0:
                while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                    pass
                return parts
            self.rfile.readline()

    def body(self):
        if self.lazy or self.command in ("GET", "HEAD", "DELETE", "OPTIONS", "get"):  # as many applications do
            return b""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return self.read_chunks()
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self):
        try:
            body = self.body()
        except ValueError:
            self.send_error(400)
            self.close_connection = True
            return
        environ = {"HTTP_" + re.sub("[^A-Z0-9]", "_", name.upper()): value for name, value in self.headers.items()}
        data = note(self.log, environ, self.command, self.path, self.headers.get("Host", ""), body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)


def app(environ, start_response):
    body = environ["wsgi.input"].read()
    target = environ.get("RAW_URI", "")
    if environ.get("SCRIPT_NAME"):  # the part of the path that the application does not see
        target = environ.get("PATH_INFO", "")
    data = note(os.environ["CORPUS_LOG"], environ, environ["REQUEST_METHOD"], target, environ.get("HTTP_HOST", ""),
                body)
    start_response("200 OK", [("Content-Length", str(len(data)))])
    return [data]


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    Handler.log, Handler.lazy = sys.argv[2], sys.argv[3:] == ["lazy"]
    server = Server(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as out:
        print(server.server_address[1], file=out)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()
