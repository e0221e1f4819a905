#!/bin/bash
# Large files with --cow=copy: a worker thread of the supervisor gives them their content. The call that needs it
# succeeds or fails as natively; a run that is over does not wait; sessions stop for a checkpoint when it is done.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
WORKSPACE_COW=--cow=copy

cow() # OPTION… -- PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --cow=copy --json --profile python -w "$W" -r /usr -x /usr/bin -r "$T/program.py" "$@" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

told()
{
	jq -c '[.status, .stdout, .stderr, .error]' "$T/result"
	cat "$T/err"
}

picture_of() # modes, sizes and contents of all files
{
	(cd "$1" && find . -type f -printf '%P %m %s %n ' -exec sha256sum {} \; | sort)
}

mkdir -p "$W/d"
for name in read written appended renamed chmod truncate utime both swapped other d/one d/two d/three; do
	head -c 9M /dev/zero | tr '\0' "${name: -1}" >"$W/$name"
done
{ cat /usr/bin/true && head -c 9M /dev/zero; } >"$W/program"
chmod 755 "$W/program"
chmod 444 "$W/read"
cp -a "$W" "$T/native"
cat >"$T/program.py" <<'END'
import ctypes, os, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
def read(path):
    with open(path, 'rb') as file:
        return file.read()
def write(path, mode):
    with open(path, mode) as file:
        file.write(b'new')
found = set()
threads = [threading.Thread(target=work) for work in (
    lambda: write('written', 'r+b'), lambda: write('appended', 'ab'), lambda: os.rename('renamed', 'moved'),
    lambda: os.chmod('chmod', 0o600), lambda: os.truncate('truncate', 9 << 19), lambda: os.utime('utime', (1, 1)),
    *[lambda: found.add(read('both'))] * 3)]
for thread in threads:
    thread.start()
assert read('read') == b'd' * (9 << 20)
subprocess.check_call(['./program'])
assert libc.renameat2(-100, b'swapped', -100, b'other', 2) == 0
watch = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(watch, b'd', 0xfff) >= 0  # fills what is in it, and tells nothing of that
fd = os.open('d', os.O_PATH)
assert b''.join(read('d/%s' % name)[:1] for name in ('one', 'two', 'three')) == b'eoe'
for thread in threads:
    thread.join()
assert found == {b'h' * (9 << 20)}
assert os.stat('read').st_mode & 0o7777 == 0o444
END
(cd "$T/native" && "$PYTHON" "$T/program.py") || die "the program fails natively"
cow -x "$W/program" -- "$PYTHON" "$T/program.py"
[ "$(jq -r '"\(.exit_code) \(.stderr)"' "$T/result")" = "0 " ] || die "the program: $(told)"
ws apply --allow-executed "$id" >"$T/out" 2>&1 || fail "apply: $(cat "$T/out")"
diff <(picture_of "$T/native") <(picture_of "$W") >"$T/differs" || fail "differs from native: $(cat "$T/differs")"
discard_all

