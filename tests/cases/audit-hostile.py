# Uses paths and arguments that a reader of its log may stumble over. For tests/live/cli/audit-*.sh.
# audit-hostile.py DIR: files in DIR, which are to be refused, get the same names before the run with --make.
import os
import signal
import socket
import subprocess
import sys

NAMES = [
    b"new\nline", b"return\rtab\t", b"quote\"comma,semi;", b"back\\slash\\x41", b"\x1b[2J\x1b]0;title\x07",
    b"\xff\xfe\x80", b"\xe2\x80\xae txt.exe", b"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f\xe2\x80\x8e\xd8\x9c",
    b"\xc2\x9b31m\x7f", "\N{GRINNING FACE} \u00e4\u4e2d".encode(), b" spaces ", b"'); DROP TABLE records;--",
    b"=cmd|' calc'!A0", b"<script><img src=x>", b"-", b"\xed\xa0\x80", b"a" * 255, b"\xf0\x9f", b"{\"seq\":0}",
]
DIR = os.fsencode(sys.argv[1])
if "--make" in sys.argv:
    for name in NAMES:
        with open(os.path.join(DIR, name), "w"):
            pass
    sys.exit()


def attempt(call, *arguments):
    try:
        result = call(*arguments)
        if call is os.open:
            os.close(result)
    except OSError:
        pass


for name in NAMES:
    attempt(os.open, name, os.O_CREAT | os.O_WRONLY, 0o600)
    attempt(os.rename, name, name[:200] + b".moved")
    attempt(os.symlink, name, b"link")
    attempt(os.unlink, b"link")
    attempt(os.open, b"/etc/none/" + name, os.O_RDONLY)
    attempt(os.open, os.path.join(DIR, name), os.O_RDONLY)
    attempt(os.open, os.path.join(DIR, name), os.O_WRONLY)
    attempt(os.unlink, os.path.join(DIR, name))
long = b"/srv/" + b"x/" * 2045
attempt(os.open, long, os.O_RDONLY)
attempt(os.stat, (b"\xff" * 254 + b"/") * 16)
attempt(os.stat, (b"\xe2\x80\xae" * 80 + b"/") * 16)
for host, port in ("127.0.0.1", 9), ("nowhere.invalid", 443), ("other.invalid", 80):
    attempt(socket.create_connection, (host, port), 5)
attempt(os.kill, 1, signal.SIGTERM)
if "--long" in sys.argv:
    subprocess.run([sys.executable, "-c", "pass"] + ["y" * 100000] * 20, check=False)
