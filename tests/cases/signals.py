#!/usr/bin/python3
"""What a receiver is told of a signal, and what may be done to one's own children: the same natively and inside.

With "unbounded" the sender's pid is left out: see callgate(1), where the supervisor is seen as the sender.
"""
import ctypes, os, resource, select, signal, struct, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
BOUNDED = "unbounded" not in sys.argv
SYS = {"tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "pidfd_open": 434,
       "prlimit64": 302, "ioprio_set": 251, "ioprio_get": 252, "tgkill": 234, "sched_setattr": 314,
       "process_mrelease": 448}


def call(name, *args):
    ctypes.set_errno(0)
    result = libc.syscall(SYS[name], *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return result if result >= 0 else os.strerror(ctypes.get_errno())


def info(sig, code, pid, value):
    """siginfo_t as sigqueue(3) fills it."""
    return ctypes.create_string_buffer(struct.pack("iiiiiiq", sig, 0, code, 0, pid, os.getuid(), value) + b"\0" * 96,
                                       128)


def told(sender):
    got = signal.sigtimedwait({signal.SIGUSR1, signal.SIGRTMIN + 3}, 5)
    who = "the sender" if got and got.si_pid == sender else "nobody" if got and not got.si_pid else "another"
    return got and (got.si_signo, got.si_code, who if BOUNDED else "?", got.si_uid == os.getuid())


def receive(name, send, child_sends):
    """Parent and child: one sends, the other waits."""
    reader, report = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.write(report, str(send(parent) if child_sends else told(parent)).encode())
        os._exit(0)
    mine = told(child) if child_sends else send(child)
    print(name, "to the parent" if child_sends else "to the child", mine, os.read(reader, 1000).decode())
    os.waitpid(child, 0)
    os.close(reader)
    os.close(report)


def with_pidfd(function):
    def run(pid):
        fd = os.pidfd_open(pid)
        try:
            return function(fd)
        finally:
            os.close(fd)
    return run


def senders():
    usr1, rt, me = signal.SIGUSR1, signal.SIGRTMIN + 3, os.getpid
    yield "kill", lambda pid: os.kill(pid, usr1)
    yield "kill its group", lambda pid: os.killpg(os.getpgid(pid), signal.SIGWINCH) or os.kill(pid, usr1)
    yield "tkill", lambda pid: call("tkill", pid, usr1)
    yield "tgkill", lambda pid: call("tgkill", pid, pid, usr1)
    yield "sigqueue", lambda pid: call("rt_sigqueueinfo", pid, rt, info(rt, -1, me(), 77))
    yield "sigqueue that lies", lambda pid: call("rt_sigqueueinfo", pid, rt, info(rt, -2, 1, 78))
    yield "tgsigqueue", lambda pid: call("rt_tgsigqueueinfo", pid, pid, rt, info(rt, -1, me(), 79))
    yield "pidfd", with_pidfd(lambda fd: call("pidfd_send_signal", fd, usr1, None, 0))
    yield "pidfd with info", with_pidfd(lambda fd: call("pidfd_send_signal", fd, rt, info(rt, -1, me(), 80), 0))
    yield "pidfd to a thread", with_pidfd(lambda fd: call("pidfd_send_signal", fd, usr1, None, 1))


def refusals(child):
    usr1 = signal.SIGUSR1
    for name, result in (
            ("pretends to be kill", call("rt_sigqueueinfo", child, usr1, info(usr1, 0, 1, 0))),
            ("pretends to be the kernel", call("rt_sigqueueinfo", child, usr1, info(usr1, 0x80, 0, 0))),
            ("pretends to be tkill", call("rt_tgsigqueueinfo", child, child, usr1, info(usr1, -6, 1, 0))),
            ("unreadable info", call("rt_sigqueueinfo", child, usr1, 8)),
            ("no such signal", call("tgkill", child, child, 65)),
            ("signal -1", call("tkill", child, -1)),
            ("thread 0", call("tkill", 0, usr1)),
            ("of another process", call("tgkill", child, os.getpid(), usr1)),
            ("flags", call("pidfd_send_signal", 0, usr1, None, 64)),
            ("no pidfd", call("pidfd_send_signal", 0, usr1, None, 0)),
            ("pidfd_open flags", call("pidfd_open", child, 1)),
            ("pidfd_open 0", call("pidfd_open", 0, 0)),
            ("nobody", call("tkill", 4194303, usr1)),
            ("pidfd of nobody", call("pidfd_open", 4194303, 0))):
        print(name, result)


def groups():
    """A group of three and one outside it; stops and continues are seen by waitpid."""
    first = None
    members = []
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        if i < 3:
            os.setpgid(pid, first or pid)
            first = first or pid
        members.append(pid)
    os.killpg(first, signal.SIGSTOP)
    for pid in members[:3]:
        _, status = os.waitpid(pid, os.WUNTRACED)
        print("stopped", os.WIFSTOPPED(status) and os.WSTOPSIG(status))
    os.killpg(first, signal.SIGCONT)
    for pid in members[:3]:
        _, status = os.waitpid(pid, os.WCONTINUED)
        print("continued", os.WIFCONTINUED(status))
    os.killpg(first, signal.SIGTERM)
    for pid in members[:3]:
        print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print("the other", os.waitpid(members[3], os.WNOHANG)[0])
    os.kill(members[3], signal.SIGKILL)
    print("the other", os.waitstatus_to_exitcode(os.waitpid(members[3], 0)[1]))
    try:
        os.killpg(first, 0)
    except OSError as error:
        print("group", error.strerror)


def pidfds():
    child = os.fork()
    if child == 0:
        time.sleep(0.1)
        os._exit(9)
    fd = os.pidfd_open(child)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    print("poll", len(poll.poll(5000)))
    got = os.waitid(os.P_PIDFD, fd, os.WEXITED)
    print("waitid", got.si_pid == child, got.si_status, got.si_code == os.CLD_EXITED)
    print("after", call("pidfd_send_signal", fd, signal.SIGTERM, None, 0))
    os.close(fd)


def others():
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    print("prlimit", resource.prlimit(child, resource.RLIMIT_CPU, (100, 200)),
          resource.prlimit(child, resource.RLIMIT_CPU))
    level = min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)  # the tests may be run with nice(1)
    os.setpriority(os.PRIO_PROCESS, child, level)
    print("nice", os.getpriority(os.PRIO_PROCESS, child) == level)
    os.sched_setscheduler(child, os.SCHED_BATCH, os.sched_param(0))
    print("scheduler", os.sched_getscheduler(child) == os.SCHED_BATCH)
    os.sched_setaffinity(child, [min(os.sched_getaffinity(0))])
    print("affinity", os.sched_getaffinity(child) == {min(os.sched_getaffinity(0))})
    print("ioprio", call("ioprio_set", 1, child, 2 << 13 | 7), call("ioprio_get", 1, child))
    print("nobody", call("prlimit64", 4194303, 7, None, None), call("ioprio_set", 1, 4194303, 2 << 13))
    refusals(child)
    os.kill(child, signal.SIGKILL)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def handler():
    """SA_SIGINFO through a handler in another thread's process: kill to oneself keeps its meaning too."""
    seen = []
    signal.signal(signal.SIGUSR2, lambda number, frame: seen.append(number))
    os.kill(os.getpid(), signal.SIGUSR2)
    signal.raise_signal(signal.SIGUSR2)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
    print("handled", seen)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN + 3})
for name, send in senders():
    receive(name, send, False)
    receive(name, send, True)
groups()
pidfds()
others()
handler()
