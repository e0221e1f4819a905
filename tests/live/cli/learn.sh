#!/bin/bash
# callgate learn: the learnt policy is valid, runs the program without a denial, says why each rule is there, and grants
# no secret beside what was used.
. "$(dirname "$0")/../lib.sh"
need jq

mkdir "$T/work"
cat >"$T/work/main.py" <<'PY'
import json, sys
print(json.dumps(sorted(open(sys.argv[1]).read().split())))
open("out.txt", "w").write("made")
PY
echo 'b a' >"$T/work/words.txt"
echo 'TOKEN=secret' >"$T/work/.env"
cg learn -o "$T/policy.json" -w "$T/work" -- "$PYTHON" main.py words.txt >"$T/out" 2>&1 ||
	fail "learn: status $?: $(cat "$T/out")"
cg check "$T/policy.json" >"$T/out" 2>&1 || fail "check refuses what was learnt: $(cat "$T/out")"
[ ! -e "$T/work/out.txt" ] || fail "learning changed the working directory"
cp -r "$T/work" "$T/again"
cg run --json -p "$T/policy.json" -w "$T/again" -- "$PYTHON" main.py words.txt >"$T/result"
jq -e '.status == "ok" and .denials == [] and (.stdout | contains("[\"a\", \"b\"]"))' "$T/result" >/dev/null ||
	fail "under what was learnt: $(jq -c '{status, denials, stderr}' "$T/result")"
jq -e '[.filesystem[][] | select(type == "object" and .disabled == null) | .because | length > 0] | all' \
	"$T/policy.json" >/dev/null || fail "a rule has no reason: $(cat "$T/policy.json")"
for secret in /etc/shadow "$T/work/.env"; do
	cg why -p "$T/policy.json" -w "$T/work" --open "$secret" >/dev/null && fail "grants $secret"
done

# Without running anything.
cg learn -o "$T/static.json" --static /bin/ls >"$T/out" 2>&1 || fail "--static: $(cat "$T/out")"
cg run -q -p "$T/static.json" -- /bin/ls >/dev/null 2>"$T/err" || fail "ls under --static: $(cat "$T/err")"

# Mistakes: one message, nothing written.
cg learn -o "$T/policy.json" -- true >"$T/out" 2>&1 && fail "an existing file was replaced"
cg learn -- true >"$T/out" 2>&1 && fail "no -o"
cg learn -o "$T/none.json" -- /none/such >"$T/out" 2>&1 && fail "no program"
[ ! -e "$T/none.json" ] || fail "a policy of nothing was written"
exit $live_failed
