#!/bin/bash
# session exec --inspect, and "inspect" of a session's policy: programs are looked at as the session has them, before
# they start; a client that does not look is refused.
. "$(dirname "$0")/../lib.sh"
need python3 jq
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
mkdir "$T/w" "$T/w/sub"
cat >"$T/w/bad.py" <<'END2'
import base64
exec(base64.b64decode("cHJpbnQoMSk="))
END2
echo 'print("harmless")' >"$T/w/good.py"
echo 'import helper; print(helper.text)' >"$T/w/own.py"
echo 'text = "own"' >"$T/w/helper.py"
cp "$T/w/bad.py" "$T/w/sub/good.py"
policy='"version": 1, "name": "looked", "extends": ["python"], "filesystem": {"write": ["@workdir"],
	"exec": ["/usr", "/bin"]}'
echo "{$policy}" >"$T/plain.json"
echo "{$policy, \"inspect\": {\"refuse\": [\"alarm\"]}}" >"$T/inspect.json"
echo "{$policy, \"inspect\": {\"modules\": [\"numpy\"]}}" >"$T/modules.json"

session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

# make POLICY [OPTION…]: a session; sets id.
make()
{
	id=$(session create -p "$T/$1.json" -w "$T/w" "${@:2}" 2>"$T/err") || die "session create: $(cat "$T/err")"
}

# runs EXPECTED ARGUMENT…; refused ARGUMENT…: what a program of the session prints; that it is not started.
runs()
{
	session exec "${@:2}" >"$T/out" 2>"$T/err" || fail "exec ${*:2}: $(cat "$T/err")"
	[ "$(cat "$T/out")" = "$1" ] || fail "exec ${*:2}: $(cat "$T/out" "$T/err")"
}
refused()
{
	session exec "$@" >"$T/out" 2>"$T/err"
	[ $? = 126 ] || fail "started: exec $*: $(cat "$T/out" "$T/err")"
	grep -q 'not started, because of what was found in it: ' "$T/err" || fail "exec $*: $(cat "$T/err")"
	[ ! -s "$T/out" ] || fail "started: exec $*: $(cat "$T/out")"
}

# ---- without "inspect" in the policy: when the client wants it ----
make plain
runs 1 "$id" -- python3 bad.py
refused --inspect "$id" -- python3 bad.py
grep -q 'bad.py:2: ' "$T/err" || fail "no line: $(cat "$T/err")"
refused --inspect -q --cwd "$T/w/sub" "$id" -- python3 good.py # as the program would find it
runs harmless --inspect "$id" -- python3 good.py
refused --inspect "$id" -- python3 -c "$(cat "$T/w/bad.py")"
refused --inspect -i "$id" -- python3 - <"$T/w/bad.py"
refused --inspect "$id" -- python3 -m bad
echo 'python3 bad.py' >"$T/w/bad.sh"
refused --inspect "$id" -- sh bad.sh
mkdir "$T/w/home" && cp "$T/w/bad.sh" "$T/w/home/.bash_login"
refused --inspect -e BASH_ENV=bad.sh "$id" -- bash -c :
refused --inspect -e HOME=home "$id" -- bash -lc :
# What was changed between the look and the end: replaced, removed; not what is as it was.
cp "$T/w/good.py" "$T/w/gone.py"
runs harmless --inspect "$id" -- sh -c \
	'cp -p good.py n; mv n good.py; python3 good.py; python3 own.py >n; rm gone.py; python3 gone.py 2>n; :'