# Calls that were approved together: none is handled while the file of another one is filled, and nothing is to be seen
# of one that has a part of its content.
rm -r "${W:?}"/*
for name in A B C D E; do
	head -c 48M /dev/zero | tr '\0' x >"$W/$name"
	chmod 444 "$W/$name"
done
ln "$W/A" "$W/A2"
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "on_deny": "ask", "filesystem": {
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "$T/program.py"], "exec": ["/usr", "/bin", "/lib", "/lib64"],
"write": ["@workdir"], "deny": ["@workdir/?"]}}
END
cat >"$T/program.py" <<'END'
import os, threading
sizes = []
def read(name):
    with open(name, 'rb') as file:
        sizes.append(len(file.read().strip(b'x')))
threads = [threading.Thread(target=read, args=(name,)) for name in 'ABCDE']
for thread in threads:
    thread.start()
seen = set()
while any(thread.is_alive() for thread in threads):
    status = os.stat('A2')
    seen.add((status.st_mode, status.st_size, status.st_mtime_ns))
print(len(seen), sizes)
END
"$PYTHON" "$SRC/tests/live/supervisor/approver.py" "$T/s" "$T/asked" together:/w/ 2>"$T/approver.err" &
approver=$!
awaited test -S "$T/s" || die "no approver: $(cat "$T/approver.err")"
cg run -p "$T/p.json" --json --cow=copy -w "$W" --approve "socket:$T/s" -- "$PYTHON" "$T/program.py" \
	>"$T/result" 2>"$T/err"
wait $approver
[ "$(jq -r .stdout "$T/result")" = '1 [0, 0, 0, 0, 0]' ] || fail "approved together: $(told) $(cat "$T/approver.err")"
discard_all

# limits.disk ends the run. On a full disk, the file stays what it was, and can be opened when there is room.
cow --disk 60M -- "$PYTHON" -c 'for i in sorted(__import__("os").listdir(".")): open(i).read(1)'
[ "$(jq -r .status "$T/result")" = limit ] || fail "limits.disk: $(told)"
discard_all
if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=12M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	head -c 9M /dev/zero | tr '\0' x >"$W/other"
	touch -d 2001-02-03 "$W/other"
	TMPDIR=$T/small cow --disk none -- /bin/sh -c 'head -c 8M /dev/zero >fills; cat other || echo none
		stat -c %s:%y:%b other; rm fills; sha256sum <other'
	[ "$(jq -r .stdout "$T/result")" = "$(printf 'none\n%s\n%s' "$(stat -c %s:%y:%b "$W/other")" \
		"$(sha256sum <"$W/other")")" ] || fail "full: $(told)"
	grep -q 'No space left' "$T/result" || fail "full: $(told)"
	[ -z "$(TMPDIR=$T/small ws diff "$id" 2>&1)" ] || fail "full: $(TMPDIR=$T/small ws diff "$id" 2>&1)"
	unmounted "$T/small"
	trap live_done EXIT
fi

megabytes=512
[ "$(df -Pm "$T" | awk 'NR == 2 { print $4 }')" -gt $((4 * megabytes)) ] || skip "no room for copies of $megabytes MiB"
rm -r "${W:?}"/*
head -c ${megabytes}M /dev/zero | tr '\0' x >"$W/large" || die "no file"
picture "$W" >"$T/before"

# How long it takes. In the end the file is as natively.
as_it_is=$(printf '0\n%s' "$(stat -c '%s %y' "$W/large")")
reads='tr -d x <large | wc -c; stat -c "%s %y" large'
began=$(now_ms)
cow -- /bin/sh -c "$reads"
took=$(($(now_ms) - began))
[ "$(jq -r .stdout "$T/result")" = "$as_it_is" ] || fail "large: $(told)"
discard_all

# A run whose time is over ends while the file is filled; `took` has more than one whole time of that.
began=$(now_ms)
cow -t 200ms -- /bin/sh -c 'head -c 1 large; sleep 1000'
ended=$(($(now_ms) - began - 200))
[ "$(jq -r .status "$T/result")" = timeout ] || fail "a limit: $(told)"
[ $ended -lt 1000 ] || [ $ended -lt $((took / 2)) ] || fail "a limit: $ended ms late, where filling takes $took ms"
[ -z "$(ws diff "$id" 2>&1)" ] || fail "a limit: $(ws diff "$id" 2>&1)"
discard_all

# Sessions: programs that are killed leave the file to the next one, a client stops the programs when it is filled, and
# a client that is killed meanwhile harms nothing.
session() { "$CALLGATE" session "$@"; }
fills_in_session()
{
	session exec "$id" -- /bin/sh -c "echo up; $reads" >"$T/filled" &
	filler=$!
	await "the program" has_line "$T/filled" up
	awaited has_blocks
}
# shellcheck disable=SC2317 # called by awaited
has_blocks() { [ "$(stat -c %b "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy/large)" -gt 0 ] || dead "$filler"; }
id=$(session create --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin) || die "no session"
for limit in 20ms 50ms 100ms; do # or it is filled within this time
	session exec -t $limit "$id" -- head -c 1 large >"$T/out" 2>&1 || [ $? = 124 ] || fail "$limit: $(cat "$T/out")"
done
fills_in_session
for ((i = 1; i <= 5; i++)); do
	"$CALLGATE" session checkpoint "$id" "killed$i" >/dev/null 2>&1 &
	sleep 0.1
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
done
session checkpoint "$id" while >/dev/null || fail "no checkpoint"
wait $filler
[ "$(cat "$T/filled")" = "up
$as_it_is" ] || fail "session: $(cat "$T/filled")"
session exec "$id" -- /bin/sh -c 'echo y >large'
session restore "$id" while || fail "no restore"
[ "$(session exec "$id" -- /bin/sh -c "$reads")" = "$as_it_is" ] || fail "restored"
session stop "$id"
[ -z "$(ws diff "$id" 2>&1)" ] || fail "session: $(ws diff "$id" 2>&1)"
discard_all

# One that looks at a file waits until none is filled; others are answered meanwhile. On a busy machine the file may be
# filled before the checker has its turn: exit status 3, and another attempt.
cat >"$T/checker.py" <<'END'
import json, os, socket, sys, time
def connect():
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(sys.argv[1])
    return client
def blocks():
    return os.stat(sys.argv[2]).st_blocks
looker, other = connect(), connect()
end = time.monotonic() + 60
while blocks() == 0:
    assert time.monotonic() < end
    time.sleep(0.001)
looker.send(json.dumps({'op': 'look', 'path': 'sh', 'program': True}).encode())
other.send(json.dumps({'op': 'list'}).encode())
before = blocks()
assert 'programs' in json.loads(other.recv(65536))
after = blocks()
reply = json.loads(looker.recv(65536))
assert reply['path'].endswith('/sh'), reply
if before < blocks() <= after:
    print('filled before the other one had its answer:', before, after)
    sys.exit(3)
END
for attempt in 1 2 3; do
	id=$(session create --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin) || die "no session"
	"$PYTHON" "$T/checker.py" "$(echo "$TMPDIR"/callgate-*/session-"$id")" \
		"$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy/large)" >"$T/out" 2>&1 &
	checker=$!
	session exec "$id" -- /bin/sh -c "$reads" >"$T/filled" || fail "looked: $(cat "$T/filled")"
	wait $checker
	status=$?
	session stop "$id"
	discard_all
	[ $status = 3 ] || break
