#!/bin/bash
# A procfs within a granted tree (of a chroot or a container): its "self" would be the supervisor that walks it. It is
# not visible to the program.
. "$(dirname "$0")/../lib.sh"
need unshare mount
mkdir -p "$T/root/proc" "$T/w"
cat >"$T/inside.sh" <<EOF
mount --rbind /proc "$T/root/proc" 2>/dev/null || exit 77
"$CALLGATE" run --profile extended -W "$T/root" -w "$T/w" -- /bin/sh -c \
	'cat "\$1/self/cmdline" "\$1/self/maps" "\$1/cpuinfo"; ls "\$1"
	: 3<>"\$1/self/mem" && echo memory' sh "$T/root/proc"
"$CALLGATE" run --profile extended -r "$T/root/proc" -w "$T/w" -- /bin/true && echo "a procfs was granted"
exit 0
EOF
unshare -m sh "$T/inside.sh" >"$T/out" 2>"$T/err" || unshare -rm sh "$T/inside.sh" >"$T/out" 2>"$T/err" ||
	skip "no mounts can be made here"
[ -s "$T/out" ] && fail "seen through another procfs: $(tr '\0' ' ' <"$T/out" | head -c 300)"
grep -q 'No such file' "$T/err" || fail "not refused as absent: $(cat "$T/err")"
grep -q 'is a procfs' "$T/err" || fail "no message for a procfs that is granted: $(cat "$T/err")"
exit 0
