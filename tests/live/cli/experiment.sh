#!/bin/bash
# callgate experiment: every cell once, resumed after SIGKILL, the same rows twice, shares that merge, clear mistakes.
. "$(dirname "$0")/../lib.sh"
need jq

mkdir "$T/work"
cat >"$T/work/main.py" <<'PY'
import os, sys, time
time.sleep(float(os.environ.get("PAUSE", "0")))
print(len(open(sys.argv[1]).read()), sys.argv[2], os.environ["CALLGATE_SEED"])
try:
    open("/etc/os-release").read()
except OSError as error:
    print(error.strerror)
open("out", "w").write(sys.argv[2])
PY
echo small >"$T/small.txt"
seq 1000 >"$T/large.txt"
echo 'from standard input' >"$T/typed.txt"
echo '{"version": 1, "name": "no-release", "extends": ["extended"], "filesystem": {"deny": ["/etc/os-release"]}}' \
	>"$T/deny.json"
cat >"$T/plan.json" <<'JSON'
{"version": 1, "name": "test", "repetitions": 2, "seed": 40, "timeout": "60s",
 "programs": [
   {"name": "py", "command": ["python3", "main.py", "{input}", "seed={seed}"], "workdir": "work"},
   {"name": "sh", "command": ["sh", "-c", "cat - {input} | wc -c"]}],
 "inputs": [{"name": "small", "file": "small.txt"}, {"name": "large", "file": "large.txt", "stdin": "typed.txt"}],
 "policies": [{"name": "loose", "profile": "extended", "options": ["--env=PYTHONHASHSEED=0"]},
              {"name": "deny", "file": "deny.json"}, {"name": "bare", "profile": "minimal"}]}
JSON
experiment() { cg experiment "$@"; }

# All 24 cells; what differs between policies is in the rows.
experiment run -j 4 --csv -o "$T/one" "$T/plan.json" >"$T/out" 2>&1 || fail "run: status $?: $(cat "$T/out")"
[ "$(wc -l <"$T/one/results.jsonl")" = 24 ] || fail "rows: $(wc -l <"$T/one/results.jsonl")"
[ "$(jq -s 'map(.cell) | unique | length' "$T/one/results.jsonl")" = 24 ] || fail "cells are not told apart"
[ "$(jq -sc 'map(.index)' "$T/one/results.jsonl")" = "$(jq -nc '[range(24)]')" ] || fail "order of the rows"
jq -se 'map(select(.program == "py" and .policy == "loose")) | length == 4 and all(.status == "ok" and .denials == 0 and
	.changes == 1 and (.seed - .repetition) == 39 and .measured.time_ms > 0)' "$T/one/results.jsonl" >/dev/null ||
	fail "rows of py under loose: $(head -n 1 "$T/one/results.jsonl")"
jq -se 'map(select(.program == "py" and .policy == "deny")) | all(.denials == 1 and
	(.denials_by_rule | keys[0] | contains("/etc/os-release")))' "$T/one/results.jsonl" >/dev/null ||
	fail "denials by rule"
jq -se 'map(select(.policy == "bare")) | length == 8 and all(.status == "denied" and .exit_code == 126)' \
	"$T/one/results.jsonl" >/dev/null || fail "rows of bare"
cell=$(jq -r 'select(.program == "sh" and .input == "large" and .policy == "loose") | .cell' "$T/one/results.jsonl" |
	head -n 1)
[ "$(jq -r .stdout "$T/one/cells/$cell/result.json" | tr -d ' \n')" = 3913 ] || fail "standard input and input file"
python3 - "$T/one/results.csv" "$T/one/results.jsonl" <<'PY' || fail "results.csv differs from results.jsonl"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(line) for line in open(sys.argv[2])]
assert len(rows) == len(lines) == 24
for row, line in zip(rows, lines):
    assert row["cell"] == line["cell"] and int(row["denials"]) == line["denials"], row
    assert json.loads(row["denials_by_rule"]) == line["denials_by_rule"], row
    assert int(row["time_ms"]) == line["measured"]["time_ms"], row
