#!/bin/bash
# The official clients of the Model Context Protocol, unmodified, from npm and PyPI, and the inspector's command line,
# against callgate mcp.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/packages.sh"
need node npm python3 jq
install_packages mcp-sdk "@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 \
	@modelcontextprotocol/inspector-cli@0.15.0" mcp==2.3.0
mkdir "$T/w"
timeout -k 5 "$LIVE_TIMEOUT" node "$SRC/tests/cases/mcp-sdk.mjs" "$packages" "$CALLGATE" mcp --cow -w "$T/w" ||
	fail "npm's clients"
PYTHONPATH=$packages/python timeout -k 5 "$LIVE_TIMEOUT" python3 "$SRC/tests/cases/mcp-sdk.py" "$CALLGATE" mcp \
	--cow -w "$T/w" || fail "PyPI's client"
[ -z "$(ls "$T/w")" ] || fail "the directory was changed"
await_sessions "the clients"
"$CALLGATE" ws list | cut -d' ' -f1 | xargs -r "$CALLGATE" ws discard || fail "discard"

# ---- questions, in which these clients are asked ----
. "$(dirname "$0")/mcp-approval-lib.sh"
timeout -k 5 "$LIVE_TIMEOUT" node "$SRC/tests/cases/mcp-sdk-approval.mjs" "$packages" "$T/host" "$CALLGATE" mcp \
	"${asking[@]}" --approve client || fail "npm's clients are asked"
PYTHONPATH=$packages/python timeout -k 5 "$LIVE_TIMEOUT" python3 "$SRC/tests/cases/mcp-sdk-approval.py" "$T/host" \
	"$CALLGATE" mcp "${asking[@]}" --approve client || fail "PyPI's client is asked"

# inspect ARGUMENT…: one request by the inspector, which hands its server only the variables that it is told.
inspect()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$packages/node_modules/.bin/mcp-inspector-cli" --cli -e "TMPDIR=$TMPDIR" \
		-e "CALLGATE_PROFILES=$CALLGATE_PROFILES" "$CALLGATE" mcp "$@"
}
inspect --method tools/list | jq -e '.tools | length == 7' >/dev/null || fail "the inspector's list"
inspect --method tools/call --tool-name run_code --tool-arg 'code=6 * 7' |
	jq -e '.structuredContent.results[0].text == "42"' >/dev/null || fail "the inspector's call"
await_sessions "the end"
