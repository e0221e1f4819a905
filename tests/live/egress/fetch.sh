#!/bin/bash
# Where pidfd_getfd(2) is refused, as in most containers, sockets work all the same, and a program that interferes with
# the replacement gains nothing.
. "$(dirname "$0")/../lib.sh"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"
REAL=$CALLGATE CALLGATE=$T/callgate
mkdir "$T/w"

CG_OPTIONS=(-x "$CASES/cases-diff")
same sockets "$CASES/cases-diff" "$T/w" sock watch
CG_OPTIONS=()

# It binds a thousand names: one descriptor left behind of each would show.
# Descriptors of the run's keeper and supervisor, whose command lines are the same.
counts()
{
	local pid
	for pid in $(survivors "$T/w"); do
		[ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$REAL")" ] &&
			find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l
	done
}

hostile cases-threat storm &
storm=$!
awaited has_line "$T/out" 'done'
if [ "$(id -u)" = 0 ]; then # others may not look: it is not dumpable
	most=$(counts | sort -n | tail -n 1)
	[ "${most:-0}" -gt 5 ] || fail "no supervisor is seen: $(cat "$T/out")"
	[ "${most:-0}" -lt 300 ] || fail "the supervisor holds $most descriptors"
fi
: >"$T/w/seen"
wait "$storm" || fail "see above"
grep -q 'done' "$T/out" || fail "the storm did not end: $(cat "$T/out")"
audit_has '.syscall == "bind" and .verdict == "allow"'
