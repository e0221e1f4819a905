#!/bin/bash
# bench/compare, bench/targets.py and bench/report.py with made-up figures: a slower result fails, noise and a faster
# one do not, and an invalid file is named.
set -u

bench=$(cd "${top_srcdir:-$(dirname "$0")/..}/bench" && pwd) || exit 99
command -v python3 >/dev/null || {
	echo "SKIP: python3 is not installed"
	exit 77
}
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
failed=0

fail()
{
	failed=$((failed + 1))
	echo "FAIL: $*" >&2
}

# run FILE NAME GROUP NATIVE FLOOR CALLGATE [FACTS]: a file with one workload; figures are lists, facts further members.
run()
{
	local floor=${5:+"\"floor\": [$5],"}
	cat >"$T/$1" <<EOF
{"schema": "callgate-bench/1", "facts": {"kernel": "one" ${7:+, $7}}, "rivals": {"native": {}, "callgate": {}},
 "workloads": {"$2": {"group": "$3", "unit": "ns", "samples": {"native": [$4], $floor "callgate": [$6]}}}}
EOF
}

# compared STATUS TEXT OLD NEW [OPTION...]: exits so and says so.
compared()
{
	local wanted=$1 text=$2 old=$T/$3 new=$T/$4 said status
	shift 4
	said=$("$bench/compare" "$@" "$old" "$new" 2>&1)
	status=$?
	[ $status = "$wanted" ] || fail "compare ${old##*/} ${new##*/} $*: exit $status and not $wanted: $said"
	grep -q -- "$text" <<<"$said" || fail "compare ${old##*/} ${new##*/} $*: does not say '$text': $said"
}

run old stat micro "100, 101, 102" "1000, 1001, 1002" "1300, 1301, 1302"
run same stat micro "200, 202, 204" "2000, 2002, 2004" "2600, 2602, 2604"
run worse stat micro "100, 101, 102" "1000, 1001, 1002" "1600, 1601, 1602"
run better stat micro "100, 101, 102" "1000, 1001, 1002" "1000, 1001, 1002"
run noisy stat micro "100, 101, 102" "1000, 1001, 1002" "700, 1600, 2500"
compared 0 'native .*+0.0%' old same # another machine, the same ratios
compared 1 'stat (native), stat (floor)' old worse
compared 0 slower old worse --threshold 30
compared 0 'native .*faster' old better
compared 1 WORSE better old
compared 0 'stat .*native .*1[23]\.[0-9]' old noisy

run other-kernel stat micro "100, 101, 102" "" "1300, 1301, 1302" '"kernel": "two"'
compared 0 'different kernels' old other-kernel
run bytes PSS size "1" "" "5000000"
run more PSS size "1" "" "6000000"
compared 0 'PSS .*itself' bytes bytes
compared 1 'PSS (itself)' bytes more --threshold 5
run single stat micro 100 1000 1300
run single-worse stat micro 100 1000 1450
compared 0 slower single single-worse # of one sample the noise is unknown

run quick stat micro 100 1000 1300 '"quick": true'
run elsewhere open micro 100 1000 1300
echo '{"schema"' >"$T/torn"
echo '{"schema": "callgate-bench/2"}' >"$T/strange"
echo '[1, 2]' >"$T/list"
run words stat micro '"one"' 1000 1300
run none stat micro "" 1000 1300
compared 2 'missing: No such file' missing old
compared 2 'torn: not JSON' old torn
compared 2 'strange: not a file of bench.py' strange old
compared 2 'list: not a file of bench.py' list old
compared 2 'workload stat: its samples are not' old words
compared 2 'workload stat: its samples are not' old none
compared 2 'only one of the files' old quick
compared 2 'no workload has figures' old elsewhere
compared 2 'number of percent' old same --threshold nan

