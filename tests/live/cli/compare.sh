#!/bin/bash
# callgate compare: the first verdict and outcome that differ, what followed, and no difference where there is none.
. "$(dirname "$0")/../lib.sh"
need jq

mkdir "$T/work"
cat >"$T/work/main.py" <<'PY'
import os, subprocess
open("made.txt", "w").write("same")
for name in "abc":
    subprocess.run(["/bin/sh", "-c", f"cat data-{name} 2>/dev/null | wc -c"])
print(os.getcwd())
PY
for name in a b c; do echo "$name$name" >"$T/work/data-$name"; done
loose=$T/loose.json strict=$T/strict.json
echo '{"version": 1, "name": "loose", "extends": ["extended"]}' >"$loose"
echo '{"version": 1, "name": "strict", "extends": ["extended"], "filesystem": {"deny": ["@workdir/data-b"]}}' >"$strict"

compare() { cg compare -w "$T/work" "$@" -- "$PYTHON" main.py; }

# The same policy twice: every call has its partner, names of the working directory agree, exit status 0.
compare --json -p "$loose" -p "$loose" >"$T/same" || fail "equal policies: status $?: $(cat "$T/same")"
jq -e '.[0] | .first_verdict == null and .first_outcome == null and .changes == [] and .stdout == null and
	.calls.only_first == 0 and .calls.only_other == 0 and .calls.both > 200 and .processes.both >= 7' \
	"$T/same" >/dev/null || fail "equal policies differ: $(cat "$T/same")"

# One denied file: it is the first difference, and the run goes on.
status=0
compare --json -p "$loose" -p "$strict" >"$T/one" || status=$?
[ $status = 1 ] || fail "a difference does not give status 1"
jq -e '.[0] | (.first_verdict | .call == "openat data-b" and .first.verdict == "allow" and
	.other.verdict == "deny" and .other.errno == "EACCES" and (.other.rule | contains("data-b")) and
	(.exe | endswith("cat")) and .count >= 1) and
	.first_outcome.call == "openat data-b" and (.stdout.first | startswith("3\n3\n3")) and
	(.stdout.other | startswith("3\n0\n3")) and .changes == [] and .status == null' "$T/one" >/dev/null ||
	fail "one denied file: $(cat "$T/one")"
compare -p "$loose" -p "$strict" >"$T/text"
grep -q 'first verdict that differs (of .*): openat data-b' "$T/text" || fail "text: $(cat "$T/text")"
grep -q 'stdout differs from line 2' "$T/text" || fail "text: $(cat "$T/text")"

# Three policies; what is changed under one alone is listed; the runs are kept on request; no run changes the original.
echo '{"version": 1, "name": "no", "extends": ["extended"],
	"filesystem": {"deny": ["@workdir/made.txt"]}}' >"$T/no.json"
compare --json --keep "$T/kept" -p "$loose" -p "$strict" -p "$T/no.json" >"$T/three"
jq -e 'length == 2 and (.[1].changes | map(.path) | any(endswith("made.txt"))) and
	.[1].status == {"first": "ok", "other": "denied"} and .[1].exit_code.other == 1' "$T/three" >/dev/null ||
	fail "three policies: $(cat "$T/three")"
for run in 1 2 3; do
	for file in audit.jsonl result.json workdir; do
		[ -s "$T/kept/$run/$file" ] || fail "run $run: $file was not kept"
	done
done
[ -e "$T/kept/1/workdir/made.txt" ] || fail "the first run's workdir was not kept"
[ ! -e "$T/kept/3/workdir/made.txt" ] || fail "runs share a workdir"
[ ! -e "$T/work/made.txt" ] || fail "a run changed the original"
[ -z "$(find "$T/tmp" -maxdepth 1 -name 'callgate-compare-*')" ] || fail "left: $(ls "$T/tmp")"

# Options for every run, and its standard input.
echo hello >"$T/input"
# shellcheck disable=SC2016 # the program's variables
cg compare --json --keep "$T/options" --input "$T/input" --run-option=--env=GREETING=hi -p "$loose" --profile extended \
	-- /bin/sh -c 'read -r line; echo "$line $GREETING"' >"$T/out" || fail "options: status $?"
[ "$(jq -r .stdout "$T/options/2/result.json")" = "hello hi" ] || fail "options did not reach the runs"

# Errors: one message, status 125.
refused()
{
	local pattern=$1 status=0
	shift
	cg compare "$@" >"$T/out" 2>"$T/err" || status=$?
	[ $status = 125 ] || fail "$*: status $status"
	grep -q -- "$pattern" "$T/err" || fail "$*: $(cat "$T/err")"
}
refused 'two policies' -p "$loose" -- true
refused 'no program' -p "$loose" -p "$strict"
refused 'does not exist yet' --keep "$T/kept" -p "$loose" -p "$strict" -- true
refused 'nothing to compare' -p "$loose" -p "$loose" --run-option=--frob -- true
refused 'none.json' -p "$loose" -p "$T/none.json" -- true
refused 'No such file' -w "$T/none" -p "$loose" -p "$strict" -- true

# Hostile output and names stay text on a terminal.
cg compare -p "$loose" --profile minimal -x /bin/sh -- /bin/sh -c 'printf "\033]0;x\007\n"' >"$T/out" 2>&1
grep -q "$(printf '\033')" "$T/out" && fail "an escape sequence reached the terminal"
exit $live_failed
