#!/usr/bin/python3
"""How a run ends, and how fast: parent, keeper or supervisor die or stop at random moments; programs resist.

Called with callgate, a directory for logs and further options of `callgate run`.
ROUNDS in the environment: how often each random moment is tried.
"""
import ctypes, json, os, platform, pwd, random, signal, struct, subprocess, sys, time

CALLGATE, TMP, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECOND = 1.0
MARK = "9%d" % (100000 + os.getpid())  # the seconds that the programs sleep: their name in a list of processes
NAME = os.path.basename(CALLGATE)
failed = []
random.seed(int(os.environ.get("SEED", "1")))


def fail(text):
    failed.append(text)
    print("FAIL: %s: %s" % (current, text), file=sys.stderr)


def command(*program, options=()):
    return [CALLGATE, "run", "--profile", "extended", *OPTIONS, "-q", *options, "--", *program]


def sleeper():
    return ("sh", "-c", "sleep %s & exec sleep %s" % (MARK, MARK))


def start(*program, options=(), before=lambda: None, **others):
    return subprocess.Popen(command(*(program or sleeper()), options=options), stdin=subprocess.DEVNULL,
                            stderr=open(os.path.join(TMP, "err"), "w"), restore_signals=True,
                            preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL)
                                                for s in (signal.SIGINT, signal.SIGQUIT)] and before(),
                            **others)


def err():
    return open(os.path.join(TMP, "err")).read()


def stat(pid):
    try:
        return open("/proc/%d/stat" % pid, errors="replace").read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def text(pid, name):
    try:
        return open("/proc/%d/%s" % (pid, name), errors="replace").read()
    except OSError:
        return ""


def marked():
    """Processes of a run that live: zombies do not."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and MARK in text(int(name), "cmdline") and int(name) != os.getpid():
            fields = stat(int(name))
            if fields and fields[0] not in "ZX" and text(int(name), "comm").strip() != NAME:
                found.append(int(name))
    return found


def ours():
    """callgate's own processes of a run: MARK is in the arguments of the keeper and its forks."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and MARK in text(int(name), "cmdline") and
            text(int(name), "comm").strip() == NAME and (stat(int(name)) or "Z")[0] not in "ZX"]


def children(pid):
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and (stat(int(name)) or [0, 0])[1] == str(pid)]


def kill_callgate(pids):
    for pid in pids:
        if text(pid, "comm").strip() == NAME:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def fair():
    """Seconds of an idle machine: without those in which this process could have run and another one did."""
    try:
        waited_ns = int(text(os.getpid(), "schedstat").split()[1])
    except (IndexError, ValueError):
        waited_ns = 0  # CONFIG_SCHED_INFO is off: by the wall clock, then
    return time.monotonic() - waited_ns / 1e9


def crowd():
    """How many tasks want each cpu, now or lately: the factor by which callgate is slower than on an idle machine."""
    lately, _, _, now, _ = open("/proc/loadavg").read().split()
    return min(max(float(lately) / os.cpu_count(), int(now.split("/")[0]) / os.cpu_count(), 1), 10)


def await_(what, condition, seconds=10.0):
    """Up to `seconds` of an idle machine."""
    begin, most = fair(), seconds
    while fair() - begin < most:
        if condition():
            return True
        time.sleep(0.005)
        most = max(most, seconds * crowd())
    fail("%s: not within %s s, here %.1f: %s" % (what, seconds, most, err()[-300:]))
    return False


def ended(run, seconds=5.0):
    """Its exit status; None: it did not end, and was killed."""
    if not await_("its end", lambda: run.poll() is not None, seconds):
        run.kill()
        run.wait()
        return None
    return run.returncode


def all_gone(what, seconds=SECOND):
    """The tree within a second; callgate's own processes may take longer to sum up."""
    if await_(what, lambda: not marked(), seconds) and await_(what, lambda: not ours(), 3 * seconds):
        return
    for pid in marked() + ours():
        fail("alive, and killed, so that scratch may be left: %d %s %s" %
             (pid, text(pid, "comm").strip(), (stat(pid) or "?")[0]))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # gone since


def left_in_scratch():
    base = os.path.join(os.environ["TMPDIR"], "callgate-%d" % os.getuid())
    return [name for name in (os.listdir(base) if os.path.isdir(base) else ())
            if name not in ("lock", "results", "spare")]


