"""What suites of other projects found to differ: run natively and inside, the output is the same."""
import ctypes
import errno
import os
import signal
import socket
import stat
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *args):
    ctypes.set_errno(0)
    args = [ctypes.c_char_p(arg) if isinstance(arg, bytes) else ctypes.c_long(arg) if isinstance(arg, int) else arg
            for arg in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def attempt(name, function, *args, **more):
    try:
        result = function(*args, **more)
    except OSError as error:
        result = errno.errorcode.get(error.errno, error.errno)
    print("%-48s %s" % (name, result), flush=True)


def child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(pid, 0)


def names():
    os.mkdir("d")
    for path in (".", "..", "/", "./", "../", "//", "d/.", "d/..", "a" * 255, "a" * 256, "d/" + "a" * 256,
                 os.getcwd() + "/" + "a" * 256, "/etc/.", "/etc/..", "", "d/../d/."):
        text = path if len(path) < 20 else "%s…%d" % (path[:5], len(os.path.basename(path)))
        if not os.path.isdir("d"):
            os.mkdir("d")
        for function in (os.rmdir, os.unlink):
            attempt("%s %r" % (function.__name__, text), function, path)
        attempt("rename %r" % text, os.rename, path, "new")
        attempt("rename to %r" % text, os.rename, "d", path)
        if os.path.isdir("a" * 255):
            os.rmdir("a" * 255)
        attempt("mkdir %r" % text, os.mkdir, path)
        attempt("symlink %r" % text, os.symlink, "x", path)
        attempt("link %r" % text, os.link, __file__, path)
        attempt("mknod %r" % text, os.mknod, path)
        for name in ("a" * 255, "d/x"):
            try:
                os.unlink(name)
            except IsADirectoryError:
                os.rmdir(name)
            except OSError:
                pass
    if os.path.isdir("d"):
        os.rmdir("d")


def deleted_cwd():
    def inside():
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        for path in (".", "..", "./", "../", "x", "../x", "./x", ""):
            attempt("open %r in a deleted cwd" % path, lambda: os.close(os.open(path, os.O_RDONLY)))
            attempt("stat %r" % path, lambda: os.stat(path) and "found")
            attempt("access %r" % path, lambda: os.access(path, os.F_OK))
            attempt("mkdir %r" % path, os.mkdir, path)
        attempt("chdir .", os.chdir, ".")
        attempt("getcwd", os.getcwd)
        attempt("listdir", os.listdir, ".")
        attempt("creat", os.open, "new", os.O_CREAT | os.O_WRONLY)
        attempt("link of the cwd", os.readlink, "/proc/self/cwd")
        attempt("chdir ..", os.chdir, "..")
    child(inside)


def owners():
    open("file", "w").close()
    for uid, gid in ((4000000000, -1), (-1, 4000000000), (12345, -1), (-1, 12345), (0, 0), (os.getuid(), os.getgid())):
        attempt("chown %d %d" % (uid, gid) if uid != os.getuid() else "chown to oneself", os.chown, "file", uid, gid)
    os.unlink("file")


def processes():
    zombie = os.fork()
    if zombie == 0:
        os._exit(0)
    os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
    held = os.open("/proc/%d" % zombie, os.O_RDONLY | os.O_DIRECTORY)
    for leaf in ("exe", "cwd", "root", "fd/0"):
        attempt("readlink of a zombie's " + leaf, os.readlink, "/proc/%d/%s" % (zombie, leaf))
        attempt("stat of a zombie's " + leaf, lambda: os.stat("/proc/%d/%s" % (zombie, leaf)) and "found")
        attempt("open of a zombie's " + leaf, os.open, "/proc/%d/%s" % (zombie, leaf), os.O_RDONLY)
    attempt("list of a zombie's fd", os.listdir, "/proc/%d/fd" % zombie)
    attempt("a zombie's cmdline", lambda: open("/proc/%d/cmdline" % zombie, "rb").read())
    attempt("a zombie's maps", lambda: open("/proc/%d/maps" % zombie, "rb").read())
    os.waitpid(zombie, 0)
    for leaf in ("stat", "exe", "fd", "none"):
        attempt("open of a reaped one's " + leaf, os.open, leaf, os.O_RDONLY, dir_fd=held)
        attempt("readlink of a reaped one's " + leaf, os.readlink, leaf, dir_fd=held)
        attempt("open by its path, " + leaf, os.open, "/proc/%d/%s" % (zombie, leaf), os.O_RDONLY)
    attempt("list of a reaped one", os.listdir, held)
    os.close(held)
    sleeper = os.fork()
    if sleeper == 0:
        time.sleep(60)
        os._exit(0)
    directory = os.open("/proc/%d" % sleeper, os.O_RDONLY | os.O_DIRECTORY)
    attempt("pidfd_send_signal 0 by /proc/PID", call, 424, directory, 0, 0, 0)
    attempt("pidfd_send_signal by /proc/PID", call, 424, directory, signal.SIGKILL, 0, 0)
    attempt("its end", lambda: os.waitpid(sleeper, 0)[1])
    attempt("pidfd_send_signal to a dead one", call, 424, directory, 0, 0, 0)
    attempt("pidfd_send_signal by another directory", call, 424, os.open("/proc", os.O_RDONLY), 0, 0, 0)


def threads():
    ready, stop = threading.Event(), threading.Event()
    ids = []

    def other():
        ids.append(threading.get_native_id())
        ready.set()
        stop.wait()
    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    path = "/proc/self/task/%d/comm" % ids[0]

    def named(path, name):
        with open(path, "w") as file:
            file.write(name)
        with open(path) as file:
            return file.read()
    attempt("comm of another own thread", named, path, "renamed")
    attempt("comm of an own thread by its pid", named, "/proc/%d/comm" % ids[0], "again")
    attempt("comm", named, "/proc/self/comm", "python")
    attempt("get_robust_list of another thread", lambda: call(274, ids[0], ctypes.byref(ctypes.c_long()),
                                                              ctypes.byref(ctypes.c_long())))
    attempt("get_robust_list of itself", lambda: call(274, 0, ctypes.byref(ctypes.c_long()),
                                                      ctypes.byref(ctypes.c_long())))
    stop.set()
    thread.join()
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    attempt("comm of a child", named, "/proc/%d/comm" % pid, "child")
    attempt("get_robust_list of a child", lambda: call(274, pid, ctypes.byref(ctypes.c_long()),
                                                       ctypes.byref(ctypes.c_long())))
    attempt("get_robust_list of nobody", lambda: call(274, 4000000, ctypes.byref(ctypes.c_long()),
                                                      ctypes.byref(ctypes.c_long())))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def sockets():
    made = socket.socket(socket.AF_UNIX)
    os.mknod("node", stat.S_IFSOCK | 0o600)
    attempt("connect to a socket file of nobody", made.connect, "node")
    open("plain", "w").close()
    attempt("connect to a plain file", made.connect, "plain")
    attempt("connect to nothing", made.connect, "nothing")
    attempt("connect to a directory", made.connect, ".")
    for name in (b"\xff\xfe", b"caf\xc3\xa9", b"a\nb"):
        server = socket.socket(socket.AF_UNIX)
        server.bind(name)
        attempt("getsockname of %r" % name, server.getsockname)
        server.listen()
        client = socket.socket(socket.AF_UNIX)
        client.connect(name)
        attempt("getpeername of %r" % name, client.getpeername)
        for one in (server, client):
            one.close()
        os.unlink(name)
    os.unlink("node")
    os.unlink("plain")


def families():
    """Only with a network: addresses of a unix socket for one of the internet."""
    for domain in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(domain) as one:
            long = (b"not-there", b"/etc/passwd", b"/not/granted/at/all", b"\0abstract")
            for name in [name.ljust(30, b"\0") for name in long] + [b"a", b"", b"a" * 18]:
                address = struct.pack("H", socket.AF_UNIX) + name
                for number, what in ((42, "connect"), (49, "bind")):
                    attempt("%s %s %r" % (what, domain.name, name[:12]), call, number, one.fileno(),
                            address, len(address))
    os.mknod("stale", 0o600 | stat.S_IFSOCK)
    with socket.socket(socket.AF_UNIX) as one:
        attempt("connect to a stale socket file", one.connect, "stale")
    os.unlink("stale")


def limits():
    attempt("PR_SET_DUMPABLE 0", call, 157, 4, 0, 0, 0, 0)
    attempt("PR_SET_DUMPABLE 2", call, 157, 4, 2, 0, 0, 0)
    attempt("PR_SET_DUMPABLE 1", call, 157, 4, 1, 0, 0, 0)
    read, write = os.pipe()
    attempt("tcsetpgrp of a pipe", os.tcsetpgrp, read, os.getpgrp())
    attempt("tcgetpgrp of a pipe", os.tcgetpgrp, read)
    attempt("tcsetpgrp of nothing", os.tcsetpgrp, 999, os.getpgrp())
    attempt("fchmodat2 of nothing", call, 452, -100, b"not-there", 0o600, 0)
    maps = os.open("/proc/self/maps", os.O_RDONLY)
    size = 104
    query = ctypes.create_string_buffer(struct.pack("QQ", size, 0x10) + b"\0" * (size - 16))
    attempt("PROCMAP_QUERY", lambda: call(16, maps, 0xc0686611, query) == 0 and query.raw[24:32] != b"\0" * 8)
    attempt("PROCMAP_QUERY of a pipe", call, 16, read, 0xc0686611, query)


for case in (names, deleted_cwd, owners, processes, threads, sockets, limits, families):
    if (len(sys.argv) < 2 and case != families) or case.__name__ in sys.argv[1:]:
        print("----", case.__name__, flush=True)
        case()
