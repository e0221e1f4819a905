#!/bin/bash
# "on_deny": "ask-file": questions about denied calls, answers, and what an attacker may try in between.
. "$(dirname "$0")/../lib.sh"
need jq python3
mkdir -p "$T/w" "$T/host" "$T/home/.ssh"
Q=$T/q
H=$T/host
for name in a b c d e; do
	echo "text $name" >"$H/$name"
done
echo KEY >"$H/id_rsa" && echo TOKEN >"$H/.env"

# policy GLOBAL: the mode of every denial but that of the rule for *.rule.
policy()
{
	cat >"$T/p.json" <<END
{"version": 1, "on_deny": "$1", "filesystem": {
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/sys/devices/system/cpu"],
"exec": ["/usr", "/bin", "/lib", "/lib64"], "write": ["@workdir"],
"deny": [{"path": "**/*.rule", "on_deny": "ask-file"}]}}
END
}

# starts [OPTION...] -- COMMAND: runs it in the background. Its result is $T/result, its log $T/audit.
starts()
{
	rm -rf "$T/audit" "$T/result" "$Q"
	cg run -p "$T/p.json" --audit "$T/audit" --ask "$Q" -e PATH=/usr/bin:/bin --json -t 90 -w "$T/w" "$@" \
		>"$T/result" 2>"$T/err" &
	run=$!
}

# asked N: waits for question N, whose file is $question then.
asked()
{
	question=$Q/$1.json
	awaited asked_or_ended
	[ -s "$question" ] ||
		die "no question $1: $(ls -A "$Q" 2>&1) $(cat "$T/err") $(tail -n 3 "$T/audit")"
}
# shellcheck disable=SC2317 # awaited calls it
asked_or_ended() { [ -s "$question" ] || ! kill -0 "$run" 2>/dev/null; }

# question FILTER: the question fulfils it.
question()
{
	jq -e "$1" "$question" >/dev/null || fail "question: not $1: $(cat "$question")"
}

answer()
{
	echo "$2" >"$Q/$1.answer"
}

# ended FILTER: waits for the end of the run; its result fulfils FILTER, and nothing is left in the directory.
ended()
{
	wait "$run"
	jq -e "$1" "$T/result" >/dev/null || fail "not $1: $(jq -c '[.status, .exit_code, .signal, .stdout, .stderr,
		.denials, .calls, .error]' "$T/result") $(cat "$T/err")"
	[ ! -d "$Q" ] || [ -z "$(ls -A "$Q")" ] || fail "left behind: $(ls -A "$Q")"
	"$CALLGATE" audit stats "$T/audit" >/dev/null || fail "the log does not verify"
}

# record FILTER: exactly one record fulfils it.
record()
{
	[ "$(jq -se "[.[] | select($1)] | length" "$T/audit")" = 1 ] || fail "not one record with $1:
		$(grep -E 'ask|host/' "$T/audit")"
}

# ---- allow: the call is performed, as if nothing had been there to deny it ----
policy ask-file
starts -- cat "$H/a"
asked 1
[ "$(stat -c %a "$question" "$Q" | tr '\n' ' ')" = "600 700 " ] || fail "modes of the question"
question '.seq == 1 and .pid > 0 and .syscall == "openat" and .path == "'"$H/a"'" and .resolved == .path and
	.right == "r" and .rule == null and .reason == "not_granted" and .errno == "ENOENT" and
	(.exe | endswith("/cat")) and (.run | length > 7) and (.time | endswith("Z")) and .timeout_ms == 60000 and
	(.how_to_answer | test("1.answer"))'
answer 1 allow
ended '.status == "ok" and .stdout == "text a\n" and .denials == [] and .calls.approved == 1'
record '.verdict == "ask" and .effect == "performed" and .answer == "allow" and .answered_by == '"$(id -u)"' and
	.asked_ns > 0 and .on_deny == "ask-file" and .reason == "not_granted" and .ret != null'

# Every kind of call that names files: each is a question of its own, and works.
starts -- sh -c "cd '$H' && pwd; mkdir '$H/dir' && echo new >'$H/dir/file' && mv '$H/dir/file' '$H/moved' &&
	chmod 600 '$H/moved' && ln -s moved '$H/link' && readlink '$H/link' && stat -c %s '$H/moved' && cat '$H/link' &&
	rm '$H/link' '$H/moved' && rmdir '$H/dir' && ls '$H'; echo status \$?"
seen=0
while kill -0 "$run" 2>/dev/null && [ $seen -lt 60 ]; do
	[ -e "$Q/$((seen + 1)).json" ] && seen=$((seen + 1)) && answer $seen "allow at once"
	sleep 0.02
