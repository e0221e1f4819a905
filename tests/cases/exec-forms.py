"""Every form of exec, with its errno or what the new image saw.

The output is the same natively and inside callgate, where /tmp is redirected.
"""
import ctypes, os, re, shutil, stat, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EMPTY, NOFOLLOW, CHECK = -100, 0x1000, 0x100, 0x10000
NR_EXECVEAT = {"x86_64": 322, "aarch64": 281}[os.uname().machine]
base = sys.argv[1]
SHOW = base + "/show"


def show(label, action):
    """Runs action, which execs, in a child; prints the exit, what it printed comes first."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        error = 0
        try:
            error = action()
        except OSError as problem:
            error = problem.errno
        os._exit(100 + (error or 0) % 100)
    print(label, "->", os.waitpid(pid, 0)[1], flush=True)


def write(name, text, mode=0o755):
    path = os.path.join(base, name)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


def at(fd, path, flags, argv=(b"zero", b"one"), null=False):
    vector = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    libc.syscall(NR_EXECVEAT, fd, path.encode(), None if null else vector, None, flags)
    return ctypes.get_errno()


def prepare():
    write("show", "#!/bin/sh\necho \"$0|$*\"\n")
    write("echo", open("/bin/echo", "rb").read())
    write("plain", "no program at all\n")
    write("empty", "")
    write("locked", "#!/bin/sh\n", 0o644)
    write("bad-interp", "#!/nonexistent/interp\n")
    write("dir-interp", "#!/usr\n")
    write("arg-interp", "#!/bin/echo  a b  \n")
    write("virt-interp", "#!%s/echo x y\n" % base)
    write("rel-interp", "#!./echo rel\n")
    write("empty-interp", "#!")
    write("cut-interp", "#!/" + "x" * 300 + "\n")
    previous = "/bin/echo"
    for depth in range(1, 8):
        previous = write("chain%d" % depth, "#!%s c%d\n" % (previous, depth))
    elf = open("/bin/echo", "rb").read()
    write("cut-elf", elf[:64])
    write("short-elf", elf[:16])
    write("rel-elf", elf[:16] + b"\x01\x00" + elf[18:])
    write("bad-loader", elf.replace(b"/lib64/ld-linux-x86-64.so.2", b"/lib64/ld-linux-x86-64.so.9"))
    os.symlink("echo", base + "/link")
    os.symlink("loop", base + "/loop")
    os.symlink(base + "/link", base + "/link2")
    os.mkdir(base + "/sub")
    os.chdir(base)


def by_path():
    names = ["echo", "./echo", "sub/../echo", "link", "link2", "loop", "show", "./show", "plain", "empty", "locked",
             "bad-interp",
             "dir-interp", "arg-interp", "virt-interp", "rel-interp", "empty-interp", "cut-interp", "cut-elf",
             "short-elf",
             "rel-elf", "bad-loader", "sub", ".", "..", "/", "", "nothing", "nothing/x", "echo/", "echo/x", "x" * 256,
             "x/" * 2100, "/bin/true", "//bin//../bin/echo"] + ["chain%d" % depth for depth in range(1, 8)]
    for name in names:
        show(name[:40], lambda: os.execve(name, ["zero", "one", "two words"], {}))
        if name and name[0] != "/" and len(name) < 4000:
            show("abs " + name[:40], lambda: os.execve(base + "/" + name, ["zero", "one", "two words"], {}))


def by_descriptor():
    here = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    echo = os.open("echo", os.O_RDONLY)
    script = os.open("show", os.O_RDONLY)
    kept = os.open("show", os.O_RDONLY)
    os.set_inheritable(kept, True)
    show("at cwd", lambda: at(AT_FDCWD, "echo", 0))
    show("at dir", lambda: at(here, "echo", 0))
    show("at dir script", lambda: at(here, "show", 0))
    show("at bad fd", lambda: at(99, "echo", 0))
    show("at file", lambda: at(echo, "echo", 0))
    show("at absolute", lambda: at(99, base + "/echo", 0))
    show("empty path", lambda: at(echo, "", 0))
    show("empty path flag", lambda: at(echo, "", EMPTY))
    show("empty path script", lambda: at(script, "", EMPTY))
    show("empty path kept script", lambda: at(kept, "", EMPTY))
    show("empty path dir", lambda: at(here, "", EMPTY))
    show("empty path cwd", lambda: at(AT_FDCWD, "", EMPTY))
    show("empty path bad", lambda: at(99, "", EMPTY))
    show("nofollow", lambda: at(here, "link", NOFOLLOW))
    show("nofollow file", lambda: at(here, "echo", NOFOLLOW))
    show("unknown flag", lambda: at(here, "echo", 1))
    show("no argv", lambda: at(here, "echo", 0, null=True))
    show("empty argv", lambda: at(AT_FDCWD, "arg-interp", 0, argv=()))
    show("many", lambda: at(AT_FDCWD, "virt-interp", 0, argv=[b"%d" % i for i in range(5000)]))
    show("bad pointer", lambda: libc.execve(ctypes.c_void_p(8), None, None) and ctypes.get_errno())
    show("bad argv", lambda: libc.execve(b"./virt-interp", ctypes.c_void_p(8), None) and ctypes.get_errno())
    show("proc fd", lambda: os.execve("/proc/self/fd/%d" % echo, ["zero", "one"], {}))
    show("proc exe", lambda: os.execve("/proc/self/exe", ["python3", "-c", "print('again')"], {}))
    busy = os.open("echo", os.O_WRONLY)
    show("busy", lambda: os.execve("./echo", ["zero"], {}))
    os.close(busy)


class Image:
    """echo, with other headers."""

    def __init__(self):
        self.data = bytearray(open("/bin/echo", "rb").read())
        self.phoff, = struct.unpack_from("<Q", self.data, 32)
        self.heads = [self.phoff + 56 * i for i in range(struct.unpack_from("<H", self.data, 56)[0])]
        self.loader = self.first(3)
        offset, = struct.unpack_from("<Q", self.data, self.loader + 8)
        size, = struct.unpack_from("<Q", self.data, self.loader + 32)
        self.text = bytes(self.data[offset:offset + size])

    def first(self, kind):
        return next(at for at in self.heads if struct.unpack_from("<I", self.data, at)[0] == kind)

    def put(self, form, at, value):
        struct.pack_into(form, self.data, at, value)
        return self

    def names(self, text, at=None, size=None):
        """Makes a header name a loader."""
        at = at or self.loader
        self.put("<I", at, 3).put("<Q", at + 8, len(self.data)).put("<Q", at + 32, size or len(text))
        self.data += text
        return self


def images():
    own = Image().text
    shutil.copy(own[:-1].decode(), "ld")
    os.mkfifo("fifo", 0o755)
    absolute = (base + "/ld").encode() + b"\0"
    kept = Image().first(6)  # PT_PHDR comes first
    last = Image().heads[-1]
    load = Image().first(1)
    made = {
        "loader rel": Image().names(b"ld\0"), "loader abs": Image().names(absolute),
        "loader dots": Image().names(b"sub/.././ld\0"), "loader nul": Image().names(own + b"/nothing\0"),
        "loader no nul": Image().names(own[:-1]), "loader empty": Image().names(b"\0\0"),
        "loader one": Image().names(b"\0"),
        "loader 4096": Image().names(b"/" * 4095 + b"\0"), "loader 4097": Image().names(b"/" * 4096 + b"\0"),
        "loader beyond": Image().names(own, size=400), "loader itself": Image().names(b"loader itself\0"),
        "loader script": Image().names(b"show\0"), "loader dir": Image().names(b"sub\0"),
        "loader fifo": Image().names(b"fifo\0"),
        "loader plain": Image().names(b"plain\0"),
        "two, first bad": Image().names(b"nothing\0", kept), "two, last bad": Image().names(b"nothing\0", last),
        "phoff beyond": Image().put("<Q", 32, 1 << 40), "phoff negative": Image().put("<Q", 32, (1 << 64) - 64),
        "phnum 0": Image().put("<H", 56, 0), "phnum most": Image().put("<H", 56, 65535),
        "phentsize": Image().put("<H", 54, 57),
        "core": Image().put("<H", 16, 4), "no load": Image().put("<I", load, 0),
        "filesz": Image().put("<Q", load + 40, 1), "vaddr": Image().put("<Q", load + 16, 1 << 63),
        "align": Image().put("<Q", load + 48, 3), "offset": Image().put("<Q", load + 8, 1),
    }
    if "loaders" not in sys.argv[2:]:
        del made["loader abs"]
    for name, image in made.items():
        write(name, bytes(image.data))
        show(name, lambda: os.execve(name, ["zero", "one"], {}))
        show("abs " + name, lambda: os.execve(base + "/" + name, ["zero", "one"], {}))
    os.link("echo", "hard")
    write("hard-interp", "#!%s/hard h\n" % base)
    for name in ("fifo", "hard", "hard-interp", "/dev/null", "/dev/fd", "/proc/self/task"):
        show(name, lambda: os.execve(name, ["zero", "one"], {}))
    for name in ("echo", "show", "link", "fifo", "sub", "hard-interp"):
        path = os.open(name, os.O_PATH | os.O_NOFOLLOW)
        os.set_inheritable(path, True)
        show("path " + name, lambda: at(path, "", EMPTY))
        show("path proc " + name, lambda: os.execve("/proc/self/fd/%d" % path, ["zero", "one"], {}))
        show("path dev " + name, lambda: os.execve("/dev/fd/%d" % path, ["zero", "one"], {}))
        show("path nofollow " + name, lambda: at(path, "", EMPTY | NOFOLLOW))


def directories():
    for name in [base, ".", "sub", "..", "/", "/usr", "/usr/bin/..", base + "/sub/../..", "nothing", "echo", "loop", "",
                 "/proc/self",
                 "/proc/self/cwd", "/proc/self/fd", "/dev", "x" * 256, "x/" * 2100]:
        os.chdir(base)
        try:
            os.chdir(name)
            print("chdir", name[:40], re.sub(r"(?<=[-/])%d\b" % os.getpid(), "PID", os.getcwd()), os.path.isdir("."))
        except OSError as problem:
            print("chdir", name[:40], problem.errno)
    os.chdir(base)


shutil.rmtree(base, ignore_errors=True)
os.mkdir(base)
prepare()
by_path()
by_descriptor()
images()
directories()
shutil.rmtree(base)
