#!/bin/bash
# Egress is killed or stopped during a run. After that every network operation is denied, or ends at the program's own
# timeout. Open connections are recorded as closed, and the run ends.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq pgrep
net_servers echo
echo=$(net_port echo)
net_policy "{
	\"allow\": [{\"host\": \"raw.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"raw.test\": \"127.0.0.1\"}}"

cat >"$T/home/program.py" <<PY
import errno, os, socket, sys, time

def attempt(s=None):
    s = s or socket.socket()
    e = s.connect_ex((address, $echo))
    return errno.errorcode.get(e, e)

address = socket.gethostbyname("raw.test")
s = socket.create_connection((address, $echo), 60)
s.sendall(b"x")
print(s.recv(1).decode(), flush=True)
until = time.monotonic() + 60
while not os.path.exists(sys.argv[1]) and time.monotonic() < until:
    time.sleep(0.02)
if sys.argv[2] == "KILL":
    s.settimeout(30)
    try:
        print(s.recv(1))
    except OSError as e:
        print(errno.errorcode[e.errno])
    print(attempt(), attempt())
else:
    s = socket.socket()
    s.setblocking(False)
    print(attempt(s))
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b"\\0" * 8 + (300000).to_bytes(8, sys.byteorder))
    print(attempt(s))
PY

# The keeper makes the resolver first, then egress, then the supervisor.
egress_of()
{
	pgrep -P "$1" -f "callgate-egress egress"
}

says()
{
	grep -q '^x' "$T/out"
}

# dies SIGNAL EXPECTED: what the program says after egress got the signal.
dies()
{
	local run got keeper
	rm -f "$T/home/go" "$T/out" "$T/status"
	net_run -r "$T/home" --status-fd 3 -- "$PYTHON" "$T/home/program.py" "$T/home/go" "$1" \
		>"$T/out" 2>"$T/err" 3>"$T/status" &
	run=$!
	net_await "the program" says
	keeper=$(jq -r 'select(.event == "start") | .pid' "$T/status")
	kill -"$1" "$(egress_of "$keeper")" || fail "${where}no egress"
	touch "$T/home/go"
	wait "$run" || fail "${where}$1: status $?: $(cat "$T/err")"
	got=$(tail -n +2 "$T/out" | tr '\n' ' ')
	# shellcheck disable=SC2053 # a pattern
	[[ $got = $2 ]] || fail "${where}$1: $got"
	pgrep -P "$keeper" >/dev/null && fail "${where}$1: children are left"
	[ "$(jq -s '[.[] | select(.event == "open" and .verdict == "allow")] | length' "$T/audit")" = 1 ] ||
		fail "${where}$1: opened later"
}

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	dies KILL "* ENETDOWN ENETDOWN "
	[[ $(tail -n +2 "$T/out" | head -n 1) = "b''" || $(tail -n +2 "$T/out" | head -n 1) = ECONNRESET ]] ||
		fail "${where}an open connection: $(cat "$T/out")"
	audit_has '.event == "close" and .conn == 1 and .cause == "egress_failed"'
	audit_has '.syscall == "connect" and .verdict == "deny" and .reason == "egress_failed" and .errno == "ENETDOWN"'
	dies STOP "EINPROGRESS EINPROGRESS "
	[ "$(jq -s '[.[] | select(.event == "close" and .cause == "run_ended")] | length' "$T/audit")" = 3 ] ||
		fail "${where}closes: $(jq -c 'select(.event == "close")' "$T/audit")"
done