done
[ "$status" = 0 ] || fail "looked, $attempt times: $(cat "$T/out")"

# A file that a client looks at is filled while others are answered, also while the programs are stopped; and a client
# that has the workspace gets it when that is done. Clients may hang up, and the session may end meanwhile.
looks() # PYTHON: with connect(), says(), blocks(), begun()
{
	local status
	for _ in 1 2 3; do # as above
		id=$(session create --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin) || die "no session"
		"$PYTHON" - "$(echo "$TMPDIR"/callgate-*/session-"$id")" \
			"$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy/large)" "$W/large" >"$T/looked" 2>&1 <<END
import array, json, os, socket, sys, time
def connect():
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(sys.argv[1])
    return client
def says(client, **what):
    client.send(json.dumps(what).encode())
def hears(client):
    text, fds, _, _ = socket.recv_fds(client, 65536, 8)
    return json.loads(text), fds
def blocks():
    return os.stat(sys.argv[2]).st_blocks
def begun():
    end = time.monotonic() + 60
    while blocks() == 0:
        assert time.monotonic() < end
        time.sleep(0.001)
looker, other, large = connect(), connect(), os.stat(sys.argv[3])
$1
END
		status=$?
		session stop "$id" >"$T/out" 2>&1 || fail "a look: $(cat "$T/out")"
		discard_all
		[ $status = 3 ] || break
	done
	[ $status = 0 ] || fail "a look: $(cat "$T/looked")"
}
answered="says(looker, op='look', path='large')
begun()
before = blocks()
says(other, op='list')
assert 'programs' in hears(other)[0]
after = blocks()
reply, fds = hears(looker)
if before < blocks() <= after:
    print('filled before the other one had its answer:', before, after)
    sys.exit(3)
