#!/usr/bin/env python3
"""Processes and sockets that no program inside may touch: canary.py DIR.

Listens on a TCP, a UDP, a named and an abstract unix socket. Once all of them exist it writes their names to DIR/canary
as one JSON object. Everything that reaches them is a line of DIR/contacts.
"""
import json, os, selectors, signal, socket, sys

where = sys.argv[1]
contacts = open(os.path.join(where, "contacts"), "a", buffering=1)


def on_signal(number, frame):
    contacts.write("signal %d\n" % number)


for number in range(1, 65):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33):
        signal.signal(number, on_signal)
made = []
abstract = "canary-%d-%s" % (os.getpid(), os.urandom(4).hex())
path = os.path.join(where, "socket")
for family, kind, name in ((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
                           (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
                           (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
                           (socket.AF_UNIX, socket.SOCK_STREAM, path),
                           (socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + abstract + "-dgram"),
                           (socket.AF_UNIX, socket.SOCK_DGRAM, path + "-dgram")):
    made.append(socket.socket(family, kind))
    made[-1].bind(name)
    if kind == socket.SOCK_STREAM:
        made[-1].listen(64)
    made[-1].setblocking(False)
selector = selectors.DefaultSelector()
for name, sock in zip(("tcp", "udp", "abstract", "path", "abstract-dgram", "path-dgram"), made):
    selector.register(sock, selectors.EVENT_READ, name)
ready = os.path.join(where, "canary")
with open(ready + ".new", "w") as out:
    json.dump({"pid": os.getpid(), "tcp": made[0].getsockname()[1], "udp": made[1].getsockname()[1],
               "abstract": abstract,
               "path": path}, out)
os.rename(ready + ".new", ready)
while os.path.exists(ready):  # the test is over, however it ended
    for key, _ in selector.select(2):
        try:
            if key.fileobj.type == socket.SOCK_STREAM:
                key.fileobj.accept()[0].close()
            else:
                key.fileobj.recv(4096)
            contacts.write("socket %s\n" % key.data)
        except OSError:
            pass
