#!/bin/bash
# System calls that this kernel has and older ones lack: there they are ENOSYS inside, too, whatever their arguments
# are, and whether a policy allows them or not. glibc tells by that what it has to do in another way.
. "$(dirname "$0")/../lib.sh"
failing=$CASES/callgate-failing
[ -x "$failing" ] || skip "not built: $failing"
cat >"$T/try.py" <<'PY'
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
CALLS = {"fchmodat2": 452, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466,
         "file_getattr": 468, "file_setattr": 469}
for name, number in CALLS.items():
    for path in (b"file", b"/etc/not-there", None, ctypes.c_void_p(1)):
        got = libc.syscall(number, -100, path, 0, None, None, 0)
        print(name, errno.errorcode.get(ctypes.get_errno(), "?") if got < 0 else "works")
PY
mkdir "$T/w"
touch "$T/w/file"
FAIL_CALLS=fchmodat2+setxattrat+getxattrat+listxattrat+removexattrat+file_getattr+file_setattr \
	FAIL_FROM=1 FAIL_TO=100000 FAIL_ERROR=38 timeout -k 5 "$LIVE_TIMEOUT" "$failing" run --profile extended \
	-w "$T/w" -r "$T/try.py" -- "$PYTHON" "$T/try.py" </dev/null >"$T/out" 2>"$T/err" ||
	fail "it ends with $?: $(cat "$T/err")"
[ "$(grep -c ' ENOSYS$' "$T/out")" = 28 ] || fail "not all are lacking: $(cat "$T/out")"
# Where the kernel has them: as it says. It may be one that lacks some.
(cd "$T/w" && native "$PYTHON" "$T/try.py") >"$T/native" 2>"$T/err" || fail "natively: $? $(cat "$T/err")"
cg_run extended -w "$T/w" -r "$T/try.py" -- "$PYTHON" "$T/try.py" >"$T/inside" 2>"$T/err" ||
	fail "inside: $? $(cat "$T/err")"
for side in native inside; do
	[ "$(wc -l <"$T/$side")" = 28 ] || fail "$side: not every call was tried: $(cat "$T/$side")"
	grep -n ENOSYS "$T/$side" >"$T/$side.lacking"
done
diff "$T/native.lacking" "$T/inside.lacking" >&2 || fail "lacking natively (<) and inside (>)"
