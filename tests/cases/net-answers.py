"""HTTP responses as servers send them, and the clients that read them.

net-answers.py serve DIR   serves plain and over TLS; writes the ports to DIR/answers-ports
net-answers.py URL         reads all responses; prints the same with and without callgate in between
                           (hop-by-hop header fields are not printed)
"""
import os
import socket
import ssl
import sys
import threading
import time

OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "/old": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nup to the end",
    "/until-close": OK + b"Connection: close\r\n\r\nup to the end",
    "/hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhints",
    "/trailer": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-T: 1\r\n\r\n",
    "/no-reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
    "/204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/304": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\nETag: x\r\n\r\n",
    "/latin": OK + b"X-Name: caf\xe9\r\nContent-Length: 2\r\n\r\nok",
    "/cookies": OK + b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok",
    "/long": OK + b"X-Long: " + b"y" * 7000 + b"\r\nContent-Length: 2\r\n\r\nok",
}


def talk(conn):
    source = conn.makefile("rb")
    while line := source.readline():
        path = line.split()[1].decode()
        length = 0
        while (field := source.readline()) not in (b"\r\n", b""):
            name, value = field.lower().split(b":", 1)
            length = int(value) if name == b"content-length" else length
            if name == b"expect":
                conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if path == "/too-large":  # before it has read
            conn.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
            while source.read1(65536):
                pass
            break
        body = source.read(length)
        if path == "/events":
            conn.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
            for i in range(4):
                conn.sendall(b"8\r\ndata: %d\n\r\n" % i)
                time.sleep(0.2)
            conn.sendall(b"0\r\n\r\n")
        elif path == "/put":
            conn.sendall(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            conn.sendall(ANSWERS[path])
        if path in ("/old", "/until-close"):
            break


def connection(conn, context):
    try:
        conn.settimeout(60)
        if context:
            conn = context.wrap_socket(conn, server_side=True)
        talk(conn)
        if context:
            conn = conn.unwrap()
    except OSError:
        pass
    conn.close()


def accept(listener, context):
    while True:
        threading.Thread(target=connection, args=(listener.accept()[0], context), daemon=True).start()


def serve(directory):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(directory, "server.pem"))
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=100) for _ in range(2)]
    with open(os.path.join(directory, "answers-ports.new"), "w", encoding="ascii") as out:
        print(*(listener.getsockname()[1] for listener in listeners), file=out)
    os.rename(os.path.join(directory, "answers-ports.new"), os.path.join(directory, "answers-ports"))
    threading.Thread(target=accept, args=(listeners[1], tls), daemon=True).start()
    accept(listeners[0], None)


def fields(headers):
    return sorted(name.lower() for name in headers if name.lower() not in ("connection", "trailer"))


def ask(url):
    import http.client
    import urllib.parse

    import httpx
    import requests

    session, client = requests.Session(), httpx.Client(timeout=60)
    for path in ANSWERS:
        for get in (lambda: session.get(url + path, timeout=60)), (lambda: client.get(url + path)):
            answer = get()
            print(path, answer.status_code, answer.content, fields(answer.headers))
    began = time.monotonic()
    lines = [time.monotonic() - began
             for _ in session.get(url + "/events", stream=True, timeout=60).iter_lines(chunk_size=1)]
    print("events", len(lines), "as they come:", lines[-1] - lines[0] > 0.3)
    print("too large", session.post(url + "/too-large", data=b"x" * 3000000, timeout=60).text)
    parts = urllib.parse.urlsplit(url)
    conn = getattr(http.client, parts.scheme.upper() + "Connection")(parts.hostname, parts.port, timeout=60)
    conn.putrequest("PUT", "/put")
    conn.putheader("Expect", "100-continue")
    conn.putheader("Content-Length", "5")
    conn.endheaders()
    print("expect", conn.sock.recv(100).split(b"\r\n")[0])
    conn.send(b"hello")
    print(conn.getresponse().read())
    conn.sock.sendall(f"GET /no-reason HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode() * 50)
    data = b""
    while data.count(b"\r\n\r\nok") < 50:
        data += conn.sock.recv(65536) or sys.exit("pipelined: " + str(data.count(b"\r\n\r\nok")))
    print("pipelined")


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    ask(sys.argv[1])
