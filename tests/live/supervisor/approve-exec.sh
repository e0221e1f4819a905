#!/bin/bash
# "on_deny": "ask" of exec.deny: what is executed is what was asked about, under names and with contents of that moment.
# shellcheck disable=SC2016 # $ is of the scripts that are written
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

# What no rule asks about is denied by a rule of its own.
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "filesystem": {"write": ["@workdir"], "exec": ["@workdir/bin", "/usr/bin/id*"],
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run", "/sys/devices/system/cpu"]},
"extends": ["extended"], "exec": {"deny": ["/usr/bin/tty",
{"path": "@workdir/bin/*", "on_deny": "ask"}], "ask": ["/usr/bin/id*"]}}
END
mkdir "$T/w/bin"
for pair in id=ask tty=null cat=null; do
	"$CALLGATE" why -p "$T/p.json" -w "$T/w" --exec "/usr/bin/${pair%=*}" --json >"$T/why"
	[ "$(jq -r .then "$T/why")" = "${pair#*=}" ] || fail "why: ${pair%=*}: $(cat "$T/why")"
done

# The answers, whose arguments a person sees. "run" is for all arguments, and not for another program.
approver once run no
asks "socket:$T/s" -- sh -c 'id -u; id -g; id -u -n; tty; PATH=/usr/bin LD_x="$(printf "a\nanswer:")" id -g; nice id -g'
ended '(.stdout | split("\n") | length == 5) and .exit_code == 0 and (.stderr | test("tty: Permission denied"))'
question 'length == 3 and .[0].args.argv == "id -u" and .[0].right == "x" and .[0].rule_to_add == null'
question '.[0].shown | index("wants to: execute") and index("with arguments: \"id -u\"")
	and index("in directory: \"'"$T/w"'\"") and index("with variable: \"PATH=/usr/bin:/bin\"")'
question '.[2].environment.deciding | index("LD_x=a\nanswer:") and index("PATH=/usr/bin")'
question '.[2].shown | index("with variable: \"LD_x=a\\u{a}answer:\"")'
question '.[0].cwd == "'"$T/w"'"'
record '.answer == "once" and .path == "/usr/bin/id" and .effect == "continued"'
[ "$(jq -c 'select(.answer == "run")' "$T/audit" | wc -l)" = 3 ] || fail "not three by run"

# What a program finds in its directory can decide what it does: "run" is for one.
approver run no
asks "socket:$T/s" -- sh -c 'id -u; id -g; cd bin; id -u'
ended '(.stdout | split("\n") | length == 3) and .calls.approved == 2'
question 'length == 3 and (.[1:] | all(.cwd == "'"$T/w/bin"'"))' # sh looks in /bin, too

# Without a question nothing is executed; "stop" ends the run.
approver stop
asks "socket:$T/s" -- sh -c 'id; echo later'
ended '.stdout == "" and .status != "ok"'
cg run -p "$T/p.json" -w "$T/w" -- sh -c id >"$T/out" 2>&1 && fail "executed without an approver: $(cat "$T/out")"
grep -q 'no approver is named' "$T/out" || fail "not said: $(cat "$T/out")"

# A script: its first line, and that the program can change it. A later version of it is asked about anew.
printf '#!/bin/sh\necho first\n' >"$T/w/bin/tool"
chmod +x "$T/w/bin/tool"
approver run no
asks "socket:$T/s" -- sh -c 'bin/tool; bin/tool; sed -i s/first/second/ bin/tool; bin/tool; bin/tool'
ended '.stdout == "first\nfirst\n" and .calls.approved == 2'
question 'length == 3 and (.[0].shown | any(test("can change that file")))'

# Contents, name and arguments that change while the question is open: not what was asked, so it is asked anew.
cat >"$T/w/swap.py" <<'END'
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"bin/tool", 4096)
one = ctypes.create_string_buffer(b"one", 64)
argv = (ctypes.c_void_p * 3)(ctypes.addressof(path), ctypes.addressof(one), None)
def swap():
    while not os.path.exists("swapped.asked"):
        time.sleep(0.01)
    if sys.argv[1] == "name":
        ctypes.memmove(path, b"bin/evil\0", 9)
    elif sys.argv[1] == "arguments":
        ctypes.memmove(one, b"two\0", 4)
    elif sys.argv[1] == "contents":
        open("bin/tool", "w").write("#!/bin/sh\necho evil\n")
    else:
        os.rename("bin/evil", "bin/tool")
    open("swapped", "w").close()
threading.Thread(target=swap, daemon=True).start()
libc.execve(path, argv, None)
print("denied")
END
for what in name arguments contents file; do
	rm -f "$T/w/swapped" "$T/w/swapped.asked"
	printf '#!/bin/sh\necho good $1\n' >"$T/w/bin/tool"
	printf '#!/bin/sh\necho evil $1\n' >"$T/w/bin/evil"
	chmod +x "$T/w/bin/tool" "$T/w/bin/evil"
	approver "file:$T/w/swapped=once" no
	asks "socket:$T/s" -- python3 swap.py $what
	ended '.stdout == "denied\n" and .calls.approved == 0'
	question 'length == 2 and .[0].args.argv == "bin/tool one"'