# targets.py: exit 1 with a failed one or an unsure one, and what was not measured does not fail.
said=$("$bench/targets.py" "$T/old") || fail "targets.py old: exit $?: $said"
grep -q '^pass *stat: at most 1.35 × floor *1.30 × floor' <<<"$said" || fail "targets.py old: $said"
grep -q '^- *true: .* not measured' <<<"$said" || fail "targets.py old: $said"
said=$("$bench/targets.py" "$T/worse") && fail "targets.py worse: no failure"
grep -q '^FAIL *stat:' <<<"$said" || fail "targets.py worse: $said"
# A comparison is made within the rounds: modes that both are in do not count; who was in other rounds is not compared.
rounds()
{
	local floor=$1 callgate=$2 rounds=$3
	cat <<END
{"schema": "callgate-bench/1", "facts": {}, "rivals": {"native": {}, "floor": {}, "callgate": {}},
 "workloads": {"stat": {"group": "micro", "unit": "ns", "samples": {"native": [100],
  "floor": [$floor], "callgate": [$callgate]}, "rounds": {$rounds}}}}
END
}
modes="1000, 1200, 1000, 1200, 1200, 1000, 1000, 1200"
while IFS='|' read -r floor callgate rounds text; do
	rounds "$floor" "$callgate" "$rounds" >"$T/rounds"
	said=$("$bench/targets.py" "$T/rounds") && [[ $text = unsure* || $text = FAIL* ]] &&
		fail "targets.py: exit 0 with $text"
	grep -q "^$text" <<<"$said" || fail "targets.py: floor $floor, callgate $callgate, $rounds: not $text: $said"
done <<END
$modes|1300, 1560, 1300, 1560, 1560, 1300, 1300, 1560||pass *stat: .* 1.30 × floor$
$modes|1320, 1536, 1310, 1536, 1560, 1300, 1300, 1560||pass *stat: .* 1.30 × floor (1.28 to 1.32)$
$modes|1320, 1536, 1310, 1536, 1560, 1300, 1300, 1680||unsure *stat: .* 1.30 × floor (1.28 to 1.40)$
$modes|1400, 1680, 1400, 1680, 1680, 1400, 1360, 1680||FAIL *stat: .* 1.40 × floor (1.36 to 1.40)$
1000, 1200, 1000, 1200, 1000|1300, 1300, 1560|"floor": [0,1,2,3,4], "callgate": [0,4,3]|pass *stat: .* 1.30 × floor$
1000, 1000|1300, 1400|"floor": [0, 1], "callgate": [0, 1]|unsure *stat: .* 1.35 × floor (1.30 to 1.40, of 2 rounds)$
1000, 1000|1300, 1300|"floor": [0, 1], "callgate": [2, 3]|- *stat: .* not measured$
END
rounds 1000 1300 '"callgate": [0, 1]' >"$T/uneven"
compared 2 'stat: not a round to each sample' old uneven

# git status is judged without the start, and not at all when that took longer.
status()
{
	cat <<END
{"schema": "callgate-bench/1", "facts": {}, "rivals": {"native": {}, "callgate": {}}, "workloads": {
 "true, extended": {"group": "start", "unit": "ms", "samples": {"native": [1], "callgate": [10]}},
 "git status, 300 files": {"group": "real", "unit": "ms", "samples": {"native": [5], "callgate": [$1]}}}}
END
}
while read -r took text; do
	status "$took" >"$T/status"
	said=$("$bench/targets.py" "$T/status")
	grep -q "$text" <<<"$said" || fail "targets.py status $took: not $text: $said"
done <<'END'
24 ^pass *git status.* 2.80 × native and 10.0 ms start-up$
26 ^FAIL *git status.* 3.20 × native and 10.0 ms start-up$
9 ^- *git status.* not measured$
END
"$bench/targets.py" "$T/torn" 2>/dev/null && fail "targets.py torn: no failure"

# A row's bound is the floor's figure and what bwrap's start adds to \`true\`: 3 + (5 - 1) here.
started()
{
	local floor=$1 callgate=$2
	cat <<END
{"schema": "callgate-bench/1", "facts": {}, "rivals": {"native": {}, "floor": {}, "callgate": {},
 "bwrap": {}, "runsc": {}}, "workloads": {
  "true": {"group": "start", "unit": "ms",
   "samples": {"native": [1], "floor": [3], "callgate": [$callgate], "bwrap": [5]}},
  "python imports": {"group": "real", "unit": "ms", "samples": {"native": [100], "floor": [$floor], "callgate": [140]}},
  "find -size +100k": {"group": "real", "unit": "ms",
   "samples": {"native": [50], "floor": [$floor], "callgate": [900], "runsc": [1000]}},
  "stat": {"group": "micro", "unit": "ns", "samples": {"native": [100], "floor": [1000], "callgate": [1400]}}}}
END
}
started 134 7.5 >"$T/far"
started 20 4.9 >"$T/near"
started 132 4.9 >"$T/there"
started 150 5.8 >"$T/beaten"
said=$("$bench/targets.py" "$T/far")
for text in '^FAIL *true: .* 1.50 × bwrap; out of reach here: floor + bwrap.s start is 1.20 × bwrap$' \
	'^FAIL *python imports: .*out of reach here: floor + bwrap.s start is 1.37 × native$' \
	'^FAIL *find .*: at most 1/12 of runsc *1/1.1 of runsc; out of reach here: .* start is 1/7.3 of runsc$' \
	'^FAIL *stat: at most 1.35 × floor *1.40 × floor$'; do
	grep -q "$text" <<<"$said" || fail "targets.py far: not $text: $said"
