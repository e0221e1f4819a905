#!/bin/bash
# callgate learn: the learnt policy is valid, runs the program without a denial, says why each rule is there, grants no
# secret beside what was used, adds to earlier policies, and is not written over anything.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need jq

# learn NAME OPTION... -- PROGRAM...: learns $T/NAME.json; the report is in $T/out, messages in $T/err.
learn()
{
	local name=$1
	shift
	cg learn --json -o "$T/$name.json" "$@" >"$T/out" 2>"$T/err"
}

# rule KEY PATH: the rule of filesystem.KEY for this path.
rule()
{
	jq -e --arg key "$1" --arg path "$2" '.filesystem[$key][]? | select(.path == $path)' "$T/policy.json"
}

mkdir "$T/work" "$T/work/data"
cat >"$T/work/main.py" <<'PY'
import json, sys
print(json.dumps(sorted((sys.stdin.read() or open(sys.argv[1]).read()).split())))
open("out.txt", "w").write("made")
PY
echo 'b a' >"$T/work/words.txt"
echo 'TOKEN=secret' >"$T/work/.env"
learn policy -w "$T/work" -- "$PYTHON" main.py words.txt || fail "learn: status $?: $(cat "$T/out" "$T/err")"
jq -e '.verified and .denials == [] and .unmet == [] and .files_used > 0 and .files_granted >= .files_used' "$T/out" \
	>/dev/null || fail "the report: $(cat "$T/out")"
cg check "$T/policy.json" >"$T/out" 2>&1 || fail "check refuses what was learnt: $(cat "$T/out")"
[ ! -e "$T/work/out.txt" ] || fail "learning changed the working directory"
cp -r "$T/work" "$T/again"
cg run --json -p "$T/policy.json" -w "$T/again" -- "$PYTHON" main.py words.txt >"$T/result"
jq -e '.status == "ok" and .denials == [] and (.stdout | contains("[\"a\", \"b\"]"))' "$T/result" >/dev/null ||
	fail "under what was learnt: $(jq -c '{status, denials, stderr}' "$T/result")"
jq -e '[.filesystem[][] | .because | length > 0] | all' "$T/policy.json" >/dev/null ||
	fail "a rule has no reason: $(cat "$T/policy.json")"
rule exec "$PYTHON" | jq -e '.because | test("^execve by .*, [0-9]+ times?, first at record [0-9]+$")' >/dev/null ||
	fail "the reason of the program: $(rule exec "$PYTHON")"
for secret in /etc/shadow "$T/work/.env"; do
	cg why -p "$T/policy.json" -w "$T/work" --open "$secret" >/dev/null && fail "grants $secret"
done

# --merge: what the earlier policy has stays, what the new input needs is added. In place, too.
learn more --merge "$T/policy.json" --no-verify -w "$T/work" -- cat words.txt || fail "--merge: $(cat "$T/err")"
jq -e '.verified == null' "$T/out" >/dev/null || fail "--no-verify verified: $(cat "$T/out")"
jq -e --arg python "$PYTHON" '[.filesystem.exec[].path] | contains([$python, "/usr/bin/cat"])' "$T/more.json" \
	>/dev/null || fail "--merge lost a rule: $(cat "$T/more.json")"
cp "$T/more.json" "$T/before.json"
learn more --merge "$T/more.json" -w "$T/work" -- cat words.txt || fail "--merge in place: $(cat "$T/err")"
cmp "$T/more.json" "$T/before.json" || fail "the same program needs something new"

# Several inputs, and each must end as it did.
printf 'x\n' >"$T/one"
printf 'data/two\n' >"$T/two"
echo 2 >"$T/work/data/two"
learn inputs -w "$T/work" --input "$T/one" --input "$T/two" -- \
	sh -c 'read -r name; case $name in data*) exec head -n 1 "$name" ;; *) wc -l words.txt; exit 3 ;; esac' ||
	fail "several inputs: $(cat "$T/out" "$T/err")"
jq -e '[.filesystem.exec[].path] | contains(["/usr/bin/head", "/usr/bin/wc"])' "$T/inputs.json" >/dev/null ||
	fail "not both inputs were learnt: $(cat "$T/inputs.json")"

# A program that ends otherwise the second time is not verified. (What it counts outlives no run: it asks the clock.)
learn other -w "$T/work" -- "$PYTHON" -c 'import os, sys; sys.exit(int.from_bytes(os.urandom(1), "big") % 250 + 1)'
[ $? = 1 ] || learn other2 -w "$T/work" -- "$PYTHON" -c 'import os, sys; sys.exit(os.urandom(1)[0] % 250 + 1)'
grep -q 'the program ended with exit status' "$T/err" || fail "another end was not noticed: $(cat "$T/out" "$T/err")"

