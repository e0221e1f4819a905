"""What a program sees of pseudoterminals: run natively and inside, the output is the same. Numbers are not printed."""
import array
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

TIOCGPTPEER, TIOCGPTN, TIOCSPTLCK, TIOCGPTLCK, TIOCGPKT, TIOCGEXCL, TIOCSIG, TIOCGETD = (
    0x5441, 0x80045430, 0x40045431, 0x80045439, 0x80045438, 0x80045440, 0x40045436, 0x5424)


def attempt(name, function, *args):
    try:
        result = function(*args)
    except (OSError, termios.error) as error:
        number = error.args[0]
        result = errno.errorcode.get(number, number)
    print("%-40s %s" % (name, result), flush=True)


def integer(fd, request, value=0):
    return struct.unpack("i", fcntl.ioctl(fd, request, struct.pack("i", value)))[0]


def master(flags=os.O_RDWR | os.O_NOCTTY):
    return os.open("/dev/ptmx", flags)


def slave_name(fd):
    return "/dev/pts/%d" % integer(fd, TIOCGPTN)


def child(function):
    """Runs it in another process, whose output comes first; its status."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:  # whatever it is must not go on in the parent's code
            print("child: %r" % error, flush=True)
            os._exit(99)
    return os.waitpid(pid, 0)[1]


def read_all(fd):
    out = b""
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError as error:
            return out, errno.errorcode[error.errno]
        if not data:
            return out, "end"
        out += data


def a_new_pair():
    fd = master()
    attempt("locked at first", integer, fd, TIOCGPTLCK)
    attempt("open of a locked slave", os.open, slave_name(fd), os.O_RDWR | os.O_NOCTTY)
    attempt("peer of a locked slave", fcntl.ioctl, fd, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    attempt("poll before a slave is open", lambda: select.poll().poll(0))
    integer(fd, TIOCSPTLCK, 0)
    slave = os.open(slave_name(fd), os.O_RDWR | os.O_NOCTTY)
    peer = fcntl.ioctl(fd, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    print("one terminal", os.fstat(slave).st_rdev == os.fstat(peer).st_rdev, os.ttyname(slave) == os.ttyname(peer),
          os.ttyname(slave) == slave_name(fd), os.readlink("/proc/self/fd/%d" % slave) == slave_name(fd))
    print("listed", os.path.basename(slave_name(fd)) in os.listdir("/dev/pts"), "ptmx" in os.listdir("/dev/pts"))
    status = os.stat(slave_name(fd))
    print("stat", status.st_uid == os.getuid(), oct(status.st_mode & 0o170007), os.major(status.st_rdev))
    print("flags", oct(fcntl.fcntl(slave, fcntl.F_GETFL)), oct(fcntl.fcntl(fd, fcntl.F_GETFL)))
    print("access", os.access(slave_name(fd), os.R_OK | os.W_OK), os.access("/dev/ptmx", os.R_OK | os.W_OK))
    name = slave_name(fd)
    for one in (slave, peer):
        os.close(one)
    attempt("read when the slaves are closed", os.read, fd, 1)
    slave = os.open(name, os.O_RDWR | os.O_NOCTTY)
    os.close(fd)
    attempt("stat after the master is closed", os.stat, name)
    attempt("open after the master is closed", os.open, name, os.O_RDWR | os.O_NOCTTY)
    attempt("by its link", os.open, "/proc/self/fd/%d" % slave, os.O_RDWR | os.O_NOCTTY)
    attempt("read of what is left", os.read, slave, 1)
    attempt("write to it", os.write, slave, b"x")
    print("not listed", os.path.basename(name) not in os.listdir("/dev/pts"))
    os.close(slave)


def shapes_of_names():
    fd = master()
    name = slave_name(fd)
    integer(fd, TIOCSPTLCK, 0)
    for label, path in (("N/", name + "/"), ("N/x", name + "/x"), ("0N", "/dev/pts/0" + os.path.basename(name)),
                        ("-1", "/dev/pts/-1"), ("many", "/dev/pts/99999999"), ("x", "/dev/pts/x"),
                        ("ptmx/", "/dev/pts/ptmx/"), ("/dev/ptmx/", "/dev/ptmx/")):
        attempt("open " + label, os.open, path, os.O_RDWR | os.O_NOCTTY)
    for text, flags in (("O_DIRECTORY", os.O_DIRECTORY), ("O_CREAT|O_EXCL", os.O_CREAT | os.O_EXCL | os.O_RDWR)):
        attempt("slave " + text, os.open, name, flags)
        attempt("ptmx " + text, os.open, "/dev/ptmx", flags)
    for text, flags in (("O_NOFOLLOW", os.O_NOFOLLOW | os.O_RDWR), ("O_CREAT", os.O_CREAT | os.O_RDWR),
                        ("O_TRUNC", os.O_TRUNC | os.O_WRONLY), ("O_PATH", os.O_PATH), ("O_RDONLY", os.O_RDONLY)):
        attempt("slave " + text, lambda: os.close(os.open(name, flags | os.O_NOCTTY)))
    attempt("unlink", os.unlink, name)
    attempt("dirfd", lambda: os.close(os.open(os.path.basename(name), os.O_RDWR | os.O_NOCTTY,
                                              dir_fd=os.open("/dev/pts", os.O_RDONLY))))
    os.close(fd)


def requests():
    fd, slave = pty.openpty()
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    attempt("size", lambda: struct.unpack("HHHH", fcntl.ioctl(slave, termios.TIOCGWINSZ, b"\0" * 8)))
    modes = termios.tcgetattr(slave)
    modes[3] &= ~termios.ECHO
    for when in (termios.TCSANOW, termios.TCSADRAIN, termios.TCSAFLUSH):
        attempt("modes %d" % when, termios.tcsetattr, slave, when, modes)
    attempt("echo is off", lambda: termios.tcgetattr(slave)[3] & termios.ECHO)
    for name, number in (("TIOCGPGRP", termios.TIOCGPGRP), ("TIOCGSID", 0x5429), ("TIOCGPTN", TIOCGPTN),
                         ("TIOCGETD", TIOCGETD), ("TIOCGEXCL", TIOCGEXCL), ("TIOCGPKT", TIOCGPKT),
                         ("TIOCGPTLCK", TIOCGPTLCK), ("TIOCOUTQ", termios.TIOCOUTQ), ("FIONREAD", termios.FIONREAD),
                         ("TIOCMGET", termios.TIOCMGET), ("TIOCNOTTY", termios.TIOCNOTTY)):
        attempt(name + " of a master", lambda: number == TIOCGPTN or integer(fd, number))
        attempt(name + " of a slave", lambda: integer(slave, number))
    for what in (termios.TCIFLUSH, termios.TCOFLUSH, termios.TCIOFLUSH):
        attempt("flush %d" % what, termios.tcflush, slave, what)
    for what in (termios.TCOOFF, termios.TCOON):
        attempt("flow %d" % what, termios.tcflow, slave, what)
    attempt("drain", termios.tcdrain, slave)
    attempt("break", termios.tcsendbreak, slave, 0)
    attempt("packet mode of a slave", fcntl.ioctl, slave, termios.TIOCPKT, struct.pack("i", 1))
    fcntl.ioctl(fd, termios.TIOCPKT, struct.pack("i", 1))
    os.write(slave, b"text")
    attempt("packet", os.read, fd, 100)
    termios.tcflush(slave, termios.TCIOFLUSH)
    attempt("packet of a flush", os.read, fd, 100)
    fcntl.ioctl(fd, termios.TIOCPKT, struct.pack("i", 0))
    fcntl.ioctl(slave, termios.TIOCEXCL)
    attempt("exclusive", lambda: integer(slave, TIOCGEXCL))
    fcntl.ioctl(slave, termios.TIOCNXCL)
    attempt("after that", lambda: os.close(os.open(os.ttyname(slave), os.O_RDWR | os.O_NOCTTY)))
    attempt("foreground group of another session", os.tcsetpgrp, slave, os.getpgrp())
    attempt("peer of a slave", fcntl.ioctl, slave, TIOCGPTPEER, os.O_RDWR)
    attempt("peer of a file", fcntl.ioctl, os.open("/dev/null", os.O_RDWR), TIOCGPTPEER, os.O_RDWR)
    attempt("peer of nothing", fcntl.ioctl, 999, TIOCGPTPEER, os.O_RDWR)
    waiting = array.array("i", [0])
    os.write(fd, b"line\n")
    time.sleep(0.1)
    fcntl.ioctl(slave, termios.FIONREAD, waiting)
    print("waiting", waiting[0], os.read(slave, 100))


def controlling_by_open(flags, text):
    def session():
        os.setsid()
        fd = master()
        integer(fd, TIOCSPTLCK, 0)
        attempt(text + ": /dev/tty before", os.open, "/dev/tty", os.O_RDWR)
        slave = os.open(slave_name(fd), flags)
        attempt(text + ": /dev/tty after", lambda: os.isatty(os.open("/dev/tty", os.O_RDWR)))
        attempt(text + ": its session", lambda: os.getsid(0) == integer(fd, 0x5429))
        print(text, "close on exec", os.get_inheritable(slave))
    print("status", child(session))


def controlling():
    controlling_by_open(os.O_RDWR, "O_RDWR")
    controlling_by_open(os.O_RDWR | os.O_CLOEXEC, "O_CLOEXEC")
    controlling_by_open(os.O_RDONLY, "O_RDONLY")
    controlling_by_open(os.O_WRONLY, "O_WRONLY")
    controlling_by_open(os.O_RDWR | os.O_NOCTTY, "O_NOCTTY")

    def two_sessions():
        os.setsid()
        fd, slave = pty.openpty()
        attempt("TIOCSCTTY", fcntl.ioctl, slave, termios.TIOCSCTTY, 0)

        def other():
            os.setsid()
            attempt("TIOCSCTTY of another's", fcntl.ioctl, slave, termios.TIOCSCTTY, 0)
            attempt("the same with force", fcntl.ioctl, slave, termios.TIOCSCTTY, 1)
            attempt("/dev/tty of the other", os.open, "/dev/tty", os.O_RDWR)
        print("status", child(other))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        attempt("TIOCNOTTY", fcntl.ioctl, slave, termios.TIOCNOTTY)
        attempt("/dev/tty afterwards", os.open, "/dev/tty", os.O_RDWR)
        attempt("TIOCSCTTY again", fcntl.ioctl, slave, termios.TIOCSCTTY, 0)
    print("status", child(two_sessions))


def signals():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "trap 'echo int' INT; trap 'echo winch' WINCH; trap 'echo hup >&3; exit 5' HUP; "
                         "echo ready; while :; do sleep 0.05; done 3>/dev/null"])
    os.read(fd, 100)
    for act, wanted in ((lambda: os.write(fd, b"\x03"), b"int"),
                        (lambda: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 6, 0, 0)), b"winch"),
                        (lambda: fcntl.ioctl(fd, TIOCSIG, signal.SIGINT), b"int")):
        act()
        out = b""
        while wanted not in out:
            out += os.read(fd, 100)
        print("signal", wanted.decode())
    os.close(fd)
    print("hung up", os.waitpid(pid, 0)[1])


def a_session():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all; stty -a | grep -o "
                           "'rows [0-9]*'; tty | sed 's/[0-9]*$/N/'; echo direct >/dev/tty; echo by-name >$(tty); "
                           "echo by-fd >/proc/self/fd/1; [ /dev/tty -ef $(tty) ] || echo distinct; set -m; "
                           "sleep 0.1 & fg >/dev/null; echo $?; exit 3"])
    out, end = read_all(fd)
    print(out.decode(), end, os.waitpid(pid, 0)[1])


def many():
    pairs = [master() for _ in range(60)]
    print("pairs", len({slave_name(fd) for fd in pairs}))
    for fd in pairs:
        os.close(fd)
    for _ in range(300):
        os.close(master())
    print("and again")


for case in (a_new_pair, shapes_of_names, requests, controlling, signals, a_session, many):
    print("---- %s" % case.__name__, flush=True)
    case()
