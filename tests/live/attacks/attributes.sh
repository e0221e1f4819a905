#!/bin/bash
# Extended attributes use memory or disk space that st_blocks and the control group do not show. They count towards the
# disk limit, and are bounded without a limit, too. Tested on tmpfs, which restricts them least.
. "$(dirname "$0")/../lib.sh"
need jq
M=$(mktemp -d /dev/shm/cg-live.XXXXXX 2>/dev/null) || skip "no /dev/shm"
trap 'rm -rf "$M"; live_done' EXIT
$PYTHON -c 'import os, sys; os.setxattr(sys.argv[1], "user.a", b"x")' "$M" 2>/dev/null ||
	skip "no user attributes on /dev/shm"
cat >"$T/fill.py" <<'EOP'
import os, sys
taken = 0
os.mkdir("d")
try:
    for i in range(1000):
        name = "user.a%d" % (0 if sys.argv[1] == "replace" else i)
        os.setxattr("d", name, b"x" * 60000)
        taken += 60000
        if sys.argv[1] == "remove":
            os.removexattr("d", name)
except OSError as e:
    print(e.strerror, end=" ")
print(taken >> 20)
EOP
run()
{
	TMPDIR=$M cg run --json --profile python -r "$T/fill.py" "${@:2}" -- "$PYTHON" "$T/fill.py" "$1" \
		>"$T/json" 2>"$T/err"
}
# expect NAME FILTER
expect()
{
	jq -e "$2" "$T/json" >/dev/null || fail "$1: $(jq -c '[.status, .stdout, .limits.disk, .error]' "$T/json")"
}

run add
expect 'without a limit' '.status == "ok" and .stdout == "No space left on device 15\n"'
run add --disk 2M
expect 'past the limit' '.status == "limit" and .limits.disk.hit and .limits.disk.peak < 3000000'
run replace --disk 2M
expect 'one value again and again' '.status == "ok" and .stdout == "57\n" and .limits.disk.used < 200000'
run remove --disk 2M
expect 'removed again' '.status == "ok" and .stdout == "57\n" and .limits.disk.used < 100000'
