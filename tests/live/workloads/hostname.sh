#!/bin/bash
# The machine's name: uname(2), /etc/hostname, /etc/hosts and what resolves it agree, without a network and with one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq hostname
net_policy '{"allow": []}'
mkdir "$T/w"
cat >"$T/w/all" <<END
exec 2>&1
hostname; uname -n; cat /etc/hostname /proc/sys/kernel/hostname
hostname -i
$PYTHON -c 'import socket; print(socket.gethostbyname(socket.gethostname()), socket.getfqdn())'
END

# expect_name NAME [COMMAND…]: inside, started by COMMAND.
expect_name()
{
	local name=$1 policy
	shift
	for policy in --profile=extended "-p$NET/policy.json"; do
		# shellcheck disable=SC2086 # several words
		timeout -k 5 "$LIVE_TIMEOUT" "$@" "$CALLGATE" run ${LIVE_WITHOUT:+--without $LIVE_WITHOUT} "$policy" \
			-w "$T/w" -- sh ./all >"$T/out" 2>&1 </dev/null
		printf '%s\n' "$name" "$name" "$name" "$name" 127.0.0.1 "127.0.0.1 localhost" |
			diff - "$T/out" >&2 || fail "'$LIVE_WITHOUT' $policy: expected (<), inside (>)"
	done
}

for LIVE_WITHOUT in "" utsns namespaces; do
	expect_name "$(uname -n)"
done
if [ "$(id -u)" = 0 ] && unshare -u true 2>/dev/null; then
	LIVE_WITHOUT=''
	expect_name box.example.test unshare -u sh -c 'hostname box.example.test; exec "$@"' sh
	# A name that would break the line is left out.
	unshare -u sh -c 'echo "a b" >/proc/sys/kernel/hostname; exec "$@"' sh \
		"$CALLGATE" run --profile extended -- cat /etc/hosts /etc/hostname \
		>"$T/out" 2>&1 </dev/null
	printf '127.0.0.1\tlocalhost\n::1\tlocalhost\nlocalhost\n' | diff - "$T/out" >&2 || fail "an odd name"
fi
