"""Signals when a descriptor is ready, and their owner: run natively and inside, the output is the same."""
import errno
import fcntl
import os
import signal
import socket
import struct
import termios
import threading

F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX = 10, 11, 15, 16
TID, PID, PGRP = 0, 1, 2
FIOSETOWN, SIOCSPGRP, FIOGETOWN, SIOCGPGRP, FIOASYNC = 0x8901, 0x8902, 0x8903, 0x8904, 0x5452


def attempt(name, function, *args):
    try:
        result = function(*args)
    except OSError as error:
        result = errno.errorcode.get(error.errno, error.errno)
    if isinstance(result, bytes):
        result = "done"
    print("%-44s %s" % (name, result))


def who(pid):
    known = {os.getpid(): "self", os.getpgrp(): "group", -os.getpgrp(): "-group", os.getppid(): "parent"}
    return known.get(pid, pid)


def wait_for(number, seconds=5):
    info = signal.sigtimedwait([number], seconds)
    return info and (info.si_signo, info.si_code, info.si_band)


def awaited(text, fd, far, number=signal.SIGIO):
    os.write(far, b"x")
    print("%-44s %s" % (text, wait_for(number)))
    os.read(fd, 10)


try:
    os.setpgid(0, 0)
except PermissionError:
    pass  # it leads a session, and its group with it
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO, signal.SIGUSR1, signal.SIGURG, signal.SIGRTMIN])
near, far = socket.socketpair()
reader, writer = os.pipe()
for name, fd, other in (("socket", near.fileno(), far.fileno()), ("pipe", reader, writer)):
    attempt(name + ": no owner at first", fcntl.fcntl, fd, fcntl.F_GETOWN)
    attempt(name + ": F_SETOWN", fcntl.fcntl, fd, fcntl.F_SETOWN, os.getpid())
    print(name, who(fcntl.fcntl(fd, fcntl.F_GETOWN)))
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    print(name, "flags", oct(fcntl.fcntl(fd, fcntl.F_GETFL)))
    awaited(name + ": SIGIO", fd, other)
    attempt(name + ": F_SETSIG", fcntl.fcntl, fd, F_SETSIG, signal.SIGRTMIN)
    attempt(name + ": F_GETSIG", fcntl.fcntl, fd, F_GETSIG)
    awaited(name + ": a real-time signal", fd, other, signal.SIGRTMIN)
    attempt(name + ": F_SETSIG of none such", fcntl.fcntl, fd, F_SETSIG, 99)
    fcntl.fcntl(fd, F_SETSIG, 0)
    attempt(name + ": FIOASYNC off", fcntl.ioctl, fd, FIOASYNC, struct.pack("i", 0))
    os.write(other, b"x")
    print(name, "off", wait_for(signal.SIGIO, 0.1))
    os.read(fd, 10)
    attempt(name + ": FIOASYNC on", fcntl.ioctl, fd, FIOASYNC, struct.pack("i", 1))
    awaited(name + ": SIGIO again", fd, other)
    attempt(name + ": owner a group", fcntl.fcntl, fd, fcntl.F_SETOWN, -os.getpgrp())
    awaited(name + ": SIGIO of the group", fd, other)
    for kind, pid, text in ((TID, threading.get_native_id(), "thread"), (PID, os.getpid(), "process"),
                            (PGRP, os.getpgrp(), "group"), (PID, 0, "none")):
        attempt(name + ": F_SETOWN_EX " + text, fcntl.fcntl, fd, F_SETOWN_EX, struct.pack("ii", kind, pid))
        result = struct.unpack("ii", fcntl.fcntl(fd, F_GETOWN_EX, b"\0" * 8))
        print(name, text, result[0], who(result[1]))
        if pid:
            awaited(name + ": SIGIO of a " + text, fd, other)
    attempt(name + ": F_SETOWN_EX of no kind", fcntl.fcntl, fd, F_SETOWN_EX, struct.pack("ii", 7, os.getpid()))
    attempt(name + ": nobody", fcntl.fcntl, fd, fcntl.F_SETOWN, 4000000)
    attempt(name + ": INT_MIN", fcntl.fcntl, fd, fcntl.F_SETOWN, -(1 << 31))
    attempt(name + ": no owner", fcntl.fcntl, fd, fcntl.F_SETOWN, 0)
    for request, text in ((FIOSETOWN, "FIOSETOWN"), (SIOCSPGRP, "SIOCSPGRP")):
        attempt(name + ": " + text, fcntl.ioctl, fd, request, struct.pack("i", os.getpid()))
        attempt(name + ": -" + text, fcntl.ioctl, fd, request, struct.pack("i", -os.getpgrp()))
    for request, text in ((FIOGETOWN, "FIOGETOWN"), (SIOCGPGRP, "SIOCGPGRP")):
        attempt(name + ": " + text, lambda: who(struct.unpack("i", fcntl.ioctl(fd, request, b"\0" * 4))[0]))

