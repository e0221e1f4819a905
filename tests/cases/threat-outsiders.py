"""Attacks by another user on the same loopback: threat-outsiders.py inside UDP TCP | outside DIR.

UDP, TCP: ports of echo.test.
inside: opens sockets in every state that another process could interfere with, writes their ports to the file "ports"
and prints what came from outside.
outside: forges source addresses of datagrams, ICMP errors and the program's own source ports, and prints what it
received.
"""
import ctypes
import os
import socket
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None)
V4, V6, SHARE = socket.AF_INET, socket.AF_INET6, (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
IP_RECVERR, IPV6_RECVERR, TEXT, ELSEWHERE = 11, 25, b"outside", "127.0.9.9"
SHARED = 30  # sockets of TCP, each a try


def await_file(name):
    until = time.monotonic() + 30
    while not os.path.exists(name) and time.monotonic() < until:
        time.sleep(0.01)


def tell(name, *what):
    with open(name + ".new", "w") as file:
        print(*what, file=file)
    os.rename(name + ".new", name)


# ---- inside ----

def datagram(family, way, address):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setsockopt(*SHARE)
    sock.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    if family == V6:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
        address = ("::ffff:" + address[0], address[1])
    try:
        if way == "sent":
            sock.send(b"x")
        elif way == "bound":
            sock.bind(("", 0))
        elif way == "asked":
            sock.sendto(b"x", address)
        else:
            sock.connect(address)
            sock.send(b"x")
    except OSError:
        pass
    if way in ("asked", "connected"):
        sock.settimeout(10)
        if sock.recv(100) != b"x":
            print("no answer:", way)
    sock.setsockopt(*SHARE)
    sock.setblocking(False)
    return sock


def led_elsewhere(host, tcp, wait, blocking=True):
    """Announced to egress, and connected to the DNS by another thread meanwhile: the port, which is free again."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    thread = threading.Thread(target=sock.connect_ex, args=((host, tcp),))
    thread.start()
    time.sleep(wait)
    os.set_blocking(sock.fileno(), blocking)  # else the other connect finds this one just ended, and returns 0
    sock.connect_ex(("127.0.0.53", 53))
    thread.join()
    port = sock.getsockname()[1]
    sock.close()
    return port


def connected_again(host, tcp):
    """The port that it had the first time, which is another's to have."""
    sock = socket.socket()
    sock.connect((host, tcp))
    port = sock.getsockname()[1]
    libc.connect(sock.fileno(), b"\0" * 16, 16)  # AF_UNSPEC
    sock.connect((host, tcp))
    sock.sendall(b"x")
    try:
        if sock.recv(1) != b"x":
            print("not connected again")
    except OSError as error:
        print("not connected again:", error)
    return port


def hear(sock, what):
    for kind, flags in ("a datagram", 0), ("an error", socket.MSG_ERRQUEUE):
        while True:
            try:
                data, control, _, _ = sock.recvmsg(1000, 1000, flags)
            except BlockingIOError:
                break
            except OSError as error:
                print("got", error, "at", what)
                continue
            print("got", kind, "at", what, data if data != TEXT else "")


def inside(udp, tcp):
    host = socket.gethostbyname("echo.test")
    sockets = {}
    for family in (V4, V6) if udp else ():
        for way in "sent", "bound", "asked", "connected":
            sockets[datagram(family, way, (host, udp))] = f"{way}, {family.name}"
    shared = [socket.socket() for _ in range(SHARED)]
    for sock in shared:
        sock.setsockopt(*SHARE)
        sock.bind(("", 0))
        sock.setsockopt(*SHARE)
    tell("ports", *[sock.getsockname()[1] for sock in sockets])
    led = [led_elsewhere(host, tcp, i / 10000, i % 2) for i in range(2 * SHARED)]
    led += [connected_again(host, tcp) for _ in range(3)]
    tell("shared", *[sock.getsockname()[1] for sock in shared], *led)
    await_file("sent")
    for sock, what in sockets.items():
        hear(sock, what)
    reached = 0
    for sock in shared:
        time.sleep(0.01)  # others are at it
        sock.settimeout(5)
        try:
            sock.connect((host, tcp))
            sock.sendall(b"x")
            reached += sock.recv(1) == b"x"
        except OSError:
            pass
    print("reached" if reached == SHARED else f"reached {reached}")
    tell("over")


# ---- outside ----

def table(kind):
    """Of IPv4 and the IPv4 addresses of IPv6: (address, port, state)."""
    for name in kind, kind + "6":
        with open("/proc/net/" + name) as file:
            for line in file.readlines()[1:]:
                where, number = line.split()[1].split(":")
                raw = bytes.fromhex(where[-8:])[::-1]
                yield socket.inet_ntoa(raw), int(number, 16), line.split()[3]


def bound(port, address, share):
    sock = socket.socket(V4, socket.SOCK_DGRAM)
    if share:
        sock.setsockopt(*SHARE)
    try:
        sock.bind((address, port))
    except OSError:
        return None
    return sock


def forge(sock, source, to):
    info = struct.pack("i4s4s", 0, socket.inet_aton(source), b"\0" * 4)
    try:
        sock.sendmsg([TEXT], [(socket.IPPROTO_IP, 8, info)], 0, to)  # 8: IP_PKTINFO
    except OSError:
        pass


def places(own, port):
    return [(ELSEWHERE, port), ("0.0.0.0", port), (own, port), ("127.0.0.1", port)]


def forge_all(own, ports):
    """Sends from every port at the run's address to each of its sockets, and from those sockets to an unused port."""
    used = {port for address, port, _ in table("udp") if address == own}
    for port in used:
        for share in False, True:
            for place in places(own, port):
                sock = bound(place[1], place[0], share)
                if not sock:
                    continue
                for to in ports:
                    forge(sock, own, (own, to))
                sock.close()
    for port in ports:
        for place in places(own, port):
            sock = bound(place[1], place[0], True)
            if sock:
                for source in own, "127.0.0.1":
                    forge(sock, source, (ELSEWHERE, 9))
                sock.close()


def attempt(own, port, listener):
    sock = socket.socket()
    sock.setsockopt(*SHARE)
    try:
        sock.bind((own, port))
        sock.connect((own, listener))
        sock.setblocking(False)
        sock.send(TEXT)
    except OSError:
        return None
    return sock


def is_answered(sock):
    """None: nothing has come yet."""
    try:
        return sock.recv(100) == TEXT
    except BlockingIOError:
        return None
    except OSError:
        return False


def pose(own, ports):
    """Connects to egress from the source ports of the program's sockets, all the time."""
    listeners = {port for address, port, state in table("tcp") if address == own and state == "0A"}
    tries, met, until = {}, 0, time.monotonic() + 60
    while not os.path.exists("over") and time.monotonic() < until:
        for pair in [(port, listener) for port in ports for listener in listeners]:
            sock = tries.pop(pair, None) or attempt(own, *pair)
            answered = is_answered(sock) if sock else False
            met += answered is True
            if answered is None:
                tries[pair] = sock
    if met:
        print("posed as the program:", met)


def own_address(port):
    """Of the run: where egress listens, and where the program has the port."""
    listening = {address for address, _, state in table("tcp") if address.startswith("127.") and state == "0A"}
    for address in listening - {"127.0.0.1"}:
        with socket.socket() as sock:
            try:
                sock.bind((address, port))
            except OSError:
                return address
    sys.exit("the run is nowhere")


def with_uid(uid, what, *args):
    was = os.geteuid()
    if was == 0:
        os.seteuid(uid)
    what(*args)
    os.seteuid(was)


def outside(home):
    os.chdir(home)
    await_file("shared")
    with open("ports") as file:
        ports = [int(port) for port in file.read().split()]
    with open("shared") as file:
        shared = [int(port) for port in file.read().split()]
    own = own_address(shared[0])
    with_uid(65534, forge_all, own, ports)
    tell("sent")
    with_uid(65534, pose, own, shared)


if sys.argv[1] == "inside":
    inside(int(sys.argv[2]), int(sys.argv[3]))
else:
    outside(sys.argv[2])