PY

# Again: nothing is run. Elsewhere: the same rows but for what was measured.
experiment run -o "$T/one" "$T/plan.json" | grep -q '0 run, 0 failed, 24 were there' || fail "finished cells ran again"
experiment run -q -j 2 -o "$T/two" "$T/plan.json" >"$T/out" 2>&1 || fail "second: $(cat "$T/out")"
[ ! -s "$T/out" ] || fail "-q printed: $(cat "$T/out")"
for dir in one two; do jq -c 'del(.measured)' "$T/$dir/results.jsonl" >"$T/$dir.rows"; done
diff "$T/one.rows" "$T/two.rows" >"$T/out" || fail "the same plan gave other rows: $(head -n 4 "$T/out")"

# Shares of a cluster, merged by copying.
for shard in 1 2 3; do
	experiment run -q --shard $shard/3 -o "$T/shard$shard" "$T/plan.json" || fail "share $shard: status $?"
	[ "$(wc -l <"$T/shard$shard/results.jsonl")" = 8 ] || fail "share $shard: not 8 rows"
	mkdir -p "$T/merged"
	cp -r "$T/shard$shard/." "$T/merged" || fail "cp"
done
experiment run -o "$T/merged" "$T/plan.json" | grep -q '0 run, 0 failed, 24' || fail "merged shares are not whole"
jq -c 'del(.measured)' "$T/merged/results.jsonl" | cmp -s - "$T/one.rows" || fail "merged rows differ"

# SIGKILL in the middle: what was finished stays, no process is left, the rest is run by the next call.
sed 's/--env=PYTHONHASHSEED=0/--env=PAUSE=0.3/' "$T/plan.json" >"$T/slow.json"
"$CALLGATE" experiment run -q -j 2 -o "$T/killed" "$T/slow.json" &
runner=$!
# shellcheck disable=SC2317 # await calls it
has_two_rows() { [ "$(find "$T/killed/cells" -name row.json 2>/dev/null | wc -l)" -ge 2 ]; }
await "two cells" has_two_rows
kill -KILL $runner
wait $runner 2>/dev/null
awaited not pgrep -f "$T/killed/running" >/dev/null || fail "runs outlived the experiment"
before=$(find "$T/killed/cells" -name row.json -exec stat -c '%i %n' {} + | sort)
kept=$(wc -l <<<"$before")
[ "$kept" -lt 24 ] || fail "the kill came too late to show anything"
experiment run -j 2 -o "$T/killed" "$T/slow.json" | grep -q "$((24 - kept)) run, 0 failed, $kept were there" ||
	fail "not resumed"
while read -r row; do
	find "$T/killed/cells" -name row.json -exec stat -c '%i %n' {} + | grep -qxF "$row" || fail "$row ran again"
done <<<"$before"
[ -z "$(ls "$T/killed/running")" ] || fail "left: $(ls "$T/killed/running")"

# A changed input is another cell; the rest is not run again.
echo larger >>"$T/large.txt"
experiment run -o "$T/two" "$T/plan.json" | grep -q '12 run, 0 failed, 12 were there' || fail "changed input"

# The report.
experiment report "$T/one" >"$T/report" || fail "report: status $?"
grep -qE '^py +loose +4 +4 +0\.0 ' "$T/report" || fail "report: $(cat "$T/report")"
grep -qE '^sh +bare +4 +0 ' "$T/report" || fail "report: $(cat "$T/report")"
experiment report --json "$T/one" | jq -e 'length == 6 and .[0].slowdown == 1' >/dev/null || fail "report --json"
is_xml() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
is_xml "$T/one/report.svg" || fail "the plot is not XML"

