#!/bin/bash
# "judge": "changes": what the supervisor does beside calls that only read and that it does not see. What prevents it,
# and how that is told; --require kernel-reads; the log, and who refuses it. tests/live/confine/kernel-reads.sh has what
# the kernel shows.
# shellcheck disable=SC2016 # what is not expanded is jq's
. "$(dirname "$0")/../lib.sh"
need jq
case=$SRC/tests/cases/judge-changes.py
mkdir -p "$T/w" "$T/tree/sub"
echo inner >"$T/tree/sub/inner"
echo text >"$T/tree/file"
chmod 755 "$T/tree/file"

# judged OPTION…: runs true, sets `judge` and `why` as the result tells them
judged()
{
	cg run --json -x /usr/bin -w "$T/w" "$@" -- true >"$T/result" 2>"$T/err" ||
		die "$*: $(cat "$T/err" "$T/result")"
	judge=$(jq -r .judge "$T/result")
	why=$(jq -r '.enforcement["kernel-reads"] | if . == null then "none" else .why end' "$T/result")
}

# prevented WHY OPTION…: every call is judged, and enforcement says why
prevented()
{
	local wanted=$1
	shift
	judged --judge changes "$@"
	[ "$judge" = all ] || fail "$*: judge is $judge"
	[[ $why == *"$wanted"* ]] || fail "$*: $why, and not: $wanted"
	! jq -e '.enforcement["kernel-reads"].active' "$T/result" >/dev/null || fail "$*: active: $why"
}

# policy FILTER: writes $T/p.json, which extends minimal
policy()
{
	jq -n --arg t "$T" "{version: 1, name: \"t\", extends: [\"minimal\"]} * $1" >"$T/p.json"
}

# ---- asked for or not ----
judged
[ "$judge $why" = "all none" ] || fail "not asked for: $judge, $why"
judged --judge all
[ "$judge $why" = "all none" ] || fail "--judge all: $judge, $why"
policy '{judge: "changes"}'
judged -p "$T/p.json" --judge all
[ "$judge $why" = "all none" ] || fail "--judge all over the policy: $judge, $why"
judged -p "$T/p.json"
here=$judge
echo "judge is $here here: $why"
if [ "$here" = changes ]; then
	jq -e '.enforcement["kernel-reads"].active' "$T/result" >/dev/null || fail "changes, and not active"
elif layer mountns && layer pidns && layer netns && layer landlock; then
	[[ $why == *"Linux 5.8"* ]] || fail "every call is judged with all layers: $why"
fi

# ---- each of these alone prevents it, and is named ----
policy '{filesystem: {read: ["\($t)/tree/*.txt"]}}'
prevented "p.json: filesystem.read[0] $T/tree/*.txt grants a pattern" -p "$T/p.json"
policy '{filesystem: {decoy: ["/data/key"]}}'
prevented "filesystem.decoy[0] /data/key is a decoy" -p "$T/p.json"
policy '{filesystem: {read: ["\($t)/tree"]}, after_read: [{paths: ["\($t)/tree"], then: {network: "none"}}]}'
prevented "after_read[0].paths[0] $T/tree has an effect once it is read" -p "$T/p.json"
policy '{on_deny: "kill"}'
prevented '"on_deny" is not "errno"' -p "$T/p.json"
policy '{filesystem: {deny: [{path: "**/.env", on_deny: "stop"}]}}'
prevented 'filesystem.deny[0] **/.env has an "on_deny"' -p "$T/p.json"
policy '{audit: {fstat: true}}'
prevented '"audit.fstat" asks to record what only reads' -p "$T/p.json"
prevented "-r /dev/pts grants devices" -r /dev/pts
prevented "--mode observe records each call" --mode observe
if [ -z "${LIVE_WITHOUT:-}" ]; then
	for kind in mountns pidns netns landlock; do
		prevented "the layer $kind is not active" --without "$kind"
	done
	prevented "is not active" --without namespaces
