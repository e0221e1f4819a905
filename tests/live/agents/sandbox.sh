#!/bin/bash
# Sandboxes as callgate-agents makes them: programs at once, their input and output, signals, programs that are hostile
# to their readers, and what is left when the process that holds a sandbox is killed.
. "$(dirname "$0")/../lib.sh"
need python3
program=$CASES/cases-agents
[ -x "$program" ] || skip "$program is not built"
options=(--profile extended -w "$T/home")
[ -z "${LIVE_WITHOUT:-}" ] || options+=(--without "$LIVE_WITHOUT")
base=$T/tmp/callgate-$(id -u)

timeout -k 5 "$LIVE_TIMEOUT" "$program" all "$CALLGATE" "${options[@]}" || fail "the cases (status $?)"
await_sessions "freed"
timeout -k 5 "$LIVE_TIMEOUT" "$program" ends "$CALLGATE" "${options[@]}" || fail "ends"
await_sessions "freed while it is made"

# ---- what makes it hangs ----
# shellcheck disable=SC2016 # the script is printed as it is
printf '#!/bin/sh\necho $$ >"%s/hangs"\nexec sleep 600\n' "$T" >"$T/launcher"
chmod +x "$T/launcher"
timeout -k 5 "$LIVE_TIMEOUT" "$program" late "$T/launcher" || fail "a launcher that hangs"
[ -s "$T/hangs" ] || fail "the launcher did not run"
kill -0 "$(cat "$T/hangs")" 2>/dev/null && fail "a launcher that hangs is left"

# ---- the holder is killed ----
for signal in KILL TERM; do
	rm -f "$T/home/beats"
	"$program" hold "$CALLGATE" "${options[@]}" --idle 100ms >"$T/id" &
	holder=$!
	await "a program runs" test -s "$T/home/beats"
	{ kill -$signal $holder && wait $holder; } 2>/dev/null
	await "SIG$signal: the end of its program" grows_no_more "$T/home/beats"
	await_sessions "SIG$signal"
done

# ---- a holder beside other clients, and mistakes ----
id=$(cg session create "${options[@]}" --idle 3s) || die "create"
"$PYTHON" - "$base/session-$id" <<'END' || fail "a holder beside other clients"
import json, socket, sys, time
def ask(op):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(sys.argv[1])
    sock.settimeout(60)
    sock.send(json.dumps({"op": op}).encode())
    return sock, json.loads(sock.recv(1 << 20))
holder, facts = ask("hold")
assert facts["session"] in sys.argv[1] and facts["workdir"].startswith("/"), facts
holder.send(b'{"op": "hold"}')
holder.recv(1 << 20)
time.sleep(4)  # longer than it may be idle
other, facts = ask("hold")
ask("list")[0].close()
other.close()
assert holder.recv(1 << 20) == b""  # the first of them to hang up has ended it
END
await_sessions "one of two holders"
for value in 1 3 99 x; do
	cg session create --hold-fd $value 2>"$T/err" 3</dev/null && fail "--hold-fd $value"
	grep -q "hold-fd" "$T/err" || fail "--hold-fd $value: $(cat "$T/err")"
done
:
