#!/bin/bash
# The page of `callgate audit report`: it loads nothing, no text of a log becomes markup, its engine counts what the log
# has, two runs are compared, long logs are sampled, and a page appears when it is complete or not at all.
. "$(dirname "$0")/../lib.sh"
need jq "$PYTHON"
W=$T/w
mkdir -p "$W" "$T/data"
echo hello >"$T/data/in"

report()
{
	timeout 120 "$CALLGATE" audit report "$@" </dev/null
}

# page NAME [STRINGS]: reads the page as a browser would.
page()
{
	"$PYTHON" "$SRC/tests/cases/report-page.py" "$T/$1.html" ${2:+"$2"} || fail "$1: the page is not sound"
}

# engine NAME EXPRESSION EXPECTED: what the page's engine answers.
engine()
{
	local got
	got=$(node "$SRC/tests/cases/report-engine.js" "$T/$1.html" "$2" 2>&1) || fail "$1: $2: $got"
	[ "$got" = "$3" ] || fail "$1: $2: $got, expected $3"
}

# about NAME FILTER: of what the page says besides the records.
about()
{
	sed -n 's,.*<script type="application/json" id="about">\(.*\)</script>,\1,p' "$T/$1.html" | jq -c "$2"
}

# refuses MESSAGE OPTION…: exit 125 with this message, and no page is left, complete or not.
refuses()
{
	local message=$1 status=0
	shift
	report "$@" >"$T/out" 2>"$T/err" || status=$?
	[ $status = 125 ] || fail "$*: exit $status"
	grep -qF -- "$message" "$T/err" || fail "$*: $(cat "$T/err")"
	[ -z "$(find "$T" -maxdepth 1 -name 'none.html*')" ] || fail "$*: a page is left"
}

# ---- a run ----

# shellcheck disable=SC2016 # expanded inside
cg run --json --profile extended -r "$T/data" -w "$W" -t 60s --audit "$T/one.log" -- /bin/sh -c '
	cat "$0"/in >copy; cat /etc/shadow /srv/nothing; mkdir d; mv copy d; /bin/true; exit 0' "$T/data" \
	>"$T/one.json" 2>"$T/err" || fail "run: $(cat "$T/err")"
report -o "$T/one.html" --result "$T/one.json" "$T/one.log" >"$T/out" 2>&1 || fail "report: $(cat "$T/out")"
[ ! -s "$T/out" ] || fail "a report that shows everything says nothing: $(cat "$T/out")"
[ "$(stat -c %a "$T/one.html")" = 600 ] || fail "the page's mode: $(stat -c %a "$T/one.html")"
page one
records=$(jq -s '[.[] | select(.verdict)] | length' "$T/one.log")
denied=$(jq -s '[.[] | select(.verdict == "deny")] | length' "$T/one.log")
[ "$(about one '[.runs[0].records, .runs[0].denied, .rows]')" = "[$records,$denied,$records]" ] ||
	fail "counts: $(about one .runs)"
[ "$(about one '.runs[0].result.limits.wall.limit')" = 60000 ] || fail "the result's limits are missing"
[ "$(about one '.runs[0].result.stdout')" = null ] || fail "the page has the program's output"
# The page suggests what the result suggests.
jq -c '[.denials[] | select(.suggest) | .suggest] | unique' "$T/one.json" >"$T/expected"
about one '[.denials[] | select(.suggest) | .suggest] | unique' >"$T/got"
cmp -s "$T/expected" "$T/got" || fail "suggestions: $(cat "$T/got"), of the result: $(cat "$T/expected")"
if command -v node >/dev/null; then
	engine one 'q.applyFilter({run: -1}).count' "$records"
	engine one 'q.applyFilter({run: -1, verdict: "denied"}).count' "$denied"
	engine one "q.applyFilter({run: -1, under: '$T/data'}).count > 0" true
	engine one "q.applyFilter({run: -1, text: '/DATA/IN'}).count > 0" true
	engine one 'q.applyFilter({run: -1}) && q.findRecord(0, 3).place' 2
	engine one 'q.applyFilter({run: -1, verdict: "denied"}) && q.findRecord(0, 1).place' -1
	seq=$(jq -r 'select(.path == "/etc/shadow") | .seq' "$T/one.log" | head -n 1)
	time=$(jq -r "select(.seq == $seq) | .time" "$T/one.log")
	engine one "q.applyFilter({run: -1}) && Object.fromEntries(q.getRecord($seq - 1).fields).time" "\"$time\""
	engine one 'q.summarise(0).programs.map((one) => one.name.split("/").pop()).sort()' \
		'["cat","dash","mkdir","mv","true"]'
	engine one '((all) => all.list[all.list[all.roots[0]].children[0]].ppid === all.list[all.roots[0]].pid)(
		q.getProcesses(0))' true
	engine one 'q.getProcesses(0).total' "$(jq -s '[.[] | select(.pid) | .pid] | unique | length' "$T/one.log")"
	engine one "q.getFiles(-1, '$W/', [1], 0, 9).children.map((one) => one.label).sort()" '["copy","d"]'
	engine one "q.getFiles(-1, '/etc/', [3], 0, 9).children.map((one) => one.label)" '["shadow"]'
	engine one 'q.getBins(0, overview.span[0], 9)[0].denied.reduce((a, b) => a + b)' "$denied"
	engine one 'q.getLatency(0).all.count' \
		"$(jq -s '[.[] | select(.verdict and .ns != null)] | length' "$T/one.log")"
