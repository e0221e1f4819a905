"""Unix datagrams: results, errnos, names and passed descriptors as natively."""
import errno
import os
import socket
import sys
import threading
import time

UNIX, DGRAM = socket.AF_UNIX, socket.SOCK_DGRAM
PREFIX = "\0callgate-dgram-%07d-" % os.getpid()


def attempt(what, function, *arguments):
    try:
        print(what, "ok", function(*arguments))
    except OSError as error:
        print(what, errno.errorcode.get(error.errno, error))


def new(name=None, kind=DGRAM):
    sock = socket.socket(UNIX, kind)
    sock.settimeout(5)
    if name is not None:
        sock.bind(name)
        if kind != DGRAM:
            sock.listen()
    return sock


def exchange(name):
    server, client = new(name), new()
    attempt("sendto", client.sendto, b"by sendto", name)
    print(server.recv(99))
    attempt("sendmsg", client.sendmsg, [b"by ", b"sendmsg"], [], 0, name)
    print(server.recv(99))
    attempt("flags", client.sendto, b"nowait", socket.MSG_DONTWAIT, name)
    print(server.recv(99))
    attempt("empty", client.sendto, b"", name)
    print(server.recv(99))
    attempt("connect", client.connect, name)
    attempt("peer", lambda: client.getpeername() in (name, name.encode()))
    attempt("send", client.send, b"by send")
    attempt("write", os.write, client.fileno(), b"by write")
    attempt("sendmsg", client.sendmsg, [b"connected"])
    print([server.recv(99) for _ in range(3)])
    read, write = os.pipe()
    attempt("descriptors", socket.send_fds, client, [b"fd"], [write])
    data, fds, _, _ = socket.recv_fds(server, 99, 4)
    os.write(fds[0], b"through it")
    print(data, len(fds), os.read(read, 99))
    attempt("too long", client.send, b"x" * 3000000)
    server.close()
    attempt("when it is closed", client.send, b"x")
    attempt("by name", client.sendto, b"x", name)


def answers():
    """The address of a sender is one that can be answered."""
    server, client = new("server"), new("client")
    client.sendto(b"question", "server")
    data, address = server.recvfrom(99)
    print(data, address)
    attempt("answer", server.sendto, b"answer", address)
    print(client.recvfrom(99))
    deep = new("dir/client")
    deep.sendto(b"question", "server")
    data, address = server.recvfrom(99)
    attempt("answer", server.sendto, b"answer", address)
    print(deep.recv(99))
    # Connected to one, it takes from no other.
    server.connect("client")
    attempt("send to one that is connected", deep.sendto, b"x", "server")
    attempt("but from its peer", client.sendto, b"peer", "server")
    print(server.recv(99))


def errors():
    stream = new("stream", socket.SOCK_STREAM)
    client = new()
    with open("file", "w"):
        pass
    os.symlink("loop", "loop")
    for name in ("stream", "file", "missing", "dir/missing/x", "file/x", "dir", "loop", "",
                 "\0missing-%d" % os.getpid(), "x" * 107, "/dev/null"):
        attempt("sendto %s" % name[:9].replace("\0", "@"), client.sendto, b"x", name)
        attempt("connect", client.connect, name)
    attempt("send without a peer", client.send, b"x")
    attempt("listen", client.listen)
    # With a timeout, Python waits for what never comes and does not make the call.
    client.setblocking(False)
    stream.setblocking(False)
    attempt("accept", client.accept)
    attempt("stream", stream.sendto, b"x", "server")
    attempt("a named send on a pair", socket.socketpair(UNIX, socket.SOCK_SEQPACKET)[0].sendto, b"x", "missing")
    attempt("raw", lambda: socket.socket(UNIX, socket.SOCK_DGRAM, 1).close())


def pairs():
    left, right = socket.socketpair(UNIX, DGRAM)
    left.send(b"one")
    left.sendmsg([b"two"])
    print(right.recv(99), right.recv(99), left.getsockname(), left.getpeername())
    named = new("named")
    attempt("from a pair to a name", left.sendto, b"three", "named")
    print(named.recv(99))
    right.close()
    attempt("closed", left.send, b"x")


def full():
    server, client = new("full"), new()
    client.setblocking(False)
    count = 0
    try:
        while count < 10000:
            client.sendto(b"x", "full")
            count += 1
    except BlockingIOError:
        print("full after", count > 2)
    def later():
        time.sleep(0.3)
        for _ in range(count):
            server.recv(9)
    thread = threading.Thread(target=later)
    thread.start()
    client.setblocking(True)
    attempt("waits", client.sendto, b"waited", "full")
    thread.join()
    print(server.recv(99))


os.mkdir("dir")
for name in ("relative", os.path.abspath("dir/absolute"), PREFIX + "abstract"):
    print(name[1:2], flush=True)
    exchange(name)
for case in (answers, errors, pairs, full):
    print(case.__name__, flush=True)
    case()
