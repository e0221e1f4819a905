"""Sockets that the kernel binds implicitly must not be reachable from outside.

threat-datagrams.py inside PORT GRANTED: makes the kernel bind UDP sockets without a granted bind(2), writes their ports
to the file "ports" and prints what came from outside. Only GRANTED, the port that is granted, may receive anything.
PORT: the port of echo.test, a UDP endpoint.
threat-datagrams.py outside DIR GRANTED: as another user, sends to all of these ports in every way, until DIR/done
exists.
"""
import ctypes
import os
import select
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
V4, V6 = socket.AF_INET, socket.AF_INET6
TEXT = b"outside"


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Mmsghdr(ctypes.Structure):  # a msghdr without a name and without control data, and the length
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint), ("iov", ctypes.POINTER(Iovec)),
                ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t), ("flags", ctypes.c_int),
                ("len", ctypes.c_uint)]


def sendmmsg(sock):
    vector = Iovec(ctypes.cast(ctypes.c_char_p(b"x"), ctypes.c_void_p), 1)
    libc.sendmmsg(sock.fileno(), ctypes.byref(Mmsghdr(iov=ctypes.pointer(vector), iovlen=1)), 1, 0)


def splice(sock):
    out, into = os.pipe()
    os.write(into, b"x")
    os.splice(out, sock.fileno(), 1)


def sendfile(sock):
    with open("/etc/passwd", "rb") as file:
        os.sendfile(sock.fileno(), file.fileno(), 0, 4)


def options(sock):
    for level in (socket.SOL_SOCKET, 0, 6, 17, 41):
        for name in range(128):
            if (level, name) not in ((socket.SOL_SOCKET, 20), (socket.SOL_SOCKET, 66)):  # SO_RCVTIMEO
                libc.setsockopt(sock.fileno(), level, name, ctypes.byref(ctypes.c_int(1)), 4)
    if sock.getsockname()[1]:
        print("bound by an option")
    os.write(sock.fileno(), b"x")


def mapped(sock, address):
    return address if sock.family == V4 else ("::ffff:" + address[0], address[1])


def disconnect(sock):
    libc.connect(sock.fileno(), b"\0" * 16, 16)


def reconnect(sock):
    sock.connect(mapped(sock, endpoint))
    disconnect(sock)
    os.write(sock.fileno(), b"x")


def ask(sock, connect):
    """A send that fails must not be in the way of one that does not."""
    try:
        sock.send(b"x")
    except OSError:
        pass
    if connect:
        sock.connect(mapped(sock, endpoint))
        sock.send(b"hello")
    else:
        sock.sendto(b"hello", mapped(sock, endpoint))
    sock.settimeout(10)
    try:
        sock.recv(100)
    except TimeoutError:
        print("no answer")


def shut(sock):
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    sock.sendmsg([b"x"], [], socket.MSG_OOB)


ways = {
    "send": lambda s: s.send(b"x"), "write": lambda s: os.write(s.fileno(), b"x"),
    "writev": lambda s: os.writev(s.fileno(), [b"x", b"y"]), "sendmsg": lambda s: s.sendmsg([b"x"]),
    "sendmmsg": sendmmsg,
    "splice": splice, "sendfile": sendfile, "a duplicate": lambda s: os.write(os.dup(s.fileno()), b"x"),
    "any port": lambda s: s.bind(("", 0)), "every option": options, "disconnected": reconnect, "shutdown": shut,
    "asked": lambda s: ask(s, False), "connected": lambda s: ask(s, True),
    "connected to nobody": lambda s: s.connect(mapped(s, (endpoint[0], endpoint[1] ^ 1))),
}


def make():
    sockets = {}
    for family in V4, V6:
        for what, way in ways.items():
            sock = socket.socket(family, socket.SOCK_DGRAM)
            try:
                way(sock)
            except OSError:
                pass
            if not sock.getsockname()[1]:
                print("not bound:", what)  # then this is no test of anything
            sockets[sock] = f"{what}, {family.name}"
    return sockets


def inside(granted):
    sockets = make()
    server = socket.socket(V4, socket.SOCK_DGRAM)
    server.bind(("", granted))
    sockets[server] = "granted"
    with open("ports.new", "w") as file:
        print(*[sock.getsockname()[1] for sock in sockets], file=file)
    os.rename("ports.new", "ports")
    while not os.path.exists("sent"):
        time.sleep(0.02)
    got = set()
    for sock in sockets:
        sock.setblocking(False)
    while ready := select.select(list(sockets), [], [], 0.2)[0]:
        for sock in ready:
            try:
                if sock.recv(100) == TEXT:
                    got.add(sockets[sock])
            except OSError:
                pass  # what came back of its own
    for what in sorted(got):
        print("got", what)
    print("done")


def places(port):
    """Where a port is bound, as anybody may read."""
    found = {(V4, "127.0.0.1"), (V6, "::1")}
    for family, name in (V4, "udp"), (V6, "udp6"):
        with open("/proc/net/" + name) as file:
            for line in file.readlines()[1:]:
                where, number = line.split()[1].split(":")
                raw = b"".join(bytes.fromhex(where[i:i + 8])[::-1] for i in range(0, len(where), 8))
                if int(number, 16) == port:
                    found.add((family, socket.inet_ntop(family, raw)))
    return found


def outside(home, granted):
    if os.geteuid() == 0:
        os.seteuid(65534)
    senders = {V4: socket.socket(V4, socket.SOCK_DGRAM), V6: socket.socket(V6, socket.SOCK_DGRAM)}
    if os.getuid() == 0:
        os.seteuid(0)
    with open(home + "/ports") as file:
        ports = [int(port) for port in file.read().split()]
    for port in ports:
        for family, address in places(port):
            sender = senders[family]
            if address.startswith("127."):  # from an address of the run's itself: nothing keeps anybody from it
                sender = socket.socket(V4, socket.SOCK_DGRAM)
                sender.bind((address, 0))
            try:
                for one in {sender, senders[family]}:
                    one.sendto(TEXT, (address, port))
            except OSError:
                pass  # no socket is there
    with open(home + "/sent", "w"):
        pass


if sys.argv[1] == "inside":
    try:
        socket.socket(V4, socket.SOCK_DGRAM).close()
    except PermissionError:
        print("no UDP")
        sys.exit()
    endpoint = (socket.gethostbyname("echo.test"), int(sys.argv[2]))
    inside(int(sys.argv[3]))
else:
    while not os.path.exists(sys.argv[2] + "/ports"):
        time.sleep(0.02)
    outside(sys.argv[2], int(sys.argv[3]))
