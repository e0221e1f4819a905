"""Reading and changing what was not granted, by every name it could have."""
import ctypes
import fcntl
import os
import resource
import stat
import struct
import threading

from attempt import AT_FDCWD, HERE, Refused, SHADOW, SUPERVISOR, X86, attempt, call, first, in_child, libc, read


@attempt("read /etc/shadow")
def _():
    return read(SHADOW)


@attempt("list ~/.ssh and homes")
def _():
    return first(os.listdir, [os.path.expanduser("~/.ssh"), "/root/.ssh", "/root", "/home"])


@attempt("climb with ..")
def _():
    return first(read, ["../" * n + SHADOW[1:] for n in range(1, 16)])


@attempt("climb with openat(dirfd, ..)")
def _():
    fd = os.open(".", os.O_PATH | os.O_DIRECTORY)
    for _ in range(16):
        fd, old = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=fd), fd
        os.close(old)
    return os.read(os.open("etc/shadow", os.O_RDONLY, dir_fd=fd), 24)


@attempt("climb with fchdir to /proc/self/fd")
def _():
    os.chdir("/proc/self/fd")
    try:
        return first(read, ["../" * n + SHADOW[1:] for n in range(1, 8)])
    finally:
        os.chdir(HERE)


@attempt("symbolic link to /etc/shadow")
def _():
    os.symlink(SHADOW, "link")
    return read("link")


@attempt("symbolic link by way of /proc/self/root")
def _():
    os.symlink("/proc/self/root" + SHADOW, "link")
    return read("link")


@attempt("hard link to /etc/shadow")
def _():
    os.link(SHADOW, "link")
    return read("link")


@attempt("rename a granted file out of its directory")
def _():
    os.rename("/usr/lib/os-release", "renamed")
    os.rename("renamed", "/usr/lib/os-release")
    return "/usr/lib/os-release"


@attempt("write to a read-only file by a hard link")
def _():
    os.link(os.__file__, "link")
    os.close(os.open("link", os.O_WRONLY | os.O_APPEND))
    return os.__file__


@attempt("/proc/*/root, cwd and map_files")
def _():
    return first(lambda p: read(p + SHADOW), [
        "/proc/self/root", "/proc/self/task/%d/root" % os.getpid(), "/proc/1/root", "/proc/%d/root" % SUPERVISOR,
        "/proc/self/cwd/../../../../../.."])


@attempt("reopen a read-only descriptor for writing")
def _():
    fd = os.open(os.__file__, os.O_RDONLY)
    os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_APPEND))
    return os.__file__


@attempt("swap a symbolic link while it is opened")
def _():
    open("mine", "w").write("mine")
    os.symlink("mine", "link")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for target in (SHADOW, "mine"):
                os.symlink(target, "link.new")
                os.rename("link.new", "link")

    return race(swap, stop, lambda: os.open("link", os.O_RDONLY))


@attempt("rewrite the path in memory while it is opened")
def _():
    open("mine____.__", "w").write("mine")
    mine, other = b"mine____.__\0", SHADOW.encode() + b"\0"
    path = ctypes.create_string_buffer(other)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            ctypes.memmove(path, mine, len(mine))
            ctypes.memmove(path, other, len(other))

    return race(swap, stop, lambda: libc.open(path, os.O_RDONLY))


def race(swap, stop, opens):
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(2000):
            try:
                fd = opens()
            except OSError:
                continue
            if fd >= 0:
                content = os.read(fd, 24)
                os.close(fd)
                if content != b"mine":
                    return repr(content)
    finally:
        stop.set()
        thread.join()
    raise Refused("2000 tries")


@attempt("open by file handle")
def _():
    handle, mount = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 8 + 128), ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, b"/", handle, ctypes.byref(mount), 0)
    return "descriptor %d" % call("open_by_handle_at", AT_FDCWD, handle, os.O_RDONLY)


@attempt("open by made-up handles of pidfs and nsfs")
def _():
    def opens(fd):
        return call("open_by_handle_at", fd, struct.pack("IiQ", 8, 0xf1, os.getpid()) + bytes(8), os.O_RDONLY)
    return first(opens, [-10002, -10003])


# Devices and the kernel's knobs.
@attempt("open devices")
def _():
    return first(read, ["/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm",
                        "/dev/loop-control", "/dev/net/tun"])


@attempt("make a device node")
def _():
    os.mknod("node", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    return "a character device"


@attempt("write the kernel's settings")
def _():
    return first(lambda p: os.close(os.open(p, os.O_WRONLY)) or "open", [
        "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/uid_map", "/proc/self/attr/current",
        "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/uevent_helper"])


@attempt("type into the terminal (TIOCSTI)")
def _():
    def types(fd):
        return fcntl.ioctl(os.open(fd, os.O_RDWR) if isinstance(fd, str) else fd, 0x5412, b" ") and "typed"
    return first(types, [0, 1, 2, "/dev/tty", "/dev/console", "/dev/tty1", "/dev/pts/0"])


@attempt("TIOCSTI with high bits set")
def _():
    return first(lambda fd: call(16 if X86 else 29, fd, 0x5412 | 1 << 40, b" ") and None or "typed", [0, 1, 2])


# Changing what stays after the run.
@attempt("write to /usr and /etc")
def _():
    def writes(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(path)
        return "made"
    return first(writes, ["/usr/bin/hostile", "/usr/lib/hostile", "/etc/hostile", "/etc/cron.d/hostile", "/hostile"])


@attempt("open /etc/passwd for writing")
def _():
    os.close(os.open("/etc/passwd", os.O_WRONLY | os.O_APPEND))
    return "/etc/passwd"


@attempt("set-user-ID bit")
def _():
    os.close(os.open("suid", os.O_CREAT | os.O_WRONLY, 0o4755))
    if not os.stat("suid").st_mode & stat.S_ISUID:
        os.chmod("suid", 0o4755)
    return "set" if os.stat("suid").st_mode & stat.S_ISUID else None


@attempt("change a read-only file's times and mode")
def _():
    st = os.stat(os.__file__)

    def changes(fd):
        os.fchmod(fd, stat.S_IMODE(st.st_mode))
        os.utime(fd, ns=(st.st_atime_ns, st.st_mtime_ns))
        return "changed"
    return changes(os.open(os.__file__, os.O_RDONLY))


@attempt("a kernel key that outlives the run")
def _():
    key = call("add_key", b"user", b"hostile", b"x", 1, -4)
    call("keyctl", 9, key, -4)  # KEYCTL_UNLINK
    return "key %d" % key


@attempt("shared memory of other programs")
def _():
    return first(lambda index: "segment %d" % call("shmctl", index, 13, ctypes.create_string_buffer(256)),  # SHM_STAT
                 range(64))


@attempt("a core file past the open filter")
def _():
    def dumps():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        os.abort()
    try:
        in_child(dumps)
    except Refused:
        return ", ".join(name for name in os.listdir(HERE) if name.startswith("core")) or None
