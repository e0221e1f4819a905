#!/bin/bash
# bench.py measures, with any rival that is installed, and its file is understood by compare, targets.py and report.py.
set -u

bench=$(cd "${top_srcdir:-$(dirname "$0")/..}/bench" && pwd) || exit 99
build=${top_builddir:-.}
for tool in "$build/callgate" "$build/bench-micro" "$build/bench-floor" python3; do
	command -v "$tool" >/dev/null || {
		echo "SKIP: $tool is not there"
		exit 77
	}
done
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
export TMPDIR=$T/tmp
mkdir "$TMPDIR"
failed=0

fail()
{
	failed=1
	echo "FAIL: $*" >&2
}

# measure FILE OPTION...: its table in FILE.
measure()
{
	local file=$T/$1
	shift
	timeout 600 "$bench/bench.py" --build "$build" --quick --rounds 1 "$@" >"$file" 2>&1 ||
		fail "bench.py $* ended with $?: $(cat "$file")"
}

measure table --only '^(f?stat|git status.*|true(, --json)?|200 x spawn true)$' \
	--rivals native,floor,callgate,bwrap --json "$T/out.json"
for workload in stat fstat 'git status, 300 files' true 'true, --json' '200 x spawn true'; do
	grep -q "^$workload .*[0-9]" "$T/table" || fail "no figure of $workload: $(cat "$T/table")"
done
measure all --only '^true$' # slow rivals do the least they can
for rival in native floor callgate changes nolog bwrap firejail proot strace runsc systrap codex srt; do
	grep -q "\<$rival\>" "$T/all" || fail "neither a figure of $rival nor why not: $(cat "$T/all")"
done
"$bench/compare" "$T/out.json" "$T/out.json" >"$T/compared" || fail "compare ended with $?: $(cat "$T/compared")"
grep -q '^stat *floor .*+0.0%' "$T/compared" || fail "compare: $(cat "$T/compared")"
"$bench/targets.py" "$T/out.json" >"$T/targets" # may fail: one round of little work
grep -q '^\(pass\|FAIL\|unsure\) *stat: at most' "$T/targets" || fail "targets.py: $(cat "$T/targets")"
"$bench/report.py" --markdown "$T/out.json" >"$T/markdown" || fail "report.py ended with $?"
grep -q '^| stat | ns |' "$T/markdown" || fail "report.py: $(cat "$T/markdown")"
if command -v gnuplot >/dev/null; then
	"$bench/plot" "$T/out.json" "$T/out.svg" || fail "plot ended with $?"
	grep -q '<svg' "$T/out.svg" || fail "plot drew nothing"
fi

# What is asked for is in the file: blocks read, and how callgate was run.
python3 - "$T/out.json" <<'END' || fail "the file's rows"
import json, sys

rows = json.load(open(sys.argv[1]))["workloads"]
for name, row in rows.items():
    assert row["disk"].keys() == row["samples"].keys(), name
    assert all(len(numbers) == 3 for numbers in row["disk"].values()), name
assert rows["true"]["options"] == "" and rows["true, --json"]["options"] == "--json", rows
assert "floor" in rows["git status, 300 files"]["samples"], rows
END

timeout 300 "$bench/scale.py" --build "$build" --rounds 1 --calls 400 --sandboxes 2 --threads 2 >"$T/scale" 2>&1 ||
	fail "scale.py ended with $?: $(cat "$T/scale")"
for shape in '1 *1' '2 *1' '1 *2'; do
	grep -q "^callgate *$shape *[0-9.]* *[0-9.]* *[0-9t]" "$T/scale" || fail "scale.py: $(cat "$T/scale")"
done

# An interrupted run says what it has, and leaves neither children nor files.
for signal in TERM INT; do
	timeout --kill-after=60 --signal=$signal 10 python3 "$bench/bench.py" --build "$build" --quick --rounds 9999 \
		--budget 60 \
		--only '^true$' --rivals native,callgate,bwrap --json "$T/cut.json" --targets >"$T/cut" 2>&1
	[ $? = 124 ] || fail "SIG$signal: not ended by it: $(cat "$T/cut")"
	for text in '^true .*[0-9]' "^interrupted by SIG$signal during true" '^[a-z-]* *true: at most'; do
		grep -qi "$text" "$T/cut" || fail "SIG$signal: does not say $text: $(cat "$T/cut")"
	done
	"$bench/report.py" "$T/cut.json" >/dev/null || fail "SIG$signal: the file"
	for _ in {1..300}; do
		left=$(pgrep -af "$TMPDIR") || break
		sleep 0.1
	done
	[ -z "$left" ] || fail "SIG$signal: still runs: $left"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "SIG$signal: left behind: $(ls -A "$TMPDIR")"
done

timeout 100 "$bench/bench.py" --build "$build" --only none-of-this 2>"$T/err" >"$T/out" &&
	fail "nothing to do is no error"
grep -q 'nothing to do' "$T/err" || fail "nothing to do: $(cat "$T/err")"
timeout 100 "$bench/bench.py" --build "$T" --only true 2>"$T/err" >"$T/out" &&
	fail "an empty build directory is no error"
grep -q '^bench: ' "$T/err" || fail "an empty build directory: $(cat "$T/err")"
left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'callgate-bench-*')
[ -z "$left" ] || fail "left behind: $left"
[ -d "$bench/__pycache__" ] && fail "left in the source directory: $bench/__pycache__"
[ $failed = 0 ] && cat "$T/table" "$T/all"
exit $failed
