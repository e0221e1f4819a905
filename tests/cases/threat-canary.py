"""A process outside the sandbox, for threats 34-39: threat-canary.py DIR.

It listens on every kind of socket that the program must not reach. It tries to connect to what the program listens on,
passes a descriptor to every process that it reaches, and writes to DIR/met which ones it reached. The ports are in
DIR/ports once it is ready.
"""
import os
import select
import socket
import sys
import time

home = sys.argv[1]
secret = os.open(home + "/secret", os.O_RDWR | os.O_CREAT, 0o600)
met = open(home + "/met", "a", buffering=1)


def listen(family, kind, address):
    sock = socket.socket(family, kind)
    sock.bind(address)
    if kind != socket.SOCK_DGRAM:
        sock.listen(64)
    return sock


def give(sock, what):
    print(what, file=met)
    try:
        socket.send_fds(sock, [b"x"], [secret])
    except OSError:
        pass


def reach(address, what):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        mine = socket.socket(unix, kind)
        mine.setblocking(False)
        try:
            mine.connect(address)
        except OSError:
            continue
        give(mine, what)


unix, name = socket.AF_UNIX, "\0callgate-canary-%d" % os.getpid()
places = {
    listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)): "tcp",
    listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)): "udp",
    listen(unix, socket.SOCK_STREAM, home + "/w/stream"): "stream",
    listen(unix, socket.SOCK_SEQPACKET, home + "/w/seqpacket"): "seqpacket",
    listen(unix, socket.SOCK_DGRAM, home + "/w/dgram"): "dgram",
    listen(unix, socket.SOCK_STREAM, home + "/outside"): "outside",
    listen(unix, socket.SOCK_STREAM, name): "abstract stream",
    listen(unix, socket.SOCK_DGRAM, name + "d"): "abstract dgram",
}
with open(home + "/ports.new", "w") as ports:
    numbers = [sock.getsockname()[1] for sock in places if sock.family == socket.AF_INET]
    print(*numbers, name[1:], file=ports)
os.rename(home + "/ports.new", home + "/ports")
end = time.monotonic() + 600
while time.monotonic() < end and os.path.isdir(home):
    for sock in select.select(list(places), [], [], 0.01)[0]:
        if sock.type == socket.SOCK_DGRAM:
            print(places[sock], sock.recv(100), file=met)
        else:
            peer = sock.accept()[0]
            give(peer, places[sock])
    reach(home + "/w/inside", "connected to the program")
    try:
        with open(home + "/w/abstract", "rb") as file:
            chosen = file.read()
    except OSError:
        continue
    if os.getuid() == 0:  # as another user: abstract names have no owner
        os.seteuid(65534)
    reach(chosen, "connected to an abstract name")
    os.seteuid(os.getuid())