done

# All arguments are shown and count, also behind the 4 KiB of a record: one that is added, or changes at its end. So
# does the directory.
cat >"$T/w/long.py" <<'END'
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(b"x" * 6000 + b"end", 8000)
name = ctypes.create_string_buffer(b"tool")
argv = (ctypes.c_void_p * 4)(ctypes.addressof(name), ctypes.addressof(text), None, None)
variable = ctypes.create_string_buffer(b"any=good")
envp = (ctypes.c_void_p * 2)(ctypes.addressof(variable), None)
base = os.getcwd()
def change():
    while not os.path.exists("swapped.asked"):
        time.sleep(0.01)
    if sys.argv[1] == "end":
        ctypes.memmove(ctypes.addressof(text) + 6000, b"END", 3)
    elif sys.argv[1] == "more":
        argv[2] = ctypes.addressof(text)
    elif sys.argv[1] == "environment":
        ctypes.memmove(variable, b"any=evil", 8)
    elif sys.argv[1] == "fewer":
        argv[1] = None
    elif sys.argv[1] == "times":
        os.utime("bin/tool", (0, 0))
    elif sys.argv[1] == "directory":
        os.chdir("/usr")
    open(base + "/swapped", "w").close()
threading.Thread(target=change, daemon=True).start()
libc.execve(base.encode() + b"/bin/tool", argv, envp)
print("denied")
END
printf '#!/bin/sh\necho ${#1} $#\n' >"$T/w/bin/tool"
for what in nothing end more fewer environment times directory; do
	rm -f "$T/w/swapped" "$T/w/swapped.asked"
	approver "file:$T/w/swapped=once" no
	asks "socket:$T/s" -- python3 long.py $what
	if [ $what = nothing ]; then
		ended '.stdout == "6003 1\n"'
		question '.[0].execute[1] | length == 6003 and endswith("xend")'
		question '[.[0].shown[] | select(startswith("argument: "))] | length == 2 and
			(.[1] | test("xend\" \\(5583 of 6003 bytes are not shown; SHA-256 of all: "))'
	else
		ended '.stdout == "denied\n" and .calls.approved == 0'
		question 'length == 2'
	fi
done
# More than a question can show is denied without one, and so is a script of a script.
printf '#!%s/bin/tool\n' "$T/w" >"$T/w/bin/second" && chmod +x "$T/w/bin/second"
approver once
asks "socket:$T/s" -- python3 -c 'import os, subprocess
for command in (["bin/tool", "x" * 17000], ["bin/second"]):
    try: subprocess.run(command)
    except OSError: print("denied")'
ended '.stdout == "denied\ndenied\n" and .calls.approved == 0'
[ ! -s "$T/asked" ] || fail "asked: $(cat "$T/asked")"

# A variable is shown whole. Of one that is too long for that, the question says how much is not shown, and has the hash
# of all; no answer then holds for longer than this exec, also when the approver gives one that is not offered.
cat >"$T/w/hide.py" <<'END'
import os, sys
value = "-m1 " * int(sys.argv[1]) + "--require=./evil " + "-m2 " * int(sys.argv[1])
os.execve("/usr/bin/id", ["id", "-u"], {"NODE_OPTIONS": value})
END
approver run
asks "socket:$T/s" -- python3 hide.py 240
ended '.exit_code == 0'
question '.[0].answers | index("run")'
question '.[0].shown | any(startswith("with variable: \"NODE_OPTIONS=-m1 ") and test(" --require=./evil ") and
	endswith("-m2 \""))'
approver once
asks "socket:$T/s" -- python3 hide.py 1000
ended '.exit_code == 0'
question '.[0].answers == ["once", "no", "stop"]'
sha256=$(python3 -c 'import hashlib
value = "-m1 " * 1000 + "--require=./evil " + "-m2 " * 1000
print(hashlib.sha256(("NODE_OPTIONS=" + value).encode()).hexdigest())')
question '.[0].shown | any(startswith("with variable: \"NODE_OPTIONS=-m1 ") and endswith("-m2 \" " +
	"(7610 of 8030 bytes are not shown; SHA-256 of all: '"$sha256"')"))'
question '.[0].environment.deciding[0] | test("--require=./evil")'
for answer in run remember; do
	approver $answer
	asks "socket:$T/s" --approvals "$T/approvals" -- python3 hide.py 1000
	ended '.exit_code != 0 and .calls.approved == 0'
done

