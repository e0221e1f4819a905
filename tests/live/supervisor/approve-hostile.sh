#!/bin/bash
# "on_deny": "ask": an approver that dies, hangs, answers twice or for another question, floods of questions, and what a
# program may try while a question is open.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

# ---- an approver that dies, hangs, answers twice, or for another question; that talks nonsense ----
approver die
asks "socket:$T/s" -- sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "" and ([.denials[].answer] == ["approver_gone", "approver_gone"])'
for deed in garbage long; do
	approver $deed
	asks "socket:$T/s" -- sh -c "cat '$H/a'; cat '$H/b'"
	ended '.stdout == "" and ([.denials[].answer] == ["approver_gone", "approver_gone"])'
done
approver hang no
asks "socket:$T/s" --ask-timeout 300ms -- sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "" and ([.denials[].answer] == ["timeout", "no"])'
jq -se 'map(select(.type == "closed")) | .[0].why == "withdrawn"' "$T/asked" >/dev/null || fail "no withdrawal"
approver twice hang
asks "socket:$T/s" --ask-timeout 300ms -- sh -c "cat '$H/a'; cat '$H/a'"
ended '.stdout == "" and .denials[0].count == 2'
record '.answer == "no"'
record '.answer == "timeout"'
[ "$(grep -c 'for no open question' "$T/err")" = 1 ] || fail "a second answer: $(cat "$T/err")"
approver no other
asks "socket:$T/s" --ask-timeout 300ms -- sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "" and ([.denials[].answer] == ["no", "timeout"])'
approver extra
asks "socket:$T/s" -- cat "$H/a"
ended '.denials[0].answer == "malformed"'
approver flood once # of answers that are for no question: what the supervisor says is heard all the same
asks "socket:$T/s" --ask-timeout 3s -- sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "text b\n" and .denials[0].answer == "timeout"'

# An approver that reads nothing for a while, until no message goes to it any more: all questions of that time are over
# when it reads again, and five new ones find a place.
cat >"$T/w/full.py" <<END
import os, sys, threading, time
def ask(name):
    try:
        open(name).read()
        got.append(name)
    except OSError:
        pass
def ask_all(names):
    threads = [threading.Thread(target=ask, args=("$H/" + name,)) for name in names]
    for thread in threads:
        thread.start()
    return threads
got = []
first = ask_all("a")
while not os.path.exists("go.stopped"):
    time.sleep(0.01)
begun = 0
while time.monotonic() - begun > 0.5: # those that are asked wait for their time limit
    begun = time.monotonic()
    for thread in ask_all("full-%d" % n for n in range(4)) + first:
        thread.join()
print(len(got))
open("go", "w").close()
time.sleep(1)
for thread in ask_all("many-%d" % n for n in range(5)):
    thread.join()
print(len(got))
END
for n in 0 1 2 3 4; do
	echo many >"$H/many-$n"
	echo full >"$H/full-$n"
done
approver "stop:$T/w/go" together:many
asks "socket:$T/s" --ask-timeout 1s -- python3 full.py "$(head -c 5000 /dev/zero | tr '\0' '\1')"
ended '.stdout == "0\n5\n"'
rm -f "$T/w/go" "$T/w/go.stopped"

# ---- the argument changes while the question is open ----
cat >"$T/w/swap.py" <<END
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"$H/a", 4096)
def swap():
    while not os.path.exists("swapped.asked"):
        time.sleep(0.01)
    ctypes.memmove(path, b"$H/b\0", len(b"$H/b") + 1)
    open("swapped", "w").close()
threading.Thread(target=swap, daemon=True).start()
fd = libc.open(path, os.O_RDONLY)
print(os.read(fd, 99) if fd >= 0 else "denied")
END
approver "file:$T/w/swapped=once" no
asks "socket:$T/s" -- python3 swap.py
ended '.stdout == "denied\n" and .calls.approved == 0'
question 'map(.resolved) == ["'"$H/a"'", "'"$H/b"'"]'
rm -f "$T/w/swapped" "$T/w/swapped.asked"

# A thread that goes on swapping, while every read of a is permitted and none of b.
cat >"$T/w/flip.py" <<END
import ctypes, os, threading
libc = ctypes.CDLL(None)
a, b = b"$H/a\0", b"$H/b\0"
path = ctypes.create_string_buffer(a, 4096)
def flip():
    while True:
        ctypes.memmove(path, b, len(b))
        ctypes.memmove(path, a, len(a))
threading.Thread(target=flip, daemon=True).start()
got = set()
for i in range(200):
    ctypes.memmove(path, b if i % 2 else a, len(a))  # the thread may stop at the same place each time
    fd = libc.open(path, os.O_RDONLY)
    if fd >= 0:
        got.add(os.read(fd, 99))
        os.close(fd)
