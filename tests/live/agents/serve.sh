#!/bin/bash
# callgate serve by its protocol, over TCP and a unix socket: programs, refusals, timeouts, quotas, clients that mean
# harm, and that nothing is left when it is stopped or killed. No library of others is needed.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/server.sh"
need curl jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
[ -x "$BUILD/callgate-agents" ] || skip "callgate-agents is not built"
key=e2b_$(printf %040d 7)
cases=$SRC/tests/cases
export SERVE_KEY=$key

# run_case FILE NAME ARGUMENT…: a case of e2b-FILE.py.
run_case()
{
	local file=$cases/e2b-$1.py
	shift
	timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$file" "$@" || fail "$1 over $SERVE_ADDRESS"
}

# ---- what the command line refuses ----
refused()
{
	local text
	text=$(timeout 100 "$CALLGATE" serve "$@" 2>&1)
	[ "$?,${text:+said}" = 125,said ] || fail "serve $*: $text"
}
refused
refused --api-key "$key" --listen 0.0.0.0:0
refused --api-key "$key" --listen 192.168.0.1:80
refused --api-key "$key" --listen '[::]:0'
refused --api-key "$key" --listen 127.0.0.1
refused --api-key short
refused --api-key "$key" --sandboxes 0
refused --key-file /nonexistent
printf '{"keys": [{"key": "%s"}]}' "$key" >"$T/keys"
refused --key-file "$T/keys" # others may read it
chmod 600 "$T/keys"
refused --key-file "$T/keys" --api-key "$key"
printf '{"keys": [{"key": "%s", "sandboxes": -1}]}' "$key" >"$T/keys"
refused --key-file "$T/keys"

# ---- programs and refusals, both kinds of sockets ----
start_server --api-key "$key" --listen 127.0.0.1:0 --audit-dir "$T"
run_case basic basic
run_case basic files
run_case ports ports
run_case basic contexts
run_case hostile refusals
tr '\0' ' ' <"/proc/$server/cmdline" | grep -q "$key" && fail "the key is seen in the list of processes"
stop_server TERM
await_sessions "stopped"
for log in "$T"/i*.jsonl; do
	"$CALLGATE" audit verify "$log" >/dev/null || fail "$log"
done
jq -es 'map(select(.event == "sandbox_end")) |
	length > 0 and all(.sandbox and .key == "default" and .reason)' "$T/log" >/dev/null ||
	fail "the server's log: $(tail -n 3 "$T/log")"

# The server takes as many descriptors as it may have, and its sandboxes do not.
files=$(ulimit -Sn)
ulimit -Sn 128
start_server --key-file <(echo "$key") --listen "unix:$T/socket"
ulimit -Sn "$files"
export SERVE_FILES=128
[ "$(stat -c %a "$T/socket")" = 600 ] || fail "others may connect to the socket"
run_case basic basic
run_case basic timeout
run_case hostile hostile
run_case hostile bounds
[ "$(curl -sS --unix-socket "$T/socket" -H "X-API-Key: $key" http://localhost/sandboxes)" = "[]" ] || fail "curl"
stop_server TERM
await_sessions "stopped after the hostile clients"

# ---- a server that may have few files open ----
# shellcheck disable=SC2016 # the inner shell's
printf '#!/bin/bash\nulimit -n 256 && exec "%s" "$@"\n' "$CALLGATE" >"$T/limited"
chmod +x "$T/limited"
unlimited=$CALLGATE CALLGATE=$T/limited
start_server --api-key "$key"
run_case hostile few_files
stop_server TERM
await_sessions "stopped after it had few files open"
# A spare that could not be made is made as soon as there is room, with no client who asks for a sandbox.
mkdir -p "$T/few/spared"
cp "$SRC/agents/templates/base/policy.json" "$T/few/spared"
echo '{"warm": 1}' >"$T/few/spared/template.json"
start_server --api-key "$key" --templates "$T/few"
CALLGATE=$unlimited
run_case hostile spares_are_lacking
stop_server TERM
await_sessions "stopped with a spare"

# ---- quotas: of the server, and of a key ----
cat >"$T/keys" <<END
{"keys": [{"name": "few", "key": "$key", "sandboxes": 3},
          {"name": "many", "key": "${key}x", "memory": 2147483648},
          {"name": "busy", "key": "${key}y", "cpu": 1}]}
