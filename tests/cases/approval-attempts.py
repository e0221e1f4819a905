"""What a program may try so that a denied call is permitted without an answer for it: forging answers and questions,
floods of questions, and races while a question is open. Each attempt is a function below: its sentence, the questions
that it may lead to, and what it must not get.

approval-attempts.py outside DIR CALLGATE: runs all of them in a few runs at a time, and is their approver. Prints what
is wrong, and how many attempts there were.
approval-attempts.py inside DIR RUN NUMBER...: what such a run executes."""
import ctypes
import errno
import json
import mmap
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

RUNS = 8
QUESTIONS_A_SECOND = 10
ATTEMPTS = []


class Attempt:
    """answers: what the approver does with its questions, one after the other: (right, file, answer). file: below the
    attempt's own directory of the host, or, if it begins with "bin/", of the working directory. "swap once": when the
    program has exchanged something; "hold no": when it says so; "mv b a; once": after that on the host."""

    def __init__(self, sentence, function, answers, check=None, most=None, kind="race", file=None):
        self.number, self.sentence, self.function = len(ATTEMPTS) + 1, sentence, function
        self.answers, self.check, self.most, self.kind, self.file = answers, check, most, kind, file
        self.asked = 0

    def cost(self):
        return self.most or len(self.answers)


def attempt(sentence, *answers, **more):
    def add(function):
        ATTEMPTS.append(Attempt(sentence, function, list(answers), **more))
        return function
    return add


# ---- what the attempts use, inside ----

class Place:
    """Where an attempt works: its own directory on the host, with the files a, b, c and dir/file, and the workdir."""

    def __init__(self, directory, run, number):
        self.directory, self.number = directory, number
        self.work = f"{directory}/w{run}"
        self.host = f"{directory}/h{run}/n{number}"
        self.secret = f"{directory}/h{run}/id_rsa"
        self.socket, self.kept = f"{directory}/s{run}", f"{directory}/kept{run}"

    def name(self, file):
        return f"{self.host}/{file}"

    def tool(self, file="tool"):
        return f"{self.work}/bin/n{self.number}-{file}"


libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
go_fd = done_fd = -1


def text_buffer(text, size=8192):
    return ctypes.create_string_buffer(os.fsencode(text), size)


def put(buffer, text):
    data = os.fsencode(text) + b"\0"
    ctypes.memmove(buffer, data, len(data))


def swapping(call, swap):
    """Makes a call, and exchanges something in another thread when the call is asked about."""
    was_asked = threading.Event()

    def wait():
        if os.read(go_fd, 1) == b"x":
            swap()
            was_asked.set()  # before the answer, which comes after the next line
            os.write(done_fd, b"x")
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    ctypes.set_errno(0)
    result, number = call(), ctypes.get_errno()
    if not was_asked.is_set():
        os.write(go_fd, b"-")
    thread.join()
    ctypes.set_errno(number)
    return result


def failed(result, *numbers):
    """What is wrong, if a call did not fail, or not with one of these errors."""
    if result >= 0:
        return f"succeeded: {result}"
    if numbers and ctypes.get_errno() not in numbers:
        return f"failed with {errno.errorcode.get(ctypes.get_errno())}"
    return None


def failed_fd(result, *numbers):
    if result >= 0:
        text = os.read(result, 99)
        os.close(result)
        return f"opened: {text}"
    return failed(result, *numbers)


def syscall(name, *args):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(NUMBERS[name]), *args)


NUMBERS = {"ptrace": 101, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438, "openat2": 437,
           "seccomp": 317, "rt_sigqueueinfo": 129} if os.uname().machine == "x86_64" else \
          {"ptrace": 117, "process_vm_writev": 271, "pidfd_open": 434, "pidfd_getfd": 438, "openat2": 437,
           "seccomp": 277, "rt_sigqueueinfo": 138}
ANSWER = b'{"id": "%s", "answer": "once"}\n' % (b"a" * 64)


# ---- forging: answers from the program's own side ----

def forge(sentence):
    return attempt(sentence, kind="forge")


def os_error(call, *args, **more):
    try:
        result = call(*args, **more)
    except OSError:
        return None
    return f"{call.__name__}: {result}"


@forge("connect to the approver's socket")
def _(at):
    return os_error(socket.socket(socket.AF_UNIX).connect, at.socket)


@forge("connect to it by a symbolic link")
def _(at):
    os.symlink(at.socket, "link-to-socket")
    return os_error(socket.socket(socket.AF_UNIX).connect, "link-to-socket")


@forge("connect to it by a relative name")
def _(at):
    return os_error(socket.socket(socket.AF_UNIX).connect, "../" + os.path.basename(at.socket))


@forge("send a datagram to it")
def _(at):
    return os_error(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto, ANSWER, at.socket)


@forge("listen at the name of the approver's socket")
def _(at):
    return os_error(socket.socket(socket.AF_UNIX).bind, at.socket)


@forge("remove the approver's socket")
def _(at):
    return os_error(os.unlink, at.socket)


@forge("put a socket of its own in its place")
def _(at):
    socket.socket(socket.AF_UNIX).bind("own-socket")
    return os_error(os.rename, "own-socket", at.socket)


@forge("move the approver's socket into the working directory")
def _(at):
    return os_error(os.rename, at.socket, "their-socket")


@forge("link the approver's socket into the working directory")
def _(at):
    return os_error(os.link, at.socket, "their-socket")


@forge("open the approver's socket by its name alone")
def _(at):
    return os_error(os.open, at.socket, os.O_PATH)


@forge("open the file of remembered answers to write")
def _(at):
    return os_error(os.open, at.kept, os.O_WRONLY | os.O_APPEND)


@forge("read it")
def _(at):
    return os_error(os.open, at.kept, os.O_RDONLY)


