#!/bin/bash
# The official clients of the Model Context Protocol, unmodified, from npm and PyPI, and the inspector's command line,
# against callgate mcp. They are installed once, below the build directory.
. "$(dirname "$0")/../lib.sh"
need node npm python3 jq
cache=$BUILD/tests/mcp-sdk
unset TMPDIR

# install WHAT COMMAND…: once; what cannot be fetched is no fault of ours.
install()
{
	local what=$1
	shift
	[ ! -e "$cache/$what.done" ] || return 0
	timeout -k 5 300 "$@" >"$cache/$what.log" 2>&1 ||
		skip "cannot install from $what: $(tail -n 1 "$cache/$what.log")"
	touch "$cache/$what.done"
}
mkdir -p "$cache"
[ -e "$cache/package.json" ] || echo '{"private": true}' >"$cache/package.json"
install npm npm install --prefix "$cache" --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 \
	@modelcontextprotocol/client@2.4.0 @modelcontextprotocol/inspector@0.15.0
install venv python3 -m venv "$cache/venv"
install PyPI "$cache/venv/bin/pip" -q install mcp==2.3.0

export TMPDIR=$T/tmp
timeout -k 5 "$LIVE_TIMEOUT" node "$SRC/tests/cases/mcp-sdk.mjs" "$cache" "$CALLGATE" mcp || fail "npm's clients"
timeout -k 5 "$LIVE_TIMEOUT" "$cache/venv/bin/python" "$SRC/tests/cases/mcp-sdk.py" "$CALLGATE" mcp ||
	fail "PyPI's client"

# inspect ARGUMENT…: one request by the inspector, which hands its server only the variables that it is told.
inspect()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$cache/node_modules/.bin/mcp-inspector" --cli -e "TMPDIR=$TMPDIR" \
		-e "CALLGATE_PROFILES=$CALLGATE_PROFILES" "$CALLGATE" mcp "$@"
}
inspect --method tools/list | jq -e '.tools | length == 7' >/dev/null || fail "the inspector's list"
inspect --method tools/call --tool-name run_code --tool-arg 'code=6 * 7' |
	jq -e '.structuredContent.results[0].text == "42"' >/dev/null || fail "the inspector's call"
await_sessions "the end"
