#!/usr/bin/env python3
"""A server whose responses can be parsed in two ways: hostile.py PORT-FILE LOG.

The response to /c/k…a<N>/1 is answers()[N]; any other request gets a plain response. What follows a "@|" is sent a
moment later. The lines of LOG are those of server.py, with one more field, "early", for a request that was there when
such a part of the response before it was sent.
"""
import os
import re
import select
import socket
import sys
import threading
import time

SPOOF = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof"
OK = "HTTP/1.1 200 OK\r\n"
FRAMINGS = (
    "Content-Length: 2\r\n\r\nok" + SPOOF, "Content-Length: 2\r\n\r\nok@|" + SPOOF, "Content-Length: 2\r\n\r\nok\r\n",
    "Content-Length: 2\r\n\r\no@|k" + SPOOF,
    "Content-Length: 2\r\nContent-Length: 47\r\n\r\nok" + SPOOF,
    "Content-Length: 47\r\nContent-Length: 2\r\n\r\nok" + SPOOF, "Content-Length: 2, 47\r\n\r\nok" + SPOOF,
    "Content-Length: 2, 2\r\n\r\nok" + SPOOF,
    "Content-Length: +2\r\n\r\nok" + SPOOF, "Content-Length: 2x\r\n\r\nok" + SPOOF,
    "Content-Length: -1\r\n\r\nok" + SPOOF, "Content-Length:\r\n\r\nok" + SPOOF,
    "Content-Length: 18446744073709551618\r\n\r\nok" + SPOOF,
    "Content-Length : 2\r\n\r\nok" + SPOOF, "Content_Length: 2\r\n\r\nok" + SPOOF,
    "Content-Length:\r\n 2\r\n\r\nok" + SPOOF, "Content-Length: 2\n\nok" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n@|" + SPOOF,
    "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked, identity\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: \vchunked\r\nContent-Length: 2\r\n\r\nok" + SPOOF,
    "Transfer_Encoding: chunked\r\nContent-Length: 2\r\n\r\nok" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2;\nx\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SPOOF,
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 47\r\n\r\n" + SPOOF,
    "Connection: close\r\nContent-Length: 2\r\n\r\nok" + SPOOF,
    "Connection: content-length\r\nContent-Length: 2\r\n\r\nok" + SPOOF, "X: y\rContent-Length: 2\r\n\r\nok" + SPOOF,
    "X: \x00\r\nContent-Length: 2\r\n\r\nok" + SPOOF, " X: y\r\nContent-Length: 2\r\n\r\nok" + SPOOF)
HEADS = (
    "HTTP/1.1 204 No Content\r\nContent-Length: 47\r\n\r\n" + SPOOF, "HTTP/1.1 204 No Content\r\n\r\n@|" + SPOOF,
    "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SPOOF,
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 47\r\n\r\n" + SPOOF, "HTTP/1.1 304 Not Modified\r\n\r\n@|" + SPOOF,
    "HTTP/1.1 205 Reset Content\r\n\r\n" + SPOOF,
    "HTTP/1.1 100 Continue\r\n\r\n" * 500 + SPOOF.replace("spoof", "right"),
    "HTTP/1.1 103 Early Hints\r\nContent-Length: 47\r\n\r\n" + SPOOF.replace("spoof", "right"),
    "HTTP/1.1 102 x\r\nTransfer-Encoding: chunked\r\n\r\n" + SPOOF.replace("spoof", "right"),
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + SPOOF,
    "HTTP/1.1 101 Switching Protocols\r\n\r\n" + SPOOF,
    "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + SPOOF,
    "HTTP/1.1 199 x\r\n\r\n" + SPOOF.replace("spoof", "right"),
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok" + SPOOF,
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok@|" + SPOOF,
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SPOOF,
    "HTTP/0.9 200 OK\r\n\r\n" + SPOOF, "HTTP/2 200\r\n\r\n" + SPOOF, "ok" + SPOOF, "\r\n" + SPOOF,
    "HTTP/1.1 600 x\r\n\r\n" + SPOOF, "HTTP/1.1 20 x\r\n\r\n" + SPOOF, "HTTP/1.1  200 OK\r\n\r\n" + SPOOF,
    "http/1.1 200 OK\r\n\r\n" + SPOOF,
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok" + SPOOF, "HTTP/1.1 200 OK\r\rContent-Length: 2\r\n\r\nok" + SPOOF,
    "HTTP/1.1 200 O\x00K\r\nContent-Length: 2\r\n\r\nok" + SPOOF, "ICY 200 OK\r\n\r\n" + SPOOF)


def answers():
    return [OK + framing for framing in FRAMINGS] + list(HEADS)


def serve(connection, log):
    data, early = b"", ""
    with connection:
        connection.settimeout(1)  # what was not whole ends
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    got = connection.recv(65536)
                    if not got:
                        return
                    data += got
                head, _, data = data.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                while length and len(data) < int(length[1]):
                    data += connection.recv(65536)
                data = data[int(length[1]) if length else 0:]
                method, target = head.decode("latin-1").split(" ")[:2]
                host = re.search(r"\r\nHost: ([^\r]*)", head.decode("latin-1"))[1]
                with open(log, "a", encoding="utf-8") as out:
                    out.write(f"{method}\t{target}\t{host}\t0\t-{early}\n")
                early = ""
                number = re.search(r"k\d+a(\d+)\w*/1$", target)
                text = f"served {method} {target}\n"
                answer = f"{OK}Content-Length: {len(text)}\r\n\r\n{text}"
                for index, piece in enumerate((answers()[int(number[1])] if number else answer).split("@|")):
                    time.sleep(0.03 if index else 0)
                    connection.sendall(piece.encode("latin-1"))
                    if index and (data or select.select([connection], [], [], 0)[0]):
                        early = "\tearly"
        except OSError:
            pass


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as out_:
        print(listener.getsockname()[1], file=out_)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], sys.argv[2]), daemon=True).start()
