#!/bin/bash
# Counts the system calls that the supervisor makes for one of the program's, with strace. They determine the speed of a
# call, so one more is an error. Needs root, since strace must be allowed to trace the supervisor.
. "$(dirname "$0")/../lib.sh"
need strace
[ "$(id -u)" = 0 ] || skip "strace of the supervisor needs root"
micro=$BUILD/bench-micro
[ -x "$micro" ] || skip "bench-micro is not built"
mkdir -p "$T/w"
"$CALLGATE" run --require mountns -- /bin/true >/dev/null 2>&1 || skip "there is no mount namespace"

children()
{
	local child
	for child in $(pgrep -P "$1"); do
		echo "$child"
		children "$child"
	done
}

# The process below $1 that has a listener.
supervisor_of()
{
	local pid fd
	for pid in $(children "$1"); do
		for fd in "/proc/$pid/fd"/*; do
			[ "$(readlink "$fd" 2>/dev/null)" = 'anon_inode:seccomp notify' ] && echo "$pid" && return
		done
	done
}

# count WANTED OPERATION PATH: no more calls than that from one notification to the next, in a quarter of many. A call
# too many is in all of them. Timers add others to some, on a busy machine to most: one of three attempts must do.
count()
{
	local quartile
	for _ in 1 2 3; do
		measure "$2" "$3"
		[ "${quartile:-99}" -gt "$1" ] || return 0
	done
	fail "$2 $3: $quartile calls, $1 are enough"
	awk '/NOTIF_RECV/ { if (n++ == 200) on = 1; else if (on) exit } on' "$T/trace" >&2
}

# measure OPERATION PATH: sets quartile, the number of those calls that a quarter does not exceed.
measure()
{
	local keeper supervisor=''
	rm -f "$T/log.$1" "$T/w/$1" "$T/w/$1.waits" "$T/trace"
	# shellcheck disable=SC2016 # the inner shell's
	"$CALLGATE" run --audit "$T/log.$1" --profile extended -w "$T/w" -r "$BUILD" -x "$BUILD" -- \
		/bin/sh -c ': >"$1.waits"; while [ ! -e "$1" ]; do sleep 0.2; done; shift; exec "$@"' x "$T/w/$1" \
		"$micro" "$1" "$2" 100 >"$T/out" 2>&1 &
	keeper=$!
	for _ in $(seq 200); do
		# before that, others have the listener as well: the process that made it and hands it on
		[ -e "$T/w/$1.waits" ] || { sleep 0.1 && continue; }
		supervisor=$(supervisor_of "$keeper")
		[ -n "$supervisor" ] && break
		sleep 0.1
	done
	[ -n "$supervisor" ] || die "no supervisor below $keeper: $(cat "$T/out")"
	strace -q -p "$supervisor" -o "$T/trace" 2>"$T/strace" &
	for _ in $(seq 200); do
		[ -s "$T/trace" ] || grep -q 'TracerPid:[[:space:]]*[1-9]' "/proc/$supervisor/status" && break
		sleep 0.1
	done
	: >"$T/w/$1" # it may begin
	wait "$keeper" || fail "$1: $(cat "$T/out")"
	wait
	# Whether the next notification is there already when it is first asked for is strace's doing, not ours.
	quartile=$(awk '/^poll\(.*= 0 \(Timeout\)/ { next } /NOTIF_RECV/ { if (n) print n; n = 0 } { n++ }' "$T/trace" |
		sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 3) / 4)] }')
}

# With poll and the listener's own: RECV, ID_VALID, SEND. An open has one more, ADDFD: what is given is closed here
# before the call is answered (notify_add).
count 8 open /usr/bin/env
count 7 stat /usr/bin/env
count 6 access /usr/bin/env
# One of them is for a table of descriptors that is not looked at each time, unless strace makes everything slow.
count 7 missing /usr/bin/not-there
# Two of them ask whether the name exists on the host: what does not is absent, not denied.
count 8 denied /srv/not-granted
