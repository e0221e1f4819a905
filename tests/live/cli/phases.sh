#!/bin/bash
# --setup and phases: the program finds the files that the setup fetched, but not its network, secrets or processes. The
# program does not run unless the setup succeeded. With every sandbox layer, without namespaces, and as another user.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq curl setsid
net_ca open.test
net_servers https http
https=$(net_port https) http=$(net_port http)
index=$T/index
mkdir -p "$index/simple/phasepkg" "$T/w"
"$PYTHON" - "$index/simple/phasepkg/phasepkg-1.0-py3-none-any.whl" <<'PY' || die "no wheel"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("phasepkg.py", "answer = 42\n")
    z.writestr("phasepkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: phasepkg\nVersion: 1.0\n")
    z.writestr("phasepkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("phasepkg-1.0.dist-info/RECORD", "")
PY
"$PYTHON" -c "
import functools, http.server, os, sys
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), h)
print(s.server_port, file=open(sys.argv[2] + '~', 'w'), flush=True); os.rename(sys.argv[2] + '~', sys.argv[2])
s.serve_forever()" "$index" "$T/index-port" >"$T/index-log" 2>&1 &
live_kept+=($!)
net_await "the index" test -s "$T/index-port"
pypi=$(cat "$T/index-port")
value=cgphase-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export PHASE_TOKEN=$value

# The endpoints are a file's of their own, of which network.extends takes nothing else; open to everybody for --user.
cat >"$NET/endpoints.json" <<JSON
{"version": 1, "limits": {"wall": "1ms"}, "network": {
	"allow": [
		{"host": "open.test", "port": $https, "proto": "https", "private": true,
		 "http": ["GET /ok", "GET /headers"]},
		{"host": "plain.test", "port": $http, "proto": "http", "private": true},
		{"host": "index.test", "port": $pypi, "proto": "http", "private": true, "http": ["GET /simple/**"]}],
	"resolve": {"open.test": "127.0.0.1", "plain.test": "127.0.0.1", "index.test": "127.0.0.1"},
	"upstream_ca": "./ca.pem"}}
JSON
cat >"$NET/policy.json" <<JSON
{"version": 1, "extends": ["extended"], "env": {"set": {"PHASE": "none"}, "pass": ["PHASE_TOKEN"]},
	"secrets": {"PHASE_TOKEN": {"from": "env:PHASE_TOKEN", "hosts": ["open.test"]}},
	"phases": {
		"setup": {"network": {"extends": ["./endpoints.json"]}, "env": {"set": {"PHASE": "setup"}},
			"limits": {"wall": "100s"}},
		"run": {"network": "none", "env": {"set": {"PHASE": "run"}}}}}
JSON
chmod -R go+rX "$T/net" && chmod 755 "$T" && chmod 1777 "$T/tmp"

phased()
{
	rm -f "$T/audit" "$T/audit.setup"
	cg run -p "$NET/policy.json" --audit "$T/audit" "${more[@]}" "$@" 2>"$T/err"
}

