# A connect waits for a listener whose backlog is full, the kernel repeats its SYN; the listener stops listening
# (shutdown, or connect to AF_UNSPEC), and a service of the host's takes its port at every address. inside HOW PORT;
# host READY PORT.
import ctypes
import os
import socket
import sys
import time


def listening(address, port, backlog):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    sock.listen(backlog)
    return sock


def inside(how, port):
    listener = listening("127.0.0.1", port, 0)
    clients = []
    for _ in range(6):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", port))
        time.sleep(0.02)
        clients.append(client)
    waiting = sum(c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[0] == 2 for c in clients)
    print("waiting", waiting > 0, flush=True)
    if how == "shutdown":
        listener.shutdown(socket.SHUT_RDWR)
    else:
        ctypes.CDLL(None).connect(listener.fileno(), b"\0" * 16, 16)
    open("down", "w").close()
    end, got = time.monotonic() + 6, b""
    while time.monotonic() < end and not got:
        for client in clients:
            try:
                got = got or client.recv(100)
            except OSError:
                pass
        time.sleep(0.05)
    print("got", got)


def host(ready, port):
    while not os.path.exists(ready):
        time.sleep(0.01)
    service = listening("0.0.0.0", port, 5)
    print("listens", flush=True)
    service.settimeout(8)
    try:
        service.accept()[0].sendall(b"the host's")
        print("accepted", flush=True)
        time.sleep(1)
    except TimeoutError:
        pass


{"inside": inside, "host": host}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
