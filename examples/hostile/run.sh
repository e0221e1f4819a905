#!/bin/sh
# Runs hostile.py in a fresh workdir; its exit status is 0 when nothing was got. Arguments go to it; it ignores them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
# A secret and a descriptor of the caller's that the program should find nowhere.
export HOSTILE_TOKEN=secret-of-the-caller
exec "$callgate" run -p "$here/policy.json" --input "$here/hostile.py" --input "$here/attempt.py" \
	--input "$here/files.py" --input "$here/kernel.py" --input "$here/others.py" -- \
	/usr/bin/python3 hostile.py "$@" 3</etc/passwd
