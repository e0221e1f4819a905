"""What python, and libraries below it, learn of the machine's interfaces. Argument: a port that may be listened at."""
import array, fcntl, os, socket, struct, sys

print(socket.if_nameindex())
for family, name in (0, "::1"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    found = socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    print("addrconfig", sorted(a[4][0] for a in found))

# The socket calls of glibc and of iproute2, one by one.
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
s.setsockopt(270, 11, 1)  # SOL_NETLINK, NETLINK_EXT_ACK
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
s.bind((0, 0))
print("named after the process", s.getsockname() == (os.getpid(), 0))
t = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
t.bind((0, 0))
print("the next one not", t.getsockname()[0] not in (0, os.getpid()))
request = struct.pack("=LHHLL", 20, 18, 0x301, 5, 0) + bytes(4)  # RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP
for to in None, (0, 0):
    s.sendto(request, to) if to else s.send(request)
    message = s.recvmsg(65536, 0, socket.MSG_PEEK | socket.MSG_TRUNC)
    head = struct.unpack("=LHHLL", s.recv(65536)[:16])
    print("link", head[1:4], head[4] == os.getpid(), len(message[0]) > 20)
    while head[1] != 3 and len(message[0]) == head[0]:  # NLMSG_DONE comes by itself, or in the same datagram
        head = struct.unpack("=LHHLL", s.recv(65536)[:16])
s.sendmsg([request], [], 0, (0, 0))
print("sendmsg", s.recv(65536)[4:6])

# netdevice(7), on the only kind of socket that every run can have, and on one of TCP.
for s in socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), socket.socket():
    def ask(request, name=b"lo"):
        try:
            return fcntl.ioctl(s, request, name.ljust(40, b"\0"))[16:24]
        except OSError as e:
            return e.strerror
    addresses = [0x8915, 0x8917, 0x8919, 0x891b] if s.family == socket.AF_INET else []
    for request in [0x8913, 0x8921, 0x8927, 0x8933, 0x8942] + addresses:
        print(hex(request), ask(request), ask(request, b"eth0"), ask(request, b"lo:1"))
    settings = array.array("I", [1] + [0] * 20)  # ETHTOOL_GSET
    print("ethtool", ask(0x8946, struct.pack("16sP16x", b"lo", settings.buffer_info()[0])))
    print(fcntl.ioctl(s, 0x8910, struct.pack("16si20x", b"", 1))[:3])
    entries = array.array("B", bytes(400))
    length = struct.unpack("iP", fcntl.ioctl(s, 0x8912, struct.pack("iP", 400, entries.buffer_info()[0])))[0]
    print([(bytes(entries[i:i + 3]), socket.inet_ntoa(bytes(entries[i + 20:i + 24]))) for i in range(0, length, 40)])
    room = struct.pack("iP", 79, entries.buffer_info()[0])
    print("room for one", struct.unpack("iP", fcntl.ioctl(s, 0x8912, room))[0])
    print("how many", struct.unpack("iP", fcntl.ioctl(s, 0x8912, struct.pack("iP", 0, 0)))[0])

try:
    import zmq
except ImportError:
    print("no zmq")
    sys.exit()
context = zmq.Context()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
pull.bind("tcp://127.0.0.1:" + sys.argv[1])
push.connect("tcp://127.0.0.1:" + sys.argv[1])
push.send(b"by zmq")
print(pull.recv())
context.destroy(0)
