#!/bin/bash
# Programs of a session on terminals: made by the session for its clients, and joined to the caller's by --tty; and
# programs that go on without a client.
. "$(dirname "$0")/../lib.sh"
need python3 jq script ps
session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

read -ra more <<<"${LIVE_OPTIONS:-}"
[ -z "${LIVE_WITHOUT:-}" ] || more+=(--without "$LIVE_WITHOUT")
id=$(session create --profile extended -w "$T/home" "${more[@]}") || die "session create"
socket=$T/tmp/callgate-$(id -u)/session-$id
timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$SRC/tests/cases/session-terminal.py" "$socket" || fail "terminals"

# ---- session exec --tty ----
# on_terminal COMMAND…: what a terminal of the test's own shows, in $T/out; its size is 31 by 77.
: >"$T/shown"
on_terminal()
{
	rm -f "$T/over"
	printf 'stty rows 31 cols 77\n%s\necho "status $?"; stty -a | grep -o " -\\?icanon"; : >%s\n' "$*" "$T/over" \
		>"$T/outer"
	TERM=xterm-test timeout -k 5 200 script -qefc "bash '$T/outer'" "$T/shown" >/dev/null
	tr -d '\r' <"$T/shown" >"$T/out"
	: >"$T/shown"
}

# types KEYS: what a person types once the program says that it is there, as standard input of on_terminal. It stays
# open until the program has ended: script(1) types an end of file at its end.
types()
{
	awaited has_line "$T/shown" '^there'
	# shellcheck disable=SC2059 # the keys are escapes
	printf "$1"
	awaited test -e "$T/over"
}

# Nothing is typed, and the terminal is not closed: script types an end of file at its input's end, which may be echoed.
mkfifo "$T/silent"
exec 7<>"$T/silent"
# shellcheck disable=SC2016 # the programs expand these
on_terminal "'$CALLGATE' session exec --tty $id -- sh -c 'stty size; echo \$TERM; tty; exit 3'" <&7
exec 7<&-
{ grep -q '31 77$' "$T/out" && grep -qx xterm-test "$T/out" && grep -qx '/dev/pts/[0-9]*' "$T/out" &&
	grep -qx 'status 3' "$T/out" && grep -qx ' icanon' "$T/out"; } || fail "--tty: $(cat "$T/out")"
types '\003' |
	on_terminal "'$CALLGATE' session exec --tty $id -- sh -c 'trap \"echo int; exit 9\" INT; echo there; sleep 150'"
grep -qx 'status 9' "$T/out" || fail "Ctrl-C: $(cat "$T/out")"
types '\035\035\035' |
	on_terminal "'$CALLGATE' session exec --tty $id -- sh -c 'trap \"\" INT HUP TERM; echo there; sleep 150'"
grep -qx 'status 137' "$T/out" || fail "Ctrl-] three times: $(cat "$T/out")"
# shellcheck disable=SC2016 # the program expands it
session exec --tty "$id" -- sh -c 'tty >/dev/null && read -r x && echo "got $x"' <<<typed >"$T/out"
grep -q "got typed" "$T/out" || fail "--tty without a terminal outside: $(cat "$T/out")"
session exec --json --tty "$id" -- sh -c 'echo out; echo err >&2' </dev/null >"$T/out"
jq -e '.stdout == "out\r\nerr\r\n" and .stderr == ""' "$T/out" >/dev/null || fail "--tty --json: $(cat "$T/out")"

# ---- a program that passes its stdout on does not keep its client ----
session exec "$id" -- python3 -c '
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("held"); s.listen()
fds = socket.recv_fds(s.accept()[0], 1, 1)[1]
time.sleep(110)' &
holder=$!
start=$SECONDS
session exec "$id" -- python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX)
while True:
    try: s.connect("held"); break
    except OSError: time.sleep(0.02)
print("mine", flush=True); socket.send_fds(s, [b"x"], [1])' >"$T/out" || fail "passing stdout on"
[ "$(cat "$T/out") $((SECONDS - start < 100))" = "mine 1" ] ||
	fail "stdout that was passed on: $(cat "$T/out") after $((SECONDS - start)) s"
kill $holder
wait $holder

# ---- without a client ----
number=$(session exec --detach "$id" -- sh -c 'sleep 0.7; echo done >detached; exec sleep 100') || fail "--detach"
session list --json | jq -e --argjson number "$number" '.programs[] | select(.program == $number)' >/dev/null ||
	fail "$number is not listed: $(session list)"
awaited test -s "$T/home/detached"
[ "$(cat "$T/home/detached")" = "done" ] || fail "a detached program was ended"
session exec --detach "$id" nosuch 2>/dev/null && fail "--detach of what does not exist"
session exec --detach -i "$id" true 2>"$T/err" && fail "--detach -i"
grep -q "leave out" "$T/err" || fail "--detach -i: $(cat "$T/err")"
touch "$T/home/beats"
session exec --detach -t 300ms "$id" -- sh -c 'while :; do echo beat >>beats; sleep 0.02; done' >/dev/null
sleep 1
await "the end of a detached program by its time limit" grows_no_more "$T/home/beats"
session exec --detach "$id" -- sh -c 'while :; do echo beat >>beats; sleep 0.02; done' >/dev/null
session stop "$id" || fail "stop"
beats=$(wc -l <"$T/home/beats")
sleep 0.3
[ "$(wc -l <"$T/home/beats")" = "$beats" ] || fail "a detached program lives longer than its session"
await_sessions "the end"
