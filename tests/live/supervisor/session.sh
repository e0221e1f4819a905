#!/bin/bash
# Sessions: programs one after the other and at once in one sandbox, each with its own streams, status, time limit,
# denials and end; no process in it sees, signals or traces the processes that start them.
. "$(dirname "$0")/../lib.sh"
need jq python3
session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

# create [OPTION…]: sets $id.
create()
{
	local more
	read -ra more <<<"${LIVE_OPTIONS:-}"
	[ -z "${LIVE_WITHOUT:-}" ] || more+=(--without "$LIVE_WITHOUT")
	id=$(session create "${more[@]}" "$@") || die "session create $*"
	[[ $id =~ ^[0-9a-f]{16}$ ]] || die "id: $id"
}

# await_sleep: until a program "sleep" runs.
await_sleep()
{
	awaited sleeps || die "no sleep runs: $(session list)"
}
sleeps()
{
	session list --json | jq -e '.programs[] | select(.pid > 0 and (.path | endswith("/sleep")))' >/dev/null
}

# told WHAT EXPECTED COMMAND…: the command's output and exit status.
told()
{
	local what=$1 expected=$2 got status=0
	shift 2
	got=$("$@" 2>&1) || status=$?
	[ "$got $status" = "$expected" ] || fail "$what: $got $status, not $expected"
}

create --profile extended --audit "$T/log" -w "$T/home"
printf SECRET >"$T/home/.env"

# ---- streams, status, order ----
told "output and status" "out 3" session exec "$id" -- sh -c 'printf out; exit 3'
told "a signal" " 137" session exec "$id" -- sh -c 'kill -9 $$'
told "stdin" "abc 0" session exec -i "$id" cat <<<abc
told "no stdin" " 0" session exec "$id" cat
# shellcheck disable=SC2016 # the programs expand these
told "environment and directory" "v /etc 0" \
	session exec -e A=v --cwd /etc "$id" -- sh -c 'printf "%s " "$A"; pwd | tr -d "\n"'
told "one workdir" " 0" session exec "$id" -- sh -c 'printf x >f'
[ "$(cat "$T/home/f")" = x ] || fail "a file of the workdir"
told "a file of an earlier program" "x 0" session exec "$id" cat f
status=0
session exec "$id" nosuch 2>"$T/err" || status=$?
{ [ $status = 127 ] && grep -q "nosuch: not found in PATH" "$T/err"; } || fail "no such program: $(cat "$T/err")"
session exec --cwd /nonesuch "$id" pwd 2>"$T/err"
grep -q "/nonesuch: No such file" "$T/err" || fail "no such directory: $(cat "$T/err")"
status=0
session exec "$id" /usr/lib/os-release 2>"$T/err" || status=$?
[ $status = 126 ] || fail "what is no program: $status $(cat "$T/err")"
# shellcheck disable=SC2016 # as they are
told "arguments as they are" 'a b|"|$x| | 0' session exec "$id" -- printf '%s|' 'a b' '"' '$x' ' '

# ---- denials are the program's own ----
session exec --json "$id" cat .env >"$T/one"
session exec --json "$id" true >"$T/two"
jq -e '.status == "denied" and .denials[0].target == ".env" and .stdout == ""' "$T/one" >/dev/null ||
	fail "its denials: $(cat "$T/one")"
jq -e '.status == "ok" and .denials == [] and .program == ('"$(jq .program "$T/one")"' + 1)' "$T/two" >/dev/null ||
	fail "another's denials: $(cat "$T/two")"

# What is too much for a message is counted, and does not cost the client the result.
cat >"$T/home/deny.py" <<'END'
import os, sys
for i in range(150):
    path = "%s/n%d" % (os.getcwd(), i)
    os.mkdir(path)
    while len(path) < int(sys.argv[1]):
        path += "/" + "d" * 200
        os.mkdir(path)
    try:
        os.open(path + "/.env", os.O_WRONLY | os.O_CREAT)
    except OSError:
        pass
