"""Leaving the place, kernel interfaces that a filter may not see, and programs that were not granted."""
import ctypes
import mmap
import os
import shutil
import signal
import struct
import sys

from attempt import (
    AT_EMPTY_PATH, AT_FDCWD, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWUSER, CLONE_PTRACE, MARKER, NR, QUIT, Refused,
    SHADOW, X86, attempt, call, executes, first, in_child)


@attempt("unshare into a user namespace")
def _():
    return first(lambda flags: in_child(lambda: call("unshare", flags)) or "in it",
                 [CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS, CLONE_NEWNET])


def cloned(name, *args):
    if call(name, *args) == 0:
        os._exit(0)
    return "a child of it"


@attempt("clone into a user namespace")
def _():
    return cloned("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@attempt("clone3 into a user namespace")
def _():
    return cloned("clone3", struct.pack("11Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88)


@attempt("clone with the supervisor as its tracer")
def _():
    return cloned("clone", CLONE_PTRACE | signal.SIGCHLD, 0, 0, 0, 0)


@attempt("mount, chroot, pivot_root, setns, open_tree")
def _():
    calls = {"mount": (b"none", b"/tmp", b"tmpfs", 0, None), "chroot": (b".",), "pivot_root": (b".", b"."),
             "setns": (0, 0), "open_tree": (AT_FDCWD, b"/", 1)}
    return first(lambda name: in_child(lambda: call(name, *calls[name])) or "done", calls)


@attempt("io_uring")
def _():
    return "descriptor %d" % call("io_uring_setup", 4, ctypes.create_string_buffer(120))


@attempt("bpf, perf_event_open and userfaultfd")
def _():
    calls = {"bpf": (0, struct.pack("IIII", 2, 4, 4, 1) + bytes(56), 72), "userfaultfd": (1,),
             "perf_event_open": (struct.pack("IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0)}
    return first(lambda name: "descriptor %d" % call(name, *calls[name]), calls)


@attempt("a listener for system calls of one's own")
def _():
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000), 8)
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
    return in_child(lambda: call("seccomp", 1, 8, program)) or "a listener"


@attempt("the 32-bit system calls (int 0x80)")
def _():
    if not X86:
        raise Refused("x86 only")

    def calls():
        with mmap.mmap(-1, 4096, prot=7) as page:
            # mov eax, 20 (getpid of i386); int 0x80; ret
            page.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")
            got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
            os._exit(MARKER if got == os.getpid() else 128 + min(abs(got), 120))
    return executes(calls)


@attempt("the x32 system calls")
def _():
    if not X86:
        raise Refused("x86 only")
    return executes(lambda: os._exit(call(0x40000000 | NR["open"], SHADOW.encode(), 0) and MARKER))


# Running what was not granted.
@attempt("exec /bin/sh")
def _():
    return executes(lambda: os.execv("/bin/sh", ["sh", "-c", "exit %d" % MARKER]))


@attempt("exec a program by its loader")
def _():
    loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
    return first(lambda ld: executes(lambda: os.execv(ld, [ld, "/bin/sh", "-c", "exit %d" % MARKER])), loaders)


@attempt("exec from memory (memfd)")
def _():
    fd = os.memfd_create("hostile", 0)
    with open(sys.executable, "rb") as own:
        shutil.copyfileobj(own, os.fdopen(os.dup(fd), "wb"))
    argv = (ctypes.c_char_p * 4)(*[word.encode() for word in QUIT], None)
    by_name = executes_or_error(lambda: os.execv("/proc/self/fd/%d" % fd, QUIT))
    return by_name or executes(lambda: call("execveat", fd, b"", argv, None, AT_EMPTY_PATH))


def executes_or_error(function):
    try:
        return executes(function)
    except (OSError, Refused):
        return None


@attempt("exec a copy of a granted program")
def _():
    shutil.copy(sys.executable, "copy")
    return executes(lambda: os.execv("./copy", QUIT))


@attempt("exec a script for another interpreter")
def _():
    with open("script", "w") as script:
        script.write("#!/bin/sh\nexit %d\n" % MARKER)
    os.chmod("script", 0o755)
    return executes(lambda: os.execv("./script", ["script"]))