# What it fetches is used by a program that can neither resolve, connect nor find a secret.
ratchet()
{
	local status mark=phase-$$-$RANDOM
	# shellcheck disable=SC2016 # the inner shell's
	phased --json --setup \
		'set -e; echo setup: $PHASE; curl -sS --max-time 90 -o fetched http://plain.test:'"$http"'/ok
		curl -sS --max-time 90 -o secret -H "Authorization: Bearer $PHASE_TOKEN" https://open.test:'"$https"'/ok
		[ -n "$PHASE_TOKEN" ] && echo "$PHASE_TOKEN" >placeholder; echo kept >/tmp/kept
		(setsid '"$PYTHON"' -c "import time, sys
open(\"alive\", \"w\").close()
while True: time.sleep(0.02); open(\"alive\", \"a\").write(\".\")" '"$mark"' >/dev/null 2>&1 &)
		while [ ! -s alive ]; do sleep 0.05; done' -- "$PYTHON" -c '
import os, socket, time
print("run:", os.environ["PHASE"], open("fetched").read().strip(), open("/tmp/kept").read().strip())
print("secret:", os.environ.get("PHASE_TOKEN"))
before = os.stat("alive").st_size; time.sleep(0.3); print("alive:", os.stat("alive").st_size - before)
for host in ("plain.test", "open.test"):
    try: print(socket.getaddrinfo(host, 80))
    except OSError: print("no name")
for address in ("127.0.0.1", "198.18.0.2", "198.18.0.3"):
    try: print(socket.create_connection((address, '"$http"'), 5))
    except OSError: print("no way")' >"$T/out"
	status=$?
	[ $status = 0 ] || fail "${where}ended with $status: $(cat "$T/err" "$T/out" | tail -n 20)"
	[ "$(jq -r .stdout "$T/out")" = "run: run ok kept
secret: None
alive: 0
no name
no name
no way
no way
no way" ] || fail "${where}the program: $(jq -r .stdout,.stderr "$T/out")"
	[ -z "$(survivors "$mark")" ] || fail "${where}the setup left a process"
	jq -e '.status == "ok" and .setup.status == "ok" and .setup.stdout == "setup: setup\n" and
		.run_id == .setup.run_id and
		([.setup.network[].host] | sort | unique) == ["open.test", "plain.test"] and .network == [] and
		.policy.sha256 != .setup.policy.sha256 and .setup.limits.wall.limit == 100000 and
		.limits.wall.limit == null' \
		"$T/out" >/dev/null || fail "${where}the result: $(jq -c '[.status, .setup.status, .setup.stdout,
		.setup.network]' "$T/out")"
	audit_none '.event == "request" or .event == "open"'
	[ "$(jq -s '[.[] | select(.event == "request" and .verdict == "allow")] | length' "$T/audit.setup")" = 2 ] ||
		fail "${where}the setup's log: $(jq -c 'select(.event)' "$T/audit.setup" | head -n 5)"
	[ "$(jq -r 'select(.path == "/ok" and .kind == "https") | .headers[] |
		select(.[0] == "Authorization")[1]' "$NET/access" | tail -n 1)" \
		= "Bearer $value" ] || fail "${where}the server did not get the secret: $(tail -n 1 "$NET/access")"
	grep -qr "$value" "$T/out" "$T/err" "$T/audit" "$T/audit.setup" &&
		fail "${where}the secret is where anybody can read it"
}

more=() where=
ratchet
for LIVE_WITHOUT in netns namespaces; do
	where="without $LIVE_WITHOUT: "
	ratchet
done
LIVE_WITHOUT=
if [ "$(id -u)" = 0 ]; then
	more=(--user 54321) where="as user 54321: "
	ratchet
	more=() where=
fi

# pip, from the index into the workdir.
if "$PYTHON" -m pip --version >/dev/null 2>&1; then
	out=$(phased -w "$T/w" --setup \
		"$PYTHON -m pip install -q --disable-pip-version-check --no-cache-dir --target lib \
		--index-url http://index.test:$pypi/simple --trusted-host index.test phasepkg" -- \
		"$PYTHON" -c 'import sys; sys.path.insert(0, "lib"); import phasepkg; print(phasepkg.answer)')
	[ "$out" = 42 ] || fail "pip: $out $(tail -n 5 "$T/err")"
else
	echo "no pip here"
fi

# A failed setup is the end; its output is on standard error, its status is callgate's.
out=$(phased --setup 'echo shown; exit 7' -- touch "$T/w/ran")
status=$?
{ [ $status = 7 ] && [ -z "$out" ] && grep -qx shown "$T/err"; } || fail "failure: $status, '$out', $(cat "$T/err")"
grep -q "the setup ended with 7: the program was not run" "$T/err" || fail "failure says: $(cat "$T/err")"
phased --json --setup 'kill -9 $$' -- touch ran >"$T/out"
status=$?
[ $status = 137 ] || fail "a setup that was killed: $status"
jq -e '.status == "failed" and .exit_code == 137 and .setup.signal == 9 and .error.code == "setup_unsuccessful"' \
	"$T/out" \
	>/dev/null || fail "a setup that was killed: $(jq -c '[.status, .exit_code, .error, .setup.signal]' "$T/out")"
phased --json -t 3s --setup 'sleep 60' -- touch ran >"$T/out"
jq -e '.status == "timeout" and .exit_code == 124 and .setup.status == "timeout"' "$T/out" >/dev/null ||
	fail "a setup that lasts: $(jq -c '[.status, .exit_code, .setup.status]' "$T/out")"
# The limits are each phase's own.
phased -t 20s --setup 'sleep 11' -- sleep 11 || fail "two phases of 11 s each under -t 20s: $? $(cat "$T/err")"

# --allow-host is for the phase that may have a network; --phase takes one alone; input is the program's.
cat >"$T/closed.json" <<JSON
{"version": 1, "extends": ["extended"],
	"phases": {"setup": {"env": {"set": {"P": "setup"}}}, "run": {"network": "none", "env": {"set": {"P": "run"}}}}}
JSON
out=$(printf 'typed\n' | timeout 300 "$CALLGATE" run -i -p "$T/closed.json" --allow-host "127.0.0.1:$http" --setup \
	"cat; curl -sS --max-time 90 http://127.0.0.1:$http/ok >got" -- \
	sh -c "cat; cat got; curl -sS --max-time 90 http://127.0.0.1:$http/ok || echo closed" 2>"$T/err")
[ "$out" = "typed
ok
closed" ] || fail "--allow-host and -i: $out $(cat "$T/err")"
for phase in setup run; do
	# shellcheck disable=SC2016 # the inner shell's
	[ "$(cg run -p "$T/closed.json" --phase $phase -- sh -c 'echo $P')" = $phase ] || fail "--phase $phase"
	[ "$("$CALLGATE" show -p "$T/closed.json" --phase $phase | jq -r .env.set.P)" = $phase ] ||
		fail "show --phase $phase"
done
"$CALLGATE" why -p "$NET/policy.json" --phase setup --connect "plain.test:$http" >"$T/out" ||
	fail "why --phase setup: $(cat "$T/out")"
"$CALLGATE" why -p "$NET/policy.json" --connect "plain.test:$http" >"$T/out" && fail "why: $(cat "$T/out")"
cg run -p "$T/closed.json" --phase run --setup true -- true 2>/dev/null && fail "--phase with --setup"
"$CALLGATE" check "$T/closed.json" "$NET/policy.json" >/dev/null || fail "check"
sed 's/"setup": {/"setup": {"filesystem": {"read": ["relative"]}, /' "$T/closed.json" >"$T/bad.json"
"$CALLGATE" check "$T/bad.json" 2>"$T/err" && fail "check of a bad phase"
grep -q 'bad.json:2: phases.setup.filesystem.read\[0\]: ' "$T/err" || fail "check of a bad phase says: $(cat "$T/err")"

# interrupted SIGNAL STATUS: while the setup is at it; the program never runs and nothing is left.
interrupted()
{
	local mark=phase-int-$$-$1 pid status
	rm -rf "${T:?}/w/"*
	# bash ignores SIGINT in what it starts in the background
	"$PYTHON" -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1],
		sys.argv[1:])' \
		"$CALLGATE" run --json -p "$T/closed.json" -w "$T/w" \
		--setup "exec $PYTHON -c 'import time; open(\"began\", \"w\"); time.sleep(600)' $mark" -- \
		touch ran >"$T/out" 2>"$T/err" &
	pid=$!
	net_await "the setup" test -e "$T/w/began"
	kill -s "$1" $pid
	wait $pid
	status=$?
	[ $status = "$2" ] || fail "$1: ended with $status: $(cat "$T/err")"
	[ ! -e "$T/w/ran" ] || fail "$1: the program was run"
	[ -z "$(survivors "$mark")" ] || fail "$1: the setup lives on"
	jq -e '.status == "killed" and .setup.status == "killed"' "$T/out" >/dev/null ||
		fail "$1: $(head -c 300 "$T/out")"
}
interrupted INT 130
interrupted TERM 143

# Neither phase may write a log of either.
for grant in w.setup w; do
	cat >"$T/log.json" <<JSON
{"version": 1, "extends": ["extended"], "phases": {"setup": {"filesystem": {"deny": ["$T/logs"]}},
	"run": {"filesystem": {"read": ["$T/logs"], "write": ["$T/logs/*.setup"]}}}}
JSON
	mkdir -p "$T/logs"
	rm -f "$T/logs/"*
	[ $grant = w ] && sed -i 's/logs\/\*.setup/logs/' "$T/log.json"
	cg run -p "$T/log.json" --audit "$T/logs/log" --setup true -- true 2>"$T/err" &&
		fail "$grant: a log that the program may write"
	grep -q 'could be written by the program' "$T/err" || fail "$grant: says $(cat "$T/err")"
done
if [ "$(id -u)" = 0 ]; then
	chown 54321 "$T/w"
	cg run --user 54321 --profile extended -w "$T/w" --audit "$T/w/log" -- true 2>"$T/err" &&
		fail "the same with --user"
	grep -q 'could be written by the program' "$T/err" || fail "--user: says $(cat "$T/err")"
	chown 0 "$T/w"
fi

# A secret is not kept where a setup may write, so it cannot have another file sent in its place.
echo outside >"$T/other"
echo inside >"$T/w/token"
cat >"$T/lead.json" <<JSON
{"version": 1, "extends": ["extended"], "secrets": {"TOKEN": {"from": "file:$T/w/token", "hosts": ["a.test"]}},
	"phases": {"run": {"network": {"allow": [{"host": "a.test"}]}}}}
JSON
cg run -p "$T/lead.json" -w "$T/w" --setup "ln -sf '$T/other' token" -- true 2>"$T/err"
status=$?
[ $status = 125 ] || fail "a secret in the workdir: ended with $status"
grep -q "TOKEN: $T/w/token lies where a run may write" "$T/err" || fail "a secret in the workdir: says $(cat "$T/err")"
[ ! -L "$T/w/token" ] || fail "a secret in the workdir: the setup was run"

# Killed outright, who waits takes the setup with it.
mark=phase-kill-$$
rm -rf "${T:?}/w/"*
"$CALLGATE" run -p "$T/closed.json" -w "$T/w" --setup \
	"exec $PYTHON -c 'import time; open(\"began\", \"w\"); time.sleep(600)' $mark" -- \
	touch ran >"$T/out" 2>"$T/err" &
pid=$!
net_await "the setup" test -e "$T/w/began"
kill -KILL $pid
wait $pid
gone() { [ -z "$(survivors "$mark")" ]; }
net_await "the end of the setup" gone
[ ! -e "$T/w/ran" ] || fail "KILL: the program was run"
cg run --profile extended -- true || fail "the run that sweeps: $?" # what the killed one left in scratch