def scratch_is_empty():
    left = left_in_scratch()
    if left:
        fail("left in scratch: %s: %s" % (left, err()[-300:]))


def ready():
    return await_("start", lambda: len(marked()) >= 2)


# ---- deaths ----

def parent_dies():
    status = os.path.join(TMP, "status")
    for i in range(ROUNDS):
        options = ("--die-with-parent", "--status-fd", "3")
        open(status, "w").close()
        parent = subprocess.Popen(["/bin/sh", "-c", '"$@" 3>"$0" & wait', status,
                                   *command(*sleeper(), options=options)],
                                  stdin=subprocess.DEVNULL, stderr=open(os.path.join(TMP, "err"), "w"))
        # a parent that is dead before callgate's first instruction cannot be told from any other that it might have
        await_("its start", lambda: os.path.getsize(status) > 0)
        if i == 0:
            ready()
        else:
            time.sleep(random.choice((0, random.uniform(0, 0.03))))
        parent.kill()
        parent.wait()
        all_gone("after its parent died")
        scratch_is_empty()


def parent_dies_unasked():
    parent = subprocess.Popen(["/bin/sh", "-c", '"$@" & wait', "sh", *command(*sleeper())], stdin=subprocess.DEVNULL)
    ready()
    keeper = children(parent.pid)
    parent.kill()
    parent.wait()
    time.sleep(0.3)
    if not marked():
        fail("the run ended with its parent, which it was not told to do")
    for pid in keeper:
        os.kill(pid, signal.SIGTERM)
    all_gone("after SIGTERM")


def supervisor_dies():
    for i in range(ROUNDS):
        keeper = start()
        await_("a supervisor", lambda: children(keeper.pid))
        if i == 0:
            ready()
        else:
            time.sleep(random.uniform(0, 0.06))
        # Again and again: where namespaces are refused, several processes end one after the other before there is a
        # supervisor.
        begin = fair()
        while keeper.poll() is None and fair() - begin < SECOND:
            kill_callgate(children(keeper.pid))
            time.sleep(0.05)
        all_gone("after the supervisor was killed", max(begin + SECOND - fair(), 0.05))
        if ended(keeper) != 125:
            fail("ended with %s: %s" % (keeper.returncode, err()))
        if i == 0 and "supervisor died" not in err():
            fail("says: %s" % err())
        scratch_is_empty()