fi

# ---- two runs, three, and parts of one ----

cg run --profile extended -r "$T/data" -w "$W" --audit "$T/two.log" -- /bin/sh -c 'echo x >only-here' 2>/dev/null
report -o "$T/pair.html" "$T/one.log" "$T/two.log" || fail "two runs"
page pair
[ "$(about pair '.runs | length')" = 2 ] || fail "two runs: $(about pair .runs)"
if command -v node >/dev/null; then
	engine pair "q.compareRuns(0, 1).files.rows.filter((row) => row.what === '$W/only-here')" \
		"[{\"what\":\"$W/only-here\",\"a\":\"\",\"b\":\"written\"}]"
	engine pair 'q.compareRuns(0, 1).programs.rows.some((row) => row.what.endsWith("/cat") && row.b === "")' true
	engine pair 'q.compareRuns(0, 0).files.total' 0
	engine pair 'q.applyFilter({run: 1}) && q.findRecord(1, 1).place' 0
fi
# The second part of a log has a header of its own, with a higher number; named first, it is second all the same.
head -n 5 "$T/one.log" >"$T/part1.log"
{
	head -n 1 "$T/one.log" | sed 's/"seq":0,/"seq":5,/'
	tail -n +6 "$T/one.log"
} >"$T/part2.log"
report -o "$T/parts.html" "$T/part2.log" "$T/part1.log" || fail "two parts of a run"
[ "$(about parts '[(.runs | length), .runs[0].records, (.runs[0].logs | length)]')" = "[1,$records,2]" ] ||
	fail "parts: $(about parts .runs)"
about parts '.runs[0].logs[0]' | grep -q part1.log || fail "parts are not in order: $(about parts '.runs[0].logs')"
refuses "the same part of run" -o "$T/none.html" "$T/one.log" "$T/one.log"

# ---- hostile texts ----

"$PYTHON" "$SRC/tests/cases/report-log.py" strings >"$T/strings.json"
"$PYTHON" "$SRC/tests/cases/report-log.py" hostile "$T/hostile.log"
[ "$(jq length "$T/strings.json")" = 200 ] || fail "the corpus has $(jq length "$T/strings.json") strings"
report -o "$T/hostile.html" "$T/hostile.log" || fail "hostile texts"
page hostile "$T/strings.json"
# What is offered to be copied is one line of visible characters.
about hostile '[.denials[].suggest // "" | select(test("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]"))] | length' | grep -qx 0 ||
	fail "a suggestion has control characters"

"$PYTHON" "$SRC/tests/cases/report-log.py" strange "$T/strange.log"
report -o "$T/strange.html" "$T/strange.log" || fail "JSON of other types"
page strange
if command -v node >/dev/null; then
	engine strange 'q.getProcesses(0).lost' 3
	engine strange 'q.applyFilter({run: -1, verdict: "denied"}).count' 3
fi
# A chain of hashes would be most of a page.
jq -c '.prev = "hash-\(.seq)"' "$T/hostile.log" >"$T/chained.log"
report -o "$T/chained.html" "$T/chained.log" || fail "a log with hashes"
grep -q "hash-7" "$T/chained.html" && fail "the page has the hashes of the records"
report -o "$T/many.html" "$T/strange.log" "$T/one.log" "$T/hostile.log" "$T/two.log" || fail "four runs"
page many "$T/strings.json"
[ "$(about many '.runs | length')" = 4 ] || fail "four runs: $(about many '.runs | length')"