done
ended '.stdout | startswith("'"$H"'\nmoved\n4\nnew\n") and endswith("\na\nb\nc\nd\ne\nid_rsa\nstatus 0\n")'
[ $seen -gt 8 ] || fail "only $seen questions"

# From a directory that an answer has given: by a descriptor, from the working directory, "..".
mkdir -p "$H/tree/sub" && echo in >"$H/tree/sub/file"
cat >"$T/w/walk.py" <<END
import os
os.chdir("$H/tree/sub")
print(open("file").read(), end="")
fd = os.open("$H/tree", os.O_RDONLY)
print(os.listdir(fd), os.stat("sub/file", dir_fd=fd).st_size)
try: open("../../../w/plain")
except OSError as error: print(error.strerror)
print(open("../../b").read(), end="")
os.unlink("sub/file", dir_fd=fd)
END
starts -- python3 walk.py
seen=0
while kill -0 "$run" 2>/dev/null && [ $seen -lt 60 ]; do
	[ -e "$Q/$((seen + 1)).json" ] && seen=$((seen + 1)) && answer $seen allow
	sleep 0.02
done
# libnss_systemd looks below /run for a user who is in no file.
ended '.stdout == "in\n['"'sub'"'] 3\nNo such file or directory\ntext b\n" and
	all(.denials[]; .resolved == "/run")'
[ $seen = 6 ] || fail "$seen questions from a directory outside"
[ ! -e "$H/tree/sub/file" ] || fail "unlinkat from a directory outside"

# ---- deny, and what is no answer ----
starts -- sh -c "cat '$H/a' || echo denied; cat '$H/b' || echo denied; cat '$H/c' || echo denied
	cat '$H/d' || echo denied; cat '$H/e'"
asked 1
answer 1 deny
asked 2
answer 2 "Allow"
asked 3
mkfifo "$Q/3.part.answer" && mv "$Q/3.part.answer" "$Q/3.answer"
asked 4
ln -s /etc/hostname "$Q/4.answer"
asked 5
: >"$Q/5.answer" # a shell makes the file before it writes
sleep 0.3
[ -e "$Q/5.json" ] || fail "an empty answer was taken"
answer 5 allow
ended '.stdout == "denied\ndenied\ndenied\ndenied\ntext e\n" and .calls.approved == 1 and
	([.denials[] | .on_deny + " " + .answer] == ["ask-file deny", "ask-file malformed", "ask-file unreadable",
	"ask-file unreadable"])'
record '.verdict == "deny" and .effect == "refused" and .answer == "deny" and .errno == "ENOENT"'
record '.answer == "malformed" and .verdict == "deny"'

# ---- kill ----
starts -- sh -c "cat '$H/a'; echo status \$?"
asked 1
answer 1 kill
ended '.stdout == "status 137\n" and .denials[0].answer == "kill"'

# ---- allow-always: the same question again, and no other ----
starts -- sh -c "cat '$H/a' '$H/a'; cat '$H/a'; cat '$H/b'; echo end"
asked 1
answer 1 allow-always
asked 2
question '.path == "'"$H/b"'"'
answer 2 deny
ended '.stdout == "text a\ntext a\ntext a\nend\n" and .calls.approved == 3'

# ---- time-out: a late answer is for no later question ----
starts --ask-timeout 2s -- sh -c "cat '$H/a'; until [ -e go ]; do sleep 0.05; done; cat '$H/b'; echo end"
asked 1
await "the end of question 1" not test -e "$Q/1.json"
answer 1 allow
answer 2 allow # there is no question 2 yet
touch "$T/w/go"
asked 2
[ -e "$Q/2.answer" ] && fail "an answer was there before the question"
rm "$Q/1.answer" "$T/w/go"
ended '.stdout == "end\n" and [.denials[] | .answer] == ["timeout", "timeout"]'

# ---- hostile names ----
starts -- python3 -c 'import os
try: os.open("'"$H"'/\x1b[2Jx\n\"seq\": 1,\u2028", os.O_RDONLY | os.O_CREAT)
except OSError: pass
try: os.open(b"'"$H"'/\xff\xfe", os.O_RDONLY | os.O_CREAT)
except OSError: pass'
asked 1
question '.path == "'"$H"'/\u001b[2Jx\n\"seq\": 1,\u2028" and .right == "w"'
grep -q "$(printf '\033')" "$question" && fail "a control byte in the question"
answer 1 deny
asked 2
question '.path | endswith("/\\xff\\xfe")'
answer 2 deny
ended '.status == "ok"'

