"""Pseudoterminals as a way out. argv: the name of the caller's terminal on the host, that of another process's slave
there, a pid outside. Prints GOT for what must not work, and "tried" at the end."""
import ctypes
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import threading
import time

outer, foreign, outsider = sys.argv[1], sys.argv[2], int(sys.argv[3])
MARK = b"typed-by-the-program\n"
TIOCGPTPEER, TIOCSIG, TIOCGPTN, TIOCSPTLCK = 0x5441, 0x40045436, 0x80045430, 0x40045431


def reached(name, function, *args):
    try:
        result = function(*args)
    except (OSError, termios.error):
        return None
    print("GOT", name, result, flush=True)
    return result


def names():
    """Slaves of the host, by name, by guesses, through every link that leads there."""
    told = {}
    for number in range(0, 300):
        path = "/dev/pts/%d" % number
        for flags in (os.O_RDWR, os.O_RDONLY | os.O_NONBLOCK, os.O_PATH, os.O_WRONLY | os.O_CREAT):
            reached("open " + path, os.open, path, flags | os.O_NOCTTY)
        reached("stat " + path, os.stat, path)
        reached("chmod " + path, os.chmod, path, 0o666)
        seen = []
        for function, args in ((os.mkdir, (path,)), (os.rename, (path, "x")), (os.unlink, (path,)),
                               (os.access, (path, os.W_OK)), (os.symlink, ("x", path))):
            try:
                seen.append(function(*args))
            except OSError as error:
                seen.append(error.errno)
        told.setdefault(tuple(seen), []).append(number)
    if len(told) > 1:
        print("GOT what tells numbers apart", {key: numbers[:3] for key, numbers in told.items()})
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.inotify_add_watch(libc.inotify_init(), b"/dev/pts", 0xfff) >= 0:
        print("GOT a watch of /dev/pts")
    if set(os.listdir("/dev/pts")) - {"ptmx"}:
        print("GOT a listing", os.listdir("/dev/pts"))
    for path in (outer, foreign, "/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs",
                 "/dev/pts/../pts/" + os.path.basename(outer), "/proc/self/root" + outer, "/proc/1/root" + outer,
                 "/proc/%d/fd/0" % os.getppid(), "/proc/1/fd/0", "/proc/self/root/dev/ptmx/../pts/0"):
        fd = reached("open " + path, os.open, path, os.O_RDWR | os.O_NOCTTY)
        if fd is not None:
            os.write(fd, MARK)


def of_masters():
    """From a pair of our own to another one."""
    fd, slave = pty.openpty()
    number = struct.unpack("i", fcntl.ioctl(fd, TIOCGPTN, b"\0" * 4))[0]
    again = os.open("/proc/self/fd/%d" % fd, os.O_RDWR | os.O_NOCTTY)
    if struct.unpack("i", fcntl.ioctl(again, TIOCGPTN, b"\0" * 4))[0] == number:
        print("GOT the same master again")
    here = os.open("/dev/pts", os.O_RDONLY | os.O_DIRECTORY)
    numbers = [struct.unpack("i", fcntl.ioctl(one, TIOCGPTN, b"\0" * 4))[0] for one in (fd, again)]
    for path in ("../../.." + outer, foreign, os.path.basename(foreign)):
        if int(os.path.basename(path)) not in numbers:  # inside they may be ours
            reached("below /dev/pts: " + path, lambda: os.open(path, os.O_RDWR | os.O_NOCTTY, dir_fd=here))
    for text in (b"\n", b"x"):
        for end in (fd, slave, again):
            reached("TIOCSTI", fcntl.ioctl, end, termios.TIOCSTI, text)
    for request in (0x541c, termios.TIOCCONS, termios.TIOCSETD, 0x5437):
        for end in (fd, slave):
            reached("ioctl %x" % request, fcntl.ioctl, end, request, b"\x02" + b"\0" * 7)
    for end in (fd, slave):
        reached("group of the outsider", fcntl.ioctl, end, termios.TIOCSPGRP, struct.pack("i", outsider))
        reached("session by force", fcntl.ioctl, 0, termios.TIOCSCTTY, 1)
    for end in (0, 1, 2):
        reached("peer of %d" % end, fcntl.ioctl, end, TIOCGPTPEER, os.O_RDWR)
        reached("TIOCSIG to %d" % end, fcntl.ioctl, end, TIOCSIG, signal.SIGINT)
        reached("TIOCNOTTY of %d" % end, fcntl.ioctl, end, termios.TIOCNOTTY)
    for one in (fd, slave, again, here):
        os.close(one)


def number_used_again():
    """A number is given up and taken by processes outside, while threads here open its name."""
    stop, wrong = threading.Event(), []

    def opener():
        while not stop.is_set():
            for number in range(0, 12):
                try:
                    fd = os.open("/dev/pts/%d" % number, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                except OSError:
                    continue
                try:
                    os.write(fd, MARK)
                except OSError:
                    pass
                os.close(fd)
    threads = [threading.Thread(target=opener) for _ in range(3)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + float(os.environ.get("PTY_SECONDS", "3"))
    while time.monotonic() < until:
        fd = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(fd, TIOCSPTLCK, struct.pack("i", 0))
        os.close(fd)
    stop.set()
    for thread in threads:
        thread.join()
    if wrong:
        print("GOT", wrong)


def quota():
    """More pairs than a run may have, and slaves whose masters are closed."""
    masters = []
    try:
        while len(masters) < 1000:
            masters.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        print("GOT %d pairs" % len(masters))
    except OSError as error:
        print("refused after %d: %s" % (len(masters), error.strerror), flush=True)
    for fd in masters:
        os.close(fd)
    slaves = []
    try:
        while len(slaves) < 3000:
            fd = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(fd, TIOCSPTLCK, struct.pack("i", 0))
            slaves.append(fcntl.ioctl(fd, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY))
            os.close(fd)
    except OSError as error:
        print("refused after %d slaves: %s" % (len(slaves), error.strerror), flush=True)
    if len(slaves) > 128:
        print("GOT %d slaves" % len(slaves))
    for fd in slaves:
        os.close(fd)
    os.close(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))


def signals():
    """What a terminal sends goes to its session alone."""
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        reached("outsider in front", os.tcsetpgrp, 0, outsider)
        reached("callgate in front", os.tcsetpgrp, 0, os.getppid())
        time.sleep(0.3)
        os._exit(0)
    for key in (b"\x03", b"\x1c", b"\x1a"):
        os.write(fd, key)
    fcntl.ioctl(fd, TIOCSIG, signal.SIGINT)
    os.close(fd)
    os.waitpid(pid, 0)


names()
of_masters()
quota()
signals()
number_used_again()
print("tried")
