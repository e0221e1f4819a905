#!/bin/bash
# The audit log of the network: one open and one close for each connection, however it ends; every request, as the
# server saw it; the totals in the result.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_servers http echo
http=$(net_port http) echo=$(net_port echo)
net_policy "{
	\"allow\": [
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\", \"POST /echo\"]},
		{\"host\": \"raw.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true},
		{\"host\": \"down.test\", \"port\": 1, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"plain.test\": \"127.0.0.1\", \"raw.test\": \"127.0.0.1\", \"down.test\": \"127.0.0.1\"}}"

cat >"$T/home/many.py" <<PY
import http.client, os, signal, socket, struct, threading

def raw():
    return socket.create_connection(("raw.test", $echo), 60)

def talk(s):
    s.sendall(b"x" * 100)
    got = 0
    while got < 100:
        got += len(s.recv(100))

def requests():
    c = http.client.HTTPConnection("plain.test", $http, timeout=60)
    for i in range(10):
        c.request("GET", "/ok?n=%d" % i)
        assert c.getresponse().read() == b"ok\n"
    c.request("GET", "/size/3")  # refused
    assert c.getresponse().read() and True
    c.close()

def whole():
    s = raw()
    talk(s)
    s.close()

def reset():
    s = raw()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()

def given_up():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((raw_address, $echo))
    s.close()

def refused():
    try:
        socket.create_connection(("down.test", 1), 60)
        raise SystemExit("down.test is there")
    except ConnectionRefusedError:
        pass

def inherited():
    s = raw()
    pid = os.fork()
    if pid == 0:
        talk(s)
        os._exit(0)
    s.close()
    assert os.waitpid(pid, 0)[1] == 0

def killed():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        s = raw()
        talk(s)
        os.write(write, b"x")
        signal.pause()
    assert os.read(read, 1) == b"x"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

raw_address = socket.gethostbyname("raw.test")
for f in inherited, killed:
    for _ in range(5):
        f()
threads = [threading.Thread(target=f) for f, n in ((requests, 20), (whole, 100), (reset, 40),
                                                            (given_up, 20), (refused, 10))
           for _ in range(n)]
for t in threads:
    t.start()
for t in threads:
    t.join()
left = [raw() for _ in range(15)]  # open at the end
for s in left:
    talk(s)
print("done")
PY

# records FILTER: one line each of what jq makes of the records about the network.
records()
{
	jq -c "select(.event != null) | $1" "$T/audit"
}

for without in "" netns namespaces; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	: >"$NET/access"
	net_run -r "$T/home" --json -- "$PYTHON" "$T/home/many.py" >"$T/result" 2>"$T/err" ||
		fail "${where}status $?: $(cat "$T/err"; jq -c '{status, stdout, stderr, error}' "$T/result")"
	[ "$(jq -r .stdout "$T/result")" = "done" ] || fail "${where}$(jq -c '{stdout, stderr}' "$T/result")"

	# Each connection: its records in order, one open, one close, nothing after it; all numbers are there.
	odd=$(records 'select(.conn != null)' | jq -sc 'group_by(.conn)[] | sort_by(.seq) | map(.event)
		| select((.[0] == "open" and .[-1] == "close" and ([.[] | select(. != "request")] | length) == 2 | not)
			and . != ["close"])') # given up before its upstream was there
	[ -z "$odd" ] || fail "${where}records of a connection: $(head -n 5 <<<"$odd")"
	closes=$(records 'select(.event == "close") | .conn' | sort -n | uniq -d)
	[ -z "$closes" ] || fail "${where}closed twice: $closes"
	connects=$(jq -s '[.[] | select(.syscall == "connect" and .proto == "tcp" and .verdict == "allow")] |
		length' "$T/audit")
	ends=$(records 'select(.event == "close")' | jq -s length)
	[ "$connects" = "$ends" ] || fail "${where}$connects connects, $ends closes"
	[ "$(records 'select(.event == "close") | .conn' | jq -s 'max')" = "$ends" ] ||
		fail "${where}a number is missing"

	# Requests as the server saw them.
	[ "$(records 'select(.event == "request" and .verdict == "allow" and .ret == 200)' | jq -s length)" = 200 ] ||
		fail "${where}requests: $(records 'select(.event == "request") | .ret' | sort | uniq -c)"
	[ "$(jq -s '[.[] | select(.kind == "http")] | length' "$NET/access")" = 200 ] ||
		fail "${where}the server saw others"
	[ "$(records 'select(.event == "request" and .verdict == "deny") | .reason' | sort -u)" \
		= '"path_not_granted"' ] ||
		fail "${where}refused requests"

	# The result's sums.
	entry=$(jq -c '.network[] | select(.path == "/ok?…") | [.method, .status, .decision, .count]' "$T/result")
	[ "$entry" = '["GET",200,"allow",200]' ] || fail "${where}result: $(jq -c '.network[]' "$T/result")"
	entry=$(jq -c '[.network[] | select(.host == "plain.test" and .decision == "deny") | .count] | add' "$T/result")
	[ "$entry" = 20 ] || fail "${where}refused in the result: $entry"
	entry=$(jq -c '[.network[] | select(.host == "raw.test") | .bytes_up] | add' "$T/result")
	[ "$entry" = 12500 ] || fail "${where}bytes in the result: $entry"
	entry=$(jq -c '[.network[] | select(.host == "down.test") | [.decision, .reason]] | unique' "$T/result")
	[ "$entry" = '[["allow","connect_failed"]]' ] || fail "${where}a server that is down: $entry"
	[ "$(jq -c '[.denials[] | select(.event != null) | [.event, .target, .count]]' "$T/result")" = \
		"[[\"request\",\"GET plain.test:$http/size/3\",20]]" ] ||
		fail "${where}denials: $(jq -c .denials "$T/result")"
done
