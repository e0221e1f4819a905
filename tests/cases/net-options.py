"""Socket options: net-options.py [shared]. What is printed must be the same natively and inside.

shared: only what is offered as well without a network namespace, and that what would share ports, devices or groups
with other processes of the machine is refused.
"""
import select
import socket
import struct
import sys

SO_BINDTODEVICE, IP_RECVERR, SO_PEERGROUPS = 25, 11, 59
shared = sys.argv[1:] == ["shared"]


def attempt(function, *arguments):
    try:
        result = function(*arguments)
    except OSError as error:
        return error.strerror
    return "done" if result is None else result


def new(kind=socket.SOCK_DGRAM, family=socket.AF_INET):
    made = socket.socket(family, kind)
    made.settimeout(5)
    return made


def port_of_two():
    first, second = new(socket.SOCK_STREAM), new(socket.SOCK_STREAM)
    for each in first, second:
        print("reuse a port:", attempt(each.setsockopt, socket.SOL_SOCKET, socket.SO_REUSEPORT, 1))
    first.bind(("127.0.0.1", 0))
    print("bind:", attempt(second.bind, first.getsockname()))


def devices():
    for name in b"lo\0", b"none0\0":
        print("device:", attempt(new().setsockopt, socket.SOL_SOCKET, SO_BINDTODEVICE, name))


def groups():
    member, sender = new(), new()
    group = socket.inet_aton("239.1.2.3") + socket.inet_aton("127.0.0.1")
    print("join:", attempt(member.setsockopt, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group))
    member.bind(("", 0))
    to = ("239.1.2.3", member.getsockname()[1])
    for name, value in ((socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1")), (socket.IP_MULTICAST_TTL, 3),
                        (socket.IP_MULTICAST_LOOP, 1)):
        print("option:", attempt(sender.setsockopt, socket.IPPROTO_IP, name, value))
    print("send:", attempt(sender.sendto, b"hello", to))
    if not shared:
        print("received:", attempt(lambda: member.recvfrom(9)[0]))
        print("leave:", attempt(member.setsockopt, socket.IPPROTO_IP, socket.IP_DROP_MEMBERSHIP, group))


def errors():
    sender = new()
    closed = new()
    closed.bind(("127.0.0.1", 0))
    print("errors:", attempt(sender.setsockopt, socket.IPPROTO_IP, IP_RECVERR, 1))
    sender.connect(closed.getsockname())
    closed.close()
    print("send:", attempt(sender.send, b"x"))
    waiting = select.poll()
    waiting.register(sender, select.POLLERR)
    waiting.poll(2000)
    print("queue:", attempt(lambda: [item[:2] for item in sender.recvmsg(99, 512, socket.MSG_ERRQUEUE)[1]]))


def times():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    print("time:", attempt(other.setsockopt, socket.SOL_SOCKET, 29, 1))
    one.send(b"x")
    print("received:", [item[:2] for item in other.recvmsg(9, 99)[1]])
    print("groups:", len(one.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, 1024)) % 4)


def questions():
    for level, name in ((socket.SOL_SOCKET, 12), (socket.SOL_SOCKET, 36), (socket.SOL_SOCKET, 25),
                        (socket.IPPROTO_TCP, 16), (socket.IPPROTO_TCP, 23), (socket.IPPROTO_TCP, 36),
                        (socket.IPPROTO_IP, 33), (socket.IPPROTO_IP, 34), (socket.IPPROTO_IP, 24)):
        print(level, name, attempt(new(socket.SOCK_STREAM).getsockopt, level, name))
    for level, name, value in ((socket.SOL_SOCKET, 12, 6), (socket.IPPROTO_IP, 24, 1),
                               (socket.IPPROTO_IP, socket.IP_TRANSPARENT if hasattr(socket, "IP_TRANSPARENT") else 19,
                                struct.pack("b", 0))):
        if level == socket.SOL_SOCKET:
            print("set", name, attempt(new(socket.SOCK_STREAM).setsockopt, level, name, value))
        elif shared:
            print("set", name, attempt(new(socket.SOCK_STREAM).setsockopt, level, name, value))


port_of_two()
devices()
groups()
if not shared:
    errors()
times()
questions()
