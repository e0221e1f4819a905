#!/bin/bash
# callgate serve --approve: denied calls of sandboxes wait for the approver. A template whose policy has "inspect",
# which the server does not do, is refused at the start; one that is added later runs nothing.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/server.sh"
need_server
H=$T/host
mkdir -p "$H" "$T/templates/asks" "$T/looking/looks" "$T/looking/other"
for name in a b; do
	echo "text $name" >"$H/$name"
done
policy='"version": 1, "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run"], "write": ["@workdir"],
	"exec": ["/usr", "/bin", "/lib", "/lib64"]}'
echo "{$policy, \"on_deny\": \"ask\"}" >"$T/templates/asks/policy.json"
echo "{$policy, \"inspect\": {\"refuse\": [\"alarm\"]}}" >"$T/looking/base.json"
echo '{"version": 1, "extends": ["../base.json"]}' >"$T/looking/looks/policy.json"
echo '{' >"$T/looking/other/policy.json"

refused()
{
	timeout 20 "$CALLGATE" serve --api-key "$SERVE_KEY" "$@" >"$T/out" 2>&1 && fail "serve $*"
	[ -s "$T/out" ] || fail "serve $*: nothing is said"
}
refused --approve client
refused --approve tty
refused --approve socket:relative
refused --approve command:
refused --approve command:true --ask-timeout 0
refused --approvals "$T/kept"
refused --ask-timeout 5s
refused --templates "$T/looking"
grep -q '^callgate serve: template looks: its policy has "inspect"' "$T/out" || fail "inspect: $(cat "$T/out")"

client()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$SRC/tests/cases/e2b-client.py" "$@" || fail "$1"
}
start_server --api-key "$SERVE_KEY" --templates "$T/templates" --ask-timeout 20s --approve \
	"command:jq -c '{id, answer: (if .resolved == \"$H/a\" then \"once\" else \"no\" end)}'"
client approval asks "$H"
cp -r "$T/looking/"* "$T/templates"
client looks looks
rm -r "$T/templates/looks"
stop_server TERM
await_sessions "stopped"
start_server --api-key "$SERVE_KEY" --templates "$T/templates"
client nobody asks "$H"
stop_server TERM
await_sessions "stopped without an approver"
exit 0
