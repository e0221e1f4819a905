#!/bin/bash
# Memory that belongs to no process, where memory is sampled: each way to use it ends the run, is refused, or has a
# bound that is printed. The rows are those of doc/security.md, "What counts as memory".
. "$(dirname "$0")/../lib.sh"
need jq
HOARD=$CASES/cases-hoard

# hoard WAY MIB [OPTION…]
hoard()
{
	local way=$1 much=$2
	shift 2
	rm -rf "${T:?}/w"
	mkdir -p "$T/w"
	cg_run minimal -x "$HOARD" --json -m 64M "$@" -w "$T/w" -- "$HOARD" "$way" "$much" >"$T/result" 2>"$T/err"
}

# is FILTER NAME
is()
{
	jq -e "$1" "$T/result" >/dev/null 2>&1 ||
		fail "$2: not $1: $(jq -c '[.status, .exit_code, .stdout, .error,
		.limits.memory]' "$T/result") $(cat "$T/err")"
}

# It ends the run, and the meter saw it: not RLIMIT_DATA or EMFILE.
ends()
{
	local way
	for way in "${@:2}"; do
		# shellcheck disable=SC2086 # two words
		hoard $way
		is '.status == "limit" and (.limits.memory | .hit and .peak >= .limit * 0.9)' "$1, $way"
	done
}

# refused SURROUNDING WAY ERRNO REASON: it is refused, on record, and nothing was had.
refused()
{
	hoard "$2" 32
	is "(.stdout | test(\": $3\")) and (.stdout | test(\"held 0 MiB\"))" "$1, $2"
	audit_has ".verdict == \"deny\" and .errno == \"$3\" and .reason == \"$4\""
}

# bounded SURROUNDING WAY: that many were had, some thousands and no more than LOCKS_OF_RUN_MAX of
# syscalls/account/limits/locks.h, or hardly more: /proc/locks is read in pieces, between which locks of other processes
# come and go and move its lines.
bounded()
{
	is '.stdout | capture("count (?<n>[0-9]+)").n | tonumber | . > 4000 and . <= 16384 + 16' "$1, $2"
}

# What the kernel counts for a user: RLIMIT_SIGPENDING. A run gets half of callgate's own, and not above a fixed number,
# so that the same user's other processes have the rest.
queued()
{
	local own way most
	for own in "$(ulimit -i)" 4000; do
		most=16384
		[ "$own" = unlimited ] || [ $((own / 2)) -gt $most ] || most=$((own / 2))
		for way in signals timers; do
			(ulimit -i "$own" && hoard $way 200)
			is "(.stdout | test(\"EAGAIN\")) and (.stdout | capture(\"count (?<n>[0-9]+)\").n |
				tonumber) <= $most" \
				"$1, $way of $own"
		done
	done
}

measure()
{
	local way under_way
	# HOARD_PART=core: a way for each thing that is read of a process (its maps, its descriptors, its threads).
	ends "$1" "shared-cut 400" "leaderless 400" "pipes 100" "sockets 400" "files 30 -m 16M"
	[ -n "${HOARD_PART:-}" ] || ends "$1" "shared-split 400" "shared-relay 400" "areas 60 -m 16M" \
		"threads 18 -m 16M" "epolls 40 -m 16M" "unshare-range 400"
	# A container's filter may refuse what tells these, or they themselves; any socket counts as full there.
	[ -n "${OUTER_FILTER:-}${HOARD_PART:-}" ] || ends "$1" "packets 400" "backlog 400" "events 240" "unshare 400"
	TMPDIR=$M ends "$1, tmpfs" "shm 60 -m 16M"
	refused "$1" dev-zero EACCES memory_limit
	refused "$1" dev-zero-again EACCES memory_limit
	refused "$1" huge-pages ENOMEM huge_pages
	refused "$1" huge-cut EINVAL not_offered
	refused "$1" vmsplice EINVAL expected_probe
	refused "$1" splice EINVAL expected_probe
	refused "$1" sendfile EINVAL expected_probe
	refused "$1" wide-pipe EPERM refused_syscall
	refused "$1" wide-socket ENOPROTOOPT refused_syscall
	refused "$1" waited-for EINVAL refused_syscall
	refused "$1" locks ENOLCK locks_limit
	bounded "$1" locks
	refused "$1" file-locks ENOLCK locks_limit
	bounded "$1" file-locks
	refused "$1" locks-left EINVAL refused_syscall
	# What is given back is no longer counted.
	hoard relocks 32
	is '.status == "ok" and .exit_code == 0' "$1, relocks"
	queued "$1"
	# So is the number of sockets under way in others: RLIMIT_NOFILE, which is lower in such a run, and 0.2 MB each.
	# The kernel counts them by user, for processes with a lower limit, too: where no process has more than 1,024,
	# the tests beside this one need some, of which the differential suite has a limit of 256.
	under_way=()
	[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 2048 ] || under_way=(--open-files 100)
	hoard under-way 500 "${under_way[@]}"
	is '(.stdout | test("ETOOMANYREFS")) and (.stdout | capture("held (?<n>[0-9]+)").n | tonumber) < 260' \
		"$1, under way"
	# Nothing of that is charged to a program that does little of each.
	for way in "shared-cut 20" "pipes 10" "sockets 10" "threads 5" "files 2"; do
		# shellcheck disable=SC2086 # two words
		hoard $way
		is '.status == "ok" and (.limits.memory.hit | not)' "$1, $way"
	done
}

