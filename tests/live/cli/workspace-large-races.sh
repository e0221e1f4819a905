#!/bin/bash
# Large files with --cow, which an overlay copies first: what the program does meanwhile, and sees of it, is as
# natively; each copy counts for limits.disk once; others go on, also for calls that were asked about; and the log has
# the time.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
mkdir "$W"
[ "$(df -Pm "$T" | awk 'NR == 2 { print $4 }')" -gt 4096 ] || skip "no room for copies of 128 MiB"

cow() # OPTION… -- PROGRAM…
{
	cg run --json --cow --profile python -w "$W" -r /usr -x /usr/bin -r "$T/program.py" "$@" >"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

told()
{
	jq -c '[.status, .exit_code, .stdout, .stderr, .error]' "$T/result"
	cat "$T/err"
}

cow -- true
by=$(jq -r .workspace.by "$T/result")
discard_all
[ "$by" = overlay ] || skip "no overlay here: nothing is copied when a file is first changed"

for name in A B C program; do
	head -c 128M /dev/zero | tr '\0' x >"$W/$name"
done
dd if=/usr/bin/true of="$W/program" conv=notrunc status=none
chmod 755 "$W/program"
head -c 256M /dev/zero | tr '\0' x >"$W/D"
for ((i = 0; i < 20; i++)); do head -c 9M /dev/zero | tr '\0' x >"$W/f$i"; done
chmod 444 "$W"/f*
if [ "$(id -u)" = 0 ]; then
	chgrp 1000 "$W/f19"
	chmod 2555 "$W/f19"
fi
cat >"$T/program.py" <<'END'
import ctypes, errno, os, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)