END
start_server --key-file "$T/keys"
crowd=("$PYTHON" "$cases/e2b-hostile.py" crowd)
[ "$("${crowd[@]}" 10000 32 | jq -cS .)" = '{"201":3,"429":9997}' ] || fail "3 sandboxes of 10,000"
[ "$(SERVE_KEY=${key}x "${crowd[@]}" 10 5 | jq -cS .)" = '{"201":2,"429":8}' ] || fail "memory for 2"
[ "$(curl -sS -H "X-API-Key: ${key}x" "$SERVE_ADDRESS/sandboxes" | jq length)" = 2 ] || fail "lists sandboxes of others"
ids=$(curl -sS -H "X-API-Key: $key" "$SERVE_ADDRESS/sandboxes" | jq -r '.[0].sandboxID')
curl -sS -i -X DELETE -H "X-API-Key: ${key}x" "$SERVE_ADDRESS/sandboxes/$ids" | grep -q '^HTTP/1.1 404' ||
	fail "a key ends a sandbox of another"
curl -sS -H "X-API-Key: $key" "$SERVE_ADDRESS/metrics" | grep -q 'callgate_sandboxes{key="few"} 3' || fail "metrics"
curl -sS -H "X-API-Key: $key" "$SERVE_ADDRESS/metrics" | grep -q many && fail "metrics of another key"
SERVE_KEY=${key}y run_case basic quota

stop_server TERM
await_sessions "stopped after the crowds"

start_server --key-file "$T/keys" --sandboxes 1
run_case hostile fair "${key}x"
stop_server TERM

# ---- templates of the user's own ----
for name in own broken wrong warm bare small; do
	mkdir -p "$T/templates/$name/files/given"
	cp "$SRC/agents/templates/base/policy.json" "$T/templates/$name"
done
echo given >"$T/templates/own/files/given/file"
cat >"$T/templates/own/template.json" <<'END'
{"memory": "300M", "setup": "echo made by $(whoami) >made", "env": {"VARIABLE": "value"}}
END
echo '{"setup": "echo no such luck >&2; exit 1"}' >"$T/templates/broken/template.json"
echo '{"memory": 1}' >"$T/templates/wrong/template.json"
echo '{"disk": "8M"}' >"$T/templates/small/template.json"
echo '{"warm": 1, "setup": "echo warm >made"}' >"$T/templates/warm/template.json"
jq '.exec = {"deny": ["**/python*"]}' "$SRC/agents/templates/base/policy.json" >"$T/templates/bare/policy.json"
start_server --api-key "$key" --templates "$T/templates"
run_case basic templates
run_case basic uploads "$server"
stop_server TERM
await_sessions "stopped with sandboxes that are ready"
mkdir "$T/killed"
start_server --key-file "$T/keys" --audit-dir "$T/killed"

# ---- killed: soon nothing runs, and each file that the client knows of is in the log ----
true >"$T/id" # there before the client has begun
"$PYTHON" "$cases/e2b-basic.py" hold >>"$T/id" 2>/dev/null &
holder=$!
has_made() { [ "$(grep -cx 'made[0-9]*' "$T/id")" -ge 3 ]; }
await "three files" has_made
stop_server KILL
# lives: a process "callgate" of this test does. Sets pid.
lives()
{
	for pid in /proc/[0-9]*; do
		[ "$(cat "$pid/comm" 2>/dev/null)" != callgate ] ||
			! { tr '\0' ' ' <"$pid/environ" | grep -q "TMPDIR=$T/tmp"; } 2>/dev/null || return 0
	done
	return 1
}
awaited not lives || fail "SIGKILL: $pid lives on"
kill $holder 2>/dev/null
await_sessions "SIGKILL"
log=$T/killed/$(head -n 1 "$T/id").jsonl
"$CALLGATE" audit verify "$log" >/dev/null || fail "SIGKILL: $log"
grep -x 'made[0-9]*' "$T/id" | sed '$d' >"$T/known" # the last one may be cut
[ -s "$T/known" ] || fail "SIGKILL: the client knows of no file"
jq -r 'select(.effect == "performed") | .path' "$log" 2>/dev/null | sort >"$T/logged"
missing=$(sort "$T/known" | comm -23 - "$T/logged")
[ -z "$missing" ] || fail "SIGKILL: files that are not in the log: $missing"
