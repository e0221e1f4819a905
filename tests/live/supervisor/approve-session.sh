#!/bin/bash
# --approve of sessions: each program's denied calls wait for the approver; one socket for all programs of the session,
# or one that the session inherits. What no approver decides is denied.
# shellcheck disable=SC2154 # H of approve-lib.sh
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

# make WHERE [OPTION…]: a session; sets id.
make()
{
	rm -f "$T/audit"
	id=$(session create -p "$T/p.json" -e PATH=/usr/bin:/bin -w "$T/w" --audit "$T/audit" --approve "$@" \
		2>"$T/err") || die "session create: $(cat "$T/err")"
}

# gets WHAT EXPECTED COMMAND…: output and errors of a program of the session
gets()
{
	local what=$1 expected=$2 got
	shift 2
	got=$(session exec "$id" -- "$@" 2>&1) || :
	[ "$got" = "$expected" ] || fail "$what: $got"
}

# ---- a socket: all programs of the session are asked about there ----
approver once no run
make "socket:$T/s"
gets "once" "text a" cat "$H/a"
gets "no" "cat: $H/a: No such file or directory" cat "$H/a"
gets "for the run" "text b" cat "$H/b"
gets "of another program" "text b" tail "$H/b"
session stop "$id"
wait "$approver" # the session's end of the socket is closed with it
question 'length == 3 and all(.[]; .shown[0] == "program: \"/usr/bin/cat\"" and
	all(.processes_above[]; .recorded))'
record '.answer == "no" and .answered_how == "socket" and .program == 2'
record '.answer == "run" and .program == 4'

# ---- nothing of the session holds what the caller reads its errors from ----
approver no
id=$(timeout 20 cat < <(session create -p "$T/p.json" -w "$T/w" --approve "socket:$T/s" 2>&1)) ||
	fail "its errors do not end"
session stop "$id"
wait "$approver"

# ---- what is remembered expires in the session, too ----
approver remember:1s no
make "socket:$T/s" --approvals "$T/kept"
gets "remembered" "text a" cat "$H/a"
# shellcheck disable=SC2317 # called by awaited
has_expired() { [ "$(date +%s)" -ge "$(jq .expires "$T/kept")" ]; }
awaited has_expired
gets "expired" "cat: $H/a: No such file or directory" cat "$H/a"
session stop "$id"
wait "$approver"
record '.answer == "no"'

# ---- the file is followed by its name: an editor writes a new one in its place ----
approver no remember
make "socket:$T/s" --approvals "$T/kept"
of_session=$approver
approver remember
session exec "$(session create -p "$T/p.json" -e PATH=/usr/bin:/bin -w "$T/w" --approve "socket:$T/s" \
	--approvals "$T/kept" --idle 1s)" -- sh -c "cat $H/a $H/b" >/dev/null || fail "another session"