# npm sets a variable for each of its settings, over a hundred: all are shown, and one more than the most is denied.
cat >"$T/w/many.py" <<'END'
import os, sys
os.execve("/usr/bin/id", ["id"], {f"npm_config_setting_{i}": "some value" for i in range(int(sys.argv[1]))})
END
approver run
asks "socket:$T/s" -- python3 many.py 150
ended '.exit_code == 0 and .calls.approved == 1'
question '.[0].answers | index("run")'
question '.[0].environment | .count == 150 and (.deciding | length) == 150'
question '[.[0].shown[] | select(startswith("with variable: \"npm_config_"))] | length == 150'
question '.[0].shown[-4:] == ["again: program: \"'"$(readlink -f /usr/bin/python3)"'\"",
	"again: wants to: execute", "again: path: \"/usr/bin/id\"", "again: with arguments: \"id\""]'
approver no
asks "socket:$T/s" -- sh -c 'python3 many.py 2 2>/dev/null || echo denied'
question '.[0].shown | all(startswith("again") | not)' # all of it is on one screen
approver once
asks "socket:$T/s" -- sh -c 'python3 many.py 513 2>/dev/null || echo denied'
ended '.stdout == "denied\n" and .calls.approved == 0'
[ ! -s "$T/asked" ] || fail "asked: $(cat "$T/asked")"

# "once" is for one execution, also where others wait with an equal question; "no" is for all of them.
cat >"$T/w/equal.py" <<'END'
import os
def execute():
    pid = os.fork()
    if pid == 0:
        os.closerange(1, 2)
        try:
            os.execve("/usr/bin/id", ["id", "-u"], {})
        except OSError:
            os._exit(3)
    return pid
children = [execute() for _ in range(20)]
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
print(len(codes) - codes.count(3), codes.count(3))
END
asks "command:sleep 1; jq -c '{id, answer: (if .seq < 3 then \"once\" else \"no\" end)}'" -- python3 equal.py
ended '.stdout == "2 18\n" and .calls.approved == 2'

# A thread goes on exchanging an argument or a variable: what was asked is what runs, or the process is killed before.
cat >"$T/w/flip.py" <<'END'
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
text, variable, good = (ctypes.create_string_buffer(b, 64) for b in (b"good", b"PYTHONx=good", b"good"))
argv = (ctypes.c_void_p * 3)(ctypes.addressof(good), ctypes.addressof(text), None)
envp = (ctypes.c_void_p * 2)(ctypes.addressof(variable), None)
at = ctypes.addressof(variable) + 8 if sys.argv[1] == "variable" else ctypes.addressof(text)
def flip():
    while True:
        ctypes.memmove(at, b"evil", 4)
        ctypes.memmove(at, b"good", 4)
for i in range(12):
    if os.fork() == 0:
        threading.Thread(target=flip, daemon=True).start()
        libc.execve(b"bin/tool", argv, envp)
        os._exit(0)
    os.wait()
END
printf '#!/bin/sh\necho $1$PYTHONx\n' >"$T/w/bin/tool"
for what in argument variable; do
	asks "command:jq -c '{id, answer: (if .execute[1] + .environment.deciding[0] == \"goodPYTHONx=good\"
		then \"once\" else \"no\" end)}'" -- python3 flip.py $what
	# shellcheck disable=SC2034 # of approve-lib.sh: none to wait for
	approver=
	ended '(.stdout | test("evil") | not)'
done

# The name changes between the two judgements of an exec, so that nothing is asked: the supervisor keeps nothing of it.
printf '#!/bin/sh\n' | tee "$T/w/bin/run-a" >"$T/w/bin/run-b"
chmod 755 "$T/w/bin/run-a" "$T/w/bin/run-b"
cp "$CASES/cases-threat" "$T/w/"
sed -i 's|"@workdir/bin",|"@workdir/cases-threat", &|' "$T/p.json"
asks command:true -- "$T/w/cases-threat" flip-exec 4 "$T/w/bin/run-a" "$T/w/bin/run-b" &
run=$!
# shellcheck disable=SC2317 # called by awaited
finds_program()
{
	local found

	while read -r found; do
		has_line "${found%/*}/comm" '^cases-threat' || continue
		supervisor=$(awk '{print $4}' "${found%/*}/stat" 2>/dev/null)
		[ -n "$supervisor" ] && return
	done < <(grep -lsaxzF -- "$T/w/bin/run-b" /proc/[0-9]*/cmdline)
	return 1
}
awaited finds_program || die "no program: $(cat "$T/err")"
sleep 1
first=$(awk '/^RssAnon/ { print $2 }' "/proc/$supervisor/status")
last=$first
while now=$(awk '/^RssAnon/ { print $2 }' "/proc/$supervisor/status" 2>/dev/null) && [ -n "$now" ]; do
	last=$now
	sleep 0.1
done
wait $run
ended '.calls.by_syscall.execve > 0 and .calls.approved == 0'
[ $((last - first)) -le 500 ] || fail "the supervisor has grown from $first KiB to $last KiB"
echo "answers, scripts, names, arguments and contents that change"
