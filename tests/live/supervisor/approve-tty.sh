#!/bin/bash
# "on_deny": "ask" with --approve tty: questions on callgate's own terminal, one at a time, answered by number and word;
# what was typed too early, another number, Ctrl-D; and where the program could write to that terminal.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

# tty PYTHON -- ARGUMENTS: runs callgate on a terminal of its own, with its standard output in $T/result. PYTHON has
# expect(TEXT), which waits for it on the terminal, and type(TEXT).
tty()
{
	local script=$1

	shift 2
	rm -rf "$T/audit" "$T/screen"
	cat >"$T/approve-tty.py" <<END
import os, pty, sys, time
pid, master = pty.fork()
if pid == 0:
    out = os.open("$T/result", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.execv("$CALLGATE", ["callgate", "run", "-p", "$T/p.json", "--audit", "$T/audit", "--approve", "tty", "-e",
                           "PATH=/usr/bin:/bin", "-t", "60", "-w", "$T/w"] + sys.argv[1:])
screen = b""
def more():
    global screen
    try:
        data = os.read(master, 4096)
    except OSError:
        data = b""
    screen += data
    return data
def expect(text):
    global screen
    while text.encode() not in screen:
        if not more():
            sys.exit("not on the terminal: %s, but %r" % (text, screen))
    screen = screen[screen.index(text.encode()) + len(text):]
def type(text):
    os.write(master, text.encode())
$script
while more():
    pass
os.waitpid(pid, 0)
open("$T/screen", "wb").write(screen)
END
	timeout 100 python3 "$T/approve-tty.py" "$@" || fail "the terminal"
}

tty '
expect("callgate: question 1")
expect("started by: \"")
expect("wants to: read")
expect("path: \"'"$H"'/a\"")
expect("rule for this: {\"filesystem\": {\"read\": [\"'"$H"'/a\"]}}")
expect("would open: every way to read it")
expect("answer \"1 once\", \"1 run\", \"1 no\", \"1 stop\": ")
type("once\n")
expect("none of these answers")
type("2 once\n")
expect("none of these answers")
type("x" * 255 + "1 once\n") # read in two parts
expect("none of these answers")
expect("none of these answers")
type("1 once\n")
expect("closed: answered")
expect("question 2")
expect(": ")
type("2 no\n")' -- --json -- sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "text a\n" and .denials[0].answer == "no" and .calls.approved == 1'
record '.answer == "once" and .answered_how == "terminal" and .answered_by == '"$(id -u)"

# What was typed before the question is none of its answers; one question at a time; Ctrl-D: the person is gone.
tty '
type("1 once\n")
expect("question 1")
expect("stop\": ")
type("1 no\n")
expect("question 2")
expect("stop\": ")
assert b"question" not in screen
type("\x04")
expect("nothing more is asked here")' -- --json -- sh -c "cat '$H/a'; cat '$H/b' & cat '$H/c' & wait"
ended '.stdout == "" and .calls.approved == 0 and ([.denials[].answer] == ["no", "approver_gone", "approver_gone"])'

# A question without an answer is closed in time.
tty '
expect("question 1")
expect("closed: no answer came in time")
expect("question 2")
expect(": ")
type("1 once\n")
expect("none of these answers")
type("2 stop\n")' -- --json --ask-timeout 5s -- sh -c "cat '$H/a'; cat '$H/b'; echo late"
ended '.status == "killed" and .stdout == "" and .termination.cause == "answer"'

# What is executed, and by which program, is on the screen together with the prompt, however many lines come before.
jq '.filesystem.exec += ["/usr"] | .exec.ask = ["/usr/bin/id"]' "$T/p.json" >"$T/p2.json" && mv "$T/p2.json" "$T/p.json"
cat >"$T/w/many.py" <<END
import os, sys
os.execve("/usr/bin/id", ["id", "-x" * 700], {f"npm_config_setting_{i}": "v" for i in range(500)})
END
tty '
expect("question 1")
expect("path: \"/usr/bin/id\"")
expect("npm_config_setting_499")
while b"stop\": " not in screen:
    more()
rows = sum(len(row) // 80 + 1 for row in screen.split(b"\n"))
assert rows < 24, rows
expect("again: program: \"'"$(readlink -f /usr/bin/python3)"'\"")
expect("again: wants to: execute")
expect("again: path: \"/usr/bin/id\"")
expect("again: with arguments: \"id -x-x-x")
expect("stop\": ")
type("1 no\n")' -- --json -- sh -c "python3 many.py 2>/dev/null || echo denied"
ended '.stdout == "denied\n" and .denials[0].answer == "no"'

# Where the program writes to the terminal, or reads from it, it could imitate questions, or take answers.
tty 'expect("could imitate a question")' -- -- true
tty 'expect("would read what is typed")' -- --json -i -- true
exit 0
