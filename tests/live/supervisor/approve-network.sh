#!/bin/bash
# "on_deny": "ask" of the network: a TCP connection waits for an answer, and reaches the endpoint that was asked about.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/../net.sh"
. "$(dirname "$0")/approve-lib.sh"
net_servers echo banner http udp
echo=$(net_port echo) banner=$(net_port banner) http=$(net_port http) udp=$(net_port udp)

# The endpoints of a.test and xn--… are granted if the answer permits it. b.test has an address that no answer opens.
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "extends": ["extended"], "filesystem": {"write": ["@workdir"]}, "network": {
"resolve": {"a.test": "127.0.0.1", "b.test": "127.0.0.1", "n.test": "127.0.0.1", "xn--80ak6aa92e.test": "127.0.0.1",
"h.test": "127.0.0.1", "u.test": "127.0.0.1"},
"allow": [{"host": "a.test", "port": [$echo, $banner], "proto": "tcp", "private": true},
{"host": "xn--80ak6aa92e.test", "port": $echo, "proto": "tcp", "private": true},
{"host": "h.test", "port": $http, "proto": "http", "private": true, "http": ["GET /ok"]},
{"host": "u.test", "port": $udp, "proto": "udp", "private": true},
{"host": "n.test", "port": $echo, "proto": "tcp", "private": true}],
"ask": [{"host": "*.test"}], "deny": [{"host": "n.test"}, {"host": "203.0.113.7", "on_deny": "ask"},
{"host": "169.254.169.254", "on_deny": "ask"},
{"host": "198.51.100.9", "port": 80}]}}
END

# talk ENDPOINT...: connects to each, and prints what came of it.
cat >"$T/w/talk.py" <<'END'
import socket, sys
for endpoint in sys.argv[1:]:
    host, port = endpoint.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), timeout=15) as s:
            s.sendall(b"hello\n")
            print(s.recv(100).decode().strip() or "nothing")
    except OSError as e:
        print(type(e).__name__)
END
approver once run no
asks "socket:$T/s" -- python3 talk.py "a.test:$echo" "a.test:$banner" "a.test:$banner" "a.test:$echo"
ended '.calls.approved == 3 and (.stdout | startswith("hello\n") and endswith("\nConnectionRefusedError\n") and
	([match("220 ready"; "g")] | length == 2))'
question 'length == 3 and (.[0].endpoint | .host == "a.test" and .proto == "tcp" and .port == '"$echo"')
	and .[0].right == "c" and .[0].rule_to_add == null and .[0].answers == ["once", "run", "no", "stop"]'
question '.[0].shown | index("wants to: connect") and index("host: \"a.test\"") and index("port: '"$echo"'")'
record '.answer == "once" and .verdict == "ask" and .effect == "performed" and .host == "a.test" and .asked_ns > 0'
record '.answer == "no" and .verdict == "deny" and .errno == "ECONNREFUSED" and .asked_ns > 0'
[ "$(jq -c 'select(.answer == "run" and .answered_how == "socket")' "$T/audit" | wc -l)" = 2 ] ||
	fail "not two by run: $(grep answer "$T/audit")"
[ "$(jq -c '[.network[] | select(.decision == "deny")] | length' "$T/result")" = 1 ] ||
	fail "not one denial in the result: $(jq -c .network "$T/result")"
"$CALLGATE" replay "$T/audit" -p "$T/p.json" --json >"$T/replay" || fail "replay: $(cat "$T/replay")"
jq -e '.newly_denied.count == 0 and .newly_allowed.count == 0 and
	(.not_replayable.groups | any(.class == "answered"))' "$T/replay" >/dev/null ||
	fail "replay: $(cat "$T/replay")"
for pair in "a.test:$echo=ask" "n.test:$echo=null" 169.254.169.254:80=null "198.51.100.9:80=null"; do
	"$CALLGATE" why -p "$T/p.json" -w "$T/w" --connect "${pair%=*}" --json >"$T/why"
	[ "$(jq -r .then "$T/why")" = "${pair#*=}" ] || fail "why: ${pair%=*}: $(cat "$T/why")"
done
echo "talked"

# Never asked about, or permitted: what a rule denies that does not ask, loopback, metadata; a name whose address is not
# public is not dialled, although the answer permits it. A name that may look like another is shown as such.
approver run
asks "socket:$T/s" -- python3 talk.py "xn--80ak6aa92e.test:$echo" "n.test:$echo" "169.254.169.254:80" \
	"127.0.0.1:$echo" "198.51.100.9:80" "b.test:$echo"