sys.exit(7)
END
for length in 0 3600; do
	mkdir "$T/home/deny$length"
	session exec --json --cwd "$T/home/deny$length" "$id" python3 ../deny.py $length >"$T/one" 2>"$T/err"
	jq -e '.status == "denied" and .exit_code == 7 and .denials_unlisted >= 50 and
	       ([.denials[].count] | add) + .denials_unlisted == 150' "$T/one" >/dev/null ||
		fail "150 denials of $length bytes: $(head -c 300 "$T/one") $(cat "$T/err")"
done
rm -r "$T/home/deny"*

# ---- at once ----
for i in 1 2 3 4 5 6; do
	session exec "$id" -- sh -c "sleep 0.2; echo $i" >"$T/out$i" &
done
wait
for i in 1 2 3 4 5 6; do
	[ "$(cat "$T/out$i")" = "$i" ] || fail "output of program $i of six: $(cat "$T/out$i")"
done

# ---- the end of a program is that of all that it started, and of nothing else ----
"$CALLGATE" session exec "$id" sleep 600 &
other=$!
await_sleep
session exec "$id" -- python3 -c '
import os, time
for kind in range(3):
    if os.fork() == 0:
        if kind > 0: os.setsid()
        if kind > 1 and os.fork() > 0: os._exit(0)
        time.sleep(300)
time.sleep(0.1)' || fail "a program that leaves processes"
running=$(session exec "$id" -- sh -c 'cat /proc/[0-9]*/cmdline' 2>/dev/null | tr '\0' ' ')
[[ $running != *"time.sleep(300)"* ]] || fail "left by an ended program: $running"
[[ $running == *"sleep 600"* ]] || fail "the other program: $running"
start=$SECONDS
status=0
session exec -t 500ms --json "$id" -- sh -c 'sleep 110 & sleep 110' >"$T/one" || status=$?
{ [ $status = 124 ] && jq -e '.status == "timeout"' "$T/one" >/dev/null; } || fail "a time limit: $(cat "$T/one")"
[ $((SECONDS - start)) -lt 60 ] || fail "a time limit took $((SECONDS - start)) s"
kill -TERM "$other"
wait "$other"
[ $? = 143 ] || fail "a signal is passed on"
# A client that is killed takes its program along.
"$CALLGATE" session exec "$id" sleep 601 &
other=$!
await_sleep
{ kill -KILL "$other" && wait "$other"; } 2>/dev/null
await "the end of a program whose client was killed" not sleeps

# ---- what starts the programs is not to be seen or touched ----
told "the parent" "gone gone gone 0" session exec "$id" -- python3 -c '
import os, signal
said = []
for what in (lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: os.listdir("/proc/%d" % os.getppid()),
             lambda: os.pidfd_open(os.getppid())):
    try: what(); said.append("there")
    except (ProcessLookupError, FileNotFoundError): said.append("gone")
print(*said, end="")'
told "signals to all" "gone 0" session exec "$id" -- python3 -c '
import os, signal
try: os.kill(-1, signal.SIGKILL); print("sent", end="")
except ProcessLookupError: print("gone", end="")'
told "descriptors" "0 1 2 3 0" session exec "$id" -- python3 -c '
import os; print(*sorted(os.listdir("/proc/self/fd"), key=int), end="")'
told "afterwards" "x 0" session exec "$id" cat f

# A program that was not executed yet is a copy of that process, whose memory must hold nothing of the supervisor's.
cp "$SRC/tests/cases/session-memory.py" "$T/home/memory.py"
session exec "$id" -- python3 memory.py >"$T/memory" &
reader=$!
awaited test -s "$T/memory"
for _ in {1..60}; do
	session exec "$id" true
done
wait $reader || fail "reading memory"
most=$(tail -n 1 "$T/memory")
[ "$most" -lt 16384 ] || fail "$most bytes of the supervisor's memory in a program before its exec"

# ---- hostile and mistaken clients ----
"$PYTHON" "$SRC/tests/cases/session-client.py" "$T/tmp/callgate-$(id -u)/session-$id" "$T" || fail "clients"
told "after these" "x 0" session exec "$id" cat f

