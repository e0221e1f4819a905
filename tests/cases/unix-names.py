"""Abstract names of stream and seqpacket sockets: results, errnos and names as natively."""
import errno
import os
import select
import socket
import sys
import time

UNIX = socket.AF_UNIX
PREFIX = b"\0callgate-test-%07d-" % os.getpid()


def show(name):
    """Without what differs between two runs."""
    if isinstance(name, str):
        name = name.encode("utf-8", "surrogateescape")
    if isinstance(name, bytes) and name.startswith(PREFIX):
        return b"*" + name[len(PREFIX):]
    if isinstance(name, bytes) and len(name) == 6 and name[:1] == b"\0":
        return "chosen" if all(byte in b"0123456789abcdef" for byte in name[1:]) else name
    return name


def attempt(what, function, *arguments):
    try:
        result = function(*arguments)
        print(what, "ok", show(result) if isinstance(result, (bytes, str)) else "")
    except OSError as error:
        print(what, errno.errorcode.get(error.errno, error))
        result = None
    return result


def new(kind, nonblocking=False):
    sock = socket.socket(UNIX, kind)
    sock.setblocking(not nonblocking)
    return sock


def names(kind):
    """Every length and byte that can make a difference."""
    for tail in (b"", b"a", b"a\0", b"\0\0", b"a/b", b"/", b"\xc3\xa4", b".", b"..", b"x" * (108 - len(PREFIX))):
        server, client, other = new(kind), new(kind), new(kind)
        name = PREFIX + tail
        attempt("connect before", client.connect, name)
        attempt("bind", server.bind, name)
        attempt("name", server.getsockname)
        attempt("bind again", server.bind, name + b"z" if len(name) < 108 else name)
        attempt("bind another", other.bind, name)
        attempt("connect to none that listens", client.connect, name)
        attempt("listen", server.listen, 4)
        attempt("connect", client.connect, name)
        attempt("peer", client.getpeername)
        attempt("own", client.getsockname)
        if tail != b"a\0":
            attempt("a longer name", new(kind).connect, name + b"\0" if len(name) < 108 else b"\0" + name[2:])
        accepted, address = server.accept()
        print("accepted", show(address), show(accepted.getsockname()), show(accepted.getpeername()))
        client.sendall(b"hello")
        print(accepted.recv(9))
        attempt("connect again", client.connect, name)
        attempt("listen", client.listen)
        server.close()
        attempt("connect after", new(kind).connect, name)
        attempt("bind while a connection lives", other.bind, name)
        attempt("name of the connection", accepted.getsockname)
    attempt("another type", types, kind)


def types(kind):
    """The same name of sockets of different types is two names."""
    other = socket.SOCK_SEQPACKET if kind == socket.SOCK_STREAM else socket.SOCK_STREAM
    first, second = new(kind), new(other)
    name = PREFIX + b"types"
    first.bind(name)
    attempt("connect of another type", new(other).connect, name)
    first.listen()
    attempt("connect of another type", new(other).connect, name)
    attempt("bind of another type", second.bind, name)
    attempt("connect of another type", new(other).connect, name)
    attempt("connect", new(kind).connect, name)


def chosen(kind):
    server, client, taken = new(kind), new(kind), set()
    attempt("choose", server.bind, "")
    attempt("name", server.getsockname)
    attempt("choose again", server.bind, "")
    attempt("bind", server.bind, PREFIX)
    attempt("a path", server.bind, "path")
    server.listen()
    attempt("connect", client.connect, server.getsockname())
    for _ in range(50):
        sock = new(kind)
        sock.bind("")
        taken.add(sock.getsockname())
        if len(taken) % 2:
            sock.close()
    print("different", len(taken))
    attempt("bind a path", new(kind).bind, "path")
    attempt("and another", new(kind).bind, "path")
    os.unlink("path")
    # An accepted socket and its client may have names of their own.
    client, name = new(kind), PREFIX + b"client"
    client.bind(name)
    client.connect(server.getsockname())
    server.accept()
    print("name of a client", show(client.getsockname()))


def full(kind):
    """A full queue makes a connect wait, or fail."""
    server, name = new(kind), PREFIX + b"full"
    server.bind(name)
    server.listen(0)
    first = new(kind, True)
    attempt("first", first.connect, name)
    attempt("second", new(kind, True).connect, name)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        waiting = new(kind)
        waiting.connect(name)
        waiting.sendall(b"waited")
        os._exit(0)
    server.accept()[0].close()
    accepted, _ = server.accept()
    print(accepted.recv(9), os.waitpid(child, 0)[1])
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        server.close()
        new(kind, True).connect(name)
        attempt("when the listener goes", new(kind).connect, name)
        sys.stdout.flush()
        os._exit(0)
    select.select([server], [], [])  # the first one is there
    time.sleep(0.3)
    server.close()
    os.waitpid(child, 0)


def credentials(kind):
    """With SO_PASSCRED the kernel chooses a name for the socket that connects."""
    server, client, name = new(kind), new(kind), PREFIX + b"cred"
    server.bind(name)
    server.listen()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    client.connect(name)
    attempt("own name", client.getsockname)
    accepted, address = server.accept()
    print("from", show(address))


for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    print(kind.name, flush=True)
    for case in (names, chosen, full, credentials):
        case(kind)
        print(flush=True)
