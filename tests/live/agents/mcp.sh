#!/bin/bash
# callgate mcp: both revisions of the protocol, its tools, progress, cancellation, limits, bad input, and the end.
. "$(dirname "$0")/../lib.sh"
need python3 bash
read -ra more <<<"${LIVE_OPTIONS:-}"
[ -z "${LIVE_WITHOUT:-}" ] || more+=(--without "$LIVE_WITHOUT")

timeout -k 5 600 "$PYTHON" "$SRC/tests/cases/mcp-check.py" "$CALLGATE" mcp "${more[@]}" || fail "the protocol"

# ---- the example does what its README says ----
export CALLGATE PYTHON
timeout -k 5 "$LIVE_TIMEOUT" "$SRC/examples/mcp/run.sh" >"$T/example" 2>&1 || fail "the example: $(cat "$T/example")"
[ "$(grep -cE '^(6|3|wrote 4 bytes to notes/plan.txt|one|verdict: deny)$' "$T/example")" = 5 ] ||
	fail "the example: $(cat "$T/example")"

# ---- mistakes are told at the start ----
refused()
{
	local what=$1 text=$2 status=0
	shift 2
	"$CALLGATE" mcp "$@" </dev/null >"$T/out" 2>"$T/err" || status=$?
	{ [ $status = 125 ] && grep -q "$text" "$T/err" && [ ! -s "$T/out" ]; } || fail "$what: $status $(cat "$T/err")"
}
refused "an unknown profile" "nonesuch" --profile nonesuch
refused "an unknown option" "nonesuch" --nonesuch
refused "a missing directory" "name a directory that exists" --audit-dir "$T/nonesuch"
refused "a count" "must be a number" --sandboxes 0
refused "a time" "is no time" --idle soon
refused "an argument" "unexpected argument: x" x
refused "a file for a client" "must be pipes" "${more[@]}"

# ---- each sandbox has its log ----
mkdir "$T/logs"
call='"name": "run_command", "arguments": {"command": "echo hi"}'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
	'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$call"'}}' |
	"$CALLGATE" mcp --audit-dir "$T/logs" "${more[@]}" | cat >"$T/out"
grep -q '"stdout":"hi\\n"' "$T/out" || fail "a client that closes its end early: $(cat "$T/out")"
log=$(echo "$T"/logs/sb-*.jsonl)
# The sandbox ends by itself when the server has gone, and completes its log then.
verified() { "$CALLGATE" audit verify "$log" >"$T/verified" 2>"$T/err"; }
awaited verified || fail "the log: $(cat "$T/verified" "$T/err")"
await_sessions "the end"
