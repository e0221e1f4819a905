#!/bin/bash
# "on_deny": "ask" of an endpoint's "http": a request that it does not permit waits for an answer, and is what was asked
# about when it is forwarded.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/../net.sh"
. "$(dirname "$0")/approve-lib.sh"
net_servers http
http=$(net_port http)
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "extends": ["extended"], "filesystem": {"write": ["@workdir"]}, "network": {
"resolve": {"h.test": "127.0.0.1", "all.test": "127.0.0.1", "only.test": "127.0.0.1"},
"allow": [{"host": "h.test", "port": $http, "proto": "http", "private": true, "http": ["GET /ok"], "on_deny": "ask"},
{"host": "all.test", "port": $http, "proto": "http", "private": true}],
"ask": [{"host": "all.test", "port": $http, "proto": "http", "private": true, "http": ["DELETE /**", "* /echo"]},
{"host": "only.test", "port": $http, "proto": "http", "private": true, "http": ["GET /ok"]}]}}
END

# The program: text() writes a request, take() reads a response's status and body, ask() does both on a connection.
cat >"$T/w/t.py" <<END
import os, socket, threading
class Connection:
    def __init__(self, host="h.test"):
        self.socket = socket.create_connection((host, $http), timeout=15)
        self.reader = self.socket.makefile("rb")
    def take(self):
        status, length = int(self.reader.readline().split()[1]), 0
        while (line := self.reader.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, self.reader.read(length).decode()
    def ask(self, *request):
        self.socket.sendall(text(*request))
        return self.take()
def text(method, target, body=b"", host=b"h.test:$http"):
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s" % (method, target, host, length, body)
END

# Once, no, run; a permitted request on the same connection; what no answer opens is not asked about; a pipelined one
# stays behind the one that waits. What forges a text is shown as such.
cat >"$T/w/talk.py" <<'END'
from t import *
c = Connection()
print(c.ask(b"POST", b"/echo?b=%0a2", b"hello"), c.ask(b"GET", b"/ok"))
status, body = c.ask(b"DELETE", b"/x/../status/204")
print(status, '"path_not_granted"' in body, c.ask(b"GET", b"/ok"))
print(c.ask(b"GET", b"/status/204"), c.ask(b"GET", b"/status/204?x"), Connection().ask(b"GET", b"/status/204"))
c.socket.sendall(text(b"POST", b"/echo", b"first") + text(b"POST", b"/echo", b"second") + text(b"GET", b"/ok"))
print([c.take() for i in range(3)])
print(c.ask(b"GET", b"/ok/%e2%80%ae/%22answer:%20once?'\";answer")[0])
print(c.ask(b"POST", b"/echo", b"x", b"other.test")[0], Connection().ask(b"TRACE", b"/ok")[0],
      Connection().ask(b"GET", b"/echo", b"hidden")[0])
END
approver once no run once once once
asks "socket:$T/s" -- python3 talk.py
ended '.calls.approved == 7 and (.stdout | split("\n") == ["(200, '"'hello') (200, 'ok\\\\n')"'",
	"403 True (200, '"'ok\\\\n'"')", "(204, '"''"') (204, '"''"') (204, '"''"')",
	"[(200, '"'first'), (200, 'second'), (200, 'ok\\\\n'"')]", "200", "421 403 403", ""])'
question 'length == 6 and (.[0] | .right == "h" and .endpoint.host == "h.test" and .endpoint.proto == "http" and
	.request == {"method": "POST", "path": "/echo", "query": "?b=%0a2", "websocket": false, "body_bytes": 5} and
	.rule_to_add.network.allow[0].http == ["POST /echo"] and .answers == ["once", "run", "no", "stop"])'
question '.[0].shown | index("wants to: send an HTTP request") and index("method: \"POST\"") and
	index("path: \"/echo\"") and index("query: \"?b=%0a2\"") and index("body: 5 bytes, which are not shown") and
	any(startswith("program: \"/usr/bin/python3"))'
question '.[1].request.path == "/status/204" and
	(.[5].shown | all(test("^[ -~]*$")) and (join("\n") | test("\nanswer") | not))'