ended '.stdout == "hello\ngaierror\n" + "ConnectionRefusedError\n" * 4'
question 'length == 2 and .[1].endpoint.host == "b.test"'
question '.[0].shown | index("host: \"xn--80ak6aa92e.test\"") and any(startswith("note: the name has characters"))'
jq -se 'any(.event == "open" and .host == "b.test" and .verdict == "deny" and .reason == "denied_addr")' \
	"$T/audit" >/dev/null || fail "not refused: $(grep b.test "$T/audit")"

# Requests to an endpoint of an answer are judged as ever.
approver run
asks "socket:$T/s" -- python3 -c 'import http.client, sys
for path in "/ok", "/other":
    c = http.client.HTTPConnection("h.test", int(sys.argv[1]))
    c.request("GET", path)
    print(c.getresponse().status)' "$http"
ended '.stdout == "200\n403\n"'

# The address changes while the question waits, or other threads change it all the time: only what was asked is reached.
cat >"$T/w/swap.py" <<'END'
import ctypes, os, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def pack(name, port):
    return bytes(ctypes.c_uint16(socket.AF_INET)) + port.to_bytes(2, "big") + \
        socket.inet_aton(socket.gethostbyname(name)) + bytes(8)
good, evil = pack("a.test", int(sys.argv[1])), pack(sys.argv[3], int(sys.argv[2]))
address = ctypes.create_string_buffer(good, 16)
def swap():
    if sys.argv[4] == "flip":
        while True:
            ctypes.memmove(address, evil, 16)
            ctypes.memmove(address, good, 16)
    while not os.path.exists("swapped.asked"):
        time.sleep(0.01)
    ctypes.memmove(address, evil, 16)
    open("swapped", "w").close()
threading.Thread(target=swap, daemon=True).start()
# With "flip", at least until one is permitted: that takes the same address when it is asked about and when it is judged
# again, and ten questions a second are asked.
tries, connected, deadline = 0, 0, time.monotonic() + 15
while tries < (1 if sys.argv[4] == "once" else 15) or \
        (sys.argv[4] == "flip" and not connected and time.monotonic() < deadline):
    s = socket.socket(type=socket.SOCK_DGRAM if sys.argv[5:] else socket.SOCK_STREAM)
    s.settimeout(15)
    connected = libc.sendto(s.fileno(), b"x", 1, 0, address, 16) == 1 if sys.argv[5:] else \
        libc.connect(s.fileno(), address, 16) == 0
    print("connected" if connected else "denied")
    tries += 1
    if tries > 15:
        time.sleep(0.05)
END
approver "file:$T/w/swapped=once" no
asks "socket:$T/s" -- python3 swap.py "$echo" "$banner" a.test once
ended '.stdout == "denied\n" and .calls.approved == 0'
question 'length == 2 and .[0].endpoint.port == '"$echo"' and .[1].endpoint.port == '"$banner"
asks "command:jq -c '{id, answer: (if .endpoint.port == $echo then \"run\" else \"no\" end)}'" -- \
	python3 swap.py "$echo" "$banner" a.test flip
approver=
ended '.status == "ok"'
jq -se "[.[] | select(.event == \"open\" and .verdict == \"allow\")] | length > 0 and all(.port == $echo)" "$T/audit" \
	>/dev/null || fail "reached: $(grep -F '"open"' "$T/audit" | head -n 3)"

# Datagrams: sends to an address, and connects to an address that is none of a name, as resolvers connect to the latter.
# They are permitted until the run ends: "once" is not offered. In a container there may be no UDP.
cat >"$T/w/datagrams.py" <<'END'
import socket, sys
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as e:
        return type(e).__name__
u = socket.gethostbyname("u.test"), int(sys.argv[1])
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(15)
sent = attempt(s.sendto, b"one", u), attempt(s.sendto, b"two", u), attempt(s.sendmsg, [b"th", b"ree"], [], 0, u)
print(*sent, sorted(s.recv(100) for size in sent if isinstance(size, int)))
other = socket.socket(type=socket.SOCK_DGRAM)
print(attempt(other.connect, ("203.0.113.7", 9)), attempt(other.connect, ("203.0.113.7", 10)), other.getpeername())
print(attempt(other.connect, (u[0], 9)), attempt(other.send, b"x"), attempt(s.sendto, b"x", ("127.0.0.1", u[1])),
      attempt(s.sendto, b"x", ("169.254.169.254", 53)))
