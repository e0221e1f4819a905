#!/bin/bash
# callgate serve with clients that die at random moments: afterwards nothing is left of them and of their sandboxes.
# On request only, not part of make check. CALLGATE_SOAK: seconds; CALLGATE_SOAK_SEED repeats a run. It tells more with
# a callgate-agents of configure --enable-sanitizers beside a callgate without.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/server.sh"
need_server
seconds=${CALLGATE_SOAK:-10} seed=${CALLGATE_SOAK_SEED:-$RANDOM}
growth_kb=$((64 << 10))
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}

start_server --api-key "$SERVE_KEY" --audit-dir "$T"

soak()
{
	timeout -k 5 $(($1 + 120)) "$PYTHON" "$SRC/tests/cases/e2b-soak.py" "$1" "$2" >"$T/counts" ||
		fail "the clients (seed $seed): $(tail -n 3 "$T/log")"
	cat "$T/counts"
}

# resident: the server's memory in KiB.
resident()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$server/status"
}

# await_state WHAT COMMAND…: until the command succeeds.
await_state()
{
	awaited "${@:2}" || fail "$1 (seed $seed)"
}

# Two sandboxes wait for clients, no other one is there, and of connections only the one that asks.
is_at_rest()
{
	"$PYTHON" - "$SRC/tests/cases" <<-'END'
		import os, sys, urllib.request
		address, key = os.environ["SERVE_ADDRESS"], os.environ["SERVE_KEY"]
		request = urllib.request.Request("http://%s/metrics" % address, headers={"X-API-Key": key})
		lines = urllib.request.urlopen(request).read().decode().splitlines()
		values = dict(line.rsplit(" ", 1) for line in lines if line[0] != "#")
		at_rest = values["callgate_connections"] == "1" and values['callgate_sandboxes{key="default"}'] == "0"
		sys.exit(not at_rest)
	END
}

count_fds()
{
	find "/proc/$server/fd" -mindepth 1 2>/dev/null | wc -l
}

sessions_are()
{
	[ "$(find "$TMPDIR/callgate-$(id -u)" -maxdepth 1 -name 'session-*' | wc -l)" = "$1" ]
}

soak 1 1 # what is made once is there
await_state "the start" is_at_rest
await_state "two sandboxes are ready" sessions_are 2
before_fds=$(count_fds) before=$(resident)
soak "$seconds" "$seed"
await_state "clients or sandboxes are left" is_at_rest
await_state "sessions are left" sessions_are 2
fds_are_as_before()
{
	[ "$(count_fds)" -le "$before_fds" ]
}
await_state "descriptors are left: $before_fds before" fds_are_as_before
after=$(resident)
echo "memory of the server: $before KiB before, $after KiB after"
[ "$after" -lt $((before + growth_kb)) ] || fail "the server has grown from $before to $after KiB (seed $seed)"

stop_server TERM || fail "the server's exit status: $? $(grep -aA30 -m1 ERROR "$T/log")"
await_sessions "stopped (seed $seed)"
found=$(grep -aA30 -m1 -E 'AddressSanitizer|LeakSanitizer|runtime error' "$T/log")
[ -z "$found" ] || fail "$found"
for log in "$T"/i*.jsonl; do
	"$CALLGATE" audit verify "$log" >/dev/null || fail "$log"
done
! grep -q "$T" /proc/self/mounts || fail "mounts are left: $(grep "$T" /proc/self/mounts)"
for pid in /proc/[0-9]*; do
	[ "$pid" != "/proc/$$" ] || continue
	{ tr '\0' '\n' <"$pid/environ" | grep -qx "TMPDIR=$T/tmp"; } 2>/dev/null || continue
	name=$(cat "$pid/comm" 2>/dev/null)
	case $name in
	callgate | callgate-agents) fail "$pid ($name) lives" ;;
	esac
done