# another process of the run as the owner
pipe = os.pipe()
child = os.fork()
if child == 0:
    os.write(pipe[1], b"%r" % (wait_for(signal.SIGIO),))
    os._exit(0)
attempt("owner a child", fcntl.fcntl, reader, fcntl.F_SETOWN, child)
fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
os.write(writer, b"x")
print("the child got", os.read(pipe[0], 100))
os.waitpid(child, 0)
attempt("owner a child that is gone", fcntl.fcntl, reader, fcntl.F_SETOWN, child)
attempt("by F_SETOWN_EX", fcntl.fcntl, reader, F_SETOWN_EX, struct.pack("ii", PID, child))

# questions
with open("file", "w+b") as file:
    for name, request in (("FIONREAD", termios.FIONREAD), ("FIONBIO", termios.FIONBIO), ("FIOASYNC", FIOASYNC),
                          ("FIOCLEX", termios.FIOCLEX), ("FIONCLEX", termios.FIONCLEX), ("BLKGETSIZE", 0x1260),
                          ("BLKGETSIZE64", 0x80081272), ("BLKSSZGET", 0x1268), ("BLKROGET", 0x125e),
                          ("RNDGETENTCNT", 0x80045200), ("TCGETS", termios.TCGETS),
                          ("TIOCGWINSZ", termios.TIOCGWINSZ), ("TIOCGPGRP", termios.TIOCGPGRP),
                          ("TIOCGPTN", 0x80045430), ("FIOSETOWN", FIOSETOWN), ("none such", 0x1234)):
        for text, fd in (("file", file.fileno()), ("directory", os.open(".", os.O_RDONLY)), ("pipe", writer),
                         ("socket", far.fileno()), ("/dev/null", os.open("/dev/null", os.O_RDWR)),
                         ("O_PATH", os.open(".", os.O_PATH)), ("nothing", 999)):
            attempt("%s of %s" % (name, text),
                    lambda: struct.unpack("i", fcntl.ioctl(fd, request, struct.pack("i60x", 0))[:4])[0])
    for name, request in (("FS_IOC_GETFLAGS", 0x80086601), ("FS_IOC_GETVERSION", 0x80087601)):
        for text, fd in (("file", file.fileno()), ("pipe", writer)):
            attempt("%s of %s" % (name, text), lambda: fcntl.ioctl(fd, request, b"\0" * 8) and "answered")
    with open("other", "w+b") as other:
        other.write(b"x" * 10000)
        other.flush()
        attempt("FICLONE", fcntl.ioctl, file.fileno(), 0x40049409, other.fileno())
        attempt("FICLONE to a pipe", fcntl.ioctl, writer, 0x40049409, other.fileno())
attempt("F_SETOWN of nothing", fcntl.fcntl, 999, fcntl.F_SETOWN, os.getpid())
attempt("F_SETOWN_EX of nothing", fcntl.fcntl, 999, F_SETOWN_EX, struct.pack("ii", PID, os.getpid()))
attempt("no such command", fcntl.fcntl, reader, 5000)
attempt("a lease of nothing", fcntl.fcntl, 999, 1024, 0)