record '.event == "request" and .answer == "once" and .verdict == "ask" and .effect == "performed" and
	.path == "/echo?…" and .answered_how == "socket" and .asked_ns > 0 and .ret == 200'
record '.event == "request" and .answer == "no" and .verdict == "deny" and .reason == "path_not_granted"'
jq -se '[.[] | select(.answer == "run" and .verdict == "ask")] | length == 3' "$T/audit" >/dev/null ||
	fail "not three by run"
jq -e '.denials | any(.answer == "no")' "$T/result" >/dev/null ||
	fail "no answer in the result: $(jq -c .denials "$T/result")"
[ "$(jq -r .path "$NET/access" | grep -c '^/echo')" = 3 ] || fail "reached: $(cat "$NET/access")"
"$CALLGATE" replay "$T/audit" -p "$T/p.json" --json >"$T/replay" || fail "replay: $(cat "$T/replay")"
jq -e '.not_replayable.groups | any(.class == "answered")' "$T/replay" >/dev/null || fail "replay: $(cat "$T/replay")"
for pair in "POST http://h.test:$http/x=ask" "GET http://h.test:$http/ok=null" "TRACE http://h.test:$http/x=null"; do
	"$CALLGATE" why -p "$T/p.json" -w "$T/w" --url "${pair%=*}" --json >"$T/why"
	[ "$(jq -r .then "$T/why")" = "${pair#*=}" ] || fail "why: ${pair%=*}: $(cat "$T/why")"
done
echo "once, no, run"

# A client that closes withdraws its question: an answer that comes then has no effect. Meanwhile all else goes on.
cat >"$T/w/leave.py" <<'END'
from t import *
gone, stays = Connection(), Connection()
gone.socket.sendall(text(b"POST", b"/echo?gone", b"x" * 300000)[:100000])
Connection().ask(b"GET", b"/ok")
gone.reader.close()
gone.socket.close()
stays.socket.sendall(text(b"POST", b"/echo?stays", b"stays"))
print([Connection().ask(b"GET", b"/ok")[0] for i in range(20)])
open("go", "w").close()
print(stays.take())
END
approver late:once "file:$T/w/go=remember"
asks "socket:$T/s" --approvals "$T/approvals" -- python3 leave.py
ended '.stdout == "[" + ([range(20)] | map("200") | join(", ")) + "]\n(200, '"'stays'"')\n" and .calls.approved == 1'
record '.answer == "withdrawn" and .verdict == "deny" and .path == "/echo?…"'
jq -e '.endpoint.host == "h.test" and .request.path == "/echo"' "$T/approvals" >/dev/null ||
	fail "$(cat "$T/approvals")"
! grep -q gone "$NET/access" || fail "forwarded: $(grep gone "$NET/access")"

# What is remembered is not asked again. Equal questions are one, unless each request would change something (PUT). A
# flood is refused without. Silence is a timeout.
cat >"$T/w/flood.py" <<'END'
from t import *
print(Connection().ask(b"POST", b"/echo", b"again"))
all_ = [Connection() for i in range(43)]
for i, c in enumerate(all_):
    c.socket.sendall(text(b"GET" if i < 3 else b"PUT", b"/flood/%d" % (0 if i < 3 else max(1, i - 3))))
Connection().ask(b"GET", b"/ok")
open("asked", "w").close()
print({c.take()[0] for c in all_}, flush=True)
Connection().ask(b"PUT", b"/stop")
print("went on")
END
no=file:$T/w/asked=no
approver "$no" "$no" "$no" "$no" "$no" stop
asks "socket:$T/s" --approvals "$T/approvals" -- python3 flood.py
ended '.stdout == "(200, '"'again'"')\n{403}\n" and .calls.approved == 1 and
	.status == "killed" and .termination.cause == "answer"'
