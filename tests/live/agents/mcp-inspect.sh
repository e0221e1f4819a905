#!/bin/bash
# callgate mcp --inspect, and "inspect" of its policy: code and commands are looked at before they run; what is found is
# in the result, or refuses the call. And --cow, by which sandboxes write to workspaces.
. "$(dirname "$0")/../lib.sh"
need python3 jq
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
read -ra more <<<"${LIVE_OPTIONS:-}"
[ -z "${LIVE_WITHOUT:-}" ] || more+=(--without "$LIVE_WITHOUT")
echo '{"version": 1, "inspect": {"modules": ["numpy"]}}' >"$T/modules.json"
timeout -k 5 600 "$PYTHON" "$SRC/tests/cases/mcp-inspect.py" "$T/modules.json" "$CALLGATE" mcp "${more[@]}" ||
	fail "the protocol"

# ---- the second look fails: the result and the record say so ----
# shellcheck disable=SC2016 # the script's shell expands it
printf '#!/bin/sh\n[ "$1 $2" = "session inspect" ] || exec %s "$@"\nasked=$(cat)\ncase $asked in
*\\"seen\\"*) echo no luck; exit 125 ;;\nesac\nprintf %%s "$asked" | %s "$@"\n' "$CALLGATE" "$CALLGATE" >"$T/unlucky"
chmod 755 "$T/unlucky"
mkdir "$T/logs"
call='"name": "run_command", "arguments": {"command": "true"}'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
	'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$call"'}}' |
	"$BUILD/callgate-agents" mcp "$T/unlucky" --sandboxes 1 --idle-ms 60000 --inspect yes --audit-dir "$T/logs" \
		-- --profile extended "${more[@]}" | cat >"$T/out"
await_sessions "the second look"
grep -q '"changes_unknown":true' "$T/out" || fail "the second look: $(cat "$T/out")"
cat "$T"/logs/* | grep -q '"event":"inspect","cause":"no luck","path":"run_command".*"reason":"changes_unknown"' ||
	fail "no record of the second look: $(cat "$T"/logs/*)"

# ---- a workspace ----
mkdir "$T/w"
echo old >"$T/w/file"
call='"name": "run_command", "arguments": {"command": "echo new >file; echo more >added; cat file"}'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
	'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$call"'}}' |
	"$CALLGATE" mcp --cow -w "$T/w" "${more[@]}" | cat >"$T/out"
await_sessions "the workspace"
[ "$(cat "$T/w/file" && ls "$T/w")" = "$(printf 'old\nfile')" ] || fail "the directory was changed"
if grep -q '"stdout":"new\\n"' "$T/out"; then
	id=$("$CALLGATE" ws list | cut -d' ' -f1)
	"$CALLGATE" ws diff "$id" >"$T/diff"
	printf 'A  added\nM  file  content, time\n' | cmp -s - "$T/diff" || fail "diff: $(cat "$T/diff")"
	"$CALLGATE" ws discard "$id" || fail "discard"
	# shellcheck disable=SC2016 # the script's shell expands it
	printf '#!/bin/sh\n[ "$1 $2" != "ws apply" ] || kill -KILL $$\nexec %s "$@"\n' "$CALLGATE" >"$T/killed"
	chmod 755 "$T/killed"
	export MCP_APPLY_IS_KILLED="$BUILD/callgate-agents mcp $T/killed --sandboxes 1 --idle-ms 60000 --cow yes \
		--allow-apply yes -- -w $T/w --profile extended ${more[*]}"
	timeout -k 5 600 "$PYTHON" "$SRC/tests/cases/mcp-workspace.py" "$T/w" "$CALLGATE" mcp --cow -w "$T/w" \
		"${more[@]}" || fail "the tools of workspaces"
	await_sessions "the tools of workspaces"
	"$CALLGATE" ws list | cut -d' ' -f1 | xargs "$CALLGATE" ws discard || fail "discard"
else
	grep -q -- '--cow: .* cannot be kept as it is' "$T/out" || fail "--cow: $(cat "$T/out")"
fi