# ---- another thread swaps the argument while the question is open: what was not asked about is not done ----
# swap.py TEXT [NAME]: opens the file; with NAME, gives it an extended attribute of that name. The path, or the
# attribute's value, becomes TEXT when there is a file "swap".
cat >"$T/w/swap.py" <<END
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
path, value = ctypes.create_string_buffer(b"$H/a", 4096), ctypes.create_string_buffer(b"asked", 4096)
def swap():
    while not os.path.exists("swap"):
        time.sleep(0.01)
    ctypes.memmove(value if sys.argv[2:] else path, sys.argv[1].encode() + b"\0", len(sys.argv[1]) + 1)
    open("swapped", "w").close()
threading.Thread(target=swap, daemon=True).start()
if sys.argv[2:]:
    failed = libc.setxattr(path, sys.argv[2].encode(), value, 5, 0)
    print(os.strerror(ctypes.get_errno()) if failed else "set")
else:
    fd = libc.open(path, os.O_RDONLY)
    print(os.read(fd, 99) if fd >= 0 else os.strerror(ctypes.get_errno()))
END

# swap: lets it happen, and waits until it has.
swap()
{
	touch "$T/w/swap"
	await "the swap" test -e "$T/w/swapped"
	rm -f "$T/w/swap" "$T/w/swapped"
}
starts -- python3 swap.py "$H/b"
asked 1
swap
answer 1 allow
asked 2
question '.path == "'"$H/b"'"'
answer 2 deny
ended '.stdout == "No such file or directory\n" and .calls.approved == 0'
record '(.path // "") | startswith("'"$H"'/")'
# To what is granted, and to what is never asked about.
echo plain >"$T/w/plain"
starts -- python3 swap.py "$T/w/plain"
asked 1
swap
answer 1 allow
ended '.stdout == "b'"'plain\\\\n'"'\n" and .calls.approved == 0'
starts -- python3 swap.py "$H/id_rsa"
asked 1
swap
answer 1 allow
ended '.stdout == "No such file or directory\n" and .calls.approved == 0'
# Data that are no path: the value of an extended attribute.
if python3 -c "import os; os.setxattr('$H/b', 'user.here', b'1')" 2>/dev/null; then
	starts -- python3 swap.py other user.callgate
	asked 1
	swap
	answer 1 allow
	asked 2
	answer 2 deny
	ended '.stdout == "No such file or directory\n" and .calls.approved == 0'
	python3 -c "import os; os.getxattr('$H/a', 'user.callgate')" 2>/dev/null && fail "an attribute was set"
	starts -- python3 swap.py other user.callgate
	asked 1
	answer 1 allow
	ended '.stdout == "set\n" and .calls.approved == 1'
	[ "$(python3 -c "import os; print(os.getxattr('$H/a', 'user.callgate').decode())")" = asked ] ||
		fail "the approved attribute"
fi
# The name stays, and leads to another object.
starts -- cat "$H/a"
asked 1
mv "$H/a" "$H/a.old" && echo other >"$H/a"
answer 1 allow
asked 2
answer 2 deny
ended '.stdout == "" and .calls.approved == 0'
mv "$H/a.old" "$H/a"
# A thread that goes on swapping.
cat >"$T/w/flip.py" <<END
import ctypes, os, threading
libc = ctypes.CDLL(None)
a, b = b"$H/a\0", b"$H/d\0"
path = ctypes.create_string_buffer(a, 4096)
def flip():
    while True:
        ctypes.memmove(path, b, len(b))
        ctypes.memmove(path, a, len(a))
threading.Thread(target=flip, daemon=True).start()
for i in range(20):
    fd = libc.open(path, os.O_RDONLY)
    if fd >= 0:
        print(os.read(fd, 99).decode(), end="", flush=True)
os._exit(0)
END
starts -- python3 flip.py
at=1
while kill -0 "$run" 2>/dev/null; do
	if [ -e "$Q/$at.json" ]; then
		case $(jq -r .path "$Q/$at.json" 2>/dev/null) in
		*/a) answer $at allow ;;
		*) answer $at deny ;;
		esac
		at=$((at + 1))
	fi
	sleep 0.01
done
ended '(.stdout | contains("text d")) == false'

# ---- secrets, /proc, sockets and programs: denied without a question ----
starts -- sh -c "cat '$H/id_rsa' '$H/.env' /proc/1/environ; '$H/tool'; echo end"
ended '.stdout == "end\n" and .calls.approved == 0 and all(.denials[]; has("answer") | not)'

