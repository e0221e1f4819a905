"""An index of Python packages and a registry of node packages: net-packages.py DIR.

Serves over TLS (DIR/server.pem), writes its port to DIR/packages-port and the requests to DIR/packages-access.
The package `tree` depends on `leaf`; `hidden` is at a path of its own.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import sys
import tarfile
import zipfile

DIR = sys.argv[1]
NODE = {"leaf": {}, "tree": {"leaf": "^1.0.0"}, "@scope/twig": {"leaf": "1.x"}, "hidden": {}}


def wheel(name, wants):
    info = f"{name}-1.0.dist-info/"
    files = {
        f"{name}.py": f"def hello():\n    return 'hello from {name}'\n",
        info + "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
                           + "".join(f"Requires-Dist: {want}\n" for want in wants),
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[info + "RECORD"] = "".join(f"{path},,\n" for path in [*files, info + "RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return data.getvalue()


def tarball(name, manifest):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in (("package/package.json", json.dumps(manifest)),
                           ("package/index.js", f"module.exports = 'hello from {name}';\n")):
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


WHEELS = {f"/{'private' if name == 'hidden' else 'packages'}/{name}-1.0-py3-none-any.whl": wheel(name, wants)
          for name, wants in (("leaf", []), ("tree", ["leaf>=1"]), ("hidden", []))}
MANIFESTS = {name: {"name": name, "version": "1.0.0", "main": "index.js", "dependencies": wants}
             for name, wants in NODE.items()}
TARBALLS = {f"/{name}/-/{name.split('/')[-1]}-1.0.0.tgz": tarball(name, MANIFESTS[name]) for name in NODE}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, data, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def manifest(self, name):
        path = f"/{name}/-/{name.split('/')[-1]}-1.0.0.tgz"
        dist = {"tarball": f"https://{self.headers['Host']}{path}",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(TARBALLS[path]).digest()).decode()}
        return {"name": name, "dist-tags": {"latest": "1.0.0"},
                "versions": {"1.0.0": {**MANIFESTS[name], "dist": dist}}}

    def do_GET(self):
        with open(os.path.join(DIR, "packages-access"), "a", encoding="utf-8") as log:
            log.write(f"{self.command} {self.path}\n")
        name = self.path[1:].replace("%2f", "/").replace("%2F", "/")
        if self.path in WHEELS:
            self.give(200, WHEELS[self.path], "application/octet-stream")
        elif self.path in TARBALLS:
            self.give(200, TARBALLS[self.path], "application/octet-stream")
        elif name in NODE:
            self.give(200, json.dumps(self.manifest(name)).encode(), "application/json")
        elif self.path.startswith("/simple/"):
            links = "".join(f'<a href="{path}#sha256={hashlib.sha256(data).hexdigest()}">{os.path.basename(path)}</a>\n'
                            for path, data in WHEELS.items() if f"/{self.path.split('/')[2]}-" in path)
            self.give(200 if links else 404, b"<!DOCTYPE html><html><body>\n" + links.encode() + b"</body></html>\n",
                      "text/html")
        else:
            self.give(404, b"{}\n", "application/json")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):  # in the connection's own thread
        try:
            request.settimeout(60)
            request = CONTEXT.wrap_socket(request, server_side=True)
        except OSError:
            return
        super().finish_request(request, client_address)


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
CONTEXT.load_cert_chain(os.path.join(DIR, "server.pem"))
server = Server(("127.0.0.1", 0), Handler)
open(os.path.join(DIR, "packages-access"), "w", encoding="utf-8").close()
with open(os.path.join(DIR, "packages-port.new"), "w", encoding="ascii") as out:
    print(server.server_address[1], file=out)
os.rename(os.path.join(DIR, "packages-port.new"), os.path.join(DIR, "packages-port"))
server.serve_forever()