fi

# check warns of the same, with the place of the key.
policy '{judge: "changes", filesystem: {decoy: ["/data/key"]}}'
"$CALLGATE" check "$T/p.json" >"$T/out" 2>&1
grep -q "judge: warning: every call will be judged.*filesystem.decoy\[0\] /data/key" "$T/out" ||
	fail "check: $(cat "$T/out")"

# ---- --require, and "require" of a policy: an error before the program starts ----
policy '{judge: "changes", require: ["kernel-reads"], filesystem: {decoy: ["/data/key"]}}'
for options in "-p $T/p.json" "--require kernel-reads" "--require kernel-reads --judge changes --without landlock"; do
	# shellcheck disable=SC2086 # a list of words
	cg run --json -x /usr/bin -w "$T/w" $options -- touch started >"$T/result" 2>"$T/err"
	status=$?
	[ $status = 125 ] || fail "$options: exit status $status"
	jq -e '.error.code == "layer_missing" and (.error.message | startswith("kernel-reads is required"))' \
		"$T/result" >/dev/null || fail "$options: $(jq -c .error "$T/result")"
	[ ! -e "$T/w/started" ] || fail "$options: the program was started"
done
cg run --without kernel-reads -- true >"$T/out" 2>&1 && fail "--without kernel-reads is taken"
grep -q -- "--judge all" "$T/out" || fail "--without kernel-reads: $(cat "$T/out")"
cg run --judge reads -- true >"$T/out" 2>&1 && fail "--judge reads is taken"
[ "$here" = changes ] || exit 0
policy '{judge: "changes", require: ["kernel-reads"]}'
judged -p "$T/p.json"
[ "$judge" = changes ] || fail "required: $judge"

# ---- the same answers, and the same changes, in both modes ----
for mode in all changes; do
	rm -rf "$T/w" "$T/log.$mode"
	mkdir "$T/w"
	echo mine >"$T/w/mine"
	echo secret >"$T/w/.env"
	cg run --profile extended --judge "$mode" -w "$T/w" -r "$T/tree" -r "$case" --audit "$T/log.$mode" --json -- \
		"$PYTHON" -S "$case" "$T/tree" .env >"$T/result.$mode" 2>"$T/err" || fail "$mode: $(cat "$T/err")"
	jq -r '.stdout + .stderr' "$T/result.$mode" >"$T/out.$mode"
	[ "$(jq -r .judge "$T/result.$mode")" = $mode ] || fail "$mode: $(jq -c .enforcement "$T/result.$mode")"
	[ "$(jq -r 'select(.type == "header").judge' "$T/log.$mode")" = $mode ] || fail "the header, $mode"
	# What is private is covered by a link to nowhere, which is what a judged call then finds.
	jq -c 'select(.right == "w" and .path != "/etc/shadow") | [.syscall, .path, .resolved, .verdict, .errno]' \
		"$T/log.$mode" | sort >"$T/changes.$mode"
	"$CALLGATE" audit verify "$T/log.$mode" >/dev/null 2>&1 || fail "$mode: the log does not verify"
done
diff "$T/out.all" "$T/out.changes" >"$T/diff" || fail "all (<) and changes (>): $(cat "$T/diff")"
diff "$T/changes.all" "$T/changes.changes" >"$T/diff" || fail "changes on record: $(head -n 20 "$T/diff")"
[ "$(wc -l <"$T/changes.all")" -ge 20 ] || fail "only $(wc -l <"$T/changes.all") changes on record"
cp "$T/log.changes" "$T/audit"
audit_none '.syscall == "openat" and .args.flags == "0x80000"'
audit_none '.syscall | IN("newfstatat", "stat", "lstat", "readlink", "getcwd", "readlinkat")'
audit_has '.path == "by-child" and .ppid != 1 and .verdict == "allow"' # its first record names its parent
audit_has '.path == ".env" and .verdict == "deny" and .right == "w"'

