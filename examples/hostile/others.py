"""Other processes, the network, and what was left lying about."""
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import time

from attempt import Refused, SUPERVISOR, attempt, call, first, in_child, read


@attempt("read /proc/1/environ and other processes")
def _():
    others = [p for p in range(1, 400) if not os.path.exists("/proc/self/task/%d" % p)]
    return first(lambda p: read("/proc/%d/environ" % p), others)


@attempt("read the supervisor's environment")
def _():
    return first(read, ["/proc/%d/%s" % (SUPERVISOR, leaf) for leaf in ("cmdline", "environ")])


@attempt("read the supervisor's memory")
def _():
    return first(read, ["/proc/%d/%s" % (SUPERVISOR, leaf) for leaf in ("maps", "mem", "auxv")])


@attempt("process_vm_readv of the supervisor")
def _():
    target = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(target), 8)
    return call("process_vm_readv", SUPERVISOR, vector, 1, vector, 1, 0)


@attempt("ptrace the supervisor")
def _():
    call("ptrace", 0x4206, SUPERVISOR, 0, 0)  # PTRACE_SEIZE
    return "traced"


@attempt("signal the supervisor and process 1")
def _():
    return first(lambda pid: os.kill(pid, signal.SIGCONT) or "signalled", [SUPERVISOR, 1, -SUPERVISOR])


@attempt("signal everything (kill -1)")
def _():
    os.kill(-1, signal.SIGCONT)  # there is no other process in the run
    return "reached another process"


@attempt("signal by pidfd")
def _():
    return call("pidfd_send_signal", call("pidfd_open", SUPERVISOR, 0), signal.SIGCONT, None, 0)


@attempt("take a descriptor of the supervisor")
def _():
    return first(lambda n: call("pidfd_getfd", call("pidfd_open", SUPERVISOR, 0), n, 0), range(8))


@attempt("signal the supervisor by descriptor (F_SETOWN)")
def _():
    fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, SUPERVISOR)
    return "the owner is set"


@attempt("limits and priority of the supervisor")
def _():
    files, cpus = resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_getaffinity(0)
    sets = {"prlimit": lambda: resource.prlimit(SUPERVISOR, resource.RLIMIT_NOFILE, files),
            "affinity": lambda: os.sched_setaffinity(SUPERVISOR, cpus),
            "nice": lambda: os.setpriority(os.PRIO_PROCESS, SUPERVISOR, os.getpriority(os.PRIO_PROCESS, 0)),
            "ioprio": lambda: call("ioprio_set", 1, SUPERVISOR, 0)}
    return first(lambda what: sets[what]() or "set", sets)


# The network.
def connects(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, address[2]) as s:
        s.settimeout(2)
        try:
            s.connect(address[:2])
        except OSError as e:
            if e.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, None):
                return "an answer from the network"
            raise
        return "connected"


@attempt("connect to the network")
def _():
    return first(connects, [("127.0.0.1", 22, socket.SOCK_STREAM), ("1.1.1.1", 53, socket.SOCK_DGRAM),
                            ("169.254.169.254", 80, socket.SOCK_STREAM), ("::1", 22, socket.SOCK_STREAM)])


@attempt("listen on a port")
def _():
    with socket.socket() as s:
        s.listen()
        return "port %d" % s.getsockname()[1]


@attempt("raw, packet, netlink, vsock and crypto sockets")
def _():
    def opens(kind):
        socket.socket(*kind).close()
        return "a socket"
    return first(opens, [(2, 3, 1), (2, 3, 255), (17, 3, 768), (16, 3, 4), (16, 3, 15), (40, 1, 0), (38, 5, 0),
                         (44, 3, 0)])


@attempt("unix sockets of the host")
def _():
    def connect(name):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect(name) or "connected"
    return first(connect, [
        "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/podman/podman.sock",
        "/tmp/.X11-unix/X0", "\0/tmp/.X11-unix/X0", "\0hostile"])


# What was left lying about.
@attempt("secrets in the environment")
def _():
    words = ("TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL", "SSH_AUTH_SOCK")
    return ", ".join(name for name in os.environ if any(word in name for word in words)) or None


@attempt("other people's temporary files")
def _():
    return ", ".join(os.listdir("/tmp")[:3] + os.listdir("/dev/shm")[:3]) or None


@attempt("daemonise away from the supervisor")
def _():
    read_end, write_end = os.pipe()

    def daemonise():
        os.setsid()
        if os.fork():
            return
        os.close(read_end)
        time.sleep(0.2)  # until the parent is gone
        os.write(write_end, b"%d" % os.getppid())
        os.close(write_end)
        for fd in range(3):
            os.close(fd)
        time.sleep(60)  # the run must end without waiting for this, and it with the run

    in_child(daemonise)
    os.close(write_end)
    parent = int(os.read(read_end, 16) or b"0")
    if parent != SUPERVISOR:
        return "a child of process %d" % parent
    raise Refused("still below the supervisor")
