#!/bin/bash
# The official SDKs of E2B, unmodified, from npm and PyPI, against callgate serve: nothing but their environment says
# where it is.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/server.sh"
need node npm python3
[ -x "$BUILD/callgate-agents" ] || skip "callgate-agents is not built"
install_packages e2b-sdk "e2b@2.51.0 @e2b/code-interpreter@2.8.0" "e2b==2.63.0 e2b-code-interpreter==2.11.5"
key=e2b_$(printf %040d 7)
(umask 077 && echo "$key" >"$T/key")
mkdir -p "$T/templates/looks"
cat >"$T/templates/looks/policy.json" <<END
{"version": 1, "extends": ["$SRC/agents/templates/code-interpreter-v1/policy.json"], "inspect": {"refuse": ["alarm"]}}
END
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
start_server --key-file "$T/key" --templates "$T/templates"
export E2B_API_KEY=$key E2B_API_URL=http://$SERVE_ADDRESS E2B_SANDBOX_URL=http://$SERVE_ADDRESS
PYTHONPATH=$packages/python timeout -k 5 "$LIVE_TIMEOUT" python3 "$SRC/tests/cases/e2b-sdk.py" || fail "the Python SDK"
cp "$SRC/tests/cases/e2b-sdk.mjs" "$packages" # node looks for packages beside the program
if node -e 'const [major, minor] = process.versions.node.split(".")
	process.exit(major * 100 + +minor < 2018 ? 1 : 0)'; then
	(cd "$packages" && timeout -k 5 "$LIVE_TIMEOUT" node e2b-sdk.mjs) || fail "the JavaScript SDK"
else
	echo "without the JavaScript SDK: it needs node 20.18, and this is $(node --version)"
fi
# The example, with a server of its own.
cp -r "$SRC/examples/e2b" "$T/example"
chmod -R u+w "$T/example"
PYTHONPATH=$packages/python CALLGATE=$CALLGATE PYTHON=python3 timeout -k 5 "$LIVE_TIMEOUT" "$T/example/run.sh" \
	>"$T/out" 2>&1 ||
	fail "the example: $(cat "$T/out")"
{ grep -qx 6 "$T/out" && grep -qx 'hello from a file' "$T/out" && ls "$T"/example/logs/*.jsonl >/dev/null; } ||
	fail "the example: $(cat "$T/out")"
stop_server TERM || fail "the server's exit status: $?"
await_sessions "stopped"
