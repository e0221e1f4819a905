#!/bin/bash
# --listen and --allow-private: what is suggested is an option that grants it, and why names the same.
. "$(dirname "$0")/../lib.sh"
need jq
cat >"$T/serve.py" <<'PY'
import socket, sys
s = socket.socket()
try:
    s.bind(("127.0.0.1", int(sys.argv[1])))
    s.listen()
    c = socket.create_connection(s.getsockname(), 5)
    c.sendall(b"hello")
    print(s.accept()[0].recv(5).decode())
except OSError as e:
    sys.exit(str(e))
PY
run()
{
	timeout -k 5 99 "$CALLGATE" run --json --profile python -r "$T/serve.py" "$@" </dev/null >"$T/result" 2>"$T/err"
}
suggested() { jq -r '[.denials[] | select(.op == "net") | .suggest] | first' "$T/result"; }

# wants PORT SUGGESTION: refused without, and served with what is suggested
wants()
{
	run --listen 1 -- "$PYTHON" "$T/serve.py" "$1" && fail "port $1 is granted"
	[ "$(suggested)" = "$2" ] || fail "port $1: suggests $(suggested): $(cat "$T/err")"
	# shellcheck disable=SC2086 # an option and its value
	run $2 -- "$PYTHON" "$T/serve.py" "$1"
	[ "$(jq -r .stdout "$T/result")" = hello ] || fail "$2: $(jq -c '[.stdout, .stderr, .denials]' "$T/result")"
}
wants 18000 '--listen 18000'
wants 0 '--listen 0'
for listen in '*' 17000-18100; do
	run --listen "$listen" -- "$PYTHON" "$T/serve.py" 18001 || fail "--listen $listen: $(jq -r .stderr "$T/result")"
done
run --listen 18000 --listen 18002 -- "$PYTHON" "$T/serve.py" 18002 || fail "two ports: $(jq -r .stderr "$T/result")"
run --listen 17000-18000 -- "$PYTHON" "$T/serve.py" 18001 && fail "a port beyond the range"

# why
why() { timeout 100 "$CALLGATE" why "$@" >"$T/why" 2>&1; }
why --listen 8000 --json
[ $? = 1 ] || fail "why --listen: exit status"
jq -e '.verdict == "deny" and .op == "listen" and .suggest == "--listen 8000"' "$T/why" >/dev/null ||
	fail "why --listen: $(cat "$T/why")"
echo '{"version": 1, "network": {"listen": ["7000-8000"]}}' >"$T/policy.json"
why -p "$T/policy.json" --listen 8000 || fail "why --listen where it is granted: $(cat "$T/why")"
grep -q 'rule .*network.listen' "$T/why" || fail "why --listen names no rule: $(cat "$T/why")"
why -p "$T/policy.json" --listen 0 && fail "why --listen 0 of a range"
why --connect 127.0.0.1:8000 && fail "why --connect of the loopback"
grep -q 'to allow  --listen 8000 ' "$T/why" || fail "why --connect of the loopback: $(cat "$T/why")"
why --allow-host a.test --connect a.test:443
grep -q 'need --allow-private a.test:443' "$T/why" || fail "why --connect: $(cat "$T/why")"
why --allow-private a.test --connect a.test:443
grep -q 'also private ones' "$T/why" || fail "why --allow-private: $(cat "$T/why")"
# the rule of a file becomes private, too
echo '{"version": 1, "network": {"allow": [{"host": "a.test", "http": ["GET /**"]}],
	"resolve": {"a.test": "10.0.0.1"}}}' >"$T/policy.json"
why -p "$T/policy.json" --connect a.test:443
[ $? = 125 ] || fail "a private address without \"private\" is good"
why -p "$T/policy.json" --allow-private a.test --url 'GET https://a.test/x' || fail "a file's rule: $(cat "$T/why")"
grep -q 'permitted by "private"' "$T/why" || fail "a file's rule is not private: $(cat "$T/why")"

for value in 0x1 65536 -1 9-8 '' a; do
	timeout 100 "$CALLGATE" show --listen "$value" >"$T/out" 2>&1
	[ $? = 125 ] || fail "--listen '$value' is taken"
done
timeout 100 "$CALLGATE" show --no-net --listen 8000 >"$T/out" 2>&1
[ $? = 125 ] || fail "--no-net --listen 8000 is taken"

# a name that has a private address: only root can give one a name here
cat >"$T/connect.py" <<'PY'
import socket
try:
    socket.create_connection(("far.test", 9), 1)
except OSError as e:
    print(e)
PY
printf '127.0.0.1 localhost\n10.99.0.1 far.test\n' >"$T/hosts"
export T CALLGATE
# shellcheck disable=SC2016 # the inner shell's
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	for option in --allow-host --allow-private; do
		unshare -m sh -c 'mount --bind "$T/hosts" /etc/hosts && exec timeout -k 5 300 "$CALLGATE" run --json \
			--profile python -r "$T/connect.py" "$@" </dev/null' sh $option far.test:9 -- \
			"$PYTHON" "$T/connect.py" >"$T/result" 2>"$T/err"
		want='--allow-private far.test:9'
		[ $option = --allow-private ] && want=null
		[ "$(suggested)" = "$want" ] || fail "$option: suggests $(suggested): $(cat "$T/err")"
	done
else
	echo "not root: no name was given a private address"
fi
exit 0