def together(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def modes():
    """A mode that one thread sets stays, while others have the file copied."""
    for i in range(18):
        together(*[lambda: os.utime('f%d' % i)] * 6, lambda: os.chmod('f%d' % i, 0o640))
        assert os.stat('f%d' % i).st_mode & 0o7777 == 0o640, i
    mode = os.stat('f19').st_mode
    os.utime('f19', (1, 1))
    assert os.stat('f19').st_mode == mode, oct(os.stat('f19').st_mode)

def exchange():
    assert libc.renameat2(-100, b'A', -100, b'B', 2) == 0, os.strerror(ctypes.get_errno())
    for name in 'A', 'B':
        os.close(os.open(name, os.O_WRONLY))
        os.chmod(name, 0o600)

def flip():
    """A link leads to another large file when the call is judged again."""
    os.symlink('A', 'L')
    def other():
        os.symlink('B', 'L2')
        os.rename('L2', 'L')
    together(lambda: os.chmod('L', 0o600), other)
    os.close(os.open('B', os.O_WRONLY))

def running():
    """A program can be executed while a call has it copied."""
    done = []
    def touch():
        os.utime('program', (1, 1))
        done.append(1)
    def run():
        while not done:
            subprocess.check_call(['./program'])
    together(touch, run)

def watched():
    """inotify tells of the change, and of no opening."""
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(watch, b'A', 0xfff) >= 0
    os.chmod('A', 0o600)
    events = os.read(watch, 4096)
    masks = {int.from_bytes(events[i + 4:i + 8], 'little') for i in range(0, len(events), 16)}
    assert masks == {4}, masks  # IN_ATTRIB

def many():
    """Calls that wait for FIFOs, as many as there are workers, keep no copy from being made."""
    os.mkfifo('fifo')
    threading.stack_size(65536)
    try:
        for _ in range(1010):
            threading.Thread(target=os.open, args=('fifo', os.O_RDONLY), daemon=True).start()
    except RuntimeError:
        pass  # a busy machine has no more threads, and then the supervisor has none, either
    time.sleep(1)
    os.chmod('A', 0o600)
    os.rename('B', 'BB')
    os.close(os.open('C', os.O_RDWR))
    sys.stdout.flush()
    print('done', flush=True)
    os._exit(0)

def killed():
    """Callers that are killed while their files are copied."""
    for name in ['f%d' % i for i in range(18)]:
        child = os.fork()
        if child == 0:
            os.chmod(name, 0o600)
            os._exit(0)
        os.kill(child, 9)
        os.waitpid(child, 0)
    os.chmod('f0', 0o600)

def state(pid):
    with open('/proc/%d/stat' % pid) as file:
        return file.read().rpartition(')')[2].split()[0]

def begin(change, *args):
    """A child that makes a call, which goes on; its number."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b'.')
        change(*args)
        os._exit(0)
    os.read(reader, 1)
    while state(child) == 'R':  # also one that has had no CPU yet
        time.sleep(0.001)
    time.sleep(0.1)
    return child

def recorded():
    """Calls that are killed while they wait for a copy, and such that wait when the run ends."""
    for child in begin(os.chmod, 'A', 0o600), begin(os.truncate, 'A', 5), begin(os.rename, 'B', 'BB'):
        os.kill(child, 9)
        os.waitpid(child, 0)
    begin(os.chmod, 'C', 0o600)
    begin(os.utime, 'C', (1, 1))
    print('done', flush=True)
    os._exit(0)

def go_on(is_done):
    """Others go on until it is done: they make more calls than before it began to wait, also on a busy machine."""
    calls, begun = 0, time.monotonic()
    while not is_done():
        os.stat('.')
        calls += 1
        time.sleep(0.005)
    seconds = time.monotonic() - begun
    assert seconds < 0.1 or calls > 5, (calls, seconds)

def beside(change):
    """Others go on while a call waits for the copy of the file whose name it removes, or which it empties."""
    child = begin(os.chmod, 'D', 0o600)
    waiting = begin(change)
    go_on(lambda: os.waitpid(child, os.WNOHANG) != (0, 0))
    assert os.waitpid(waiting, 0)[1] == 0

def over():
    os.close(os.open('new', os.O_CREAT))
    os.rename('new', 'D')

def unlinked():
    beside(lambda: os.unlink('D'))
    assert not os.path.exists('D')

def overwritten():
    beside(over)
    assert os.stat('D').st_size == 0

def emptied():
    beside(lambda: os.close(os.open('D', os.O_WRONLY | os.O_TRUNC)))
    assert os.stat('D').st_size == 0 and os.stat('D').st_mode & 0o777 == 0o600

def doomed():
    """Calls that fail, as the program may not make them, have no file copied."""
    for call in lambda: os.chmod('D', 0o600), lambda: os.rename('closed/D', 'D2'), lambda: os.utime('D', (1, 1)):
        try:
            call()
            assert False
        except PermissionError:
            pass

def foreign():
    """Others go on while a call waits for the copy of a file that it may not write."""
    doomed()
    rename = threading.Thread(target=os.rename, args=('D', 'E'))
    rename.start()
    go_on(lambda: not rename.is_alive())
    assert os.path.exists('E')

def closed():
    """A file of the user's own that may not be opened for writing is not copied for that."""
    for change in [lambda: os.open('f0', os.O_WRONLY), lambda: os.open('f0', os.O_RDWR | os.O_TRUNC),
                   lambda: os.truncate('f0', 5)]:
        try:
            change()
            assert False
        except OSError as error:
            assert error.errno == errno.EACCES, error

def full():
    """A copy for which there is no room fails as natively, and others go on meanwhile."""
    calls, failed = [], []
    def others():
        while len(failed) < 6:
            os.stat('.')
            calls.append(len(failed))
    def fail():
        for _ in range(6):
            try:
                os.chmod('D', 0o600)
                failed.append(0)
            except OSError as error:
                failed.append(error.errno)
    together(fail, others)
    assert set(failed) == {errno.ENOSPC}, failed
    assert len([number for number in calls if number > 0]) > 100, len(calls)

def flipped():
    """Calls that wait lead to other files when they are judged again, which are copied in the calls. Others go on."""
    ended, calls = [], 0
    threads = [threading.Thread(target=lambda i=i: ended.append(os.chmod('L%d' % i, 0o600))) for i in range(60)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    for i in range(60):
        os.symlink('m%d' % i, 'M')
        os.rename('M', 'L%d' % i)
    while len(ended) < len(threads):
        os.stat('.')
        calls += len(ended) > 0
        time.sleep(0.002)
    assert os.stat('m59').st_mode & 0o777 == 0o644 or calls > 10, calls

def names():
    """Files of two names, many at once."""
    together(*[lambda i=i: os.chmod('f%d' % i, 0o600) for i in range(18)])

globals()[sys.argv[1]]()
print('done')
END
for what in modes exchange flip running watched many unlinked overwritten emptied; do
	cow --pids 2000 -- "$PYTHON" "$T/program.py" $what
	[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "$what: $(told)"
	discard_all
done

head -c 4M /dev/zero | tr '\0' x >"$W/m0"
ln -s D "$W/L0"
for ((i = 1; i < 60; i++)); do
	ln "$W/m0" "$W/m$i"
	ln -s D "$W/L$i"
done
cow --pids 2000 -- "$PYTHON" "$T/program.py" flipped
[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "flipped: $(told)"
rm "$W"/m* "$W"/L*
discard_all

for option in 5M 1G none; do
	cow --disk $option -- "$PYTHON" "$T/program.py" closed
	[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "closed, $option: $(told)"
	[ -z "$(find "$TMPDIR/callgate-$(id -u)"/workspaces/*/0/upper -name f0)" ] || fail "closed, $option: copied"
	discard_all
done

# limits.disk
used() { du -s -B1M "$TMPDIR/callgate-$(id -u)"/workspaces/*/0/upper | cut -f 1; }
cow --disk 30M -- "$PYTHON" "$T/program.py" killed
[ "$(jq -r .status "$T/result")" = ok ] || [ "$(used)" -gt 15 ] ||
	fail "killed: ended at $(used) MiB of 30: $(told)"
discard_all
for ((i = 0; i < 18; i++)); do ln "$W/f$i" "$W/g$i"; done
cow --disk 30M -- "$PYTHON" "$T/program.py" names
[ "$(jq -r .status "$T/result")" = limit ] || fail "two names: $(told)"
[ "$(used)" -le 30 ] || fail "two names: $(used) MiB of 30"
rm "$W"/g*
discard_all

if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=100M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	TMPDIR=$T/small cow --disk none -- "$PYTHON" "$T/program.py" full
	[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "full: $(told)"
	TMPDIR=$T/small discard_all
	unmounted "$T/small"
	trap live_done EXIT
fi

if [ "$(id -u)" = 0 ] && user=$(id -u nobody 2>/dev/null); then
	chmod 711 "$T"
	chmod 1777 "$TMPDIR"
	chmod 777 "$W"
	mkdir "$W/closed"
	cp "$W/f0" "$W/closed/D"
	for what in doomed foreign; do
		cow --user "$user" -- "$PYTHON" "$T/program.py" $what
		[ "$(jq -r .workspace.by "$T/result")" = overlay ] || break
		[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "$what: $(told)"
		upper=$(echo "$TMPDIR/callgate-$user"/workspaces/*/0/upper)
		[ -z "$(find "$upper" -name D -type f)" ] || fail "$what: copied: $(find "$upper" -name D)"
		rm -rf "$TMPDIR/callgate-$user"
	done
	rm -r "$W/closed"
fi

# All judged calls are in the log.
cow --audit "$T/log" -- "$PYTHON" "$T/program.py" recorded
[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "recorded: $(told)"
jq -r 'select(.right == "w" and (.resolved | test("/w/[ABC]$"))) | "\(.syscall) \(.path) \(.verdict) \(.errno // "")"' \
	"$T/log" | sed 's/ allow EINTR$//; s/ allow $//' | sort >"$T/recorded"
printf '%s\n' 'chmod A' 'chmod C' 'rename B' 'truncate A' 'utimensat C' | diff - "$T/recorded" >"$T/differs" ||
	fail "recorded: $(cat "$T/differs")"
[ "$(jq .calls.judged "$T/result")" = "$(jq -s 'map(select(.verdict)) | length' "$T/log")" ] ||
	fail "recorded: $(jq .calls.judged "$T/result") judged"
"$CALLGATE" audit verify "$T/log" >"$T/out" 2>&1 || fail "recorded: $(cat "$T/out")"
discard_all

# The time of the copy is in the log.
rm -f "$T/audit"
cow --audit "$T/audit" -- chmod 600 A
jq -se 'map(select(.syscall // "" | test("chmod")))[-1].ns > 10000000' "$T/audit" \
	>/dev/null || fail "the log: $(tail -n 1 "$T/audit")"
discard_all

# link(2) keeps both names one file. Beside a call that was asked about, other calls go on meanwhile.
cat >"$T/beside.py" <<'END'
import os, threading, time
thread, gap = threading.Thread(target=os.chmod, args=('A', 0o600)), 0
begin = last = time.monotonic()
thread.start()
while thread.is_alive():
    os.stat('.')
    gap, last = max(gap, time.monotonic() - last), time.monotonic()
assert last - begin < 0.1 or gap < (last - begin) / 2, (gap, last - begin)
print('done')
END
for mask in 022 777; do # of the program's own new names
	cow -- /bin/sh -c 'umask '$mask'; mkdir d; ln A A2 && stat -c "%h %s" A A2'
	[ "$(jq -r .stdout "$T/result" | xargs)" = "2 134217728 2 134217728" ] || fail "link, umask $mask: $(told)"
	discard_all
done
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "on_deny": "ask", "filesystem": {
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "$T/beside.py"], "exec": ["/usr", "/bin", "/lib", "/lib64"],
"write": ["@workdir"], "deny": ["@workdir/A", "@workdir/small"]}}
END
asked() # ANSWER DIFF OPTION… -- PROGRAM…: one question, and the change
{
	local answer=$1 diff=$2
	shift 2
	rm -f "$T/s" "$T/asked"
	"$PYTHON" "$SRC/tests/live/supervisor/approver.py" "$T/s" "$T/asked" "$answer" 2>"$T/approver.err" &
	approver=$!
	awaited test -S "$T/s" || die "no approver: $(cat "$T/approver.err")"
	cg run -p "$T/p.json" --json --cow -w "$W" --approve "socket:$T/s" "$@" >"$T/result" 2>"$T/err"
	wait $approver
	[ "$(jq -r .stdout "$T/result")" = "done" ] ||
		fail "asked, $answer: $(told) $(cat "$T/approver.err" "$T/asked")"
	[ "$(jq -s 'map(select(.type == "question")) | length' "$T/asked")" = 1 ] || fail "asked: $(cat "$T/asked")"
	id=$(jq -r .workspace.id "$T/result")
	[ "$(ws diff "$id" | cut -d ' ' -f 1-3)" = "$diff" ] || fail "asked, $answer: $(ws diff "$id" 2>&1)"
	discard_all
}
asked once "M  A" -- "$PYTHON" "$T/beside.py"
asked run "M  A" -- "$PYTHON" "$T/beside.py"
# The copy of a file of two names has another number than the file, and that for link(2).
asked once "A  A4" -- "$PYTHON" -c 'print(__import__("os").link("A", "A4") or "done")'
ln "$W/A" "$W/A2"
echo small >"$W/small"
ln "$W/small" "$W/small2"
asked once "M  A" -- "$PYTHON" "$T/beside.py"
asked once "M  small" --disk 3G -- "$PYTHON" -c 'print(__import__("os").chmod("small", 0o600) or "done")'
rm "$W/A2" "$W"/small*

# after_read stops the threads of the run. One whose call waits for a copy makes it as it would without.
cat >"$T/after.json" <<END
{"version": 1, "extends": ["python"], "filesystem": {"read": ["/usr"], "write": ["@workdir"]},
 "after_read": [{"paths": ["@workdir/C"], "then": {"write": []}}]}
END
cat >"$T/after.py" <<'END'
import os, threading, time
said = []
thread = threading.Thread(target=lambda: said.append(os.open('A', os.O_PATH) > 0))
thread.start()
time.sleep(0.05)
open('C').read(1)
thread.join()
print('done' if said else 'failed')
END
ln "$W/A" "$W/A2"
cg run -p "$T/after.json" --json --cow --disk 3G -w "$W" -r "$T/after.py" -- "$PYTHON" "$T/after.py" \
	>"$T/result" 2>"$T/err"
[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "after_read: $(told)"
rm "$W/A2"
discard_all

# A session that is paused changes nothing, also of calls whose files are being copied.
session() { "$CALLGATE" session "$@"; }
id=$(session create --cow --profile minimal -w "$W" -r /usr -x /usr/bin) || die "no session"
for name in A B C; do
	session exec -d "$id" -- truncate -s 100 $name >"$T/number"
done
"$PYTHON" - "$(echo "$TMPDIR"/callgate-*/session-"$id")" "$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0)" \
	>"$T/out" 2>&1 <<'END' || fail "paused: $(cat "$T/out")"
import json, os, socket, sys, time
def layer():
    return [(dir, name, os.stat(os.path.join(dir, name)).st_size) for part in ('upper', 'work')
            for dir, _, names in os.walk(os.path.join(sys.argv[2], part)) for name in names]
def asks(paused):
    client.send(json.dumps({'op': 'pause', 'paused': paused}).encode())
    reply = json.loads(client.recv(4096))
    assert reply['paused'] is paused, reply
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(sys.argv[1])
asks(True)
before = layer()
time.sleep(0.4)
assert layer() == before, (before, layer())
asks(False)
end = time.monotonic() + 60
while [size for _, name, size in layer() if name in ('A', 'B', 'C')] != [100] * 3:
    assert time.monotonic() < end, layer()
    time.sleep(0.05)
END
session stop "$id"
discard_all

# A pause waits for the copies that have been asked for, and for none that programs ask for meanwhile.
id=$(session create --cow --profile minimal -w "$W" -r /usr -x /usr/bin) || die "no session"
"$PYTHON" - "$(echo "$TMPDIR"/callgate-*/session-"$id")" "$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0)" "$CALLGATE" \
	"$id" >"$T/out" 2>&1 <<'END' || fail "a pause among copies: $(cat "$T/out")"
import json, os, socket, subprocess, sys, time
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(sys.argv[1])
for names in 'A C program', 'B D':
    subprocess.check_call([sys.argv[3], 'session', 'exec', '-d', sys.argv[4], '--', 'sh', '-c',
                           'until [ -e go ]; do :; done; for i in %s; do chmod 600 $i; done' % names])
subprocess.check_call([sys.argv[3], 'session', 'exec', sys.argv[4], '--', 'touch', 'go'])
end = time.monotonic() + 60
upper = os.path.join(sys.argv[2], 'upper')
while not {'A', 'B'} & set(os.listdir(upper)):
    assert time.monotonic() < end, 'no copy'
client.send(json.dumps({'op': 'pause', 'paused': True}).encode())
reply = json.loads(client.recv(4096))
assert reply['paused'] is True, reply
assert not {'C', 'D', 'program'} <= set(os.listdir(upper)), os.listdir(upper)
END
session stop "$id"
discard_all
exit $live_failed
