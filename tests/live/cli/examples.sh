#!/bin/bash
# The examples do what their READMEs say: each one's run.sh, from another directory, as a user would start it.
. "$(dirname "$0")/../lib.sh"
need git make gcc node jq
cd "$T" || die "cd"
# The examples find the program of their tree, neither by a variable nor in PATH.
export -n CALLGATE
mkdir "$T/build" || die "mkdir"
ln -s "$CALLGATE" "$T/build/callgate" || die "ln"
# Not in place: make distcheck builds from a tree that cannot be written, and an experiment copies its workdir as it is.
cp -r "$SRC/examples" "$T/examples" || die "cp"
chmod -R u+w "$T/examples"

# example NAME [ARG…]: its output in $T/NAME.out
example()
{
	local name=$1 status
	shift
	"$CALLGATE" check "$T/examples/$name/policy.json" >"$T/check" 2>&1 || fail "$name: policy: $(cat "$T/check")"
	timeout -k 5 "$LIVE_TIMEOUT" "$T/examples/$name/run.sh" "$@" </dev/null >"$T/$name.out" 2>"$T/$name.err"
	status=$?
	[ $status = 0 ] || fail "$name: ended with $status: $(tail -n 15 "$T/$name.err" "$T/$name.out")"
}

# says NAME REGEX: it is a line of NAME's output.
says()
{
	grep -qxE -- "$2" "$T/$1.out" || fail "$1: its output has no line '$2': $(tail -n 15 "$T/$1.out")"
}

# kept NAME FILE…: these files, none else, none empty, are in its output directory.
kept()
{
	local name=$1 found
	shift
	found=$(cd "$T/out-$name" && find . -type f -size +0 | LC_ALL=C sort | tr '\n' ' ')
	[ "$found" = "$(printf './%s ' "$@")" ] || fail "$name: kept '$found', expected: $*"
}

example c-build out-c-build
says c-build '[0-9]+ words'
kept c-build report.txt top-words
[ "$(echo one two two | "$T/out-c-build/top-words" 1)" = "2 two" ] || fail "c-build: the program built does not work"

example git-session out-git-session
says git-session 'clean, 4 commits'
kept git-session log.txt

example libraries
says libraries 'json: here'
says libraries 'pip: not here'
says libraries 'python: [0-9]+ packages, [0-9]+ files'
[ ! -e /usr/lib/python3/dist-packages/pip/__init__.py ] || says libraries 'looked for in vain: .*pip.*"libraries": .*'

example node out-node
says node '[0-9]+ kinds of files; /etc/shadow: ENOENT'
kept node report.json
jq -e '[.sums[].files] | add > 0' "$T/out-node/report.json" >/dev/null || fail "node: report.json counts nothing"

mkdir "$T/cow-work"
if "$CALLGATE" run --cow -p "$T/examples/workspace/policy.json" -w "$T/cow-work" -- /bin/sh -c : 2>"$T/cow"; then
	"$CALLGATE" ws discard "$("$CALLGATE" ws list | cut -c 1-16)" || fail "ws discard"
	example workspace
	says workspace '.*refactor.sh:9: persistence: [.]git/hooks/'
	says workspace '[+]new_name is called in two places: new_name[(][)]'
	says workspace 'M  VERSION  .*'
	says workspace 'R  helper[.]txt -> lib/helper[.]txt'
	says workspace 'not there: [.]git/hooks/pre-commit'
	says workspace 'a helper'
else
	grep -q -e '--cow' "$T/cow" || fail "no --cow: $(cat "$T/cow")"
fi

mkdir "$T/dry-work"
if "$CALLGATE" run --dry-run -p "$T/examples/denials/policy.json" -w "$T/dry-work" -- /bin/sh -c : 2>"$T/dry"; then
	example denials
	says denials yes
	says denials '.*draft[.]txt.*'
	says denials '.*denied_by_rule.*'
	says denials 'not there: report[.]txt'
else
	grep -q 'dry-run' "$T/dry" || fail "no --dry-run: $(cat "$T/dry")"
fi
example approve
says approve 'read: /etc/debian_version'
says approve 'path: "/var/log"'
says approve 'denied: /var/log'
example ask
says ask 'allow: .*/cat wants to openat /etc/debian_version [(]r[)]'
says ask 'read: /etc/debian_version'
says ask 'deny: .*/ls wants to .* /var/log [(]r[)]'
says ask 'denied: /var/log'
example learn
says learn 'verified: the program ran under it without a denial'
says learn 'deny read .*/[.]env'
says learn 'deny exec /usr/bin/sort'
says learn '3 words, the first is apple'

if command -v sqlite3 >/dev/null; then
	example audit out-audit
	says audit '\+ denied +1  openat /etc/gai.conf: not_granted'
	says audit 'denied: /etc/shadow 1'
	says audit '[0-9]+ rules that were never used'
	kept audit runs.sqlite trace.json
fi
example replay
says replay 'newly denied: [1-9]'
says replay 'runs under the small policy: .*'
example policy-review
says policy-review 'ok 7 - nowhere else: .*'
says policy-review 'not ok 6 - writes none: .*'
says policy-review '    open /work/x/[.]env:r'
says policy-review 'FAIL: new accesses: [1-9][0-9]*; .*'

if "$PYTHON" -c 'import pandas, matplotlib' 2>/dev/null; then
	example analysis out-analysis
	says analysis 'total revenue: 694401.40'
	kept analysis revenue.png summary.csv
	[ "$(head -c 8 "$T/out-analysis/revenue.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] ||
		fail "analysis: revenue.png is no PNG"
fi

if "$PYTHON" -m pip --version >/dev/null 2>&1; then
	example phases out-phases
	says phases 'network: none'
	kept phases report.txt
fi

example experiment out-experiment
says experiment '24 cells: 24 run, 0 failed, 0 were there already or are of other shards'
says experiment 'words +no release file +4 +4 +3\.0 .*'
[ "$(wc -l <"$T/out-experiment/results.jsonl")" = 24 ] || fail "experiment: not 24 rows"
grep -q '<svg' "$T/out-experiment/report.svg" || fail "experiment: no plot"

# Also where the kernel judges reading.
mark=hostile-mark-$$
for judge in all changes; do
	jq --arg judge $judge '.judge = $judge' "$SRC/examples/hostile/policy.json" >"$T/examples/hostile/policy.json"
	example hostile "$mark"
	says hostile 'got: nothing'
	[ "$(grep -c ': refused (' "$T/hostile.out")" -ge 60 ] ||
		fail "hostile, judge $judge: only $(grep -c refused "$T/hostile.out") attempts"
	[ -z "$(survivors "$mark")" ] || fail "hostile, judge $judge: left a process: $(survivors "$mark")"
	mv "$T/hostile.out" "$T/hostile-$judge.out"
done
diff <(grep ': refused (' "$T/hostile-all.out") <(grep ': refused (' "$T/hostile-changes.out") >"$T/diff" ||
	fail "hostile: judge all (<) and changes (>): $(cat "$T/diff")"