assert os.fstat(fds[0]).st_size == large.st_size and blocks() * 512 >= large.st_size, (reply, blocks())"
looks "$answered"
looks "says(other, op='pause', paused=True)
assert hears(other)[0]['paused']
$answered"
looks "says(other, op='pause', paused=True)
assert hears(other)[0]['paused']
says(looker, op='look', path='large')
begun()
third = connect()
says(third, **{'op': 'workspace', 'for': 'checkpoint'})
reply, fds = hears(third)
assert len(fds) > 0 and blocks() * 512 >= large.st_size, (reply, blocks())
assert 'path' in hears(looker)[0]
says(third, op='release')
hears(third)"
looks "says(looker, op='look', path='large')
says(other, op='look', path='large')
begun()
looker.close()
assert len(hears(other)[1]) == 1 and blocks() * 512 >= large.st_size"
looks "says(looker, op='look', path='large')
begun()"
cmp -s "$T/before" <(picture "$W") || fail "the directory has changed: $(diff "$T/before" <(picture "$W"))"

# A program that is asked about gets its content before the question. A run whose time is over ends meanwhile: there is
# no question then.
mv "$W/large" "$W/program"
dd if=/usr/bin/true of="$W/program" conv=notrunc status=none
chmod 755 "$W/program"
cat >"$T/exec.json" <<END
{"version": 1, "name": "asks", "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "$T/program.py"],
"exec": ["/usr", "/bin", "/lib", "/lib64", "@workdir/program"], "write": ["@workdir"]},
"exec": {"deny": [{"path": "@workdir/program", "on_deny": "ask"}]}}
END
executes() # ANSWER OPTION…
{
	local answer=$1
	shift
	rm -f "$T/s" "$T/asked" "$T/log"
	"$PYTHON" "$SRC/tests/live/supervisor/approver.py" "$T/s" "$T/asked" "$answer" 2>"$T/approver.err" &
	approver=$!
	awaited test -S "$T/s" || die "no approver: $(cat "$T/approver.err")"
	cg run -p "$T/exec.json" --json --cow=copy -w "$W" --approve "socket:$T/s" --audit "$T/log" "$@" -- \
		/bin/sh -c './program; echo $?' >"$T/result" 2>"$T/err"
	wait $approver
	discard_all
}
for answer in once no; do
	executes $answer
	[ "$(jq -r .stdout "$T/result")" = "$([ $answer = once ] && echo 0 || echo 126)" ] || fail "$answer: $(told)"
	[ "$(jq -s 'map(select(.type == "question")) | length' "$T/asked")" = 1 ] || fail "executed: $(cat "$T/asked")"
	[ "$(jq -s 'map(select(.path == "./program" and .syscall == "execve")) | length' "$T/log")" = 1 ] ||
		fail "executed, $answer: $(grep program "$T/log")"
done
# Where filling takes less than the limit, there is a question, and a shorter limit is tried.
for limit in 150ms 100ms 70ms; do
	executes once -t $limit
	[ -e "$T/asked" ] || break
	jq -e '.status == "timeout" or .stdout == "0\n"' "$T/result" >/dev/null || fail "$limit, executed: $(told)"
done
if [ ! -e "$T/asked" ]; then
	[ "$(jq -r .status "$T/result")" = timeout ] || fail "$limit, executed: $(told)"
	grep -q '"path":"./program"' "$T/log" && ! jq -se 'map(select(.path == "./program")) |
		length == 1 and .[0].verdict == "deny" and .[0].errno == "EACCES"' "$T/log" >/dev/null &&
		fail "$limit, executed: $(grep program "$T/log")"
fi
exit $live_failed
