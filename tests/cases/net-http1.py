#!/usr/bin/env python3
"""HTTP/1 as real programs speak it.

net-http1.py serve DIR                             a websocket server, plain and over TLS
net-http1.py ask SCHEME HOST PORT WEBSOCKET-PORT   a client; prints the same with and without callgate in between
"""
import asyncio
import hashlib
import http.client
import os
import socket
import ssl
import sys

BIG = 50 * 1024 * 1024


def serve(directory):
    import websockets

    async def echo(socket_, *_):
        async for message in socket_:
            await socket_.send(message)

    async def main():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(directory, "server.pem"))
        plain = await websockets.serve(echo, "127.0.0.1", 0, max_size=None)
        tls = await websockets.serve(echo, "127.0.0.1", 0, max_size=None, ssl=context)
        ports = [server.sockets[0].getsockname()[1] for server in (plain, tls)]
        with open(os.path.join(directory, "websocket-ports.new"), "w", encoding="ascii") as out:
            print(*ports, file=out)
        os.rename(os.path.join(directory, "websocket-ports.new"), os.path.join(directory, "websocket-ports"))
        await asyncio.Future()

    asyncio.run(main())


def connection(scheme, host, port):
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=60)
    return http.client.HTTPConnection(host, port, timeout=60)


def show(what, connected, *details):
    response = connected.getresponse()
    data = response.read()
    print(what, response.status, len(data), hashlib.sha256(data).hexdigest()[:8], *details)
    return response


def blocks():
    for _ in range(BIG // 65536):
        yield b"0123456789abcdef" * 4096


def ask_python(scheme, host, port):
    connected = connection(scheme, host, port)
    for path in ("/ok", "/size/0", "/size/100000"):
        connected.request("GET", path)
        show(path, connected, connected.sock.getsockname() is not None)
    kept = connected.sock
    connected.request("POST", "/echo", b"by length" * 1000)
    show("by length", connected)
    connected.request("POST", "/echo", iter([b"in ", b"chunks" * 1000, b"."]), encode_chunked=True,
                      headers={"Transfer-Encoding": "chunked"})
    show("in chunks", connected)
    connected.request("HEAD", "/size/1234")
    print("length of what HEAD is not given:", show("HEAD", connected).headers["Content-Length"])
    for status in (204, 304, 500):
        connected.request("GET", f"/status/{status}")
        show("status", connected)
    connected.request("POST", "/echo", blocks(), headers={"Content-Length": str(BIG)})
    show("big", connected)
    print("one connection:", connected.sock is kept)
    connected.request("GET", "/ok", headers={"Connection": "close"})
    print("and then told to close:", show("last", connected).status)


def raw(scheme, host, port):
    sock = socket.create_connection((host, port), 60)
    if scheme == "https":
        context = ssl.create_default_context()
        sock = context.wrap_socket(sock, server_hostname=host)
    return sock, sock.makefile("rb")


def ask_raw(scheme, host, port):
    name = f"Host: {host}:{port}\r\n".encode()
    sock, stream = raw(scheme, host, port)
    sock.sendall(b"".join(b"GET /size/%d HTTP/1.1\r\n%s\r\n" % (size, name) for size in range(20)))
    sizes = []
    for _ in range(20):
        stream.readline()
        sizes.append(len(stream.read(int(http.client.parse_headers(stream)["Content-Length"]))))
    print("sent ahead:", sizes == list(range(20)))
    sock.close()
    sock, stream = raw(scheme, host, port)
    sock.sendall(b"POST /echo HTTP/1.0\r\n" + name + b"Content-Length: 3\r\n\r\nold")
    print("HTTP/1.0:", stream.read().rpartition(b"\r\n\r\n")[2])
    sock.close()


def ask_nginx(scheme, host, port):
    name = f"Host: {host}:{port}\r\n".encode()
    sock, stream = raw(scheme, host, port)
    sock.sendall(b"PUT /put/file HTTP/1.1\r\n" + name + b"Content-Length: 7\r\nExpect: 100-continue\r\n\r\n")
    print("asked to go on:", stream.readline(), stream.readline())
    sock.sendall(b"content")
    print(stream.readline())
    sock.close()
    connected = connection(scheme, host, port)
    connected.request("GET", "/text", headers={"Accept-Encoding": "gzip"})
    response = show("compressed", connected)
    print(response.headers["Transfer-Encoding"], response.headers["Content-Encoding"])
    connected.request("GET", "/text", headers={"If-None-Match": response.headers["ETag"]})
    show("not modified", connected)
    connected.request("GET", "/text", headers={"Range": "bytes=5-9"})
    show("part", connected)
    connected.request("GET", "/big")
    show("big file", connected)


def ask_websocket(scheme, host, port):
    import websockets

    async def main():
        async with websockets.connect(f"{'wss' if scheme == 'https' else 'ws'}://{host}:{port}/chat", max_size=None,
                                      open_timeout=60) as connected:
            for message in ("hello", b"\0\1\2", "long " * 100000):
                await connected.send(message)
                print("websocket:", await connected.recv() == message)
        try:
            await websockets.connect(f"{'wss' if scheme == 'https' else 'ws'}://{host}:{port}/other", open_timeout=60)
        except websockets.exceptions.InvalidHandshake as error:
            # InvalidStatusCode before websockets 14, InvalidStatus since
            status = error.response.status_code if hasattr(error, "response") else error.status_code
            print("websocket elsewhere:", status)

    asyncio.run(main())


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    SCHEME, HOST = sys.argv[2:4]
    PYTHON, NGINX, WEBSOCKET = (int(port) for port in sys.argv[4:7])
    ask_python(SCHEME, HOST, PYTHON)
    ask_raw(SCHEME, HOST, PYTHON)
    ask_nginx(SCHEME, HOST, NGINX)
    ask_websocket(SCHEME, HOST, WEBSOCKET)
