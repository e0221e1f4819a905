#!/bin/bash
# Programs and grants named through symbolic links of the host: /bin -> usr/bin, /bin/sh -> dash, a grant that is a
# symbolic link itself.
. "$(dirname "$0")/../lib.sh"

says()
{
	local want=$1 out
	shift
	out=$(timeout "$LIVE_TIMEOUT" "$CALLGATE" run "$@" 2>&1)
	[ "$out" = "$want" ] || fail "$*: $out"
}

sh=$(readlink -f /bin/sh)
says ok -- /bin/sh -c 'echo ok'
says ok -- sh -c 'echo ok'
says ok --profile minimal -x "$sh" -- "/bin/${sh##*/}" -c 'echo ok'
says ok --profile minimal -x /bin/sh -- /bin/sh -c 'echo ok'

mkdir -p "$T/real/sub" "$T/other"
echo text >"$T/real/sub/file"
ln -s "$T/real" "$T/link"
ln -s ../real/sub "$T/other/deep"
says text -x /bin/sh -r "$T/link" -- sh -c "read -r line <$T/link/sub/file && echo \$line"
says text -x /bin/sh -r "$T/link" -- sh -c "read -r line <$T/real/sub/file && echo \$line"
says text -x /bin/sh -r "$T/real" -r "$T/other/deep" -- sh -c "read -r line <$T/other/deep/file && echo \$line"