done
said=$("$bench/targets.py" "$T/near") # the floor may miss a target that is met, and what it would meet is in reach
for text in '^pass *true: .* 0.98 × bwrap$' '^FAIL *python imports: .* 1.40 × native$' \
	'^FAIL *find .*1/1.1 of runsc$'; do
	grep -q "$text" <<<"$said" || fail "targets.py near: not $text: $said"
done
said=$("$bench/targets.py" "$T/there") # 135 of 100: just as allowed
grep -q '^FAIL *python imports: .* 1.40 × native$' <<<"$said" || fail "targets.py there: $said"
said=$("$bench/targets.py" "$T/beaten") # callgate is below the bound, so it is none
for text in '^FAIL *true: .* 1.16 × bwrap$' '^FAIL *python imports: .* 1.40 × native$'; do
	grep -q "$text" <<<"$said" || fail "targets.py beaten: not $text: $said"
done
said=$("$bench/report.py" --markdown "$T/far")
grep -q '^| true | ms | 1.00 | 3.00 | 7.50 | 5.00 | - | 6.00 |' <<<"$said" || fail "report.py: no bound of true: $said"
said=$("$bench/targets.py" --markdown "$T/far") || fail "targets.py --markdown: exit $?"
grep -q '^| FAIL | stat: at most 1.35 × floor | 1.40 × floor |$' <<<"$said" || fail "targets.py --markdown: $said"

# figures: the table between its markers and nowhere else; without them an error, and the document as it was.
printf 'Head\n<!-- figures -->\nold\n<!-- end -->\nFoot\n' >"$T/document.md"
"$bench/figures" "$T/far" "$T/document.md" >"$T/said" 2>&1 || ! command -v gnuplot >/dev/null ||
	fail "figures: $(cat "$T/said")"
for text in '^Head$' '^| true ms | 1.00 | 3.00 | 5.00 | 7.50 |.*| \*\*1.50\*\* (≤ 1.15 × bwrap) | - |$' '^Foot$'; do
	grep -q "$text" "$T/document.md" || fail "figures: no $text in $(cat "$T/document.md")"
done
grep -q '^old$' "$T/document.md" && fail "figures: the old table is still there"
echo nothing >"$T/document.md"
"$bench/figures" "$T/far" "$T/document.md" 2>/dev/null && fail "figures: no markers is no error"
[ "$(cat "$T/document.md")" = nothing ] || fail "figures: changed a document without markers"

# Files of before rows said how callgate was run.
sed 's/"unit"/"options": "--json", "unit"/' "$T/same" >"$T/json"
sed 's/"unit"/"options": "", "unit"/' "$T/same" >"$T/plain"
compared 0 'does not say how callgate was run' old json
compared 0 'options --json and none' json plain
sed 's/"unit"/"disk": {"callgate": [3, 8, 1]}, "unit"/' "$T/same" >"$T/cold"
said=$("$bench/report.py" "$T/cold")
grep -q 'read from the disk: stat (callgate)' <<<"$said" || fail "report.py: a cold sample is not told: $said"

said=$("$bench/report.py" --p10 "$T/worse") # of 100, 101, 102 and of 1600, 1601, 1602
grep -q '^stat .* 100.2 .* 1,600 ' <<<"$said" || fail "report.py --p10: $said"
sed 's/"unit"/"failed": {"srt": "one\\n two"}, "unit"/' "$T/old" >"$T/left"
said=$("$bench/report.py" "$T/left")
grep -q '^stat, srt: left out, one two$' <<<"$said" || fail "report.py: a rival that failed is not told: $said"

for form in '' --markdown; do
	# shellcheck disable=SC2086 # none or one word
	said=$("$bench/report.py" $form "$T/old") || fail "report.py $form: exit $?"
	grep -q 'stat .*1,301.*12.88' <<<"$said" || fail "report.py $form: $said"
done
[ -d "$bench/__pycache__" ] && fail "left in the source directory: $bench/__pycache__"
[ $failed = 0 ] && echo "compared as it should"
[ $failed = 0 ]