print(b"text b\n" in got, flush=True)
os._exit(0)
END
asks "command:jq -c '{id, answer: (if .resolved == \"$H/a\" then \"run\" else \"no\" end)}'" -- python3 flip.py
# shellcheck disable=SC2034 # of approve-lib.sh: none to wait for
approver=
ended '.stdout == "False\n"'

# ---- equal questions are one; five are open, and ten a second are asked ----
cat >"$T/w/many.py" <<END
import os, sys, threading, time
begun, results = [], []
def ask(name):
    begun.append(name)
    try:
        results.append(open(name).read())
    except OSError:
        results.append("denied")
equal = sys.argv[1] == "equal"
threads = [threading.Thread(target=ask, args=("$H/a" if equal else "$H/many-%d" % n,)) for n in range(20)]
for thread in threads:
    thread.start()
def are_waiting(): # all but this thread, for its call: one that waits for the interpreter waits for one that runs
    states = [open("/proc/self/task/%s/stat" % task).read().rsplit(")", 1)[1].split()[0]
              for task in os.listdir("/proc/self/task")]
    return states.count("R") <= 1
while len(begun) < 20 or (not equal and len(results) < 15) or not are_waiting(): # those that are not asked about
    time.sleep(0.01)
open("go", "w").close()
for thread in threads:
    thread.join()
print(results.count("text a\n"), results.count("many\n"), results.count("denied"))
END
for n in $(seq 0 29); do
	echo many >"$H/many-$n"
done
approver "file:$T/w/go=once"
asks "socket:$T/s" -- python3 many.py equal
ended '.stdout == "20 0 0\n" and .calls.approved == 20'
question 'length == 1'
rm "$T/w/go" "$T/w/go.asked"
approver "file:$T/w/go=no"
asks "socket:$T/s" -- python3 many.py different
ended '.stdout == "0 0 20\n" and ([.denials[] | select(.answer == "too_many")] | length == 15)'
question 'length == 5'
# In another second ten more may be asked.
approver once
asks "socket:$T/s" -- sh -c "date +%s%3N; for n in \$(seq 0 29); do
	read -r line <'$H'/many-\$n && echo \$line
done 2>/dev/null | wc -l; date +%s%3N"
ended '.stdout | split("\n") | map(select(. != "") | tonumber) | .[1] >= 10 and
	.[1] <= 10 * (1 + ((.[2] - .[0]) / 1000 | floor))'
# shellcheck disable=SC2016 # jq's
ended '(.stdout | split("\n")[1] | tonumber) as $read |
	[.denials[] | select(.answer == "too_many")] | length == 30 - $read'

# ---- what a program can write into a question ----
approver no
asks "socket:$T/s" -- python3 -c 'import os
for name in ("x\x1b[2J\nwants to: read\"", "\u202egpj.exe", "p\u0430ypal"):
    try: os.open("'"$H"'/" + name, os.O_RDONLY | os.O_CREAT)
    except OSError: pass
try: os.open(b"'"$H"'/\xff\xfe", os.O_RDONLY | os.O_CREAT)
except OSError: pass'
ended '.status == "ok"'
LC_ALL=C grep -q '[^ -~]' "$T/asked" && fail "not ASCII: $(cat "$T/asked")"
question '[.[].shown[] | select(startswith("path: "))] |
	(.[0] == "path: \"'"$H"'/x\\u{1b}[2J\\u{a}wants to: read\\\"\"") and
	(.[1] == "path: \"'"$H"'/\\u{202e}gpj.exe\"") and (.[2] == "path: \"'"$H"'/p\\u{430}ypal\"") and
	(.[-1] == "path: \"'"$H"'/\\xff\\xfe\"")'

# ---- where one rule alone asks: in a directory that nothing grants, and about nothing else while a path flips ----
jq '.on_deny = "errno" | .filesystem.ask = ["'"$H"'/a"]' "$T/p.json" >"$T/p2.json"
cp "$T/p.json" "$T/p1.json" && cp "$T/p2.json" "$T/p.json"
rm -f "$T/asked"
asks "command:tee -a '$T/asked' | jq -c '{id, answer: \"once\"}'" -- python3 flip.py
ended '.stdout == "False\n" and .calls.approved > 0'
question 'length > 0 and all(.resolved == "'"$H"'/a" and (.rule | endswith("filesystem.ask[0] '"$H"'/a")))'
cp "$T/p1.json" "$T/p.json"