# ---- one rule ----
policy errno
echo ruled >"$T/w/x.rule"
starts -- sh -c "cat '$H/a'; cat x.rule"
asked 1
question '.reason == "denied_by_rule" and .errno == "EACCES" and .path == "x.rule" and (.rule | test("rule"))'
answer 1 allow
ended '.stdout == "ruled\n" and [.denials[] | .on_deny] == [null]'
# of an execution: all arguments, the directory, and the variables that change what runs
jq '.exec.deny = [{"path": "/usr/bin/id", "on_deny": "ask-file"}]' "$T/p.json" >"$T/exec.json"
mv "$T/exec.json" "$T/p.json"
starts -- sh -c 'GIT_SSH=./x A=1 id -u >/dev/null && echo ran'
asked 1
question '.right == "x" and .execute == ["id", "-u"] and .cwd == "'"$T/w"'" and
	(.environment.deciding | index("GIT_SSH=./x") and index("PATH=/usr/bin:/bin") and (index("A=1") | not)) and
	.environment.count > 2 and (.environment.sha256 | length == 64)'
answer 1 allow
ended '.stdout == "ran\n" and .calls.approved == 1'
policy ask-file

# ---- many at once: all others go on; too many are denied ----
cat >"$T/w/many.py" <<END
import os, sys, threading, time
count = int(sys.argv[1])
results = []
def ask(n):
    try:
        results.append(open("$H/many-%d" % n).read())
    except OSError as error:
        results.append("denied")
threads = [threading.Thread(target=ask, args=(n,)) for n in range(count)]
for thread in threads:
    thread.start()
calls, end = 0, time.monotonic() + 60
while calls <= 1000 and time.monotonic() < end:
    os.stat("/usr")
    calls += 1
print("others", calls > 1000, flush=True)
for thread in threads:
    thread.join()
print(results.count("many\n"), results.count("denied"))
END
for n in $(seq 0 269); do
	echo many >"$H/many-$n"
done
starts -- python3 many.py 200
asked 200
for n in $(seq 200); do
	answer "$n" allow
done
ended '.stdout == "others True\n200 0\n" and .calls.approved == 200'
starts --ask-timeout 10s -- python3 many.py 270
ended '.stdout == "others True\n0 270\n" and ([.denials[] | select(.answer == "too_many")] | length == 14) and
	([.denials[] | select(.answer == "timeout")] | length == 256)'
rm -f "$H"/many-*

# ---- signals ----
cat >"$T/w/alarm.py" <<END
import signal
count = 0
def tick(number, frame):
    global count
    count += 1
signal.signal(signal.SIGALRM, tick)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
text = open("$H/a").read()
signal.setitimer(signal.ITIMER_REAL, 0)
print(text, count > 0)
END
starts -- python3 alarm.py
at=1
while kill -0 "$run" 2>/dev/null && [ $at -lt 500 ]; do
	[ -e "$Q/$at.json" ] && sleep 0.5 && answer $at allow && at=$((at + 1))
	sleep 0.02
done
ended '.stdout == "text a\n True\n"'

# ---- what ends a question ----
starts -- sh -c "cat '$H/a' & until [ -e go ]; do sleep 0.05; done; kill -9 \$!; wait \$!; echo status \$?
	sleep 0.3"
asked 1
touch "$T/w/go"
ended '.stdout == "status 137\n" and .denials[0].answer == "withdrawn"'
starts -- sh -c "cat '$H/a'; echo end"
asked 1
rm -rf "$Q"
ended '.stdout == "end\n" and .denials[0].answer == "directory_gone"'
starts --kill-after 200ms -- sh -c "cat '$H/a'; echo end"
asked 1
kill -TERM "$(pgrep -P "$run" timeout)" # which passes it on
ended '.stdout == "" and .status == "killed" and .denials[0].answer == "withdrawn"'
starts -t 4 --grace 0 -- sh -c "cat '$H/a'; echo end"
asked 1
ended '.status == "timeout"'
# The program ends while its child is asked about.
rm "$T/w/go"
starts -- sh -c "cat '$H/a' & until [ -e go ]; do sleep 0.05; done"
asked 1
touch "$T/w/go"
ended '.status == "ok" and .denials[0].answer == "withdrawn"'