def refuse_clone():
    """From now on no clone(2) makes a namespace: an intermediate makes them by unshare(2)."""
    libc, clone = ctypes.CDLL(None), {"x86_64": 56, "aarch64": 220}[platform.machine()]
    code = b"".join(struct.pack("=HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7e020000), (0x06, 0, 0, 0x50001),
        (0x06, 0, 0, 0x7fff0000)))
    text = ctypes.create_string_buffer(code)
    filter_ = struct.pack("@HP", len(code) // 8, ctypes.addressof(text))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_, 0, 0) != 0:
        os._exit(99)


def has_account():
    try:
        return bool(pwd.getpwuid(os.getuid()))
    except KeyError:
        return False


def intermediate_dies():
    """It is killed or stopped at a random moment: what it forked is no reason to wait, and the run can be ended."""
    for i in range(2 * ROUNDS):
        number = (signal.SIGKILL, signal.SIGSTOP)[i % 2]
        keeper = start(before=refuse_clone)
        # Its first child tries the filter that refuse_clone() has put around it; without an account of this user the
        # next is the helper that looks for one.
        helpers, wanted = set(), 1 if has_account() else 2
        def there():
            pids = text(keeper.pid, "task/%d/children" % keeper.pid).split()
            for pid in pids:
                if len(helpers) < wanted:
                    helpers.add(pid)
            return [pid for pid in pids if pid not in helpers]
        begin = fair()
        while not there() and keeper.poll() is None:  # without a pause: it lives for some milliseconds
            if fair() - begin > SECOND:
                wanted, helpers = 0, set()  # one was gone before it was seen, and another child was taken for it
        time.sleep(random.uniform(0, 0.004))
        for pid in there()[-1:]:
            try:
                os.kill(int(pid), number)
            except ProcessLookupError:
                pass
        begin = fair()
        while keeper.poll() is None and fair() - begin < 5 * SECOND:
            time.sleep(0.1)
            keeper.send_signal(signal.SIGTERM)
        if ended(keeper) not in (125, 128 + signal.SIGTERM):
            fail("ended with %s after signal %d: %s" % (keeper.returncode, number, err()))
        all_gone("after the intermediate got signal %d" % number)
        scratch_is_empty()


def keeper_dies():
    for i in range(ROUNDS):
        keeper = start()
        if i == 0:
            ready()
        else:
            time.sleep(random.uniform(0.005, 0.06))
        keeper.kill()
        keeper.wait()
        all_gone("after the keeper was killed")
    begin = fair()
    while True:  # a run spends half a second on what others left, which on a busy machine is not much
        if subprocess.run(command("true"), stdin=subprocess.DEVNULL).returncode != 0:
            fail("the next run failed")
        if not left_in_scratch() or fair() - begin > 3:
            break
    scratch_is_empty()


def both_die_under_load():
    """Something that makes notifications as fast as it can."""
    load = "import os\nwhile True:\n  os.stat('/usr')\n  if not os.fork(): os._exit(0)\n  os.wait()  # %s" % MARK
    for who in ("keeper", "supervisor") * 2:
        keeper = start("python3", "-c", load)
        await_("a program", marked)
        time.sleep(random.uniform(0.05, 0.3))
        for pid in [keeper.pid] if who == "keeper" else children(keeper.pid):
            os.kill(pid, signal.SIGKILL)
        all_gone("%s killed under load" % who)
        keeper.wait()
    subprocess.run(command("true"), stdin=subprocess.DEVNULL)


# ---- interrupts and stops ----

def interrupt_once():
    log = os.path.join(TMP, "log")
    keeper = start("sh", "-c", "trap '' INT; sleep %s; sleep %s" % (MARK, MARK), options=("--audit", log))
    await_("a program", lambda: any("sleep" in text(pid, "comm") for pid in marked()))
    keeper.send_signal(signal.SIGINT)
    if ended(keeper) != 130:
        fail("ended with %s" % keeper.returncode)
    last = json.loads(open(log).read().splitlines()[-1])
    if last["status"] != "killed" or last["signal"] != signal.SIGINT:
        fail("the log ends with %s" % last)
    all_gone("after SIGINT")
    scratch_is_empty()


def interrupt_twice():
    keeper = start()
    ready()
    for pid in children(keeper.pid):
        os.kill(pid, signal.SIGSTOP)  # it cannot end the run in an orderly way
    keeper.send_signal(signal.SIGINT)
    time.sleep(0.3)
    if keeper.poll() is not None:
        fail("the first interrupt was not orderly")
    keeper.send_signal(signal.SIGINT)
    all_gone("after the second SIGINT")
    if ended(keeper) != 130:
        fail("ended with %s" % keeper.returncode)
    scratch_is_empty()


def count():
    """What the counting program has written last; it is empty for a moment each time."""
    for _ in range(200):
        written = open(os.path.join(TMP, "n")).read()
        if written:
            return int(written)
        time.sleep(0.01)
    return 0


def keeper_is_stopped():
    """SIGSTOP cannot be noticed: the run goes on, and its time limit is applied when the keeper continues."""
    for limit in (1.5, 6, 24):
        began = time.monotonic()
        keeper = start("sh", "-c", "while :; do echo $((i += 1)) >n; sleep 0.02; done # %s" % MARK,
                       options=("-t", "%dms" % (limit * 1000), "-w", TMP))
        await_("a program", lambda: os.path.exists(os.path.join(TMP, "n")))
        keeper.send_signal(signal.SIGSTOP)
        if time.monotonic() - began < limit * 0.7:
            break
        # to start it took most of the limit, which may have ended the run before we stopped it
        keeper.send_signal(signal.SIGCONT)
        ended(keeper, limit + 5)
        os.unlink(os.path.join(TMP, "n"))
    else:
        return fail("no program began in 0.7 of its %s s" % limit)
    before = count()
    time.sleep(began + limit + 0.2 - time.monotonic())
    after = count()
    if after <= before or not marked():
        fail("the run did not go on: from %d to %d, alive: %s %s" % (before, after, marked(), err()))
    keeper.send_signal(signal.SIGCONT)
    all_gone("after the keeper continued")
    if ended(keeper) != 124:
        fail("ended with %s" % keeper.returncode)
    os.unlink(os.path.join(TMP, "n"))


def job_is_stopped():
    """Ctrl-Z: the program stops and continues with callgate, as in any job."""
    keeper = start("sh", "-c", "while :; do echo $((i += 1)) >n; sleep 0.02; done # %s" % MARK, options=("-w", TMP),
                   process_group=0)
    await_("a program", lambda: os.path.exists(os.path.join(TMP, "n")))
    os.killpg(keeper.pid, signal.SIGTSTP)
    _, status = os.waitpid(keeper.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != signal.SIGTSTP:
        fail("callgate did not stop: %#x" % status)
    before = None

    def stands_still():
        nonlocal before
        before = count()
        time.sleep(0.3)
        return count() == before

    await_("the program stopped with its job", stands_still, SECOND)
    os.killpg(keeper.pid, signal.SIGCONT)
    await_("going on", lambda: count() > before)
    os.killpg(keeper.pid, signal.SIGTERM)
    if ended(keeper) != 143:
        fail("ended with %s" % keeper.returncode)
    all_gone("after SIGTERM")
    os.unlink(os.path.join(TMP, "n"))


# ---- programs that will not go ----

RESIST = r"""
import ctypes, os, signal, sys, time
mark, how = sys.argv[1:3]
libc = ctypes.CDLL(None)
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
def sleeper(): os.execvp("sleep", ["sleep", mark])
def child(f):
    pid = os.fork()
    if pid == 0:
        f()
        os._exit(0)
    return pid
def daemon():
    os.setsid()
    child(sleeper)
def pdeath_parent():
    libc.prctl(1, signal.SIGCONT)
    child(sleeper)
    sleeper()
def reaper():
    libc.prctl(36, 1)
    child(daemon)
    child(lambda: child(lambda: child(sleeper)))
    sleeper()
def stopped():
    pid = child(sleeper)
    os.kill(pid, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
def storm():
    others = [child(sleeper) for _ in range(5)]
    while True:
        for pid in others:
            os.kill(pid, signal.SIGSTOP); os.kill(pid, signal.SIGCONT)
def vforked():
    os.posix_spawnp("sh", ["sh", "-c", "setsid sleep %s & sleep %s" % (mark, mark)], os.environ)
def groups():
    for _ in range(5):
        child(lambda: (os.setpgid(0, 0), sleeper()))
    def forker():
        while True:
            child(lambda: None)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]: pass
            except OSError: pass
    child(forker)
kinds = dict(daemon=daemon, pdeath=pdeath_parent, reaper=reaper, stopped=stopped, storm=storm, vforked=vforked,
             groups=groups)
child(kinds[how])
time.sleep(0.15)
if len(sys.argv) > 3:
    time.sleep(1000)
"""


def resistance():
    for how in ("daemon", "pdeath", "reaper", "stopped", "storm", "vforked", "groups"):
        # its own end
        run = start("python3", "-c", RESIST, MARK, how, stdout=subprocess.DEVNULL)
        if ended(run, 15) != 0:
            fail("%s: ended with %s" % (how, run.returncode))
        all_gone("%s, after the program's end" % how)
        # the clock's
        run = start("python3", "-c", RESIST, MARK, how, "stay", stdout=subprocess.DEVNULL, options=("-t", "400ms"))
        if ended(run, 15) != 124:
            fail("%s: ended with %s, not by its time limit" % (how, run.returncode))
        all_gone("%s, after its time limit" % how)
    scratch_is_empty()


cases = (parent_dies, parent_dies_unasked, supervisor_dies, intermediate_dies, keeper_dies, both_die_under_load,
         interrupt_once,
         interrupt_twice, keeper_is_stopped, job_is_stopped, resistance)
chosen = os.environ.get("CASES_OF_KEEPER", "").split()
for case in cases:
    current = case.__name__
    if chosen and current not in chosen:
        continue
    begin = time.monotonic()
    case()
    print("%s: %.1f s" % (current, time.monotonic() - begin), flush=True)
sys.exit(1 if failed else 0)
