#!/bin/bash
# What is told of a run while it lasts and at its end, beside the result: the status line, --status-fd, --metrics,
# --audit-sink.
. "$(dirname "$0")/../lib.sh"
need jq script
sh=/usr/bin/dash
[ -x $sh ] || skip "no $sh"
OPTIONS=(--profile minimal -x "$sh" -x /usr/bin/sleep -x /usr/bin/cat)
run() { cg run "${OPTIONS[@]}" "$@"; }

# --status-fd: a line at the start, lines meanwhile, a line at the end
run --status-fd 3 --status-every 100ms -- $sh -c 'cat /etc/shadow; sleep 1' 3>"$T/status" 2>"$T/err" # fails: see below
jq -es '[.[].event] as [$first] | [.[].event][-1] as $last | $first == "start" and $last == "end"' "$T/status" \
	>/dev/null || fail "--status-fd: $(cat "$T/status")"
lines=$(jq -c 'select(.event == "progress")' "$T/status" | wc -l)
[ "$lines" -ge 3 ] || fail "--status-fd: $lines lines of progress in a second"
jq -es 'map(select(.event == "progress")) | all(.duration_ms >= 0) and any(.memory_bytes > 0 and .processes >= 1) and
	last.calls.judged > 0 and last.calls.denied == 1' "$T/status" >/dev/null ||
	fail "--status-fd: progress is $(tail -n 2 "$T/status")"
[ "$(run --status-fd 3 --status-every 0 -- sleep 1.2 3>&1 >/dev/null | wc -l)" = 2 ] || fail "--status-every 0"
# a reader that takes nothing does not delay the run
mkfifo "$T/fifo"
exec 7<>"$T/fifo"
# As much as it takes: that is less than 64 KiB where the user has many pipes.
dd if=/dev/zero of="$T/fifo" bs=4096 oflag=nonblock 2>/dev/null
began=$(now_ms)
timeout 100 "$CALLGATE" run "${OPTIONS[@]}" --status-fd 9 --status-every 50ms -- sleep 0.5 9>"$T/fifo" &
pid=$!
live_kept+=("$pid")
sleep 1
dd if="$T/fifo" of=/dev/null bs=1M iflag=nonblock 2>/dev/null # now the last line gets through
wait "$pid" || fail "a full --status-fd: exit status $?"
[ $(($(now_ms) - began)) -lt 60000 ] || fail "a full --status-fd delayed the run"
exec 7>&-

# the status line: with --status also where the output is on the same terminal, and never within a line of it
command=$(printf '%q ' "$CALLGATE" run "${OPTIONS[@]}" ${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} \
	--status -- $sh -c 'echo one; sleep 3; printf half; sleep 1.5; echo -and-half')
TERM=xterm timeout -k 5 100 script -qec "$command" /dev/null </dev/null >"$T/screen" 2>&1
clear=$'\r\e\\[K'
grep -qE "${clear}callgate: [0-9]+ s, [0-9]+M, [0-9]+ calls judged, 0 denied" "$T/screen" ||
	fail "no status line: $(cat -v "$T/screen")"
grep -q 'half-and-half' "$T/screen" || fail "the status line is within a line: $(cat -v "$T/screen")"
run --status -q -- $sh -c : 2>"$T/err" && fail "--status -q"
grep -q 'leave out one' "$T/err" || fail "--status -q: $(cat "$T/err")"

# --metrics: a file in the format, by rename, also of a run that fails or does not begin
printf 'old' >"$T/run.prom"
run --metrics "$T/run.prom" -- $sh -c 'echo x >made; cat /etc/shadow' >/dev/null 2>&1
[ "$(tail -n 1 "$T/run.prom")" = '# EOF' ] || fail "--metrics: $(tail -n 3 "$T/run.prom")"
info='{run_id="[0-9a-f]*",status="denied",mode="enforce",judge="all",policy="[^"]*",policy_sha256="[0-9a-f]*"} 1'
grep -q "^callgate_run_info$info$" "$T/run.prom" || fail "--metrics: $(grep info "$T/run.prom")"
for line in 'exit_code 1' 'denials_total{op="read"} 1' 'changes{kind="added"} 1' 'calls_total{kind="denied"} 1' \
	'layer_active{layer="seccomp_notify"} 1'; do
	grep -qF "callgate_run_$line" "$T/run.prom" || fail "--metrics lacks $line: $(cat "$T/run.prom")"