# ---- what the kernel was asked natively counts for limits ----
hold='import os, sys, time
held = []
for step in range(6):
    with open("held", "wb") as f: f.write(b"x" * 700000)
    held.append(os.open("held", eval(sys.argv[1])))
    os.unlink("held") # the blocks stay
    time.sleep(0.1)
time.sleep(30) # what is written is sampled
print("six times")'
for flags in os.O_RDONLY os.O_PATH; do
	cg run --profile extended --judge changes --disk 1M -w "$T/w" --json -- "$PYTHON" -S -c "$hold" $flags \
		>"$T/result" 2>"$T/err"
	[ "$(jq -r .judge "$T/result")" = changes ] || fail "--disk: $(jq -c .enforcement "$T/result")"
	jq -e '.stdout == ""' "$T/result" >/dev/null || fail "$flags keeps blocks past --disk: $(cat "$T/result")"
done
out=$(cg run --profile extended --judge changes --open-files 20 -w "$T/w" -- "$PYTHON" -S -c '
import os, errno
try:
    while True: os.open("/etc/hosts", os.O_RDONLY)
except OSError as error: print(errno.errorcode[error.errno])' 2>&1)
[ "$out" = EMFILE ] || fail "--open-files: $out"

# ---- who concludes something from reads refuses the log, by its name ----
policy '{filesystem: {exec: ["/usr/bin"]}}'
# refuses WORD… : callgate WORD… ends with 125 and says why
refuses()
{
	local status
	"$CALLGATE" "$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 125 ] || fail "$*: exit status $status"
	grep -q "log.changes: the run had \"judge\": \"changes\"" "$T/err" || fail "$*: $(cat "$T/err")"
	[ ! -s "$T/out" ] || fail "$*: it prints $(head -n 3 "$T/out")"
}
refuses replay -p "$T/p.json" "$T/log.changes"
refuses replay -p "$T/p.json" "$T/log.all" "$T/log.changes"
refuses policy minimise "$T/p.json" "$T/log.changes"
refuses audit stats -p "$T/p.json" "$T/log.changes"
refuses audit diff "$T/log.all" "$T/log.changes"
refuses audit diff "$T/log.changes" "$T/log.all"
"$CALLGATE" replay --json --changes-only -p "$T/p.json" "$T/log.changes" >"$T/out" 2>"$T/err" ||
	fail "replay --changes-only: $(cat "$T/err")"
jq -e '.logs[0].judge == "changes" and .records > 20' "$T/out" >/dev/null || fail "replay: $(cat "$T/out")"
"$CALLGATE" audit diff "$T/log.changes" "$T/log.changes" >"$T/out" 2>"$T/err" || fail "audit diff: $(cat "$T/err")"
grep -q "not compared" "$T/err" || fail "audit diff does not say that reads are not compared: $(cat "$T/err")"
"$CALLGATE" audit show "$T/log.changes" >"$T/out" 2>&1
head -n 1 "$T/out" | grep -q "judge changes (what only reads is not on record)" || fail "show: $(head -n 1 "$T/out")"
"$CALLGATE" audit stats "$T/log.changes" 2>&1 | head -n 1 | grep -q "what only reads is not on record" || fail "stats"
policy '{judge: "changes", filesystem: {exec: ["/usr/bin"]}}'
"$CALLGATE" compare -p "$T/p.json" --profile extended -- true >"$T/out" 2>&1
status=$?
[ $status = 125 ] || fail "compare: exit status $status"
grep -q -- '--run-option=--judge=all' "$T/out" || fail "compare: $(cat "$T/out")"
"$CALLGATE" why -p "$T/p.json" --open /usr/bin/env --json | jq -e '.judge == "changes"' >/dev/null || fail "why"
"$CALLGATE" why -p "$T/p.json" --open /usr/bin/env:w --json | jq -e '.judge == "all"' >/dev/null || fail "why :w"
