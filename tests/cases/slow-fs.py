"""slow-fs.py DIR SECONDS: mounts a FUSE file system at DIR.

It has one file, "file", of 100,000 bytes. Each read of it takes SECONDS.
"""
import ctypes
import errno
import os
import stat
import struct
import sys
import threading
import time

where, delay = sys.argv[1].encode(), float(sys.argv[2])
CONTENT = bytes(i * 7 % 251 for i in range(100000))
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 27, 28, 29, 34, 36, 42

libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = b"fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other" % (device, os.getuid(), os.getgid())
if libc.mount(b"slow", where, b"fuse", 0, options) < 0:
    sys.exit("mount: " + os.strerror(ctypes.get_errno()))


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o644
    return struct.pack("<6Q10I", node, 0 if node == 1 else len(CONTENT), 200, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096,
                       0)


def reply(unique, body, error=0):
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
    except OSError:
        pass  # no call waits any more


def read(unique, offset, size):
    time.sleep(delay)
    reply(unique, CONTENT[offset:offset + size])


def answer(opcode, unique, node, body):
    if opcode == INIT:
        reply(unique, struct.pack("<4I2H2I2HI", 7, 31, 1 << 17, 0, 8, 8, 65536, 1, 0, 0, 0).ljust(64, b"\0"))
    elif opcode == LOOKUP and body == b"file\0":
        reply(unique, struct.pack("<4Q2I", 2, 0, 1000, 1000, 0, 0) + attributes(2))
    elif opcode == LOOKUP:
        reply(unique, b"", errno.ENOENT)
    elif opcode == GETATTR:
        reply(unique, struct.pack("<Q2I", 1000, 0, 0) + attributes(node))
    elif opcode in (OPEN, OPENDIR):
        reply(unique, struct.pack("<Q2I", 1, 0, 0))
    elif opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        threading.Thread(target=read, args=(unique, offset, size), daemon=True).start()
    elif opcode == STATFS:
        reply(unique, bytes(80))
    elif opcode in (FLUSH, RELEASE, RELEASEDIR, ACCESS, READDIR):
        reply(unique, b"")
    elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
        reply(unique, b"", errno.ENOSYS)


print("ready", flush=True)
while True:
    try:
        request = os.read(device, 1 << 17)
    except OSError as e:
        if e.errno == errno.ENODEV:  # it was unmounted
            break
        continue
    _, op, number, at, *_ = struct.unpack_from("<IIQQIIIHH", request)
    answer(op, number, at, request[40:])