record '.answer == "remember" and .answered_how == "remembered" and .verdict == "ask" and .ret == 200'
question 'length == 6'
jq -rs '[.[] | select(.answer) | .answer] | group_by(.) | map("\(.[0])=\(length)") | join(" ")' "$T/audit" >"$T/counts"
grep -qx 'no=7 remember=1 stop=1 too_many=36' "$T/counts" || fail "answers: $(cat "$T/counts")"
# Where the policy kills for other denials, one that is asked about does nothing to the process, whatever is answered.
# In a container there may be no UDP: then it kills for the resolver's socket.
echo '{"version": 1, "on_deny": "kill"}' >"$T/kill.json"
kill=(-p "$T/kill.json")
[ -z "${OUTER_FILTER:-}" ] || kill=()
approver late:once no
asks "socket:$T/s" "${kill[@]}" -- python3 -c 'from t import *
gone = Connection()
gone.socket.sendall(text(b"PUT", b"/gone"))
Connection().ask(b"GET", b"/ok")
gone.reader.close()
gone.socket.close()
print(Connection().ask(b"PUT", b"/late")[0], Connection().ask(b"GET", b"/ok")[0])'
ended '.status == "ok" and .stdout == "403 200\n"'
record '.answer == "withdrawn" and .verdict == "deny" and .reason == "cancelled" and .path == "/gone"'
record '.answer == "no" and .verdict == "deny" and .path == "/late"'
approver hang
asks "socket:$T/s" --ask-timeout 100ms "${kill[@]}" -- python3 -c 'from t import *
print(*(Connection().ask(method, b"/late")[0] for method in (b"*", b"WEBSOCKET")))'
# In a rule these methods would be a wildcard, and websockets: no rule is suggested.
question 'map(.request.method) == ["*", "WEBSOCKET"] and
	all(.rule_to_add == null and (.rule_would_open | test("mean something else")))'
ended '.stdout == "403 403\n" and ([.denials[] | select(.event == "request") | .suggest] == [null, null])'
record '.answer == "timeout" and .verdict == "deny" and .path == "/late" and .method == "*"'
"$CALLGATE" why -p "$T/p.json" -w "$T/w" --url "* http://h.test:$http/late" >"$T/why"
grep -q "no rule permits just this" "$T/why" || fail "why: $(cat "$T/why")"
cg run -p "$T/p.json" -w "$T/w" -- python3 flood.py >"$T/out" 2>&1
grep -qx '{403}' "$T/out" || fail "without an approver: $(cat "$T/out")"
! grep -qE "flood|gone|late|stop" "$NET/access" || fail "forwarded: $(grep -E "flood|gone|late|stop" "$NET/access")"
echo "clients that leave, floods"

# "ask" with "http" asks about what a rule of "allow" permits, by whatever spelling, and about nothing else.
cat >"$T/w/asked.py" <<'END'
from t import *
def ask(c, host, *request):
    return c.ask(*request, *([b""] if len(request) == 2 else []), host + b":$http")[0]
c, only = Connection("all.test"), Connection("only.test")
print(*[ask(c, b"all.test", *request) for request in (
    (b"GET", b"/ok"), (b"POST", b"/echo", b"x"), (b"PUT", b"/status/204", b"x"), (b"DELETE", b"/ok"),
    (b"GET", b"/x/../%65cho"), (b"GET", b"/ok"),
    (b"POST", b"/ok HTTP/1.1\r\nX-HTTP-Method-Override: DELETE\r\nX:", b"x"))],
    ask(only, b"only.test", b"GET", b"/ok"), ask(only, b"only.test", b"GET", b"/status/204"))
END
sed -i "s/\$http/$http/" "$T/w/asked.py"
approver once no no once
asks "socket:$T/s" -- python3 asked.py
ended '.stdout == "200 200 204 403 403 200 403 200 403\n" and .calls.approved == 2'
question 'map(.request.method + " " + .endpoint.host + .request.path) == ["POST all.test/echo", "DELETE all.test/ok",
	"GET all.test/echo", "GET only.test/ok"] and all(.rule_to_add == null and .reason == "denied_by_rule")'
record '.answer == "once" and .path == "/echo" and .verdict == "ask"'
"$CALLGATE" why -p "$T/p.json" -w "$T/w" --url "DELETE http://all.test:$http/x" --json >"$T/why"
[ "$(jq -r .then "$T/why")" = ask ] || fail "why: $(cat "$T/why")"