# What is given back is; the memory is one for parent and child, and of any size, and no descriptor of it is left.
ordinary()
{
	rm -rf "${T:?}/w"
	mkdir -p "$T/w"
	cg_run extended --json -m 64M -w "$T/w" -- "$PYTHON" -c '
import mmap, os
for i in range(40):
    m = mmap.mmap(-1, 8 << 20)
    for at in range(0, len(m), 4096):
        m[at] = 1
    m.close()
odd = mmap.mmap(-1, 5001)
odd[5000] = 7
if os.fork() == 0:
    odd[4999] = 77
    os._exit(0)
os.wait()
print(odd[4999], odd[5000], len(os.listdir("/proc/self/fd")))
for flags, length, offset in ((mmap.MAP_SHARED, 4096, 0), (mmap.MAP_PRIVATE, 4096, 0)):
    a = mmap.mmap(-1, length, flags | mmap.MAP_ANONYMOUS)
    a[0] = 1
def say(length, flags):
    try:
        mmap.mmap(-1, length, flags)
        return "mapped"
    except OSError as e:
        return e.strerror
print(say(1 << 60, mmap.MAP_SHARED), say(4096, 3 | mmap.MAP_ANONYMOUS))
import shutil
open("from", "w").write("x" * 100000)
shutil.copyfile("from", "to")
print(os.path.getsize("to"))' >"$T/result" 2>"$T/err"
	is '.status == "ok" and (.limits.memory.hit | not) and
		.stdout == "77 7 4\nCannot allocate memory Invalid argument\n100000\n"' "$1, ordinary"
}

# TCP connections to itself, as full as the kernel lets them get. A container's filter may refuse what tells that.
connections()
{
	local port
	port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	printf '{"version": 1, "extends": ["extended"], "network": {"listen": [%s]}}' "$port" >"$T/tcp.json"
	rm -rf "${T:?}/w"
	mkdir -p "$T/w"
	cg run --json -p "$T/tcp.json" -m 48M -w "$T/w" -- "$PYTHON" -c '
import socket, sys, time
address = ("127.0.0.1", int(sys.argv[1]))
listener = socket.socket()
listener.bind(address)
listener.listen(100)
kept, held = [], 0
while held < 150 << 20:
    sender = socket.socket()
    sender.connect(address)
    kept += [sender, listener.accept()[0]]
    sender.setblocking(False)
    quiet = 0
    while quiet < 6:
        try:
            held += sender.send(bytes(65536))
            quiet = 0
        except BlockingIOError:
            quiet += 1
            time.sleep(0.002)
print("held", held >> 20)' "$port" >"$T/result" 2>"$T/err"
	is '.status == "limit" and .limits.memory.hit' "$1, TCP"
	sends "$port"
}