# ---- long logs ----

"$PYTHON" "$SRC/tests/cases/report-log.py" large "$T/long.log" 30000
report -o "$T/long.html" --records 2000 "$T/long.log" 2>"$T/err" || fail "a sample: $(cat "$T/err")"
grep -q "a sample, [0-9]* of 30000 records" "$T/err" || fail "a sample is not announced: $(cat "$T/err")"
page long
all=$(jq -s '[.[] | select(.verdict == "deny")] | length' "$T/long.log")
about long "[.runs[0].records, .runs[0].denied, ([.denials[].count] | add) + .denials_unlisted, .rows <= 2000,
	.rows > 900]" | grep -qFx "[30000,$all,$all,true,true]" || fail "a sample: $(about long 'del(.denials)')"
report -o "$T/none.html" --records 99 "$T/long.log" 2>"$T/err" && fail "--records 99"
jq -c 'if .type == "header" then .compact = true else . end' "$T/long.log" >"$T/compact.log"
report -o "$T/compact.html" --records 2000 "$T/compact.log" 2>/dev/null || fail "a sample of a compact log"
[ "$(about compact '.runs[0].denied')" = "$all" ] || fail "compact: $(about compact .runs)"

# ---- what is wrong ----

sed '4s/"verdict"/"verdi/' "$T/one.log" >"$T/damaged.log"
status=0
report -o "$T/damaged.html" "$T/damaged.log" 2>"$T/err" || status=$?
{ [ $status = 125 ] && grep -q "1 damaged lines" "$T/err"; } || fail "a damaged line: $status $(cat "$T/err")"
[ "$(about damaged '.runs[0].damaged')" = 1 ] || fail "a damaged line is not in the page"
head -c -400 "$T/one.log" >"$T/torn.log"
report -o "$T/torn.html" "$T/torn.log" || fail "a log without an end"
[ "$(about torn '[.runs[0].trailer, .runs[0].torn > 0]')" = "[null,true]" ] || fail "torn: $(about torn .runs)"
[ "$(about torn '.runs[0].chain.state')" = '"open_end"' ] || fail "torn: the chain is $(about torn '.runs[0].chain')"
# The chain of hashes: as callgate audit verify tells it.
report -o "$T/whole.html" "$T/one.log" || fail "a whole log"
[ "$(about whole '.runs[0].chain')" = '{"state":"verified"}' ] || fail "whole: $(about whole '.runs[0].chain')"
sed '3s/"mono_ns":1*/"mono_ns":9/' "$T/one.log" >"$T/edited.log"
report -o "$T/edited.html" "$T/edited.log" || fail "an edited log"
[ "$(about edited '.runs[0].chain.why')" = '"edited, line 3 (callgate audit verify tells more)"' ] ||
	fail "edited: $(about edited '.runs[0].chain')"
echo '{"seq":0}' >"$T/other.log"
refuses "does not begin with a header line" -o "$T/none.html" "$T/other.log"
refuses "No such file" -o "$T/none.html" "$T/missing.log"
refuses "directory" -o "$T/none.html" "$T"
refuses "no log is named" -o "$T/none.html"
refuses "-o FILE.html" "$T/one.log"
refuses "that is the log" -o "$T/one.log" "$T/one.log"
refuses "not a regular file" -o /dev/null "$T/one.log"
refuses "No such file" -o "$T/no/such/page.html" "$T/one.log"
refuses "not the result of a run" -o "$T/none.html" --result "$T/strings.json" "$T/one.log"
refuses "of which no log was named" -o "$T/none.html" --result "$T/one.json" "$T/two.log"
# The old page stays until the new one is complete.
echo old >"$T/kept.html"
report -o "$T/kept.html" "$T/other.log" 2>/dev/null && fail "no log, but a page"
(ulimit -f 64 && trap '' XFSZ && exec "$CALLGATE" audit report -o "$T/kept.html" "$T/hostile.log") 2>"$T/err" &&
	fail "a page that cannot be written"
grep -q "File too large" "$T/err" || fail "a page that cannot be written: $(cat "$T/err")"
[ "$(cat "$T/kept.html")" = old ] || fail "the old page was replaced"
[ -z "$(find "$T" -maxdepth 1 -name '*.html.*')" ] || fail "unfinished pages: $(ls "$T")"
