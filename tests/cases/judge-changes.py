"""Reads and changes in turn, so that each change is judged after native reads that callgate has not seen. Prints one
line for each attempt, which must be the same in every --judge. Arguments: a directory that may be read, one that may be
written (the cwd), and a file in it with a denied name."""
import errno
import fcntl
import os
import pty
import select
import signal
import sys
import threading
import time

tree, denied = sys.argv[1], sys.argv[2]


def attempt(name, function, *args, **more):
    try:
        got = function(*args, **more)
        print(name, "ok" if got is None else got)
    except OSError as error:
        print(name, errno.errorcode[error.errno])


def reopen(fd, flags):
    os.close(os.open("/proc/self/fd/%d" % fd, flags))


def descriptors():
    """A descriptor that was opened natively gives no more rights than its name."""
    fd = os.open(tree + "/file", os.O_RDONLY)
    for name, flags in (("r", os.O_RDONLY), ("rw", os.O_RDWR), ("trunc", os.O_RDONLY | os.O_TRUNC)):
        attempt("reopen read-only " + name, reopen, fd, flags)
    attempt("fchmod read-only", os.fchmod, fd, 0o644)
    attempt("utime read-only", os.utime, fd)
    attempt("setxattr read-only", os.setxattr, fd, "user.a", b"1")
    attempt("write", os.write, fd, b"x")
    fd = os.open("mine", os.O_RDONLY)
    attempt("fchmod writable", os.fchmod, fd, 0o640)
    attempt("reopen writable rw", reopen, fd, os.O_RDWR)
    attempt("mode", lambda: oct(os.fstat(fd).st_mode))


def directories():
    """Judged calls derive the path of a directory that was opened natively."""
    fd = os.open(tree + "/sub", os.O_RDONLY | os.O_DIRECTORY)
    attempt("create in read-only", os.open, "new", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
    attempt("unlink in read-only", os.unlink, "inner", dir_fd=fd)
    attempt("mkdir in read-only", os.mkdir, "d", dir_fd=fd)
    os.mkdir("dir")
    for flags in (os.O_RDONLY, os.O_PATH):
        fd = os.open("dir", flags | os.O_DIRECTORY)
        os.rename("dir", "moved")
        attempt("create", lambda: os.close(os.open("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=fd)))
        attempt("created", lambda: os.path.exists("moved/new"))
        attempt("create denied", os.open, os.path.basename(denied), os.O_WRONLY | os.O_CREAT, dir_fd=fd)
        attempt("rename to denied", os.rename, "new", os.path.basename(denied), src_dir_fd=fd, dst_dir_fd=fd)
        attempt("link to denied", os.link, "new", os.path.basename(denied), src_dir_fd=fd, dst_dir_fd=fd)
        attempt("remove", os.unlink, "new", dir_fd=fd)
        os.rename("moved", "dir")
        os.fchdir(fd)
        attempt("cwd", lambda: os.path.basename(os.getcwd()))
        attempt("relative", lambda: open("../mine").read())
        attempt("relative write", lambda: open("../mine2", "w").close())
        os.chdir("..")


def names():
    attempt("denied", open, denied)
    attempt("denied stat", os.access, denied, os.R_OK)
    attempt("denied write", open, denied, "w")
    attempt("not granted", open, "/etc/shadow")
    attempt("not granted write", open, "/etc/shadow", "w")
    for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK):
        print("access", mode, [os.access(path, mode) for path in (tree + "/file", "mine", "/etc/shadow", ".")])
    attempt("exec", os.execv, tree + "/file", ["file"])
    attempt("truncate", os.truncate, tree + "/file", 0)
    attempt("readlink", os.readlink, "/proc/self/cwd")
    attempt("open trunc", os.open, tree + "/file", os.O_RDONLY | os.O_TRUNC)
    attempt("open tmpfile", os.open, tree, os.O_TMPFILE | os.O_RDWR)


class Alarm(Exception):
    pass


def ring(*_):
    raise Alarm


def fifos():
    os.mkfifo("fifo")
    reader = []
    thread = threading.Thread(target=lambda: reader.append(open("fifo").read()))
    thread.start()
    with open("fifo", "w") as fifo: # judged, and waits for the native reader, or the reverse
        fifo.write("through")
    thread.join()
    print("fifo", reader)
    attempt("fifo without a writer", lambda: os.close(os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)))
    attempt("fifo without a reader", os.open, "fifo", os.O_WRONLY | os.O_NONBLOCK)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        print("opened", os.open("fifo", os.O_RDONLY)) # no process writes
    except Alarm:
        print("interrupted")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def terminals():
    master = os.open("/dev/ptmx", os.O_RDONLY | os.O_NOCTTY) # native: callgate does not know of the pair
    fcntl.ioctl(master, 0x40045431, b"\0" * 4) # TIOCSPTLCK
    slave = os.open(os.ptsname(master) if hasattr(os, "ptsname") else ptsname(master), os.O_RDWR | os.O_NOCTTY)
    os.write(slave, b"typed\n")
    print("terminal", os.read(master, 100), os.isatty(slave))
    master, slave = pty.openpty() # judged
    name = os.ttyname(slave)
    again = os.open(name, os.O_RDONLY | os.O_NOCTTY)
    os.write(master, b"read\n")
    print("terminal", select.select([again], [], [], 5)[0] == [again] and os.read(again, 100))
    attempt("no controlling terminal", os.open, "/dev/tty", os.O_RDONLY)
    if os.fork() == 0:
        os.setsid()
        os.open(name, os.O_RDONLY) # becomes the controlling one, natively
        for flags in (os.O_RDONLY, os.O_RDWR):
            attempt("controlling terminal", lambda: os.close(os.open("/dev/tty", flags)))
        sys.stdout.flush()
        os._exit(0)
    os.wait()


def ptsname(master):
    number = bytearray(4)
    fcntl.ioctl(master, 0x80045430, number) # TIOCGPTN
    return "/dev/pts/%d" % int.from_bytes(number, sys.byteorder)


def children():
    """The first thing on record of a child is its first change."""
    sys.stdout.flush()
    if os.fork() == 0:
        os.stat(tree)
        open("by-child", "w").close()
        os._exit(0)
    os.wait()
    print("child", os.path.exists("by-child"))


for part in (descriptors, directories, names, fifos, terminals, children):
    part()
    sys.stdout.flush()
