"""What a program tries to keep when an entry of after_read fires: after-read.py SCENARIO. Each tells its result.

SECRET, OUT and KEEP of the environment: the file that fires it, a directory that is closed then, and one that is not.
"""
import ctypes
import mmap
import os
import signal
import socket
import sys
import threading
import time

SECRET, OUT, KEEP = os.environ["SECRET"], os.environ["OUT"], os.environ["KEEP"]
libc = ctypes.CDLL(None, use_errno=True)


def tries(name, function):
    try:
        result = function()
        print(f"{name}: {'' if result is None else result}".rstrip(), flush=True)
    except OSError as error:
        print(f"{name}: {type(error).__name__} {error.errno}", flush=True)


def read_secret():
    with open(SECRET, encoding="ascii") as file:
        return file.read().strip()


def size(name):
    return os.stat(os.path.join(OUT, name)).st_size


def opened(name, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND):
    return os.open(os.path.join(OUT, name), flags, 0o644)


def sizes_stay(names):
    """Whether nothing is added to the files from now on."""
    before = [size(name) for name in names]
    time.sleep(0.4)
    return before == [size(name) for name in names]


def await_(condition):
    """A minute at most: what comes next fails otherwise."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def writes(fd):
    """Writes until it fails, then waits to be killed."""
    try:
        while True:
            os.write(fd, b"w")
    except OSError:
        pass
    while True:
        time.sleep(1)


def scenario_files():
    fd, kept, pipe = opened("fd"), os.open(os.path.join(KEEP, "kept"), os.O_RDWR | os.O_CREAT, 0o600), os.pipe()
    gone = opened("gone", os.O_RDWR | os.O_CREAT)
    os.unlink(os.path.join(OUT, "gone"))
    memory = os.memfd_create("m")
    reading = os.open(os.path.join(OUT, "plain"), os.O_RDONLY)
    os.write(fd, b"before")
    print(read_secret())
    tries("write", lambda: os.write(fd, b"x"))
    tries("read", lambda: os.read(fd, 1))
    tries("ftruncate", lambda: os.ftruncate(fd, 0))
    tries("fallocate", lambda: os.posix_fallocate(fd, 0, 10))
    tries("copy_file_range", lambda: os.copy_file_range(reading, fd, 1))
    tries("sendfile", lambda: os.sendfile(fd, reading, 0, 1))
    tries("deleted", lambda: os.write(gone, b"x"))
    tries("open", lambda: opened("new"))
    tries("append", lambda: opened("plain"))
    tries("truncate", lambda: os.truncate(os.path.join(OUT, "plain"), 0))
    tries("mkdir", lambda: os.mkdir(os.path.join(OUT, "d")))
    tries("unlink", lambda: os.unlink(os.path.join(OUT, "plain")))
    tries("rename", lambda: os.rename(os.path.join(OUT, "plain"), os.path.join(OUT, "b")))
    tries("link", lambda: os.link(SECRET, os.path.join(OUT, "b")))
    tries("symlink", lambda: os.symlink("secret", os.path.join(OUT, "b")))
    tries("chmod", lambda: os.chmod(os.path.join(OUT, "plain"), 0o600))
    tries("utime", lambda: os.utime(reading))
    tries("fchmod", lambda: os.fchmod(reading, 0o600))
    tries("reopen", lambda: os.open(f"/proc/self/fd/{reading}", os.O_WRONLY))
    tries("fifo", lambda: os.mkfifo(os.path.join(OUT, "f")))
    tries("kept", lambda: os.write(kept, b"kept"))
    tries("keep", lambda: os.mkdir(os.path.join(KEEP, "d")))
    tries("memfd", lambda: os.write(memory, b"m"))
    tries("pipe", lambda: os.write(pipe[1], b"p"))
    tries("null", lambda: os.write(os.open("/dev/null", os.O_WRONLY), b"n"))
    tries("plain", lambda: os.pread(reading, 5, 0).decode())


def scenario_mapping():
    """Shared mappings that may be written, or made writable."""
    fd = opened("mapped", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 8192)
    libc.mmap.restype = ctypes.c_void_p
    mappings = [libc.mmap(None, ctypes.c_size_t(4096), access, mmap.MAP_SHARED, fd, ctypes.c_long(0))
                for access in (mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ)]
    print(ctypes.string_at(mappings[1], 1))
    os.close(fd)
    ready = os.pipe()
    pids = []
    for address in mappings:
        pid = os.fork()
        if pid == 0:
            os.read(ready[0], 1)
            if address == mappings[1]:
                libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(4096), mmap.PROT_READ | mmap.PROT_WRITE)
            ctypes.memmove(address, b"X", 1)
            os._exit(0)
        pids.append(pid)
    print(read_secret())
    os.write(ready[1], b"12")
    print(*[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])


def scenario_processes():
    """Children of every kind write on, or could."""
    pids, names = [], []

    def child(name, action):
        fd = opened(name)
        pid = os.fork()
        if pid == 0:
            action(fd)
            os._exit(1)
        os.close(fd)
        pids.append(pid)
        names.append(name)

    def say_ready():
        os.close(os.open(os.path.join(KEEP, "ready-%d" % os.getpid()), os.O_WRONLY | os.O_CREAT))

    def paused(fd):
        signal.signal(signal.SIGUSR1, lambda *_: None)
        say_ready()
        signal.pause()
        writes(fd)

    def threads(fd):
        threading.Thread(target=lambda: writes(fd), daemon=True).start()
        writes(fd)

    def unshared(fd):
        def own():
            libc.unshare(0x400)  # CLONE_FILES
            while not os.path.exists(os.path.join(KEEP, "go")):
                time.sleep(0.01)
            writes(fd)

        threading.Thread(target=own, daemon=True).start()
        time.sleep(0.1)
        os.close(fd)
        say_ready()
        while True:
            time.sleep(1)

    def stopped(fd):
        say_ready()
        os.kill(os.getpid(), signal.SIGSTOP)
        writes(fd)

    def waits_in_fifo(fd):
        os.mkfifo(os.path.join(KEEP, "waited"))
        say_ready()
        os.open(os.path.join(KEEP, "waited"), os.O_RDONLY)
        writes(fd)

    child("busy", writes)
    child("paused", paused)
    child("threads", threads)
    child("unshared", unshared)
    child("stopped", stopped)
    child("fifo", waits_in_fifo)
    await_(lambda: size("busy") > 0 and size("threads") > 0 and
           sum(name.startswith("ready-") for name in os.listdir(KEEP)) == 4)
    time.sleep(0.3)  # in which they come to where they wait
    print(read_secret())
    os.close(os.open(os.path.join(KEEP, "go"), os.O_WRONLY | os.O_CREAT))
    os.kill(pids[1], signal.SIGUSR1)
    os.kill(pids[4], signal.SIGCONT)
    waiting = os.open(os.path.join(KEEP, "waited"), os.O_WRONLY)
    print("stay:", sizes_stay(names), "grown before:", size("busy") > 0)
    os.close(waiting)
    print("alive:", sum(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in pids))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def scenario_descriptors():
    """More descriptors than can be looked through in time, each of which might be for writing."""
    import resource
    fd, most = opened("fd"), resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ready = os.pipe()
    for _ in range(max(1, 400000 // most)):
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDONLY)
            for number in range(20, most):
                os.dup2(null, number)
            os.dup2(fd, most - 1)
            os.write(ready[1], b"r")
            writes(most - 1)
    for _ in range(max(1, 400000 // most)):
        os.read(ready[0], 1)
    begin = time.monotonic()
    print(read_secret(), flush=True)
    print(f"stay: {sizes_stay(['fd'])} in time: {time.monotonic() - begin < 12}", flush=True)


def scenario_traced():
    """A process that another one traces cannot be stopped by callgate."""
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    fd = opened("traced")
    pid = os.fork()
    if pid == 0:
        libc.ptrace(0, 0, None, None)  # PTRACE_TRACEME
        os.kill(os.getpid(), signal.SIGSTOP)
        writes(fd)
    os.waitpid(pid, 0)
    libc.ptrace(7, pid, None, None)  # PTRACE_CONT
    await_(lambda: size("traced") > 0)
    print(read_secret())
    print("stay:", sizes_stay(["traced"]), "grown before:", size("traced") > 0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def scenario_fork_race():
    """Writers that fork all the time while the secret is read."""
    fd = opened("race")
    writer = os.fork()
    if writer == 0:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            pid = os.fork()
            if pid == 0:
                continue
            try:
                for _ in range(50):
                    os.write(fd, b"w")
            except OSError:
                pass
            try:
                os.waitpid(-1, os.WNOHANG)
            except OSError:
                pass
            os._exit(0)
        os._exit(0)
    await_(lambda: size("race") > 0)
    print(read_secret())
    print("stay:", sizes_stay(["race"]), "grown before:", size("race") > 0)


def scenario_in_flight():
    """Descriptors that are in flight in the queues of unix sockets."""
    near, far = socket.socketpair()
    fd = opened("flight")
    tries("for writing", lambda: socket.send_fds(near, [b"x"], [fd]))
    server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    server.bind("")  # an abstract name that the kernel chooses
    server.listen()
    client.connect(server.getsockname())
    tries("listener", lambda: socket.send_fds(client, [b"x"], [fd]))
    os.close(fd)
    other = socket.socketpair()
    print(read_secret())
    tries("received", lambda: socket.recv_fds(far, 1, 4)[1])
    tries("accepted", lambda: server.accept())
    tries("other", lambda: f"{other[0].send(b'y')} {other[1].recv(1).decode()}")


def scenario_names():
    """Other names of the secret."""
    how = sys.argv[2]
    directory = os.path.dirname(SECRET)
    if how == "link":
        tries("moved", lambda: os.link(SECRET, os.path.join(OUT, "alias")))
    elif how == "rename":
        tries("moved", lambda: os.rename(SECRET, os.path.join(OUT, "alias")))
    elif how == "directory":
        tries("moved", lambda: os.rename(os.path.dirname(directory), os.path.join(OUT, "alias")))
    elif how == "list":
        print(os.listdir(directory))
    elif how == "opath":
        os.open(SECRET, os.O_PATH)
    elif how == "fd":
        os.open(f"/proc/self/fd/{os.open(directory, os.O_PATH)}", os.O_RDONLY)
    elif how == "symlink":
        os.symlink(os.path.abspath(SECRET), os.path.join(OUT, "alias"))
        print(open(os.path.join(OUT, "alias"), encoding="ascii").read().strip())
    elif how == "exec":
        os.posix_spawn(sys.argv[3], [sys.argv[3]], os.environ)
        os.wait()
    elif how == "stat":
        print(os.stat(SECRET).st_size, os.access(SECRET, os.R_OK))
        print(open(os.path.join(os.path.dirname(directory), "other"), encoding="ascii").read().strip())
    tries("after", lambda: os.mkdir(os.path.join(OUT, "d")))


def scenario_network():
    host, port = sys.argv[2], int(sys.argv[3])
    link = socket.create_connection((host, port))
    link.sendall(b"before\n")
    print(link.recv(100).decode().strip())
    server = socket.socket()
    server.bind(("127.0.0.1", 8000))
    server.listen()
    client = socket.create_connection(("127.0.0.1", 8000))
    taken = server.accept()[0]
    near, far = socket.socketpair()
    fresh = socket.socket()
    print(read_secret())
    tries("send", lambda: link.send(b"secret\n"))
    tries("receive", lambda: os.read(link.fileno(), 100))
    tries("loopback", lambda: client.send(b"x"))
    tries("accepted", lambda: taken.send(b"x"))
    tries("accept", lambda: server.accept())
    tries("connect", lambda: fresh.connect(("127.0.0.1", 8000)))
    tries("endpoint", lambda: socket.create_connection((host, port)))
    tries("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
    tries("listen", lambda: socket.socket().listen())
    tries("unix", lambda: near.send(b"x"))
    tries("write", lambda: os.mkdir(os.path.join(OUT, "d")))


globals()["scenario_" + sys.argv[1]]()
