#!/bin/bash
# callgate mcp --approve client: denied calls wait for an answer of the client, in both revisions of the protocol;
# answers that are none, clients that cannot be asked, floods. And --approve command:, which needs no client.
. "$(dirname "$0")/../lib.sh"
need python3 jq
. "$(dirname "$0")/mcp-approval-lib.sh"

# verified LOG: it is whole.
verified() { "$CALLGATE" audit verify "$1" >"$T/verified" 2>"$T/err"; }
timeout -k 5 600 "$PYTHON" "$SRC/tests/cases/mcp-approval.py" "$T/host" "$CALLGATE" mcp "${asking[@]}" \
	--approve client --audit-dir "$T/logs" || fail "the protocol"
for log in "$T"/logs/*; do
	# The sandbox ends by itself when the server has gone, and completes its log then.
	awaited verified "$log"
	[ -s "$T/verified" ] || fail "the log: $("$CALLGATE" audit verify "$log" 2>&1)"
done
for answer in once run no stop malformed unanswered timeout too_many; do
	cat "$T"/logs/* | grep '"answered_how":"client"\|"answer":"t' | grep -q "\"answer\":\"$answer\"" ||
		fail "not on record: $answer"
done

call='"name": "run_command", "arguments": {"command": "cat '$T/host/a'"}'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
	'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$call"'}}' |
	"$CALLGATE" mcp "${asking[@]}" --approve "command:jq -c '{id, answer: \"once\"}'" | cat >"$T/out"
grep -q '"stdout":"text a\\n"' "$T/out" || fail "a command: $(cat "$T/out")"

refused()
{
	local what=$1 text=$2 status=0
	shift 2
	"$CALLGATE" mcp "$@" </dev/null >"$T/out" 2>"$T/err" || status=$?
	{ [ $status = 125 ] && grep -q "$text" "$T/err" && [ ! -s "$T/out" ]; } || fail "$what: $status $(cat "$T/err")"
}
refused "a terminal" "must be client" --approve tty
refused "nothing to keep" "add that" --approvals "$T/kept"
refused "no time" "is no time" --approve client --ask-timeout 0
await_sessions "the end"