END
if [ -z "${OUTER_FILTER:-}" ]; then
	approver once run no run
	asks "socket:$T/s" -- python3 datagrams.py "$udp"
	ended '.calls.approved == 3 and (.denials | any(.answer == "malformed")) and
		(.stdout | startswith("ConnectionRefusedError 3 5 [b'"'three', b'two'"']\nConnection"))'
	question 'all(.answers == ["run", "no", "stop"] and .right == "c" and .endpoint.proto == "udp")'
	question 'map(.endpoint.host) == ["u.test", "u.test", "203.0.113.7", "203.0.113.7"] and
		.[2].syscall == "connect" and
		(.[1].shown | index("wants to: send datagrams") and index("call: sendto"))'
	rm -f "$T/w/swapped" "$T/w/swapped.asked"
	approver "file:$T/w/swapped=run" no
	asks "socket:$T/s" -- python3 swap.py "$udp" "$banner" u.test once udp
	ended '.stdout == "denied\n" and .calls.approved == 0'
	question 'map(.endpoint.port) == ['"$udp, $banner"'] and .[0].endpoint.proto == "udp"'
fi
# The same where pidfd_getfd is refused, so that sockets of endpoints are made in advance: in a namespace there is UDP.
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"
if [ "$(jq .enforcement.netns.active "$T/result")" = true ]; then
	approver run
	CALLGATE=$T/callgate asks "socket:$T/s" -- python3 datagrams.py "$udp"
	ended '.calls.approved == 4 and (.stdout | startswith("3 3 5 [b'"'one', b'three', b'two'"']\nNone None "))'
	question 'map(.endpoint.host) == ["u.test", "203.0.113.7", "203.0.113.7"]'
fi

# An approver that dies, answers for another question, or twice; no approver: denied.
for deed in die other; do
	approver $deed
	asks "socket:$T/s" --ask-timeout 200ms -- python3 talk.py "a.test:$echo"
	ended '.stdout == "ConnectionRefusedError\n"'
done
approver twice
asks "socket:$T/s" -- python3 talk.py "a.test:$echo"
ended '.stdout == "ConnectionRefusedError\n" and .calls.approved == 0'
cg run -p "$T/p.json" -w "$T/w" -- python3 talk.py "a.test:$echo" >"$T/out" 2>&1
grep -qx ConnectionRefusedError "$T/out" || fail "without an approver: $(cat "$T/out")"

# While one connection waits, others and other calls go on; silence is a timeout. Equal ones are one question.
approver hang
asks "socket:$T/s" --ask-timeout 4s -- python3 -c 'import socket, sys, threading, time
port = int(sys.argv[1])
def one():
    try: socket.create_connection((socket.gethostbyname("a.test"), port))
    except OSError: pass
threads = [threading.Thread(target=one) for i in range(3)]
for t in threads: t.start()
start = time.time()
for i in range(300): open("f", "w").close()
assert all(t.is_alive() for t in threads), time.time() - start
for t in threads: t.join()
print("went on")' "$echo"
ended '.stdout == "went on\n"'
question 'length == 1'
[ "$(jq -c 'select(.answer == "timeout" and .verdict == "deny")' "$T/audit" | wc -l)" = 3 ] || fail "not three timeouts"

# A flood: no more than five questions at once, and ten a second; the rest is denied without one.
approver "file:$T/w/go=no"
asks "socket:$T/s" -- python3 -c 'import socket, threading, time
address, refused = socket.gethostbyname("a.test"), []
def one(port):
    try: socket.create_connection((address, port))
    except OSError: refused.append(port)
threads = [threading.Thread(target=one, args=(port,)) for port in range(1000, 1100)]
for t in threads: t.start()
while len(refused) < 95: time.sleep(0.01) # those that are not asked about
open("go", "w").close()
for t in threads: t.join()'
question 'length == 5'
ended '.calls.approved == 0'
[ "$(jq -c 'select(.answer == "too_many")' "$T/audit" | wc -l)" -ge 90 ] ||
	fail "$(jq -r 'select(.answer) | .answer' "$T/audit" | sort | uniq -c)"

# The policy asks about what no rule names: a public address, a name; why says so.
jq '.on_deny = "ask" | del(.network.deny, .network.ask)' "$T/p.json" >"$T/p2.json" && mv "$T/p2.json" "$T/p.json"
approver no
asks "socket:$T/s" -- /usr/bin/python3 -ISB talk.py "203.0.113.7:443" "other.test:25" "a.test:1" "224.0.0.1:9"
ended '.stdout == "ConnectionRefusedError\n" * 3 + "OSError\n"'
question 'map(select(.endpoint)) | length == 3 and (map(.endpoint.host) == ["203.0.113.7", "other.test", "a.test"]) and
	.[0].endpoint.proto == "https" and .[1].rule_to_add.network.allow[0].host == "other.test"'
echo "connections, addresses that change, floods"