# ---- what a call would write besides contents is shown, with the end of a long text ----
approver no
asks "socket:$T/s" -- python3 -c 'import os
for call, *a in (os.symlink, "/etc/\u202eshadow", "'"$H"'/l"), (os.symlink, "x" * 900 + "/end", "'"$H"'/l"), \
        (os.chmod, "'"$H"'/a", 0o777):
    try: call(*a)
    except OSError: pass'
ended '.status == "ok"'
question 'length == 3 and (.[0].shown | index("with: {\"target\": \"/etc/\\u202Eshadow\"}")) and
	(.[1].shown | any(test("^with: .*x/end"))) and (.[2].shown | index("with: {\"mode\": \"0777\"}"))'

# ---- a file that is opened to be read and written is not said to be only written ----
approver no
asks "socket:$T/s" -- python3 -c 'import os
for flags in os.O_WRONLY, os.O_RDWR, os.O_RDONLY:
    try: os.open("'"$H"'/a", flags)
    except OSError: pass'
ended '.status == "ok"'
question '[.[].shown[] | select(startswith("wants to: "))] ==
	["wants to: write", "wants to: read and write", "wants to: read"]'

# ---- a program that rewrites its command line, and children of it: the one that exec got is shown ----
cat >"$T/w/rewrite.py" <<END
import ctypes, os, sys
libc = ctypes.CDLL(None)
start = ctypes.c_void_p.in_dll(libc, "program_invocation_name").value
def ask():
    try: open("$H/a")
    except OSError: pass
ctypes.memset(start, ord("x"), 20)
if b"xxxx" not in open("/proc/self/cmdline", "rb").read(): print("not rewritten")
ask()
if os.fork() == 0: # has executed nothing: its parent's
    ctypes.memset(start, ord("y"), 20)
    open("$H/b", "a") if 0 else ask()
    os._exit(0)
os.wait()
ended, go = os.pipe(), os.pipe()
if os.fork() == 0: # its parent executes another program before the child makes its first call
    os.close(go[1])
    os.read(go[0], 1)
    ctypes.memset(start, ord("z"), 20)
    ask()
    os._exit(0)
os.dup2(go[1], 9)
os.dup2(ended[0], 8)
for end in *go, *ended:
    os.close(end)
os.execvp("sh", ["sh", "-c", "exec 9>&-; read x <&8; : harmless"]) # until the child has ended
END
approver no
asks "socket:$T/s" -- python3 rewrite.py
ended '.stdout == ""'
question 'length == 3 and all(.[]; (.command | join(" ") | test("^[/a-z]*python3 rewrite.py$")) and
	.command_recorded and any(.shown[]; test("^started as: \"[/a-z]*python3 rewrite.py\"$")))'
question '.[1].processes_above[0] | .recorded and (.shown | test("^\"[/a-z]*python3 rewrite.py\"$"))'

# ---- what is never asked about, and what ends a question ----
approver once
asks "socket:$T/s" -- sh -c "cat '$H/id_rsa' /proc/1/environ; '$H/tool'; echo end"
ended '.stdout == "end\n" and .calls.approved == 0 and all(.denials[]; has("answer") | not)'
[ ! -e "$T/asked" ] || fail "asked: $(cat "$T/asked")"
approver "file:$T/w/never=no"
asks "socket:$T/s" -- sh -c "cat '$H/a' & until [ -e never.asked ]; do sleep 0.05; done; kill -9 \$!; wait \$!
	echo status \$?; : >never"
ended '.stdout == "status 137\n" and .denials[0].answer == "withdrawn"'

# ---- few descriptors: what the supervisor has none left for is refused, and the run goes on ----
cat >"$T/w/processes.py" <<END
import os, time
r, w = os.pipe()
hold, over = os.pipe()
for n in range(60):
    if os.fork() == 0:
        os.close(over)
        try:
            os.unlink("$H/many-%d" % (n % 30))
        except FileNotFoundError:
            os.write(w, b"-")
        os.read(hold, 1) # all are there at once
        os._exit(0)
refused = 0
while refused < 55:
    refused += len(os.read(r, 60))
open("refused", "w").close()
while refused < 60:
    refused += len(os.read(r, 60))
os.close(over)
print(refused, len(os.listdir("/usr")) > 0)
END
approver "file:$T/w/refused=no"
(ulimit -n 128 && asks "socket:$T/s" -- python3 processes.py)
ended '.stdout == "60 True\n" and .calls.approved == 0 and .calls.denied == 60'
question 'length <= 5'
jq -se 'any(.answer == "no") and
	any(.syscall == "unlink" and .verdict == "deny" and .answer == null)' "$T/audit" \
	>/dev/null || fail "denied otherwise: $(jq -r '.answer // empty' "$T/audit" | sort | uniq -c)"

exit 0