[ "$(sort "$T/err")" = 'callgate session: inspect: gone.py: was removed after it was looked at
callgate session: inspect: good.py: was changed after it was looked at' ] || fail "changed: $(cat "$T/err")"
runs harmless --inspect -q "$id" -- sh -c 'cp -p good.py n; mv n good.py; python3 good.py'
[ ! -s "$T/err" ] || fail "changed, quietly: $(cat "$T/err")"
session exec --inspect --json "$id" -- sh -c 'cp -p good.py n; mv n good.py; python3 good.py' >"$T/out" 2>"$T/err"
jq -e '.status == "ok" and (.inspect.refused | not) and .inspect.changed == ["good.py"]' "$T/out" >/dev/null ||
	fail "changed, of the result: $(cat "$T/out")"
session exec --inspect --json "$id" -- python3 bad.py >"$T/out" 2>"$T/err"
jq -e '.status == "refused" and .exit_code == 126 and .error.code == "inspect" and .inspect.refused and
	.inspect.changed == [] and (.inspect.findings | any(.file == "bad.py" and .line == 2 and .level == "alarm"))' \
	"$T/out" >/dev/null ||
	fail "refused, of the result: $(cat "$T/out")"
session exec --json "$id" -- python3 good.py | jq -e 'has("inspect") | not' >/dev/null || fail "not looked at, but told"
session inspect "$id" python3 bad.py >"$T/out" 2>"$T/err"
if [ $? != 126 ] || [ -s "$T/out" ] || ! grep -q 'would not be started: bad.py:2: ' "$T/err"; then
	fail "session inspect: $(cat "$T/out" "$T/err")"
fi
session inspect --json -q "$id" -- python3 good.py >"$T/seen" || fail "session inspect: $?"
jq -e '.refused == false and .findings == [] and [.seen[].name] == ["python3", "good.py"]' "$T/seen" >/dev/null ||
	fail "session inspect --json: $(cat "$T/seen")"
# Many warnings: a part is left out, and nothing that refuses.
# shellcheck disable=SC2016
python3 -c 'for i in range(210): print("eval $X%d" % i)' >"$T/w/many.sh"
cat "$T/w/bad.sh" >>"$T/w/many.sh"
session inspect --json -q "$id" -- sh many.sh >"$T/out"
jq -e '.refused and (.findings | length) == 200 + 1 and .unlisted > 10 and
	.findings[-1].file == "bad.py" and .findings[-1].level == "alarm"' "$T/out" >/dev/null ||
	fail "many: $(jq -c '[.refused, .unlisted, (.findings | length), .findings[-1]]' "$T/out")"
session inspect "$id" -- sh many.sh 2>&1 | grep -q 'inspect: many.sh: and [0-9]* more' || fail "many, as text"
for request in '' '[]' '{}' '{"argv": []}' '{"argv": [1]}' '{"code": "x"}' '{"code": "x", "type": "y"}' \
	'{"argv": ["true"], "cwd": 1}' '{"argv": ["true"], "env": []}' '{"seen": [{}]}' '{"seen": 1}'; do
	echo "$request" | session inspect --request "$id" >"$T/out" 2>"$T/err"
	if [ $? != 125 ] || [ -s "$T/out" ] || ! grep -q 'standard input: ' "$T/err"; then
		fail "$request: $(cat "$T/out" "$T/err")"
	fi
done
echo '{"code": "eval(x)", "type": "python"}' | session inspect --request "$id" >"$T/out" || fail "code: $?"
jq -e '.findings[0] | .file == "code" and .kind == "dynamic"' "$T/out" >/dev/null || fail "code: $(cat "$T/out")"
session inspect --request "$id" <"$T/seen" >"$T/out" && touch "$T/w/good.py"
jq -e '.changed == [] and .added == [] and .removed == []' "$T/out" >/dev/null || fail "unchanged: $(cat "$T/out")"
session inspect --request "$id" <"$T/seen" >"$T/out"
jq -e '.changed == ["good.py"]' "$T/out" >/dev/null || fail "changed: $(cat "$T/out")"
session stop "$id"

# ---- with it: always, and a client that does not look is told ----
make inspect --audit "$T/audit"
refused "$id" -- python3 bad.py
# recorded REGEX: it comes on record. The session takes what a client tells when that may have ended.
recorded()
{
	awaited grep -qa "$1" "$T/audit" || fail "not on record: $1, but: $(grep -a inspect "$T/audit")"
}
recorded '"event":"inspect","cause":"bad.py:2: .*"path":"python3".*"verdict":"deny"'
runs harmless "$id" -- python3 good.py
runs harmless "$id" -- sh -c 'cp -p good.py n; mv n good.py; python3 good.py'
recorded '"event":"inspect","cause":"good.py","path":"sh".*"verdict":"allow".*"reason":"changed_after_look"'
[ "$("$CALLGATE" audit show --event inspect "$T/audit" | grep -c 'inspect ')" = 2 ] ||
	fail "audit show: $("$CALLGATE" audit show --event inspect "$T/audit")"
[ "$("$CALLGATE" audit show --event inspect --denied --json "$T/audit" | wc -l)" = 1 ] || fail "audit show --denied"

# What cannot be looked at, since another process has a lease on it, is told as that. At the end it is on record as not
# known, together with what is known.
cat >"$T/lease.py" <<'END2'
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
sys.stdin.read()
END2
mkfifo "$T/hold"
lease() # FILE: takes a lease, until unlease. False: this file system has none.
{
	: >"$T/leased"
	"$PYTHON" "$T/lease.py" "$1" <"$T/hold" >"$T/leased" 2>&1 9>&- &
	leaser=$!
	exec 8>"$T/hold"
	until [ -s "$T/leased" ]; do sleep 0.05; done
	grep -qx leased "$T/leased"
}
unlease()
{
	exec 8>&-
	wait "$leaser"
}
if lease "$T/w/good.py"; then
	session exec "$id" -- python3 good.py >"$T/out" 2>"$T/err" && fail "not looked at, and started"
	grep -q 'good.py: a file cannot be looked at: .*another process has a lease on it' "$T/err" ||
		fail "a lease: $(cat "$T/err")"
	unlease
	mkfifo "$T/go"
	session exec -i "$id" -- sh -c 'python3 good.py; touch helper.py; read x; python3 own.py' <"$T/go" \
		>"$T/out" 2>"$T/err" &
	client=$!
	exec 9>"$T/go"
	until [ -s "$T/out" ]; do sleep 0.05; done
	lease "$T/w/good.py" || fail "no second lease: $(cat "$T/leased")"
	exec 9>&-
	wait "$client"
	grep -q 'it is not known whether files were changed .*: a file cannot be looked at: .*lease' "$T/err" ||
		fail "not known: $(cat "$T/err")"
	recorded '"cause":"a file cannot be looked at: .*lease.*"path":"sh".*"reason":"changes_unknown"'
	unlease
	session exec --json -i "$id" -- sh -c 'python3 good.py; touch up; read x; :' <"$T/go" >"$T/out" 2>"$T/err" &
	client=$!
	exec 9>"$T/go"
	until [ -e "$T/w/up" ]; do sleep 0.05; done
	lease "$T/w/good.py" || fail "no third lease: $(cat "$T/leased")"
	exec 9>&-
	wait "$client"
	jq -e '.status == "ok" and .inspect.changes_unknown' "$T/out" >/dev/null ||
		fail "not known, of the result: $(cat "$T/out")"
	unlease
fi
cat >"$T/client.py" <<'END2'
import json, os, socket, sys
def ask(**request):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(sys.argv[1])
    null = [os.open("/dev/null", os.O_RDWR)] * 3
    socket.send_fds(client, [json.dumps(request).encode()], null if request["op"] == "exec" else [])
    data, fds, _, _ = socket.recv_fds(client, 1 << 20, 4)
    return json.loads(data), [os.read(fd, 99) for fd in fds]
for said in ({}, {"inspected": False}, {"inspected": "yes"}, {"inspected": 1}):
    print(ask(op="exec", argv=["true"], **said)[0]["error"]["code"])
for path in ("/etc/shadow", "/proc/self/environ", "/dev/null", "sub", "none", "../p", "", 7, None):
    answer, fds = ask(op="look", path=path)
    print("path" in answer, fds, answer["inspect"]["refuse"] > 0)
print(ask(op="look", path="good.py")[1], ask(op="look", path="good.py", cwd=sys.argv[2])[1])
END2
"$PYTHON" "$T/client.py" "$(echo "$T"/tmp/callgate-*/session-"$id")" "$T/w/sub" >"$T/out" 2>&1
{
	for _ in 1 2 3 4; do echo not_inspected; done
	for _ in 1 2 3 4 5 6 7 8 9; do echo "False [] True"; done
	printf '%s\n' "[b'print(\"harmless\")\\n'] [b'import base64\\nexec(base64.b64decode(\"cHJpbnQoMSk=\"))\\n']"
} | cmp -s - "$T/out" || fail "other clients: $(cat "$T/out")"
session stop "$id"
make modules --env BASH_ENV=env.sh
runs own "$id" -- python3 own.py
refused "$id" -- python3 -c 'import ctypes_not_there'
cp "$T/w/bad.sh" "$T/w/env.sh"
refused "$id" -- bash -c : # by a variable of the session
session stop "$id"

# ---- what a program of the session has written, where the directory stays as it is ----
if id=$(session create -p "$T/inspect.json" -w "$T/w" --cow 2>"$T/err"); then
	runs "" "$id" -- sh -c 'cp bad.py good.py'
	refused "$id" -- python3 good.py
	runs "" "$id" -- sh -c "echo 'print(7)' >bad.py"
	runs 7 "$id" -- python3 bad.py
	session stop "$id"
	"$CALLGATE" ws discard "$id" || fail "discard"
fi

# ---- no room for a file's content, which the look is the first to read: that is not the same as "no such file" ----
# On --cow=copy, the content comes with the first opening, and counts for limits.disk.
{
	printf '#!/usr/bin/python3\nimport base64\nexec(base64.b64decode("cHJpbnQoMSk="))\n#'
	head -c 3M /dev/zero | tr '\0' x
} >"$T/w/large.py"
chmod 755 "$T/w/large.py"
sed 's,"exec": \[,&"@workdir"\, ,' "$T/inspect.json" >"$T/execs.json"
if id=$(session create -p "$T/execs.json" -w "$T/w" --cow=copy --disk 4M 2>"$T/err"); then
	runs "" "$id" -- sh -c 'head -c 2M /dev/zero >filler'
	for command in ./large.py 'python3 large.py' 'sh -c ./large.py'; do
		# shellcheck disable=SC2086 # words
		session exec "$id" -- $command >"$T/out" 2>"$T/err"
		if [ $? != 125 ] || [ -s "$T/out" ] || ! grep -q 'large.py: a file cannot be looked at: ' "$T/err"; then
			fail "no room: $command: $(cat "$T/out" "$T/err")"
		fi
	done
	session inspect --json "$id" -- ./large.py >"$T/out" 2>"$T/err"
	if [ $? != 125 ] || [ -s "$T/out" ]; then fail "no room: inspect: $(cat "$T/out" "$T/err")"; fi
	session stop "$id"
	"$CALLGATE" ws discard "$id" || fail "discard"
else
	fail "session with --cow=copy: $(cat "$T/err")"
fi

# ---- too few descriptors: of the session, and of the client that looks ----
id=$(ulimit -n 100 && session create -p "$T/execs.json" -w "$T/w" 2>"$T/err") || die "session create: $(cat "$T/err")"
cat >"$T/full.py" <<'END2'
import json, os, select, socket, sys
def connect():
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(sys.argv[1])
    client.settimeout(100)
    return client
def ask(client, **request):
    client.send(json.dumps(request).encode())
    data, fds, _, _ = socket.recv_fds(client, 1 << 20, 4)
    for fd in fds:
        os.close(fd)
    return json.loads(data)
first = connect()
assert "path" in ask(first, op="look", path="large.py")
others = []
while len(others) < 200:
    others.append(connect())
    others[-1].send(b'{"op": "usage"}')
    for _ in range(2): # each of which it reads after it has accepted whom it can
        ask(first, op="usage")
    if not select.select([others[-1]], [], [], 0.5)[0]:
        break # the session accepts no more
    others[-1].recv(1 << 20)
print(ask(first, op="look", path=sys.argv[2], program=len(sys.argv) > 3).get("error", {}).get("code"))
END2
for name in 'large.py' './large.py program' 'python3 program'; do
	# shellcheck disable=SC2086 # words
	"$PYTHON" "$T/full.py" "$(echo "$T"/tmp/callgate-*/session-"$id")" $name 2>&1
done >"$T/out"
[ "$(sort -u "$T/out")" = unavailable ] || fail "a full table of descriptors: $(cat "$T/out")"
for count in 5 6 7 8 9; do
	(ulimit -n "$count" && session exec "$id" -- ./large.py) >"$T/out" 2>"$T/err"
	if [ $? != 125 ] || grep -q 'cannot ask' "$T/err"; then
		fail "$count descriptors: $(cat "$T/out" "$T/err")" # the look had nothing to say
	fi
done
session stop "$id"
exit 0