done
# every sample belongs to the family above it, each family has a type once, a help, and a counter's sample "_total"
awk '/^# TYPE/ { if ($3 in seen) print "twice: " $3; seen[$3] = 1; family = $3; kind = $4; next }
	/^# HELP/ { if ($3 != family) print "help of " $3; next }
	/^# EOF/ { next }
	{ name = $0; sub(/[{ ].*/, "", name) }
	name != family (kind == "counter" ? "_total" : "") { print "odd: " $0 }' "$T/run.prom" >"$T/odd"
[ -s "$T/odd" ] && fail "--metrics: $(cat "$T/odd")"
# Runs beside each other may name the same file: it is one of theirs, whole, and nothing else is left.
mkdir "$T/same"
pids=()
for n in 1 2 3 4 5 6 7 8; do
	run --metrics "$T/same/run.prom" -- $sh -c ':' >"$T/same.$n" 2>&1 &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || fail "--metrics of runs beside each other: $(cat "$T"/same.?)"
done
[ -z "$(cat "$T"/same.?)" ] || fail "--metrics of runs beside each other: $(cat "$T"/same.?)"
[ "$(ls -A "$T/same")" = run.prom ] || fail "--metrics leaves $(ls -A "$T/same")"
[ "$(grep -c '^callgate_run_info' "$T/same/run.prom") $(grep -n '^# EOF' "$T/same/run.prom" | cut -d : -f 1)" = \
	"1 $(wc -l <"$T/same/run.prom")" ] || fail "--metrics: $(cat "$T/same/run.prom")"
run --metrics "$T/none.prom" -- no-such-program 2>/dev/null
grep -q 'status="error"' "$T/none.prom" || fail "--metrics of a run that did not begin"
mkdir "$T/dir"
for bad in "$T/dir" "$T/no/such" "$T/dir/."; do
	run --metrics "$bad" -- $sh -c 'echo ran' >"$T/out" 2>"$T/err" && fail "--metrics $bad"
	[ -s "$T/out" ] && fail "--metrics $bad is refused after the run"
	grep -q -- "--metrics $bad: .*name a file" "$T/err" || fail "--metrics $bad: $(cat "$T/err")"
done
# a link that the program leaves there is replaced, not followed
mkdir "$T/work"
run -w "$T/work" --metrics "$T/work/m" -- $sh -c 'ln -s ../precious m' >/dev/null 2>&1
[ -e "$T/precious" ] && fail "--metrics followed a link of the program's"

# --audit-sink
cat >"$T/reader.py" <<'EOF'
import socket, sys
reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reader.bind(sys.argv[1])
print("ready", flush=True)
reader.settimeout(60)
while True:
    text = reader.recv(65536)
    print(text, flush=True)
    if b"gshadow" in text:
        break
EOF
for kind in syslog journald; do
	"$PYTHON" "$T/reader.py" "$T/$kind" >"$T/$kind.out" &
	live_kept+=("$!")
	await "the reader" has_line "$T/$kind.out" ready
	run --json --audit-sink "$kind:$T/$kind" -- $sh -c 'cat /etc/shadow; cat /etc/gshadow' >"$T/result" 2>"$T/err"
	jq -e '.audit_sink == {sent: 2, dropped: 0}' "$T/result" >/dev/null ||
		fail "--audit-sink $kind: $(jq -c '[.audit_sink, .denials]' "$T/result") $(cat "$T/err")"
	wait "$!"
	grep -q "denied open[a-z]* /etc/shadow to /usr/bin/cat\[[0-9]*\]: not_granted (run [0-9a-f]*, record [0-9]*)" \
		"$T/$kind.out" || fail "--audit-sink $kind: $(cat "$T/$kind.out")"
done
# a log that is not there, and one that is not read
run --audit-sink "syslog:$T/none" -- $sh -c 'echo ran' >"$T/out" 2>"$T/err" && fail "--audit-sink without a log"
grep -q "cannot connect to $T/none" "$T/err" || fail "--audit-sink: $(cat "$T/err")"
run --audit-sink tape -- $sh -c : 2>"$T/err" && fail "--audit-sink tape"
"$PYTHON" -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
time.sleep(600)' "$T/idle" &
live_kept+=("$!")
await "a reader that does not read" test -S "$T/idle"
# shellcheck disable=SC2016 # the program's shell expands them
flood='i=0; while [ $i -lt 1000 ]; do cat /etc/shadow; i=$((i + 1)); done'
run --json --audit-sink "syslog:$T/idle" -- $sh -c "$flood" >"$T/result" 2>/dev/null
jq -e '.audit_sink | .sent + .dropped == 1000 and .dropped >= 0' "$T/result" >/dev/null ||
	fail "--audit-sink that is not read: $(jq -c .audit_sink "$T/result")"
