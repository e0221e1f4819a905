"""Programs on terminals that a session makes: job control, keys, sizes, signals, and what they cannot reach.

Arguments: the session's socket. `expect` lines say what failed.
"""
import array
import fcntl
import json
import os
import re
import select
import socket
import struct
import sys
import termios
import time

path = sys.argv[1]
failed = False
PATIENCE = 60


def expect(what, condition, got=""):
    global failed
    if not condition:
        failed = True
        print(f"{what}: {got}", file=sys.stderr)


class Program:
    def __init__(self, *argv, terminal=None, **more):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.connect(path)
        self.sock.settimeout(PATIENCE)
        env = {"PS1": "ready> ", "TERM": "dumb"}
        self.sock.send(json.dumps({"op": "exec", "argv": argv, "env": env,
                                   "terminal": terminal or {"columns": 100, "rows": 30}, **more}).encode())
        data, control, _, _ = self.sock.recvmsg(1 << 20, 64)
        self.answer = json.loads(data)
        self.output = b""
        self.master = array.array("i", control[0][2])[0] if control else -1

    def pump(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            self.output += data
        return True

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = re.search(pattern, self.output)
            if found:
                self.output = self.output[found.end():]
                return found
            if not self.pump(0.1):
                break
        print(f"no {pattern} in {self.output[-300:]}", file=sys.stderr)
        sys.exit(1)

    def type(self, keys):
        os.write(self.master, keys)

    def end(self):
        deadline = time.monotonic() + PATIENCE
        while self.pump(0.1):
            if time.monotonic() > deadline:
                print(f"does not end: {self.output[-300:]}", file=sys.stderr)
                sys.exit(1)
        self.result = json.loads(self.sock.recv(1 << 20))
        os.close(self.master)
        return self.result


def shell():
    program = Program("bash", "--norc", "-i")
    program.until(rb"ready> ")
    return program


# ---- what a terminal is ----
shell_one = shell()
for command, pattern in ((b"tty", rb"[\r\n]/dev/pts/[0-9]+\r"), (b"stty size", rb"[\r\n]30 100\r"),
                         (b"echo x >/dev/tty", rb"[\r\n]x\r"), (b"ls -l $(tty)", rb"[\r\n]crw.*\r"),
                         (b"ps -o pid= -o tty= $$", rb"[\r\n] *[0-9]+ pts/[0-9]+\r")):
    shell_one.type(command + b"\n")
    shell_one.until(pattern)
    shell_one.until(rb"ready> ")

# ---- job control and keys ----
# A key must not come before the job is in the foreground, which its own words tell (the echo of the line has quotes in
# them). No shell: dash would vfork, and a child that Ctrl-Z stops before its exec keeps its parent from stopping. Short
# sleeps, because Python runs no handler of a signal that comes just before the call.
shell_one.type(b"""python3 -Sc "import os, signal, time\n"""
               b"""signal.signal(18, lambda *_: os.write(1, b'cont' b'inued\\n'))\n"""
               b"""print('start' 'ed', flush=True); [time.sleep(0.1) for _ in range(1000)]"\n""")
shell_one.until(rb"started\r")
shell_one.type(b"\x1a")  # Ctrl-Z
shell_one.until(rb"Stopped")
shell_one.until(rb"ready> ")
shell_one.type(b"jobs; fg\n")
shell_one.until(rb"Stopped *python3 -S")
shell_one.until(rb"continued\r")
shell_one.type(b"\x03")  # Ctrl-C: the job in the foreground, not the shell
shell_one.until(rb"ready> ")
shell_one.type(b"echo status $?\n")
shell_one.until(rb"status 130")
shell_one.type(b"trap 'echo resized $(stty size)' WINCH\n")
shell_one.until(rb"ready> ")
fcntl.ioctl(shell_one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 55, 0, 0))
shell_one.until(rb"ready> |resized")
shell_one.type(b"stty size\n")
shell_one.until(rb"44 55")

