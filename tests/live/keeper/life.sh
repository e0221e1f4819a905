#!/bin/bash
# The life of a run: output, limits, timeout, signals, both long-lived processes killed, inputs, artifacts, nothing
# left.
. "$(dirname "$0")/../lib.sh"
need jq
sh=/usr/bin/dash
[ -x $sh ] || skip "no $sh"
OPTIONS=(--profile minimal -x "$sh" -x /usr/bin/sleep -x /usr/bin/cat -x /usr/bin/head -x /usr/bin/rm)
run() { cg run "${OPTIONS[@]}" "$@"; }

# field FILTER EXPECTED: of the result in $T/result
field()
{
	local got
	got=$(jq -c "$1" "$T/result")
	[ "$got" = "$2" ] || fail "$name: $1 is $got, not $2"
}
# result NAME STATUS COMMAND…
result()
{
	local want=$2 status
	name=$1
	shift 2
	run --json "$@" >"$T/result" 2>"$T/err"
	status=$?
	[ $status = "$want" ] || fail "$name: exit status $status, not $want: $(cat "$T/err")"
}

result plain 0 -- $sh -c 'echo out; echo err >&2'
field '[.status, .exit_code, .stdout, .stderr, .stdout_truncated, .stdout_path, .error]' \
	'["ok",0,"out\n","err\n",false,null,null]'
result exit-7 7 -- $sh -c 'exit 7'
field '[.status, .exit_code, .signal]' '["failed",7,null]'
result signal 137 -- $sh -c 'kill -9 $$'
field '[.status, .exit_code, .signal]' '["failed",137,9]'
result denied 1 -- /usr/bin/cat /etc/shadow
field '[.status, .denials[0].target, .denials[0].suggest]' '["denied","/etc/shadow",null]'
field '.denials[0].suggest_reason | test("secrets")' true
# A message to a pipe without a reader is lost, and is not the end before what was made is removed.
exec {unread}> >(exec /bin/true)
wait $!
run -p "$T/none.json" -- $sh -c : 2>&"$unread"
[ $? = 125 ] || fail "a policy that is not there, without a reader of messages"
exec {unread}>&-
[ -z "$(find "$T"/tmp/callgate-* -maxdepth 1 -name 'run-*' 2>/dev/null)" ] || fail "its scratch directory is left"
result pipe 141 -- $sh -c 'kill -PIPE $$'
result missing 127 -- no-such-program
field '[.status, .error.code]' '["error","not_found"]'
result refused 126 -- /usr/bin/id
field '[.status, .error.code, .denials[0].op]' '["denied","refused","exec"]'
result timeout 124 -t 300ms -- $sh -c 'sleep 30 & sleep 31'
field '[.status, .limits.wall.hit]' '["timeout",true]'
grep -q 'ended by its time limit of 0.3 s' "$T/err" || fail "timeout: no message: $(cat "$T/err")"
result timeout 124 -q -t 300ms -- $sh -c 'sleep 31'
[ -s "$T/err" ] && fail "timeout -q: $(cat "$T/err")"
result limit 0 --output-limit 5 -- $sh -c 'echo 0123456789'
field '[.stdout, .stdout_bytes, .stdout_truncated]' '["01234",11,true]'
raw=$(jq -r .stdout_path "$T/result")
[ "$(cat "$raw")" = 0123456789 ] || fail "limit: $raw does not hold all of it"
rm -f "$raw"
result not-utf8 0 -- $sh -c 'printf "a\377b"'
field '.stdout == "a\ufffdb"' true
raw=$(jq -r .stdout_path "$T/result")
[ "$(od -An -tx1 "$raw")" = " 61 ff 62" ] || fail "not-utf8: the raw bytes are not kept"
rm -f "$raw"
# Results of the last seven days are kept. Their age is looked at once an hour: the directory's access time tells when.
results=$(echo "$T"/tmp/callgate-*/results)
touch "$results/young"
for last in '2 hours ago' now; do
	touch -d '8 days ago' "$results/old"
	touch -a -d "$last" "$results"
	result sweep 0 -- $sh -c :
	[ "$last" = now ] || [ ! -e "$results/old" ] || fail "a result of last week is still there"
done
[ -e "$results/young" ] || fail "a result of today was removed"
[ -e "$results/old" ] || fail "results were looked at twice in an hour"
rm "$results/old" "$results/young"
rmdir "$results"
result big 0 --output-limit 16M -- $sh -c 'head -c 3000000 /dev/zero'
field '[.stdout_bytes, (.stdout | length)]' '[3000000,3000000]'
result changes 0 -w "$T/home" -- $sh -c 'echo a >new; : >empty; rm empty'
field '[.changes[] | [.path, .kind, .size]]' "[[\"$T/home/new\",\"added\",2]]"
result redirect 0 -- $sh -c 'echo a >/tmp/a'
field '[.redirects[] | [.op, .from]]' '[["write","/tmp"]]'

