#!/bin/bash
# How a run is ended from outside: the program gets the signal first and may end by itself; after the grace time, or at
# a second signal, it is killed. Likewise at the time limit.
. "$(dirname "$0")/../lib.sh"
need jq pgrep
sh=/usr/bin/dash
[ -x $sh ] || skip "no $sh"
OPTIONS=(--json --profile extended -w "$T/home" -e PATH=/usr/bin:/bin)
mark=6$$$RANDOM$RANDOM # in no command line but those of this test
waiting="while :; do sleep 0.05; : $mark; done"
pid=

# begin [OPTION…] -- COMMAND…: in the background. start returns when the program has made the file "ready"
begin()
{
	rm -f "$T"/home/*
	env --default-signal "$CALLGATE" run "${OPTIONS[@]}" "$@" </dev/null >"$T/result" 2>"$T/err" &
	pid=$!
	begun_ms=
}
start()
{
	begin "$@"
	awaited test -e "$T/home/ready" || fail "$name: the program did not start: $(cat "$T/err")"
}
signal()
{
	[ -n "$begun_ms" ] || begun_ms=$(now_ms)
	kill -s "$1" "${2:-$pid}"
}
# finish STATUS FILTER: the exit status, and what must be true of the result; sets took_ms, since the first signal
finish()
{
	local status
	{ wait "$pid"; } 2>/dev/null
	status=$?
	took_ms=$(($(now_ms) - ${begun_ms:-$(now_ms)}))
	[ $status = "$1" ] ||
		fail "$name: exit status $status, not $1: $(cat "$T/err")"
	jq -e "$2" "$T/result" >/dev/null ||
		fail "$name: $(jq -c '[.status, .exit_code, .signal, .termination, .stdout, .error]' "$T/result")"
	pgrep -f "$mark" >/dev/null && fail "$name: a process lives on"
}
no_sooner() { [ $((took_ms + 10)) -gt "$1" ] || fail "$name: ended after $took_ms ms"; }
no_later() { [ $took_ms -le "$1" ] || fail "$name: ended only after $took_ms ms"; }

# the program's own end: its status, all its output
for signal in TERM INT HUP QUIT; do
	name="trap $signal"
	start -- $sh -c "trap 'echo cleaned; exit 7' $signal; echo a; touch ready; $waiting"
	signal $signal
	finish 7 '.status == "failed" and .exit_code == 7 and .signal == null and .stdout == "a\ncleaned\n" and
		.termination == {"cause": "signal", "sent": '"$(kill -l $signal)"', "killed": false}'
done
name="a trap that exits with 0"
start -- $sh -c "trap 'exit 0' TERM; touch ready; $waiting"
signal TERM
finish 0 '.status == "ok" and .termination.cause == "signal"'
name=KeyboardInterrupt
start -- "$PYTHON" -c "import time
try: open('ready', 'w').close(); time.sleep(600) # $mark
except KeyboardInterrupt: print('interrupted')"
signal INT
finish 0 '.status == "ok" and .stdout == "interrupted\n" and .termination.sent == 2'
name="much output after the signal"
start -- "$PYTHON" -c "import os, signal, sys, time
def last(*_): sys.stdout.write('x' * 900000); sys.stdout.flush(); os._exit(3)
signal.signal(signal.SIGTERM, last); open('ready', 'w').close(); time.sleep(600) # $mark"
signal TERM
finish 3 '.stdout_bytes == 900000 and .termination.killed == false'

# without a handler: at once, and as before
name="no handler"
start -- $sh -c "touch ready; sleep 60 $mark"
signal TERM
finish 143 '.status == "killed" and .signal == 15 and .termination == {"cause": "signal", "sent": 15, "killed": false}'
# a stopped group gets it, too
name="a stopped group"
start -- $sh -c "trap 'exit 5' TERM; touch ready; kill -STOP 0; sleep 60 $mark"
sleep 0.3
signal TERM
finish 5 '.termination.killed == false'

# those that do not listen
hostile="import os, signal, time
for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)
open('ready', 'w').close()
while True: # $mark
    if os.fork() == 0:
        os.setsid(); time.sleep(600)
    time.sleep(0.05)"
name="ignores it and forks"
start --pids 200 -- "$PYTHON" -c "$hostile"
signal TERM
finish 143 '.status == "killed" and .signal == 15 and .termination == {"cause": "signal", "sent": 15, "killed": true}'
no_sooner 2000
grep -q 'had not ended after signal 15' "$T/err" || fail "$name: says $(cat "$T/err")"
name="--kill-after"
for _ in 1 2 3; do # less than the two seconds without the option, if not each time on a busy machine
	start --pids 200 --kill-after 300ms -- "$PYTHON" -c "$hostile"
	signal INT
	finish 130 '.status == "killed" and .signal == 2 and .termination.killed'
	no_sooner 300
	[ $took_ms -gt 1900 ] || break
done
no_later 1900
name="--kill-after 0"
start --kill-after 0 -- $sh -c "trap 'exit 7' TERM; touch ready; $waiting"
signal TERM
finish 143 '.status == "killed" and .termination == {"cause": "signal", "sent": null, "killed": true}'
name="a second signal"
start --pids 200 --kill-after 60s -- "$PYTHON" -c "$hostile"
signal INT
sleep 0.6
signal TERM
finish 130 '.status == "killed" and .calls.judged > 0 and .termination.killed'
no_later 30000
# timeout(1) sends it to the command and to its group, as when its time is over
name="timeout(1)"
rm -f "$T"/home/*
timeout -k 60 300 "$CALLGATE" run "${OPTIONS[@]}" --kill-after 20s -- \
	$sh -c "trap 'sleep 1; echo cleaned; exit 7' TERM; touch ready; $waiting" \
	</dev/null >"$T/result" 2>"$T/err" &
pid=$!
await "$name: the program" test -e "$T/home/ready"
signal TERM
finish 7 '.status == "failed" and .exit_code == 7 and .stdout == "cleaned\n"'

# whenever it comes: never is the program started and left
for delay in 0 0.005 0.01 0.02 0.03 0.05; do
	name="$delay s after the start"
	begin -- $sh -c "exec sleep 600 $mark"
	sleep $delay
	signal TERM
	{ wait $pid; } 2>/dev/null
	status=$?
	[ $status = 143 ] || fail "$name: exit status $status: $(cat "$T/err")"
	pgrep -f "$mark" >/dev/null && fail "$name: the program lives on"
done

# the time limit
name="-t"
start -t 3s -- $sh -c "trap 'echo late; exit 0' TERM; touch ready; $waiting"
finish 124 '.status == "timeout" and .exit_code == 124 and .stdout == "late\n" and .limits.wall.hit and
	.termination == {"cause": "timeout", "sent": 15, "killed": false}'
name="-t and no handler"
start -t 3s -- $sh -c "touch ready; sleep 60 $mark"
finish 124 '.status == "timeout" and .signal == 15 and (.termination.killed | not)'
name="-t and a hostile program"
start -t 3s --grace 500ms --pids 200 -- "$PYTHON" -c "$hostile"
finish 124 '.status == "timeout" and .signal == 9 and .duration_ms >= 3500 and .termination.killed'
grep -q 'limit of 3 s; the program had not ended after SIGTERM' "$T/err" || fail "$name: says $(cat "$T/err")"
name="--grace 0"
start -t 3s --grace 0 -- $sh -c "trap 'echo late; exit 0' TERM; touch ready; $waiting"
finish 124 '.status == "timeout" and .signal == 9 and .stdout == "" and
	.termination == {"cause": "timeout", "sent": null, "killed": true}'
name="a signal in the grace time"
start -t 3s --grace 60s -- $sh -c "trap 'touch asked' TERM; trap '' INT; touch ready; $waiting"
await "$name: SIGTERM" test -e "$T/home/asked"
signal INT
finish 124 '.status == "timeout" and .termination.killed'

# a program does not start after a signal in the setup, whatever that does with it
name="the setup handles it"
begin --setup "trap 'exit 0' TERM; touch ready; $waiting" -- touch ran
await "$name" test -e "$T/home/ready"
signal TERM
finish 143 '.status == "killed" and .setup.exit_code == 0 and .setup.termination.sent == 15'
[ -e "$T/home/ran" ] && fail "$name: the program was run"

# the supervisor's own: it leaves them to the keeper, as when all processes of this name get one
name="signals to the supervisor"
start -- $sh -c "trap 'sleep 0.3; echo cleaned; exit 7' TERM; touch ready; $waiting"
supervisor=$(pgrep -P "$pid" -x callgate) || fail "$name: the keeper has no child of its name"
for signal in TERM INT HUP QUIT; do
	signal $signal "$supervisor"
done
sleep 0.3
[ -d "/proc/$supervisor" ] || fail "$name: they end it"
signal TERM "$pid"
signal TERM "$supervisor"
finish 7 '.stdout == "cleaned\n" and .termination == {"cause": "signal", "sent": 15, "killed": false}'

# a dead keeper: no grace
name="the keeper is killed"
start --pids 200 --kill-after 600s -- "$PYTHON" -c "$hostile"
signal TERM
signal KILL
{ wait $pid; } 2>/dev/null
# shellcheck disable=SC2317 # await calls it
lives() { pgrep -f "$mark" >/dev/null; }
await "$name: the program's end" not lives

timeout 100 "$CALLGATE" run -- /bin/true || fail "the run that sweeps what the killed keeper left: $?"

for value in soon 25h -1 ''; do
	timeout 100 "$CALLGATE" run --kill-after "$value" -- /bin/true 2>"$T/err"
	[ $? = 125 ] || fail "--kill-after '$value' is taken"
	grep -q 'write ' "$T/err" || fail "--kill-after '$value' says $(cat "$T/err")"
done
exit 0