# sendfile(2) to a stream that does not wait is performed, as servers need it (nginx has no other way).
sends()
{
	rm -rf "${T:?}/w"
	mkdir -p "$T/w"
	cg run --json -p "$T/tcp.json" -m 64M -w "$T/w" -- "$PYTHON" -c '
import os, signal, socket, sys
address = ("127.0.0.1", int(sys.argv[1]))
data = os.urandom(300001)
open("data", "wb").write(data)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(address)
listener.listen(1)
sender = socket.create_connection(address)
got = listener.accept()[0]
file = os.open("data", os.O_RDONLY)
def attempt(*args):
    try:
        return os.sendfile(*args)
    except OSError as e:
        return e.strerror
def move(offset, at):
    back, stuck = b"", 0
    while at + len(back) < len(data):
        r = attempt(sender.fileno(), file, None if offset is None else at + len(back), 1 << 30)
        if not isinstance(r, int):
            return r
        piece = b""
        while len(piece) < r:
            piece += got.recv(r - len(piece))
        back += piece
    return back == data[at:]
print(attempt(sender.fileno(), file, 0, 10))
sender.setblocking(False)
print(move(0, 7), os.lseek(file, 0, os.SEEK_CUR), move(None, 0), os.lseek(file, 0, os.SEEK_CUR))
print(attempt(sender.fileno(), file, None, 10), attempt(sender.fileno(), file, -1, 10), attempt(file, file, 0, 10))
got.close()
signal.signal(signal.SIGPIPE, lambda *_: print("SIGPIPE"))
sender.shutdown(socket.SHUT_WR)
print(attempt(sender.fileno(), file, 0, 10))' "$1" >"$T/result" 2>"$T/err"
	is '.status == "ok" and .stdout == "Invalid argument\nTrue 0 True 300001\n" +
		"0 Invalid argument Invalid argument\nSIGPIPE\nBroken pipe\n"' sends
}

M=$(mktemp -d /dev/shm/cg-hoard.XXXXXX) || die "no directory in memory"
[ "$(stat -f -c %T "$M")" = tmpfs ] || die "$M is no tmpfs"
trap 'rm -rf "${M:?}"; live_done' EXIT
# All of it where least else holds a run; what a namespace could make different once more with them.
LIVE_WITHOUT=cgroups,namespaces
measure "without $LIVE_WITHOUT"
ordinary "without $LIVE_WITHOUT"
[ -n "${OUTER_FILTER:-}" ] || connections "without $LIVE_WITHOUT"
unset LIVE_WITHOUT
layer pidns || exit $live_failed # in a container there is no more to leave out or to add
LIVE_WITHOUT=cgroups
ends "without $LIVE_WITHOUT" "shared-cut 400" "leaderless 400" "sockets 400"
TMPDIR=$M ends "without $LIVE_WITHOUT, tmpfs" "shm 60 -m 16M"
refused "without $LIVE_WITHOUT" dev-zero EACCES memory_limit
# The run's own /proc has no "locks": they are counted in callgate's, with the pids of that.
refused "without $LIVE_WITHOUT" locks ENOLCK locks_limit
bounded "without $LIVE_WITHOUT" locks
hoard relocks 32
is '.status == "ok" and .exit_code == 0' "without $LIVE_WITHOUT, relocks"
ordinary "without $LIVE_WITHOUT"
unset LIVE_WITHOUT
layer cgroups || exit $live_failed # the rest was said of the run without them

# With control groups the kernel counts all that, but for the files that callgate opens.
hoard files 30 -m 16M
is '.status == "limit" and (.limits.memory | .hit and .peak >= .limit * 0.9)' "files, as it comes"
hoard files 2
is '.status == "ok"' "few files, as it comes"
queued "as it comes"
# The page cache may fill the group: that is no reason to end a run that opens many files.
rm -rf "${T:?}/w"
mkdir -p "$T/w"
cg_run extended --json -m 24M -w "$T/w" -- "$PYTHON" -c '
for i in range(2000):
    with open("f%d" % (i % 200), "wb") as f:
        f.write(bytes(400000))' >"$T/result" 2>"$T/err"
is '.status == "ok" and (.limits.memory.hit | not)' "page cache, as it comes"