# ---- the log and the end ----
is_quiet()
{
	session list --json |
		jq -e --arg id "$id" 'select(.session == $id) | .programs == [] and .started > 20' >/dev/null
}
awaited is_quiet || fail "list: $(session list --json)"
session stop "$id" || fail "stop"
left=$(find "$T/tmp/callgate-$(id -u)" -maxdepth 1 -name "*-$id")
[ -z "$left" ] || fail "session stop returns too early: left: $left"
[ -z "$(session list)" ] || fail "listed after its end: $(session list)"
session exec "$id" true 2>"$T/err" && fail "after its end"
grep -q "no such session" "$T/err" || fail "after its end: $(cat "$T/err")"
result=$T/tmp/callgate-$(id -u)/results/$id.json
jq -e '.status == "ok" and .run_id == "'"$id"'"' "$result" >/dev/null || fail "the result: $(cat "$result")"
cg audit verify "$T/log" >/dev/null || fail "the log"
# Where tasks are counted by judging clone(2), so are those by which the session starts programs.
cg audit show --json "$T/log" 2>/dev/null | jq -es --argjson one "$(jq .program "$T/two")" '
	(map(select(.syscall == "execve" and .program == ($one - 1)) | .path) | length) == 1 and
	map(select(.syscall and .syscall != "clone" and (.program | not))) == []' >/dev/null ||
	fail "each record has its program"

# ---- idle ----
create --idle 300ms
has_sessions() { [ -n "$(session list)" ]; }
await "the end of an idle session" not has_sessions

# ---- its keeper is killed ----
create --profile extended -w "$T/home"
session exec "$id" sleep 602 2>/dev/null &
other=$!
await_sleep
pkill -KILL -o -f "^$CALLGATE session create .*-w $T/home" || # not one of another test
	fail "kill the keeper"
wait "$other"
status=$?
[ $status = 125 ] || fail "a program of a killed session: $status"
# A run removes what the killed one has left, once the last of its processes has ended.
for _ in {1..100}; do
	cg run true || fail "a run afterwards"
	[ -n "$(find "$T/tmp/callgate-$(id -u)" -maxdepth 1 -name "session-*")" ] || break
done
[ -z "$(session list)" ] || fail "a killed session"

# ---- a signal while it is made: no session without a name is left ----
mkdir "$T/many"
(cd "$T/many" && seq 2000 | split -l 1 -a 3 -) || die "files" # which are copied first
has_socket() { [ -n "$(find "$T/tmp/callgate-$(id -u)" -maxdepth 1 -name "session-*")" ]; }
for signal in TERM HUP; do
	"$CALLGATE" session create --cow=copy --profile extended -w "$T/many" >"$T/made" 2>"$T/err" &
	creator=$!
	awaited has_socket || die "no session is made: $(cat "$T/err")"
	kill -s $signal "$creator"
	wait "$creator"
	status=$?
	if [ $status = 0 ]; then # it was there before the signal
		session stop "$(cat "$T/made")" || fail "SIG$signal: stop $(cat "$T/made")"
	else
		[ "$status $(cat "$T/made")" = "$((128 + $(kill -l $signal))) " ] ||
			fail "SIG$signal: $status, $(cat "$T/made" "$T/err")"
	fi
	await_sessions "SIG$signal"
done
"$CALLGATE" ws discard --all >/dev/null || fail "discard"

# ---- bad input ----
session create --profile nosuch 2>"$T/err" && fail "no such profile"
grep -q nosuch "$T/err" || fail "no such profile: $(cat "$T/err")"
session exec 2>"$T/err" && fail "no session named"
grep -q "name the session" "$T/err" || fail "no session named: $(cat "$T/err")"
for verb in create exec list stop; do
	session $verb --help >"$T/out" 2>"$T/err" || fail "session $verb --help"
	{ [ ! -s "$T/err" ] && grep -q "Usage: callgate session $verb" "$T/out"; } ||
		fail "help of $verb: $(cat "$T/err")"
done
session nosuch 2>/dev/null && fail "no such verb"
await_sessions "the end"