@forge("read it by a symbolic link")
def _(at):
    os.symlink(at.kept, "link-to-kept")
    return os_error(os.open, "link-to-kept", os.O_RDONLY)


@forge("cut it off")
def _(at):
    return os_error(os.truncate, at.kept, 0)


@forge("remove it")
def _(at):
    return os_error(os.unlink, at.kept)


@forge("put another file in its place")
def _(at):
    with open("own-kept", "wb") as file:
        file.write(b'{"scope": "%s", "expires": 9999999999}\n' % (b"a" * 64))
    return os_error(os.rename, "own-kept", at.kept)


@forge("give it another name below the working directory")
def _(at):
    return os_error(os.link, at.kept, "their-kept")


@forge("let everybody write it")
def _(at):
    return os_error(os.chmod, at.kept, 0o666)


@forge("stop the supervisor")
def _(_at):
    return os_error(os.kill, os.getppid(), signal.SIGSTOP)


@forge("end the supervisor")
def _(_at):
    return os_error(os.kill, os.getppid(), signal.SIGKILL)


@forge("find the approver by its number, among the next thousand")
def _(_at):
    own, group = os.getpid(), []
    for pid in range(max(2, own - 500), own + 500):
        try:
            os.kill(pid, 0)
            group.append(pid)
        except ProcessLookupError:
            pass
        except PermissionError:
            group.append(-pid)
    return None if set(group) <= {own} else f"{group}"


@forge("find it in /proc")
def _(_at):
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    return None if len(names) == 1 else f"{names}"


@forge("queue a signal for the supervisor")
def _(_at):
    return failed(syscall("rt_sigqueueinfo", os.getppid(), signal.SIGUSR1, ctypes.create_string_buffer(128)))


@forge("trace the supervisor")
def _(_at):
    return failed(syscall("ptrace", 0x4206, os.getppid(), 0, 0))


@forge("write into the supervisor's memory")
def _(_at):
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    return failed(syscall("process_vm_writev", os.getppid(), vector, 1, vector, 1, 0))


@forge("write it by /proc")
def _(_at):
    return os_error(os.open, f"/proc/{os.getppid()}/mem", os.O_RDWR)


@forge("list its descriptors")
def _(_at):
    return os_error(os.listdir, f"/proc/{os.getppid()}/fd")


@forge("take one of its descriptors")
def _(_at):
    pidfd = syscall("pidfd_open", os.getppid(), 0)
    return None if pidfd < 0 else failed(syscall("pidfd_getfd", pidfd, 3, 0), errno.EPERM, errno.EBADF, errno.ESRCH)


@forge("receive calls itself, by a filter of its own")
def _(_at):
    program = ctypes.create_string_buffer(16)
    return failed(syscall("seccomp", 1, 8, program))


@forge("answer on every descriptor that could be inherited")
def _(_at):
    answered = []
    for fd in range(3, 1024):
        if fd not in (go_fd, done_fd) and stat_is_socket(fd):
            answered.append(fd)
            os_error(os.write, fd, ANSWER)
    return f"{answered}" if answered else None


def stat_is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False


@forge("open the terminal of the caller")
def _(_at):
    return os_error(os.open, "/dev/tty", os.O_RDWR)


@forge("type an answer by an ioctl")
def _(_at):
    got = [fd for fd in range(3) if libc.ioctl(fd, ctypes.c_ulong(0x5412), ctypes.create_string_buffer(b"1")) == 0]
    return f"{got}" if got else None


@attempt("print a question and its answer, and do what it says", ("r", "a", "no"), kind="name")
def _(at):
    print(ANSWER.decode(), "\ncallgate: question 1\nanswer \"1 once\": 1 once", flush=True)
    return failed_fd(libc.open(text_buffer(at.name("a")), os.O_RDONLY))


# ---- forging: names that are shown ----

NAMES = [
    ("the end of a quotation", b'x", "answer": "once'),
    ("a whole answer", b'x"}\n{"id": "1", "answer": "once"}'),
    ("a line of its own", b"x\nwants to: read"),
    ("the end of a question", b'x\nanswer "1 once": 1 once\n'),
    ("a return", b"x\rprogram: y"),
    ("a tab and a bell", b"x\t\x07"),
    ("a cleared screen", b"\x1b[2J\x1b[H"),
    ("a title of a terminal", b"\x1b]0;x\x07"),
    ("a link of a terminal", b"\x1b]8;;http:\x1b\\x"),
    ("a control character of eight bits", b"\xc2\x9b2J"),
    ("the same as one byte", b"\x9b2J"),
    ("characters that go back", b"ab\x08\x08"),
    ("text from right to left", b"\xe2\x80\xaefdp.exe"),
    ("isolated text", b"\xe2\x81\xa7abc"),
    ("a character of no width", b"a\xe2\x80\x8b"),
    ("a byte order mark", b"\xef\xbb\xbfa"),
    ("a Cyrillic letter", b"\xd0\xb0"),
    ("a slash of full width", b"x\xef\xbc\x8fy"),
    ("a hundred marks upon a letter", b"e" + b"\xcc\x81" * 100),
    ("characters that are only tags", b"a\xf3\xa0\x81\xa1"),
    ("a line separator", b"x\xe2\x80\xa8y"),
    ("bytes that are no UTF-8", b"\xff\xfe\xc0\xaf"),
    ("a surrogate", b"\xed\xa0\xbd"),
    ("what looks like an escape", b"\\u{41}\\x41"),
    ("what looks like bytes left out", b"\\...9 bytes...\\"),
    ("a command of a shell", b"$(reboot) `reboot` ;reboot"),
    ("a format", b"%s%n%999999d"),
    ("blanks around a name", b"  a  "),
    ("the longest name", b"m" * 250),
    ("the character DEL", b"a\x7fb"),
]