# Names are text, in the plot and on a terminal.
cat >"$T/hostile.json" <<'JSON'
{"version": 1, "programs": [{"name": "<script>\u001b]0;x\u0007&\"", "command": ["true"]}],
 "policies": [{"name": "<b>", "profile": "minimal", "options": ["-x", "/bin/true"]}]}
JSON
experiment run -q -o "$T/hostile" "$T/hostile.json" || fail "hostile names: run"
experiment report "$T/hostile" >"$T/report" || fail "hostile names: report"
grep -q "$(printf '\033')" "$T/report" "$T/hostile/report.svg" && fail "an escape sequence is printed raw"
grep -qE '<script|<b>' "$T/hostile/report.svg" && fail "a name became markup"
is_xml "$T/hostile/report.svg" || fail "hostile names: the plot is not XML"

# Mistakes: each is named with its line; nothing is run and nothing is made.
refused()
{
	local pattern=$1 text=$2 status=0
	printf '%s\n' "$text" >"$T/bad.json"
	cg experiment run -o "$T/bad" "$T/bad.json" >"$T/out" 2>&1 || status=$?
	[ $status = 125 ] || fail "$text: status $status"
	grep -qE -- "$pattern" "$T/out" || fail "$text: $(cat "$T/out")"
	[ ! -e "$T/bad" ] || [ -z "$(ls "$T/bad/cells")" ] || fail "$text: something was run"
}
refused 'bad.json:2:0: not valid JSON' '{'
refused 'bad.json:1: write an object' '[]'
refused 'bad.json:2: version' '{
"version": 2, "programs": [{"name": "a", "command": ["true"]}], "policies": [{"name": "p", "profile": "minimal"}]}'
good='"policies": [{"name": "p", "profile": "minimal"}]}'
program='"programs": [{"name": "a", "command": ["x"]}]'
refused 'programs: missing' "{\"version\": 1, $good"
refused 'bad.json:2: programs\[0\].command: missing' "{\"version\": 1,
\"programs\": [{\"name\": \"a\"}], $good"
refused 'did you mean "command"' "{\"version\": 1, \"programs\": [{\"name\": \"a\", \"commandd\": [\"x\"]}], $good"
refused 'another item' '{"version": 1,
"programs": [{"name": "a", "command": ["x"]}, {"name": "a", "command": ["x"]}], '"$good"
refused 'workdir: .*No such file' '{"version": 1,
"programs": [{"name": "a", "command": ["x"], "workdir": "/none"}], '"$good"
refused 'repetitions: write a whole' "{\"version\": 1, \"repetitions\": -1, $program, $good"
refused '"file" or a "profile"' "{\"version\": 1, $program, \"policies\": [{\"name\": \"p\"}]}"
refused 'no-such-profile' "{\"version\": 1, $program,
\"policies\": [{\"name\": \"p\", \"profile\": \"no-such-profile\"}]}"
refused 'frob' "{\"version\": 1, $program,
\"policies\": [{\"name\": \"p\", \"profile\": \"minimal\", \"options\": [\"--frob\"]}]}"
for words in 'run --shard 0/2' 'run --shard 3/2' 'run --shard x' 'run -j 0' 'report' 'frob'; do
	read -ra word <<<"$words"
	cg experiment "${word[@]}" "$T/plan.json" "$T/x" >"$T/out" 2>&1 && fail "$words was accepted"
	[ "$(wc -l <"$T/out")" -le 2 ] || fail "$words: $(cat "$T/out")"
done
cg experiment report "$T/work" >"$T/out" 2>&1 && fail "a report of no results"
mkdir -p "$T/broken/cells/x"
echo '{"cell": 7}' >"$T/broken/cells/x/row.json"
cg experiment report "$T/broken" >"$T/out" 2>&1 && fail "a report of a broken row"
grep -q 'broken/cells/x/row.json' "$T/out" || fail "broken row: $(cat "$T/out")"
exit $live_failed