# streams: as without callgate
name=stream
[ "$(run -- $sh -c 'echo a; echo b >&2' 2>/dev/null)" = a ] || fail "stdout is not passed on"
[ "$(run -- $sh -c 'echo a; echo b >&2' 2>&1 >/dev/null)" = b ] || fail "stderr is not passed on"
[ "$(run -- $sh -c 'while :; do echo y; done' | head -n 1)" = y ] || fail "head"
[ "$(echo in | timeout 100 "$CALLGATE" run "${OPTIONS[@]}" -i -- /usr/bin/cat)" = in ] || fail "stdin with -i"
[ -z "$(echo in | timeout 100 "$CALLGATE" run "${OPTIONS[@]}" -- /usr/bin/cat)" ] || fail "stdin without -i"
run -- $sh -c 'echo a' >/dev/full 2>"$T/err" && fail "a full stdout is no error"
grep -q 'stdout could not be written' "$T/err" || fail "a full stdout: $(cat "$T/err")"
[ "$(run --status-fd 3 -- $sh -c 'exit 3' 3>&1 >/dev/null | jq -c '[.event, .status, .exit_code]' | tr -d '\n')" = \
	'["start",null,null]["end","failed",3]' ] || fail "--status-fd"

# inputs and artifacts
name=artifacts
echo data >"$T/in.txt"
run --input "$T/in.txt" --output "$T/kept" --artifact '*.png' -- \
	$sh -c 'cat in.txt >a.png; echo no >b.txt; : >c.png' || fail "the run failed"
[ "$(cd "$T/kept" && echo *)" = "a.png c.png" ] || fail "kept: $(ls "$T/kept")"
[ "$(cat "$T/kept/a.png")" = data ] || fail "the content of an artifact"

# ends: whichever process is killed, nothing of the run lives on
mark=7$$$RANDOM$RANDOM
alive() { pgrep -f "^sleep $mark" >/dev/null; }
start()
{
	rm -f "$T/log"
	# a background job ignores SIGINT, as does all that a background ./check starts, and so would callgate
	env --default-signal "$CALLGATE" run "${OPTIONS[@]}" --audit "$T/log" \
		-- $sh -c "sleep $mark & exec sleep $mark" </dev/null 2>"$T/err" &
	keeper=$!
	awaited both_run || fail "the program did not start: $(cat "$T/err")"
}
both_run() { [ "$(pgrep -cf "^sleep $mark")" = 2 ]; }
ended()
{
	awaited not alive || fail "$name: the program lives on"
}
for signal in INT TERM HUP; do
	name=$signal
	start
	kill -$signal $keeper
	wait $keeper
	status=$?
	[ $status = $((128 + $(kill -l $signal))) ] || fail "$name: exit status $status"
	alive && fail "$name: the program lives on"
	tail -n 1 "$T/log" | jq -e '.status == "killed"' >/dev/null || fail "$name: the log says $(tail -n 1 "$T/log")"
done
name="supervisor killed"
start
kill -9 "$(pgrep -P $keeper)"
ended
wait $keeper
status=$?
[ $status = 125 ] || fail "$name: exit status $status"
grep -q 'supervisor died' "$T/err" || fail "$name: $(cat "$T/err")"
tail -n 1 "$T/log" | jq -e '.type == "trailer" and .status == "error"' >/dev/null || fail "$name: $(tail -n 1 "$T/log")"
name="keeper killed"
start
kill -9 $keeper
ended
{ wait $keeper; } 2>/dev/null
sleep 0.3
ls -d "$T"/tmp/callgate-* >/dev/null || fail "$name: expected its scratch space to be left"
run -- $sh -c : || fail "$name: the next run failed"
name=concurrent
for i in 1 2 3 4 5 6 7 8; do
	run -- $sh -c "echo $i >f; cat f" &
done | sort -n | tr -d '\n' >"$T/out"
[ "$(cat "$T/out")" = 12345678 ] || fail "$name: $(cat "$T/out")"
name="the caller's limit of file sizes"
(
	ulimit -f 600
	run --json --output-limit 1K -x /usr/bin/head -- /usr/bin/head -c 3000000 /dev/zero >"$T/out" 2>"$T/err"
)
# what cannot be kept ends the run, unless it has ended by itself
jq -e '(.status == "limit" or .status == "ok") and .stdout_bytes > 600000 and .limits.stdout.hit' "$T/out" >/dev/null ||
	fail "$name: $(head -c 300 "$T/out" "$T/err")"