# Another user's answer that the run's user may not read, as root writes it below "umask 077": said once, and no end.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T" "$T/w" "$H" && chmod 1777 "$T/tmp"
	rm -rf "$Q" && mkdir -m 700 "$Q" && chown 54321 "$Q"
	cg run --user 54321 -p "$T/p.json" --ask "$Q" -e PATH=/usr/bin:/bin --json -t 90 -w "$T/w" \
		-- sh -c "cat '$H/a'; cat '$H/b'" >"$T/result" 2>"$T/err" &
	run=$!
	for n in 1 2; do
		asked $n
		(umask 077 && answer $n allow)
		sleep 0.2
		[ -e "$Q/$n.json" ] || fail "an answer that cannot be read ends question $n"
		chmod a+r "$Q/$n.answer"
	done
	ended '.stdout == "text a\ntext b\n" and .calls.approved == 2'
	[ "$(grep -c "1.answer cannot be read by the run's user (uid 54321)" "$T/err")" = 1 ] ||
		fail "no message about an answer that cannot be read: $(cat "$T/err")"
	[ "$(grep -c "cannot be read" "$T/err")" = 1 ] || fail "more than one message: $(cat "$T/err")"
	rm -rf "$Q"
fi

# The directory is full.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -m 700 "$T/small"
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c 'mount -t tmpfs -o size=4k,mode=700 none "$1/small" &&
		head -c 4096 /dev/zero >"$1/small/full" &&
		exec "$2" run -p "$1/p.json" --ask "$1/small" --json -e PATH=/usr/bin:/bin -w "$1/w" -- cat "$3"' \
		sh "$T" "$CALLGATE" "$H/a" >"$T/result" 2>"$T/err"
	jq -e '.exit_code == 1 and .denials[0].answer == "unwritable"' "$T/result" >/dev/null ||
		fail "a full directory: $(cat "$T/result" "$T/err")"
fi

# ---- the directory ----
# refused DIR TEXT: nothing is run, and the one message has TEXT.
refused()
{
	cg run -p "$T/p.json" --ask "$1" -w "$T/w" -- touch "$T/w/ran" >"$T/out" 2>"$T/err" && fail "$1 is accepted"
	grep -q "$2" "$T/err" || fail "--ask $1: $(cat "$T/err")"
	[ "$(wc -l <"$T/err")" = 1 ] || fail "--ask $1: more than one message: $(cat "$T/err")"
	[ ! -e "$T/w/ran" ] || fail "run with --ask $1"
}
mkdir "$T/open" && chmod 770 "$T/open"
refused "$T/open" "other users can write there"
refused "$T/w" "where a run may write"
refused "$T/w/q" "where a run may write"
rm -rf "$T/w/q"
refused /usr/share "program reach it\|another user"
refused "$T/none/q" "No such file"
refused "$T/p.json" "Not a directory"
mkdir -m 700 "$T/full" && touch "$T/full/3.answer"
refused "$T/full" "of another run"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$T/other" && chown 54321 "$T/other"
	refused "$T/other" "another user owns it"
fi
starts -- cat "$H/a"
asked 1
cp "$T/err" "$T/err.first"
refused "$Q" "another run asks there"
answer 1 deny
cp "$T/err.first" "$T/err"
ended '.exit_code == 1'
# The program does not see it.
mkdir -m 700 "$Q.seen"
cg run -p "$T/p.json" --ask "$Q.seen" --ask-timeout 300ms -w "$T/w" -- ls "$Q.seen" >"$T/out" 2>&1 &&
	fail "the program lists the directory"
[ -z "$(ls -A "$Q.seen")" ] || fail "asked about the directory itself"

# No directory: denied, and said.
cg run -p "$T/p.json" -e PATH=/usr/bin:/bin -w "$T/w" -- cat "$H/a" >"$T/out" 2>"$T/err" && fail "allowed without --ask"
grep -q "add --ask DIR" "$T/err" || fail "no note: $(cat "$T/err")"

# ---- why, show, replay ----
"$CALLGATE" why -p "$T/p.json" -w "$T/w" --open "$H/a" | grep -q "then  *ask-file" || fail "why"
"$CALLGATE" show -p "$T/p.json" -w "$T/w" >"$T/shown.json" || fail "show"
jq -e '.on_deny == "ask-file" and any(.filesystem.deny[]; .on_deny == "ask-file")' "$T/shown.json" >/dev/null ||
	fail "show: $(cat "$T/shown.json")"
starts -- sh -c "cat '$H/a'; cat '$H/b'; echo end"
asked 1
answer 1 allow
asked 2
answer 2 deny
ended '.stdout == "text a\nend\n"'
"$CALLGATE" replay "$T/audit" -p "$T/p.json" -w "$T/w" --fail-on any >"$T/out" || fail "replay: $(cat "$T/out")"
exit 0
