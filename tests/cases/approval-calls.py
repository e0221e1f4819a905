"""Each system call that names files, in a directory of the host that nothing grants, where rules that ask name the
files alone: one question for each call, and success after "once". And calls that also name a file about which no rule
asks: no question, and no effect.

approval-calls.py make DIR: makes a directory for each call, and prints the names that a rule is to ask about.
approval-calls.py run DIR: makes the calls, in the sandbox, and prints what is wrong.
approval-calls.py check DIR QUESTIONS: prints what is wrong with the questions, lines of JSON."""
import ctypes
import errno
import json
import os
import socket
import stat
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
HERE = -100  # AT_FDCWD
EXCHANGE, NOREPLACE = 2, 1
QUESTIONS_A_SECOND = 10
BUFFER = ctypes.create_string_buffer(4096)
OPENAT2, FACCESSAT2, FCHMODAT2 = 437, 439, 452
CALLS, UNASKED = [], []


def call(name, right, function, *files, **more):
    """files: what the call names, of those that make() has made: file, file2, dir, link, new, new2."""
    CALLS.append((name, right, function, files, more))


def unasked(sentence, function):
    """function gets the directory; in it a rule asks about file, new and dir, and none about the rest."""
    UNASKED.append((sentence, function))


def path(name):
    return ctypes.create_string_buffer(os.fsencode(name))


def raw(number, *args):
    return libc.syscall(ctypes.c_long(number), *args)


def how(flags):
    return (ctypes.c_uint64 * 3)(flags, 0, 0)


def watch(name):
    return libc.inotify_add_watch(libc.inotify_init1(0), path(name), 2)


SIZE = ctypes.c_size_t
ZERO = ctypes.c_size_t(0)
ONE = ctypes.c_size_t(1)
X = path("user.x")

call("open", "r", lambda f: libc.open(path(f), os.O_RDONLY), "file")
call("openat", "r", lambda f: libc.openat(HERE, path(f), os.O_RDONLY | os.O_DIRECTORY), "dir")
call("openat", "r", lambda f: libc.openat(HERE, path(f), os.O_PATH), "file")
call("openat", "w", lambda f: libc.openat(HERE, path(f), os.O_RDWR), "file")
call("openat", "w", lambda f: libc.openat(HERE, path(f), os.O_WRONLY | os.O_TRUNC), "file")
call("openat", "w", lambda f: libc.openat(HERE, path(f), os.O_WRONLY | os.O_CREAT, 0o600), "new")
call("openat", "w", lambda f: libc.openat(HERE, path(f), os.O_RDWR | os.O_TMPFILE, 0o600), "dir")
call("openat2", "r", lambda f: raw(OPENAT2, HERE, path(f), how(os.O_RDONLY), SIZE(24)), "file")
call("creat", "w", lambda f: libc.creat(path(f), 0o600), "new")
call("stat", "r", lambda f: libc.stat(path(f), BUFFER), "file")
call("lstat", "r", lambda f: libc.lstat(path(f), BUFFER), "link")
call("statx", "r", lambda f: libc.statx(HERE, path(f), 0, 0xfff, BUFFER), "file")
call("statfs", "r", lambda f: libc.statfs(path(f), BUFFER), "file")
call("access", "r", lambda f: libc.access(path(f), os.R_OK), "file")
call("faccessat2", "r", lambda f: raw(FACCESSAT2, HERE, path(f), os.W_OK, 0x200), "file")
call("readlink", "r", lambda f: libc.readlink(path(f), BUFFER, SIZE(99)), "link")
call("getxattr", "r", lambda f: libc.getxattr(path(f), X, BUFFER, SIZE(9)), "file")
call("listxattr", "r", lambda f: libc.listxattr(path(f), BUFFER, SIZE(99)), "file")
call("inotify_add_watch", "r", watch, "file")
call("chdir", "r", lambda f: libc.chdir(path(f)), "dir")
call("truncate", "w", lambda f: libc.truncate(path(f), ONE), "file")
call("mkdir", "w", lambda f: libc.mkdir(path(f), 0o755), "new")
call("mkdirat", "w", lambda f: libc.mkdirat(HERE, path(f), 0o755), "new")
call("rmdir", "w", lambda f: libc.rmdir(path(f)), "dir")
call("unlink", "w", lambda f: libc.unlink(path(f)), "file")
call("unlinkat", "w", lambda f: libc.unlinkat(HERE, path(f), 0x200), "dir")
call("mknod", "w", lambda f: libc.mknod(path(f), stat.S_IFREG | 0o600, ZERO), "new")
call("mknodat", "w", lambda f: libc.mknodat(HERE, path(f), stat.S_IFIFO | 0o600, ZERO), "new")
call("chmod", "w", lambda f: libc.chmod(path(f), 0o640), "file")
call("fchmodat", "w", lambda f: libc.fchmodat(HERE, path(f), 0o640, 0), "file")
call("fchmodat2", "w", lambda f: raw(FCHMODAT2, HERE, path(f), 0o640, 0), "file", may_lack=True)
call("chown", "w", lambda f: libc.chown(path(f), os.getuid(), os.getgid()), "file")
call("lchown", "w", lambda f: libc.lchown(path(f), os.getuid(), os.getgid()), "link")
call("fchownat", "w", lambda f: libc.fchownat(HERE, path(f), os.getuid(), os.getgid(), 0), "file")
call("utime", "w", lambda f: libc.utime(path(f), None), "file")
call("utimes", "w", lambda f: libc.utimes(path(f), None), "file")
call("utimensat", "w", lambda f: libc.utimensat(HERE, path(f), None, 0), "file")
call("setxattr", "w", lambda f: libc.setxattr(path(f), X, b"1", ONE, 0), "file")
call("lsetxattr", "w", lambda f: libc.lsetxattr(path(f), X, b"1", ONE, 0), "file")
call("removexattr", "w", lambda f: libc.removexattr(path(f), X), "file")
call("symlink", "w", lambda f: libc.symlink(path("file"), path(f)), "new")
call("symlinkat", "w", lambda f: libc.symlinkat(path("/nowhere"), HERE, path(f)), "new")
call("link", "w", lambda f, g: libc.link(path(f), path(g)), "file", "new")
call("linkat", "w", lambda f, g: libc.linkat(HERE, path(f), HERE, path(g), 0), "link", "new")
call("linkat", "w", lambda f, g: libc.linkat(HERE, path(f), HERE, path(g), 0x400), "file", "new")
call("rename", "w", lambda f, g: libc.rename(path(f), path(g)), "file", "new")
call("rename", "w", lambda f, g: libc.rename(path(f), path(g)), "file", "file2")
call("rename", "w", lambda f, g: libc.rename(path(f), path(g)), "dir", "new")
call("renameat", "w", lambda f, g: libc.renameat(HERE, path(f), HERE, path(g)), "link", "new")
call("renameat2", "w", lambda f, g: libc.renameat2(HERE, path(f), HERE, path(g), NOREPLACE), "file", "new")
call("renameat2", "w", lambda f, g: libc.renameat2(HERE, path(f), HERE, path(g), EXCHANGE), "file", "file2")
call("renameat2", "w", lambda f, g: libc.renameat2(HERE, path(f), HERE, path(g), EXCHANGE), "dir", "file")