def show(data):
    """As approval/show.c, written anew."""
    out = ""
    for char in data.decode("utf-8", "surrogateescape"):
        point = ord(char)
        if 0xdc80 <= point <= 0xdcff:
            out += "\\x%02x" % (point - 0xdc00)
        elif char in '"\\':
            out += "\\" + char
        else:
            out += char if " " <= char <= "~" else "\\u{%x}" % point
    return '"%s"' % out


def has_line(name, make):
    """A check of a question: its line of this name has exactly that text."""
    def check(at, question):
        expected = make(at)
        lines = [line for line in question["shown"] if line.startswith(name + ": ")]
        if len(show(expected)) > (2050 if name == "path" else 420):
            return None if len(lines) == 1 and "\\..." in lines[0] and len(lines[0]) < 640 else f"{lines}"
        return None if lines == [f"{name}: {show(expected)}"] else f"{lines}, and not {show(expected)}"
    return check


def add_name(what, text):
    @attempt(f"a file whose name has {what}", ("r", None, "no"), kind="name", file=text,
             check=has_line("path", lambda at: os.fsencode(at.host) + b"/" + text))
    def _(at):
        return failed_fd(libc.open(text_buffer(os.fsencode(at.host) + b"/" + text), os.O_RDONLY | os.O_NOFOLLOW))


def add_argument(what, text):
    @attempt(f"an argument with {what}", ("r", "a", "no"), kind="name",
             check=has_line("started as", lambda at: b"cat " + text + b" " + os.fsencode(at.name("a"))))
    def _(at):
        return spawn("/usr/bin/cat", [b"cat", text, os.fsencode(at.name("a"))])


def add_program(what, text):
    @attempt(f"a program whose name has {what}", ("r", "a", "no"), kind="name",
             check=has_line("program", lambda at: os.fsencode(f"{at.work}/free/") + text))
    def _(at):
        with open("/usr/bin/cat", "rb") as source, open(os.fsencode("free/") + text, "wb") as copy:
            copy.write(source.read())
            os.fchmod(copy.fileno(), 0o755)
        return spawn(os.fsencode(f"{at.work}/free/") + text, [b"cat", os.fsencode(at.name("a"))])


def add_directory(what, text):
    @attempt(f"a working directory whose name has {what}", ("r", "a", "no"), kind="name")
    def _(at):
        os.mkdir(text)
        os.chdir(text)
        got = failed_fd(libc.open(text_buffer(os.path.relpath(at.name("a"))), os.O_RDONLY))
        os.chdir(at.work)
        return got


def add_own_name(what, text):
    @attempt(f"a thread whose name has {what}", ("r", "a", "no"), kind="name")
    def _(at):
        libc.prctl(15, text_buffer(text[:15]), 0, 0, 0)
        return failed_fd(libc.open(text_buffer(at.name("a")), os.O_RDONLY))