wait "$approver"
gets "by another session" "text a" cat "$H/a"
sed -i '/\/b"/d' "$T/kept"
gets "taken out" "cat: $H/b: No such file or directory" cat "$H/b"
gets "remembered in the new file" "text c" cat "$H/c"
session stop "$id"
wait "$of_session"
[ "$(jq -r .path "$T/kept")" = "$H/a
$H/a
$H/c" ] || fail "the file: $(cat "$T/kept")"

# ---- while a client has the workspace, no answer changes what is in it; "stop" ends the session all the same ----
mkdir "$T/dir"
jq '.filesystem.ask = ["@workdir/asked*"]' "$T/p.json" >"$T/asks.json"
cat >"$T/hold.py" <<'END'
import array, json, os, socket, sys, time
path, go, asked = sys.argv[1:]
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(path)
client.send(b'{"op": "workspace", "for": "checkpoint"}')
fds = array.array("i", bytes(4))
text, ancillary, _, _ = client.recvmsg(65536, socket.CMSG_SPACE(4))
assert json.loads(text)["paused"], text
fds.frombytes(ancillary[0][2])
open(go, "w").close()
while '"closed"' not in open(asked).read():  # the approver has passed the answer on
    time.sleep(0.01)
time.sleep(0.3)
print([name for name in os.listdir("/proc/self/fd/%d" % fds[1]) if name.startswith("asked")])
END
for word in once stop; do
	approver "file:$T/go=$word"
	id=$(session create -p "$T/asks.json" -e PATH=/usr/bin:/bin --cow -w "$T/dir" --audit "$T/paused-$word" \
		--approve "socket:$T/s" 2>"$T/err") || die "session create: $(cat "$T/err")"
	session exec "$id" -- sh -c 'echo >asked' 2>"$T/err" &
	waiting=$!
	await "a question" test -e "$T/go.asked"
	[ "$(python3 "$T/hold.py" "$T/tmp/callgate-$(id -u)/session-$id" "$T/go" "$T/asked")" = "[]" ] ||
		fail "$word: a call was performed while its program was stopped"
	wait "$waiting"
	status=$?
	if [ $word = once ]; then
		[ $status = 0 ] || fail "afterwards: $status $(cat "$T/err")"
		session exec "$id" -- sh -c '[ -e asked ]' || fail "afterwards: it was not performed"
		session stop "$id"
	fi
	wait "$approver"
	rm "$T/go" "$T/go.asked"
	grep -q "\"answer\":\"$word\"" "$T/paused-$word" || fail "$word: not on record"
	"$CALLGATE" ws discard --all >/dev/null || fail "discard"
done

# ---- one waits, the others go on; a program that is ended takes its question along; "stop" ends the session ----
approver "file:$T/w/go=once" hang stop
make "socket:$T/s"
session exec "$id" -- cat "$H/a" >"$T/out" &
waiting=$!
await "a question" test -s "$T/asked"
# shellcheck disable=SC2016 # the program expands it
gets "another program" "6" sh -c 'echo $((2 * 3)); echo >go'
wait $waiting
[ "$(cat "$T/out")" = "text a" ] || fail "after waiting: $(cat "$T/out")"
session exec -t 3s "$id" -- cat "$H/b" >"$T/out"
[ $? = 124 ] || fail "a time limit"
session exec "$id" -- cat "$H/c" >"$T/out" 2>"$T/err" && fail "stop: it ended well"
[ ! -s "$T/out" ] || fail "stop: $(cat "$T/out" "$T/err")"
wait "$approver"
record '.answer == "withdrawn"'
record '.answer == "stop"'

# ---- a socket that the session inherits, and an approver that puts questions aside ----
cat >"$T/fd.py" <<'END'
import json, os, socket, subprocess, sys
ours, theirs = socket.socketpair()
answers = sys.argv[1].split(",")
create = subprocess.run(sys.argv[2:] + ["--approve", "fd:%d" % theirs.fileno()], pass_fds=[theirs.fileno()],
                        stdout=subprocess.PIPE, check=True)
theirs.close()
print(create.stdout.decode(), end="", flush=True)
for line in ours.makefile():
    question = json.loads(line)
    if question["type"] == "question":
        ours.sendall((json.dumps({"id": question["id"], "answer": answers.pop(0)}) + "\n").encode())
END
rm -f "$T/audit" "$T/id"
python3 "$T/fd.py" none,once "$CALLGATE" session create -p "$T/p.json" -e PATH=/usr/bin:/bin -w "$T/w" \
	--audit "$T/audit" >"$T/id" 2>"$T/err" &
waiting=$!
await "a session" test -s "$T/id"
id=$(cat "$T/id")
gets "put aside" "cat: $H/a: No such file or directory" cat "$H/a"
gets "asked anew" "text a" cat "$H/a"
session exec "$id" -- sh -c 'ls /proc/self/fd/ | wc -l' >"$T/out"
[ "$(cat "$T/out")" = 4 ] || fail "descriptors of the program: $(cat "$T/out")"
session stop "$id"
wait $waiting || fail "the approver: $(cat "$T/err")"
record '.answer == "unanswered" and .answered_how == "client"'
record '.answer == "once" and .answered_how == "client"'

# ---- what goes wrong ----
refused()
{
	local what=$1 text=$2
	shift 2
	if session create -p "$T/p.json" -w "$T/w" "$@" >"$T/out" 2>"$T/err"; then fail "$what"; fi
	grep -q "$text" "$T/err" || fail "$what: $(cat "$T/err")"
}
refused "a terminal" "a session has no terminal" --approve tty
refused "no socket" "there is no such socket; start the approver first" --approve "socket:$T/nonesuch"
refused "not open" "callgate session create: --approve fd:77: must be the number, 3 or more, of a connected" \
	--approve fd:77
refused "no socket but a file" "number, 3 or more, of a connected unix socket" --approve fd:7 7<"$T/p.json"
refused "nothing to keep" "add that" --approvals "$T/kept"
refused "no time" "leaves no time" --approve command:true --ask-timeout 0
make "command:false" --ask-timeout 5s
gets "a command that fails" "cat: $H/a: No such file or directory" cat "$H/a"
session stop "$id"
record '.answer == "approver_gone"'
exit 0