# A package that runs its own files: the program under a name that differs in each run.
learn tmp -w "$T/work" -- sh -ec 'd=$(mktemp -d "$PWD/job.XXXXXXXXXX"); cp /bin/true "$d/x"; "$d/x"' ||
	[ $? = 1 ] || fail "a temporary program: $(cat "$T/out" "$T/err")"

# Without running anything.
learn static --static /bin/ls || fail "--static: $(cat "$T/err")"
cg run -q -p "$T/static.json" -- /bin/ls >/dev/null 2>"$T/err" || fail "ls under --static: $(cat "$T/err")"
if command -v musl-gcc >/dev/null; then # whose loader is its C library
	echo 'int main(void) { return 0; }' | musl-gcc -o "$T/work/musl" -x c - || fail "musl-gcc"
	learn musl --static "$T/work/musl" || fail "--static with musl: $(cat "$T/err")"
	! grep warning "$T/err" || fail "--static with musl: $(cat "$T/err")"
fi
printf '#!/usr/bin/env -S sh\necho static\n' >"$T/work/script"
chmod +x "$T/work/script"
learn script -w "$T/work" --static "$T/work/script" || fail "--static of a script: $(cat "$T/err")"
[ "$(cg run -q -p "$T/script.json" -w "$T/work" -- "$T/work/script" 2>"$T/err")" = static ] ||
	fail "a script under --static: $(cat "$T/err" "$T/script.json")"

# Mistakes: one message, nothing written, nothing lost.
# mistake TEXT ARGUMENT...: learn says TEXT and ends with 125.
mistake()
{
	local text=$1
	shift
	cg learn "$@" >"$T/out" 2>"$T/err"
	[ $? = 125 ] || fail "learn $*: not refused"
	grep -q -- "$text" "$T/err" || fail "learn $*: $(cat "$T/err")"
}
cp "$T/policy.json" "$T/before.json"
mistake 'exists; add to it' -o "$T/policy.json" -- true
cmp "$T/policy.json" "$T/before.json" || fail "an existing file was replaced"
mistake 'name the policy to write' -- true
mistake 'cannot write there' -o "$T/none/x.json" -- true
mistake 'not found' -o "$T/none.json" -- /none/such
mistake 'no such program' -o "$T/none.json" --static /none/such
mistake 'neither an ELF file' -o "$T/none.json" --static "$T/one"
mistake 'No such file' -o "$T/none.json" --merge "$T/nothing.json" -- true
echo '{"version": 1,' >"$T/broken.json"
mistake "broken.json:2" -o "$T/none.json" --merge "$T/broken.json" -- true
echo '{"version": 1, "name": "x", "nosuch": 1}' >"$T/broken.json"
mistake "broken.json:1: nosuch" -o "$T/none.json" --merge "$T/broken.json" -- true
mkdir "$T/elsewhere"
echo '{"version": 1, "name": "x", "extends": ["./policy.json"]}' >"$T/relative.json"
mistake 'relative to its directory' -o "$T/elsewhere/none.json" --merge "$T/relative.json" -- true
mistake 'whole file system' -o "$T/none.json" -w / -- true
mistake 'home directory' -o "$T/none.json" -w "$HOME" -- true
[ ! -e "$T/none.json" ] || fail "a policy of nothing was written"

# secrets whose names no rule can mean: the rules deny more
mkdir "$T/names"
echo 'TOKEN=secret' >"$T/names/.env"
# shellcheck disable=SC2016 # the name of a file
for name in '**x.pem' $'\xff.pem' '${HOME}'; do
	ln "$T/names/.env" "$T/names/$name"
done
cg learn -w "$T/names" -o "$T/names.json" -- cat /etc/hostname >"$T/out" 2>"$T/err" || fail "names: $(cat "$T/err")"
jq -e '[.filesystem.deny[] | select(.because | endswith(": .env file")).path] |
	sort == ["**/.env", "@workdir/$${HOME}", "@workdir/*.pem", "@workdir/*x.pem"]' "$T/names.json" >/dev/null ||
	fail "names: $(jq -c .filesystem.deny "$T/names.json")"
left=$(find "$T" -maxdepth 1 -name '*.learning-*' -o -maxdepth 1 -name '*.json.??????')
[ -z "$left" ] || fail "left behind: $left"
exit $live_failed
