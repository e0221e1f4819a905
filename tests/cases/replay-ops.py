# Asks for every path of a list in several ways; no answer changes what comes next. For tests/live/cli/replay.sh.
import os
import sys


def attempt(call, *arguments):
    try:
        fd = call(*arguments)
    except OSError:
        return
    if call is os.open:
        os.close(fd)
    elif call is os.mkdir:
        os.rmdir(arguments[0])
    elif call is os.symlink:
        os.unlink(arguments[1])


for path in open(sys.argv[1]).read().split("\n"):
    if not path:
        continue
    attempt(os.open, path, os.O_RDONLY)
    attempt(os.open, path, os.O_WRONLY)
    attempt(os.stat, path)
    attempt(os.lstat, path)
    attempt(os.readlink, path)
    attempt(os.mkdir, path)
    attempt(os.chmod, path, 0o755)
    attempt(os.rename, path, path)
    attempt(os.link, path, path + ".no/link")
    attempt(os.symlink, "target", path)