unasked("rename to a name of which no rule asks", lambda d: libc.rename(path(f"{d}/file"), path(f"{d}/other")))
unasked("rename of a file of which no rule asks", lambda d: libc.rename(path(f"{d}/rest"), path(f"{d}/new")))
unasked("rename over such a file", lambda d: libc.rename(path(f"{d}/file"), path(f"{d}/rest")))
unasked("exchange with such a file",
        lambda d: libc.renameat2(HERE, path(f"{d}/file"), HERE, path(f"{d}/rest"), EXCHANGE))
unasked("rename to a directory that may only be read", lambda d: libc.rename(path(f"{d}/file"), path(f"{d}/read/new")))
unasked("rename from there", lambda d: libc.rename(path(f"{d}/read/file"), path(f"{d}/new")))
unasked("link to a name of which no rule asks", lambda d: libc.link(path(f"{d}/file"), path(f"{d}/other")))
unasked("link of such a file", lambda d: libc.link(path(f"{d}/rest"), path(f"{d}/new")))
unasked("link of a file that may only be read", lambda d: libc.link(path(f"{d}/read/file"), path(f"{d}/new")))
unasked("rename of a directory with a file that a rule denies",
        lambda d: libc.rename(path(f"{d}/denied"), path(f"{d}/new")))
unasked("execute", lambda d: libc.execv(path(f"{d}/file"), (ctypes.c_char_p * 2)(b"x", None)))
unasked("connect", lambda d: socket.socket(socket.AF_UNIX).connect(f"{d}/file"))
unasked("bind", lambda d: socket.socket(socket.AF_UNIX).bind(f"{d}/new"))
unasked("mount", lambda d: libc.mount(path(f"{d}/dir"), path(f"{d}/dir"), path(""), ctypes.c_ulong(4096), None))


def make_files(directory):
    for name in ("dir", "denied", "read"):
        os.makedirs(f"{directory}/{name}")
    for name in ("file", "file2", "rest", "denied/secret", "read/file"):
        with open(f"{directory}/{name}", "w", encoding="ascii") as file:
            file.write("text\n")
    os.symlink("file", f"{directory}/link")
    try:
        os.setxattr(f"{directory}/file", "user.x", b"1")
    except OSError as error:
        sys.exit(f"no extended attributes: {error}")


def make(directory):
    for number, entry in enumerate(CALLS):
        make_files(f"{directory}/{number}")
        for file in entry[3]:
            print(f"{directory}/{number}/{file}")
    make_files(f"{directory}/unasked")
    for file in ("file", "new", "dir", "denied"):
        print(f"{directory}/unasked/{file}")


def run(directory):
    for number, (name, _, function, files, more) in enumerate(CALLS):
        time.sleep(1.05 / QUESTIONS_A_SECOND)
        ctypes.set_errno(0)
        got = function(*[f"{directory}/{number}/{file}" for file in files])
        if got < 0 and not (more.get("may_lack") and ctypes.get_errno() == errno.ENOSYS):
            print(f"{number}, {name} {files}: {errno.errorcode.get(ctypes.get_errno())}")
        os.chdir("/")
    for sentence, function in UNASKED:
        ctypes.set_errno(0)
        try:
            got = function(f"{directory}/unasked")
        except OSError:
            got = -1
        if got >= 0:
            print(f"{sentence}: succeeded")


def check(directory, questions):
    with open(questions, encoding="ascii") as file:
        lines = [json.loads(line) for line in file]
    asked = [[line["right"], line["resolved"]] + ([line["resolved2"]] if "resolved2" in line else [])
             for line in lines if line["type"] == "question"]
    for number, (name, right, _, files, more) in enumerate(CALLS):
        expected = [right] + [f"{directory}/{number}/{file}" for file in files]
        if asked and asked[0] == expected:
            asked.pop(0)
        elif not more.get("may_lack"):
            print(f"{number}, {name}: asked {asked[:1]}, and not {expected}")
    if asked:
        print(f"asked as well: {asked}")


if __name__ == "__main__":
    {"make": make, "run": run, "check": check}[sys.argv[1]](*sys.argv[2:])
