import os
import sys

source, left = b"", int(sys.argv[1])
while len(source) < left:
    more = os.read(0, left - len(source))
    if not more:
        os._exit(0)
    source += more
exec(compile(source, "<callgate>", "exec"), {"__name__": "callgate_runner"})