def spawn(program, arguments):
    """Runs a program, whose output must be empty."""
    out, into = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    pid = os.posix_spawn(program, arguments, {}, file_actions=[(os.POSIX_SPAWN_DUP2, into, 1),
                                                              (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(into)
    text = os.read(out, 999)
    os.close(out)
    os.waitpid(pid, 0)
    return f"printed {text}" if text else None


for name, hostile in NAMES:
    add_name(name, hostile)
for name, hostile in NAMES[1:8:2] + NAMES[12:15] + NAMES[21:22]:
    add_argument(name, hostile)
for name, hostile in NAMES[2:3] + NAMES[6:7] + NAMES[12:13]:
    add_program(name, hostile)
for name, hostile in NAMES[3:4] + NAMES[12:13]:
    add_directory(name, hostile)
    add_own_name(name, hostile)


@attempt("an argument as long as arguments may be", ("r", "a", "no"), kind="name",
         check=has_line("started as", lambda at: b"cat " + b"m" * 100000))
def _(at):
    return spawn("/usr/bin/cat", [b"cat", b"m" * 100000, os.fsencode(at.name("a"))])


@attempt("ten thousand arguments", ("r", "a", "no"), kind="name",
         check=has_line("started as", lambda at: b"cat " + b"m " * 10000))
def _(at):
    return spawn("/usr/bin/cat", [b"cat", b"--"] + [b"-"] * 10000 + [os.fsencode(at.name("a"))])


@attempt("a path of 4,000 bytes", ("r", None, "no"), kind="name", check=has_line("path", lambda at: b"x" * 4000))
def _(at):
    path = os.fsencode(at.host) + b"/" + b"/".join([b"x" * 200] * 18)
    return failed_fd(libc.open(text_buffer(path + b"/file"), os.O_RDONLY))


# ---- races: what is performed is what was asked ----

def add_path_race(sentence, call, right="r"):
    """A call whose path becomes that of another denied file, which is asked about by itself."""
    @attempt(f"{sentence}: another path", (right, "a", "swap once"), (right, "b", "no"))
    def _(at):
        path = text_buffer(at.name("a"))
        return failed(swapping(lambda: call(at, path), lambda: put(path, at.name("b"))))


def add_open_race(sentence, target, *answers, numbers=(), flags=os.O_RDONLY, may_read=None):
    """An open whose path becomes what target() says, while the answer for a comes."""
    @attempt(f"open: {sentence}", ("r" if flags == os.O_RDONLY else "w", "a", "swap once"), *answers)
    def _(at):
        path = text_buffer(at.name("a"))
        fd = swapping(lambda: libc.open(path, flags), lambda: put(path, target(at)))
        if fd >= 0 and may_read:
            text = os.read(fd, 99)
            os.close(fd)
            return None if text == may_read else f"read {text}"
        return failed_fd(fd, *numbers)


add_open_race("another denied file", lambda at: at.name("b"), ("r", "b", "no"))
add_open_race("another one, to write", lambda at: at.name("b"), ("w", "b", "no"), flags=os.O_WRONLY | os.O_TRUNC)
add_open_race("a secret, of which none may ask", lambda at: at.secret)
add_open_race("a file of the kernel", lambda at: "/proc/1/environ")
add_open_race("its own memory, by the kernel", lambda at: "/proc/self/mem", flags=os.O_RDWR)
add_open_race("nothing", lambda at: "")
add_open_race("a name of no file", lambda at: at.name("none"))
add_open_race("a name that is too long", lambda at: "/" + "x" * 5000, numbers=(errno.ENAMETOOLONG,))
add_open_race("what is granted anyway", lambda at: f"{at.work}/plain", may_read=b"plain\n")
add_open_race("the same file by another name", lambda at: at.name("./a"), ("r", "a", "no"))
add_open_race("the same file by a relative name", lambda at: os.path.relpath(at.name("a")), ("r", "a", "no"))
add_open_race("the directory", lambda at: at.host, ("r", "", "no"))
add_open_race("a file below the approver's directory", lambda at: at.kept)
add_open_race("the approver's socket", lambda at: at.socket)
add_path_race("stat", lambda at, path: libc.stat(path, text_buffer("", 256)))
add_path_race("statfs", lambda at, path: libc.statfs(path, text_buffer("", 256)))
add_path_race("access", lambda at, path: libc.access(path, os.R_OK))
add_path_race("truncate", lambda at, path: libc.truncate(path, ctypes.c_long(1)), "w")
add_path_race("unlink", lambda at, path: libc.unlink(path), "w")
add_path_race("chmod", lambda at, path: libc.chmod(path, 0o777), "w")
add_path_race("chown", lambda at, path: libc.chown(path, os.getuid(), os.getgid()), "w")
add_path_race("rename", lambda at, path: libc.rename(path, text_buffer(at.name("new"))), "w")
add_path_race("link", lambda at, path: libc.link(path, text_buffer(at.name("new"))), "w")
add_path_race("utimensat", lambda at, path: libc.utimensat(-100, path, None, 0), "w")
add_path_race("setxattr", lambda at, path: libc.setxattr(path, text_buffer("user.x"), b"1", ctypes.c_size_t(1), 0), "w")


def add_new_race(sentence, call):
    @attempt(f"{sentence}: another path", ("w", "new", "swap once"), ("w", "newer", "no"))
    def _(at):
        path = text_buffer(at.name("new"))
        return failed(swapping(lambda: call(at, path), lambda: put(path, at.name("newer"))))


add_new_race("mkdir", lambda at, path: libc.mkdir(path, 0o755))
add_new_race("mkfifo", lambda at, path: libc.mkfifo(path, 0o644))
add_new_race("symlink", lambda at, path: libc.symlink(text_buffer("a"), path))
add_new_race("a new file", lambda at, path: libc.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


@attempt("chdir: another path", ("r", "dir", "swap once"), ("r", "", "no"))
def _(at):
    path = text_buffer(at.name("dir"))
    return failed(swapping(lambda: libc.chdir(path), lambda: put(path, at.host)))


@attempt("rename: over another file", ("w", "a", "swap once"), ("w", "a", "no"))
def _(at):
    path = text_buffer(at.name("new"))
    return failed(swapping(lambda: libc.rename(text_buffer(at.name("a")), path), lambda: put(path, at.name("b"))))


@attempt("link: into the working directory", ("w", "a", "swap once"), ("w", "a", "no"))
def _(at):
    path = text_buffer(at.name("new"))
    return failed(swapping(lambda: libc.link(text_buffer(at.name("a")), path),
                           lambda: put(path, f"{at.work}/n{at.number}-linked")))


@attempt("symlink: to another target", ("w", "new", "swap once"), ("w", "new", "no"))
def _(at):
    target = text_buffer("a")
    return failed(swapping(lambda: libc.symlink(target, text_buffer(at.name("new"))), lambda: put(target, "/")))


@attempt("utimensat: other times", ("w", "a", "swap once"), ("w", "a", "no"))
def _(at):
    times = (ctypes.c_long * 4)(1, 0, 1, 0)
    return failed(swapping(lambda: libc.utimensat(-100, text_buffer(at.name("a")), times, 0),
                           lambda: ctypes.memset(times, 0, 32)))


@attempt("openat2: to write in place of to read", ("r", "a", "swap once"), ("w", "a", "no"))
def _(at):
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)

    def swap():
        how[0] = os.O_WRONLY | os.O_TRUNC
    return failed(swapping(lambda: libc.syscall(ctypes.c_long(NUMBERS["openat2"]), -100, text_buffer(at.name("a")), how,
                                                ctypes.c_size_t(24)), swap))


@attempt("openat2: with a file of its own", ("r", "a", "swap once"))
def _(at):
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)

    def swap():
        how[2] = 1 << 40  # no flag
    return failed(swapping(lambda: libc.syscall(ctypes.c_long(NUMBERS["openat2"]), -100, text_buffer(at.name("a")), how,
                                                ctypes.c_size_t(24)), swap), errno.EINVAL)


@attempt("open: the path's page is gone", ("r", "a", "swap once"))
def _(at):
    page = libc.mmap(None, ctypes.c_size_t(mmap.PAGESIZE), 3, 0x22, -1, ctypes.c_long(0))
    put(page, at.name("a"))
    return failed(swapping(lambda: libc.open(ctypes.c_void_p(page), os.O_RDONLY),
                           lambda: libc.munmap(page, mmap.PAGESIZE)), errno.EFAULT)


def make_links(at):
    """x/../link leads to a, and y/z/../link to b."""
    base = f"{at.work}/n{at.number}"
    os.makedirs(f"{base}/x")
    os.makedirs(f"{base}/y/z")
    os.symlink(at.name("a"), f"{base}/link")
    os.symlink(at.name("b"), f"{base}/y/link")
    return f"{base}/x", f"{base}/y/z"


@attempt("openat: another directory by the same number", ("r", "a", "swap once"), ("r", "b", "no"))
def _(at):
    first, second = (os.open(name, os.O_RDONLY) for name in make_links(at))
    return failed_fd(swapping(lambda: libc.openat(first, text_buffer("../link"), os.O_RDONLY),
                              lambda: os.dup2(second, first)))


@attempt("openat: a directory that is closed", ("r", "a", "swap once"))
def _(at):
    first = os.open(make_links(at)[0], os.O_RDONLY)
    return failed_fd(swapping(lambda: libc.openat(first, text_buffer("../link"), os.O_RDONLY), lambda: os.close(first)),
                     errno.EBADF)


@attempt("open: another working directory", ("r", "a", "swap once"), ("r", "b", "no"))
def _(at):
    first, second = make_links(at)
    os.chdir(first)
    got = failed_fd(swapping(lambda: libc.open(text_buffer("../link"), os.O_RDONLY), lambda: os.chdir(second)))
    os.chdir(at.work)
    return got


def exchange(at, target):
    """Lets a link in the working directory lead elsewhere."""
    os.symlink(target, f"{at.work}/n{at.number}-new")
    os.rename(f"{at.work}/n{at.number}-new", f"{at.work}/n{at.number}-link")


def add_link_race(sentence, target, *answers, below=""):
    @attempt(f"open: {sentence}", ("r", "a", "swap once"), *answers)
    def _(at):
        exchange(at, at.host if below else at.name("a"))
        path = text_buffer(f"{at.work}/n{at.number}-link{below}")
        return failed_fd(swapping(lambda: libc.open(path, os.O_RDONLY), lambda: exchange(at, target(at))))


add_link_race("a link that leads to another file", lambda at: at.name("b"), ("r", "b", "no"))
add_link_race("a link that leads to a secret", lambda at: at.secret)
add_link_race("a link that leads to itself", lambda at: f"{at.work}/n{at.number}-link")
add_link_race("a link in the middle", lambda at: at.name("dir"), ("r", "dir/a", "no"), below="/a")


@attempt("open: the link becomes a directory", ("r", "a", "swap once"))
def _(at):
    exchange(at, at.name("a"))
    link = f"{at.work}/n{at.number}-link"

    def swap():
        os.unlink(link)
        os.mkdir(link)
    fd = swapping(lambda: libc.open(text_buffer(link), os.O_RDONLY), swap)
    return None if fd >= 0 and stat.S_ISDIR(os.fstat(fd).st_mode) else f"{fd}"


def add_host_race(sentence, deed, *answers, call=None):
    """What changes on the host, where others work: the file, not its name."""
    @attempt(f"on the host: {sentence}", ("r", "a", f"{deed}; once"), *answers)
    def _(at):
        ctypes.set_errno(0)
        return failed_fd((call or (lambda at: libc.open(text_buffer(at.name("a")), os.O_RDONLY)))(at))


add_host_race("another file takes the name", "mv b a", ("r", "a", "no"))
add_host_race("a link takes the name", "ln -sf b a", ("r", "b", "no"))
add_host_race("the file is gone", "rm a")
add_host_race("a named pipe takes the name", "rm a; mkfifo a", ("r", "a", "no"))
add_host_race("a directory takes the name", "rm a; mkdir a", ("r", "a", "no"))
add_host_race("the directory is another one", "cp -r . ../tmp-$N; mv $D $D.old; mv ../tmp-$N $D", ("r", "a", "no"))


def running(at, call, swap):
    """As swapping(), of an exec: what the new program prints is wrong."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(into, 1)
        swapping(call, swap)
        os._exit(0)
    os.close(into)
    text = os.read(out, 999)
    os.close(out)
    os.waitpid(pid, 0)
    return f"executed: {text}" if text else None


def pointers(*texts):
    return (ctypes.c_void_p * 4)(*[ctypes.addressof(text) for text in texts])


def add_exec_race(sentence, swap, *answers):
    """swap(at, path, argument, argv): what is exchanged."""
    @attempt(f"exec: {sentence}", ("x", "bin/tool", "swap once"), *answers)
    def _(at):
        path, argument = text_buffer(at.tool()), text_buffer("one")
        argv = pointers(path, argument)
        return running(at, lambda: libc.execve(path, argv, None), lambda: swap(at, path, argument, argv))


def set_pointer(argv, at, value):
    argv[at] = value


def rewrite(at):
    with open(at.tool(), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho worse\n")


ANEW = ("x", "bin/tool", "no")
add_exec_race("another program", lambda at, path, argument, argv: put(path, at.tool("evil")), ("x", "bin/evil", "no"))
add_exec_race("another argument", lambda at, path, argument, argv: put(argument, "two"), ANEW)
add_exec_race("an argument more", lambda at, path, argument, argv: set_pointer(argv, 2, ctypes.addressof(path)), ANEW)
add_exec_race("an argument less", lambda at, path, argument, argv: set_pointer(argv, 1, None), ANEW)
add_exec_race("no arguments", lambda at, path, argument, argv: set_pointer(argv, 0, None))
add_exec_race("an argument at a bad address", lambda at, path, argument, argv: set_pointer(argv, 1, 8))
add_exec_race("other contents", lambda at, path, argument, argv: rewrite(at), ANEW)
add_exec_race("another file by that name", lambda at, path, argument, argv: os.rename(at.tool("evil"), at.tool()),
              ANEW)
add_exec_race("a link by that name", lambda at, path, argument, argv: (os.unlink(at.tool()), os.symlink(
    at.tool("evil"), at.tool())), ("x", "bin/evil", "no"))
add_exec_race("other times", lambda at, path, argument, argv: os.utime(at.tool(), (0, 0)), ANEW)
add_exec_race("another mode", lambda at, path, argument, argv: os.chmod(at.tool(), 0o777), ANEW)
add_exec_race("no mode at all", lambda at, path, argument, argv: os.chmod(at.tool(), 0))
add_exec_race("another name of the file", lambda at, path, argument, argv: os.link(at.tool(), at.tool("name")), ANEW)


@attempt("an answer for the run, while the path changes: it is for what was asked", ("r", "a", "swap run"),
         ("r", "b", "no"), ("r", "b", "no"))
def _(at):
    path = text_buffer(at.name("a"))
    got = failed_fd(swapping(lambda: libc.open(path, os.O_RDONLY), lambda: put(path, at.name("b"))))
    fd = libc.open(text_buffer(at.name("a")), os.O_RDONLY)
    return got or failed_fd(libc.open(path, os.O_RDONLY)) or (None if fd >= 0 else "a is not permitted for the run")


@attempt("an answer for the run to read: not to write", ("r", "a", "run"), ("w", "a", "no"))
def _(at):
    os.close(libc.open(text_buffer(at.name("a")), os.O_RDONLY))
    return failed_fd(libc.open(text_buffer(at.name("a")), os.O_RDWR))


@attempt("an answer for the run for a directory: not for what is below", ("r", "dir", "run"), ("r", "dir/a", "no"))
def _(at):
    fd = libc.open(text_buffer(at.name("dir")), os.O_RDONLY | os.O_DIRECTORY)
    return failed_fd(libc.openat(fd, text_buffer("a"), os.O_RDONLY))


@attempt("a scope that is not offered for two names", ("w", "a", "run"))
def _(at):
    return failed(libc.rename(text_buffer(at.name("a")), text_buffer(at.name("new"))))


@attempt("the thread that asked is gone: nothing is performed", ("w", "new", "swap once"))
def _(at):
    pid = os.fork()
    if pid == 0:
        swapping(lambda: libc.mkdir(text_buffer(at.name("new")), 0o755), lambda: os._exit(0))
    os.waitpid(pid, 0)
    os.write(done_fd, b"x")
    return None


@attempt("the process executes another program meanwhile: nothing is performed", ("w", "new", "swap once"))
def _(at):
    pid = os.fork()
    if pid == 0:
        swapping(lambda: libc.mkdir(text_buffer(at.name("new")), 0o755), lambda: os.execv("/bin/true", ["true"]))
    os.waitpid(pid, 0)
    os.write(done_fd, b"x")
    return None


# ---- floods ----

def together(count, target):
    threads = [threading.Thread(target=target, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    return threads


def await_bytes(fd, count):
    """Reads so many bytes of what threads and processes write when they are about to ask, or were refused."""
    end = time.monotonic() + 60
    while count > 0 and select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
        count -= len(os.read(fd, count))


def opened(name, results):
    fd = libc.open(text_buffer(name), os.O_RDONLY)
    results.append(fd >= 0)
    if fd >= 0:
        os.close(fd)


@attempt("twenty threads ask the same: one question", ("r", "a", "hold once"), most=1)
def _(at):
    results = []
    begun, begin = os.pipe()
    threads = together(20, lambda n: (os.write(begin, b"x"), opened(at.name("a"), results)))
    await_bytes(begun, 20)
    time.sleep(1)  # in which each that has begun makes its call
    os.write(done_fd, b"x")
    for thread in threads:
        thread.join()
    return None if results == [True] * 20 else f"{results}"


@attempt("twenty processes ask the same: one question", ("r", "a", "hold once"), most=1)
def _(at):
    children = []
    begun, begin = os.pipe()
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            os.write(begin, b"x")
            os._exit(libc.open(text_buffer(at.name("a")), os.O_RDONLY) < 0)
        children.append(pid)
    await_bytes(begun, 20)
    time.sleep(1)  # in which each that has begun makes its call
    os.write(done_fd, b"x")
    codes = [os.waitpid(pid, 0)[1] for pid in children]
    return None if codes == [0] * 20 else f"{codes}"


@attempt("twenty threads ask for different files: five questions, and others go on", ("r", None, "hold no"), most=5)
def _(at):
    results = []
    threads = together(20, lambda n: opened(at.name(f"many-{n}"), results))
    end = time.monotonic() + 60
    while len(results) < 15 and time.monotonic() < end:
        time.sleep(0.01)
    denied = len(results)
    for _ in range(200):
        os.stat("/usr")
    others = len(results) == denied
    os.write(done_fd, b"x")
    for thread in threads:
        thread.join()
    return None if denied == 15 and others and not any(results) else f"{denied} denied at once, {results}"


@attempt("60 questions, one after the other", ("r", None, "no"), most=10)
def _(at):
    results = []
    end = time.monotonic() + 0.9  # there may be ten more in the next second
    for n in range(60):
        if time.monotonic() < end:
            opened(at.name(f"many-{n}"), results)
    return None if not any(results) else f"{results}"


@attempt("a bomb of 63 processes that all ask", ("r", None, "hold no"), most=5)
def _(at):
    first = os.getpid()
    refused, refuse = os.pipe()
    for n in range(6):
        os.fork()
    if os.getpid() == first:
        await_bytes(refused, 63 - 5)
        os.write(done_fd, b"x")
    else:
        libc.open(text_buffer(at.name(f"many-{os.getpid()}")), os.O_RDONLY)
        os.write(refuse, b"x")
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    if os.getpid() != first:
        os._exit(0)
    return None


@attempt("the same by many command lines: five questions", ("r", "a", "hold no"), most=5)
def _(at):
    null = os.open("/dev/null", os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    children = [os.posix_spawn("/usr/bin/cat", ["cat", at.name("a"), str(n)], {}, file_actions=actions)
                for n in range(12)]
    codes = [os.wait()[1] for _ in range(12 - 5)]  # those that are not asked about
    os.write(done_fd, b"x")
    codes += [os.wait()[1] for _ in range(5)]
    return None if 0 not in codes and len(children) == len(codes) else f"{codes}"


@attempt("askers that are killed at once", ("r", None, "hold once"), most=10)
def _(at):
    end = time.monotonic() + 0.9  # there may be ten more in the next second
    for n in range(30):
        if time.monotonic() > end:
            break
        pid = os.fork()
        if pid == 0:
            libc.open(text_buffer(at.name(f"many-{n}")), os.O_RDONLY)
            os._exit(0)
        time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.write(done_fd, b"x")
    return None


@attempt("an asker that signals interrupt: one question", ("r", "a", "hold once"), most=1)
def _(at):
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.siginterrupt(signal.SIGALRM, True)
    timer = threading.Timer(0.3, lambda: os.write(done_fd, b"x"))
    timer.start()
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    fd = libc.open(text_buffer(at.name("a")), os.O_RDONLY)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return None if fd >= 0 else "interrupted"


@attempt("one file by many names: five questions", ("r", "a", "hold no"), most=5)
def _(at):
    results = []
    threads = together(20, lambda n: opened(at.host + "/" * (n + 1) + "a", results))
    end = time.monotonic() + 60
    while len(results) < 15 and time.monotonic() < end:
        time.sleep(0.01)
    os.write(done_fd, b"x")
    for thread in threads:
        thread.join()
    return None if not any(results) else f"{results}"


# ---- inside ----

def inside(directory, run, numbers):
    global go_fd, done_fd
    go_fd, done_fd = os.open("go", os.O_RDWR), os.open("done", os.O_RDWR)
    asked = []
    for each in (ATTEMPTS[number - 1] for number in numbers):
        asked = [moment for moment in asked if moment > time.monotonic() - 1.05]
        if len(asked) + each.cost() > QUESTIONS_A_SECOND:
            time.sleep(asked[len(asked) + each.cost() - QUESTIONS_A_SECOND - 1] + 1.05 - time.monotonic())
        try:
            got = each.function(Place(directory, run, each.number))
        except OSError as error:
            got = None if each.kind == "forge" else f"{error}"
        asked += [time.monotonic()] * each.cost()
        print("result", json.dumps([each.number, got]), flush=True)


# ---- outside: the approver ----

wrong = []


def complain(each, what):
    wrong.append(f"FAIL: {each.number}, {each.sentence}: {what}")


LINES = re.compile("program,started as,(started by,){0,4}(processes above that are not shown,)?wants to,(path,){1,2}"
                   "(with,)?(note,)?call,(rule for this,)?a rule for this would open(,again){0,8}")


class Run:
    """One run of callgate, with its own directories and socket, and a thread that is its approver."""

    def __init__(self, directory, number, attempts):
        self.number, self.attempts, self.directory = number, attempts, directory
        self.work, self.host = f"{directory}/w{number}", f"{directory}/h{number}"
        self.pending, self.closed = [], 0
        os.makedirs(f"{self.work}/bin")
        os.makedirs(f"{self.work}/free")
        os.mkdir(self.host)
        self.write(f"{self.host}/id_rsa", "KEY\n")
        self.write(f"{self.work}/plain", "plain\n")
        for each in attempts:
            self.make_files(each)
        for name in ("go", "done"):
            os.mkfifo(f"{self.work}/{name}", 0o600)
        self.go = os.open(f"{self.work}/go", os.O_RDWR)
        self.done = os.open(f"{self.work}/done", os.O_RDWR)
        self.before = self.look()

    @staticmethod
    def write(name, text, mode=0o644):
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)

    def make_files(self, each):
        at = Place(self.directory, self.number, each.number)
        os.makedirs(f"{at.host}/dir")
        for name in ("a", "b", "dir/a"):
            self.write(at.name(name), f"text {name}\n")
        if each.file:
            with open(os.fsencode(at.host) + b"/" + each.file, "wb"):
                pass
        if "4,000" in each.sentence:
            os.makedirs(at.host + "/" + "/".join(["x" * 200] * 18))
            self.write(at.host + "/" + "/".join(["x" * 200] * 18) + "/file", "text")
        if each.answers and each.answers[0][1] is None:
            for n in range(60 if each.most else 0):
                self.write(at.name(f"many-{n}"), "")
        if each.sentence.startswith("exec"):
            self.write(at.tool(), "#!/bin/sh\necho good $@\n", 0o755)
            self.write(at.tool("evil"), "#!/bin/sh\necho evil $@\n", 0o755)

    def look(self):
        """All that the program must not change: names, types, modes, owners, contents. Not what the host changes."""
        seen = {}
        for folder, _, files in os.walk(self.host):
            for name in [folder] + [os.path.join(folder, file) for file in files]:
                found = os.lstat(name)
                seen[name] = (found.st_mode, found.st_uid, found.st_size, found.st_nlink, int(found.st_mtime)
                              if stat.S_ISREG(found.st_mode) else 0)
        return seen

    def start(self, callgate):
        policy = {"version": 1, "name": "attempts", "on_deny": "ask", "filesystem": {
            "read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run", "/sys/devices/system/cpu"],
            "exec": ["/usr", "/bin", "/lib", "/lib64", "@workdir/bin", "@workdir/free"], "write": ["@workdir"]},
            "exec": {"deny": [{"path": "@workdir/bin/*", "on_deny": "ask"}]}}
        at = Place(self.directory, self.number, 0)
        self.write(f"{self.directory}/p{self.number}.json", json.dumps(policy))
        with open(__file__, encoding="utf-8") as source:
            self.write(f"{self.work}/attempts.py", source.read())
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(at.socket)
        listener.listen(1)
        self.process = subprocess.Popen(
            [callgate, "run", "-q", "-p", f"{self.directory}/p{self.number}.json", "--approve", f"socket:{at.socket}",
             "--approvals", at.kept, "-e", "PATH=/usr/bin:/bin", "-t", "60", "--ask-timeout", "20s", "--json", "-w",
             self.work, "--", "python3", "-S", "attempts.py", "inside", self.directory, str(self.number)] +
            [str(each.number) for each in self.attempts], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.thread = threading.Thread(target=self.approve, args=(listener,))
        self.thread.start()

    def approve(self, listener):
        ready = []
        while listener not in ready and self.process.poll() is None:
            ready, _, _ = select.select([listener], [], [], 0.05)
        if listener not in ready:
            return
        self.connection = listener.accept()[0]
        rest = b""
        while True:
            ready, _, _ = select.select([self.connection, self.done], [], [])
            if self.done in ready:
                os.read(self.done, 1)
                self.answer_pending()
            if self.connection not in ready:
                continue
            data = self.connection.recv(1 << 20)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.take(line)

    def say(self, question, word):
        try:
            self.connection.sendall(json.dumps({"id": question["id"], "answer": word}).encode() + b"\n")
        except OSError:
            pass

    def answer_pending(self):
        for question, word in self.pending:
            self.say(question, word)
        self.pending.clear()

    def take(self, line):
        question = json.loads(line)
        if question["type"] != "question":
            self.closed += 1
            return
        number = re.search(r"/n(\d+)(?:[-/]|$)", question["resolved"])
        if not number or not 0 < int(number[1]) <= len(ATTEMPTS):
            wrong.append(f"FAIL: run {self.number}: asked about {question['resolved']}")
            self.say(question, "no")
            return
        each = ATTEMPTS[int(number[1]) - 1]
        self.check(each, question, line)
        at = min(each.asked, len(each.answers) - 1)
        each.asked += 1
        if at < 0:
            complain(each, f"asked about {question['resolved']}")
            self.say(question, "no")
        else:
            self.do(each, question, each.answers[at])

    def check(self, each, question, line):
        """What people and programs are shown."""
        if re.search(rb"[^ -~]", line):
            complain(each, f"not ASCII: {line}")
        names = [text.split(":")[0] for text in question["shown"]]
        if question["right"] != "x" and not LINES.fullmatch(",".join(names)):
            complain(each, f"other lines: {names}")
        if len(line) > 61440:
            complain(each, "a question that is too long")
        got = each.check(Place(self.directory, self.number, each.number), question) if each.check else None
        if got:
            complain(each, got)

    def do(self, each, question, answer):
        at = Place(self.directory, self.number, each.number)
        right, file, deed = answer
        expected = None if file is None else at.tool(file[4:]) if file.startswith("bin/") else \
            at.name(file) if file else at.host
        if question["right"] != right or (expected and question["resolved"] != expected):
            complain(each, f"asked about {question['right']} {question['resolved']}, and not {right} {expected}")
        *deeds, word = deed.split("; ")
        kind, _, plain = word.rpartition(" ")
        if deeds:
            subprocess.run(["sh", "-c", "; ".join(deeds)], cwd=at.host, check=True,
                           env={"PATH": os.environ["PATH"], "D": at.host, "N": str(each.number)})
        if kind == "swap":
            self.pending.append((question, plain))
            os.write(self.go, b"x")
        elif kind == "hold":
            self.pending.append((question, plain))
        else:
            self.say(question, word)

    def end(self):
        out, err = self.process.communicate()
        self.thread.join()
        result = json.loads(out)
        lines = [line[7:] for line in (result.get("stdout") or "").split("\n") if line.startswith("result ")]
        got = dict(json.loads(line) for line in lines)
        for each in self.attempts:
            if each.number not in got:
                complain(each, f"no result: {result.get('status')} {result.get('signal')} {err.decode()[-500:]}"
                         f"{(result.get('stderr') or '')[-2000:]}")
            elif got[each.number]:
                complain(each, got[each.number])
            if each.asked > each.most if each.most else each.asked != len(each.answers):
                complain(each, f"{each.asked} questions, and not {each.most or len(each.answers)}: " + ", ".join(
                    denial.get("answer", "none") for denial in result.get("denials", [])
                    if f"/n{each.number}/" in str(denial)))
        changed = {name for name, found in self.look().items() ^ self.before.items()}
        hosts = {each.number for each in self.attempts if each.sentence.startswith("on the host")}
        for name in sorted(changed):
            number = re.search(r"/(?:n|tmp-)(\d+)", name)
            if not (number and int(number[1]) in hosts) and name != self.host:
                wrong.append(f"FAIL: changed: {name}")
        at = Place(self.directory, self.number, 0)
        if os.path.getsize(at.kept) or not stat.S_ISSOCK(os.lstat(at.socket).st_mode):
            wrong.append("FAIL: the approver's socket or file")


def outside(directory, callgate):
    shares = [[] for _ in range(RUNS)]
    chosen = [int(number) for number in os.environ.get("ATTEMPTS", "").split()]
    for each in sorted(ATTEMPTS, key=Attempt.cost, reverse=True):
        if not chosen or each.number in chosen:
            min(shares, key=lambda share: sum(other.cost() for other in share)).append(each)
    runs = [Run(directory, number, sorted(share, key=lambda each: each.number))
            for number, share in enumerate(shares) if share]
    for run in runs:
        run.start(callgate)
    for run in runs:
        run.end()
    print("\n".join(wrong + [f"{len(ATTEMPTS)} attempts"]))
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "outside":
        sys.exit(outside(*sys.argv[2:]))
    inside(sys.argv[2], sys.argv[3], [int(number) for number in sys.argv[4:]])
