"""SO_PEERCRED names the processes that called connect and listen, whatever performed the calls."""
import os
import socket
import struct
import sys

LAYOUT = "iII"
WHO = {}


def peer(sock, length=struct.calcsize(LAYOUT)):
    told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, length)
    if len(told) < 12:
        return len(told)
    pid, uid, gid = struct.unpack(LAYOUT, told)
    return WHO.get(pid, pid), uid == os.getuid(), gid == os.getgid()


def child(function, *arguments):
    """Runs it in a child; the parent goes on when the child has written a byte, and ends it by another byte."""
    there, end = os.pipe(), os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(end[1])
        kept = function(*arguments)
        os.write(there[1], b"x")
        os.read(end[0], 1)
        sys.stdout.flush()
        os._exit(0 if kept else 1)
    os.read(there[0], 1)
    return pid, end[1]


def connect(kind, name):
    client = socket.socket(socket.AF_UNIX, kind)
    client.connect(name)
    print("the listener, to its client:", peer(client), flush=True)
    return client


def serve(kind, name):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(name)
    print("not connected:", peer(server))
    server.listen()
    print("itself:", peer(server))
    clients = [child(connect, kind, name) for _ in range(3)]
    for number, (pid, _) in enumerate(clients):
        WHO[pid] = "child %d" % number
    accepted = [server.accept()[0] for _ in clients]
    print("clients:", [peer(sock) for sock in accepted])
    print("the last again:", peer(accepted[-1]), "lengths:", [peer(accepted[-1], n) for n in (1, 8, 64)])
    # What was passed tells the same.
    left, right = socket.socketpair()
    socket.send_fds(left, [b"x"], [accepted[1].fileno()])
    passed = socket.socket(fileno=socket.recv_fds(right, 1, 1)[1][0])
    print("passed:", peer(passed), "pair:", peer(left))
    for pid, end in clients:
        os.write(end, b"x")
        os.waitpid(pid, 0)
    own = connect(kind, name)
    print("own client:", peer(own), peer(server.accept()[0]))
    # Another process makes the same socket listen: the next clients are told of it.
    pid, end = child(lambda: server.listen() or True)
    WHO[pid] = "second listener"
    other = connect(kind, name)
    print("earlier client:", peer(own))
    os.write(end, b"x")
    os.waitpid(pid, 0)
    print("its listener is gone:", peer(other))
    # A connect that waits for room.
    server.listen(0)
    while True:
        try:
            server.setblocking(False)
            server.accept()
        except BlockingIOError:
            break
    server.setblocking(True)
    waiting = [socket.socket(socket.AF_UNIX, kind)]
    waiting[0].connect(name)
    pid = os.fork()
    if pid == 0:
        late = socket.socket(socket.AF_UNIX, kind)
        late.connect(name)
        os.read(late.fileno(), 1)
        os._exit(0)
    WHO[pid] = "the one that waited"
    first, second = server.accept()[0], server.accept()[0]
    print("first:", peer(first), "second:", peer(second))
    second.send(b"x")
    os.waitpid(pid, 0)


WHO[os.getpid()] = "parent"
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for name in ("path", os.path.abspath("absolute"), "\0callgate-test-%d" % os.getpid()):
        print(kind.name, flush=True)
        serve(kind, name)
        if not name.startswith("\0"):
            os.unlink(name)