# ---- another program's terminal, and typing into one ----
python = Program("python3", "-q", "-i")
python.until(rb">>> ")
python.type(b"import fcntl, os, termios, errno\n")
python.until(rb">>> ")
for call in (rb"fcntl.ioctl(0, termios.TIOCSTI, b'x')", rb"fcntl.ioctl(0, termios.TIOCSTI | 1 << 31, b'x')",
             rb"fcntl.ioctl(0, 0x541d)",  # TIOCCONS
             rb"fcntl.ioctl(0, 0x5423, b'\0\0\0\0')"):  # TIOCSETD
    python.type(call + b"\n")
    python.until(rb"Error")
    python.until(rb">>> ")
# The terminal of a session's leader cannot be taken away.
python.type(b"fd = os.open('%s', os.O_RDWR | os.O_NOCTTY)\n" % b"/dev/pts/0")
python.until(rb">>> ")
python.type(b"if os.fork() == 0:\n  os.setsid()\n  try: fcntl.ioctl(0, termios.TIOCSCTTY, 1); os._exit(0)\n"
            b"  except OSError as e: os._exit(100 + e.errno)\n\n")
python.until(rb">>> $")
python.type(b"os.waitstatus_to_exitcode(os.wait()[1])\n")
python.until(rb"\n101\r")
python.until(rb">>> ")  # until then the line discipline may take Ctrl-D, which readline then does not see
python.type(b"\x04")
result = python.end()
expect("python ends with its input", result["status"] == "ok" and result["exit_code"] == 0, result)

shell_one.type(b"exit 5\n")
result = shell_one.end()
expect("its status", result["exit_code"] == 5, result)

# ---- signals of the client, a client that hangs up, a program that ignores the hang-up ----
sleeper = Program("sleep", "100")
sleeper.sock.send(b'{"op": "signal", "signal": 15}')
result = sleeper.end()
expect("a signal", result["exit_code"] == 143, result)
stubborn = Program("bash", "-c", "trap '' HUP; echo on; while :; do sleep 0.1; done")
stubborn.until(rb"on")
os.close(stubborn.master)
stubborn.sock.close()
watching = Program("sh", "-c", "while ps -ef | grep -q '[t]rap .. HUP'; do sleep 0.1; done; echo alone")
watching.until(rb"alone")
watching.end()

# ---- nothing is left of the session's terminal in a program without one ----
plain = Program("python3", "-c", "import os; print(os.listdir('/proc/self/fd')); os.open('/dev/tty', 2); print('has')")
plain.until(rb"\['0', '1', '2', '3'\]")
plain.until(rb"has")
plain.end()

# ---- mistakes ----
for terminal in ([], "x", 1):
    expect("no object", Program("true", terminal=terminal or [1]).answer.get("error", {}).get("code") ==
           "bad_request")
expect("detached", Program("true", detached=True).answer["error"]["code"] == "bad_request")
for size in ({}, {"columns": -1, "rows": 1 << 40}, {"columns": "x"}):
    odd = Program("stty", "size", terminal=size or {"x": 0})
    odd.until(rb"0 0")
    odd.end()
missing = Program("nosuch")
expect("no such program", missing.answer["error"]["code"] == "not_found", missing.answer)

# ---- many: each has its own; beyond the limit an error, and all come back ----
many = [Program("sleep", "30") for _ in range(140)]
errors = [p.answer["error"]["code"] for p in many if "error" in p.answer]
expect("many terminals", len(errors) >= 10 and set(errors) == {"no_terminal"}, errors)
for program in many:
    program.sock.close()
    if program.master >= 0:
        os.close(program.master)
deadline = time.monotonic() + PATIENCE
while "error" in (last := Program("true")).answer:
    if time.monotonic() > deadline:
        expect("terminals are free again", False, last.answer)
        break
    time.sleep(0.1)
if last.master >= 0:
    last.end()
sys.exit(failed)
