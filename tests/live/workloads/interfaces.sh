#!/bin/bash
# What programs learn of the machine's interfaces, addresses and routes: the run's loopback. Natively in a network
# namespace with these addresses, and inside: with a namespace of the run's own, with a stand-in, and where memory is
# sampled.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq ip
mkdir "$T/w"
cp "$SRC/tests/cases/interfaces.py" "$T/w/interfaces.py"
port=$(net_free_port STREAM)
net_policy "{\"allow\": [], \"listen\": [$port]}"
if go_program interfaces-go "$SRC/tests/cases/interfaces.go"; then
	# shellcheck disable=SC2154 # go_program sets it
	cp "$go_program" "$T/w/go"
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc -static -o "$T/w/musl" "$SRC/tests/cases/interfaces.c" 2>"$T/err" || die "musl-gcc: $(cat "$T/err")"
fi

cat >"$T/w/all" <<END
exec 2>&1
ip address; ip link; ip route; ip route show table local; ip -6 route show table all; ip -o address show dev lo
ip route get 127.0.0.1; ip link show dev eth0; ip route get 192.0.2.1; ip link set lo down
hostname -I
$PYTHON interfaces.py $port
[ ! -x go ] || ./go
[ ! -x musl ] || ./musl
! command -v node >/dev/null || node -p 'JSON.stringify(require("os").networkInterfaces())'
END

# As the keeper makes the run's own.
if [ "$(id -u)" = 0 ]; then
	alone=(unshare -n) plain="setpriv --no-new-privs --inh-caps=-all --bounding-set=-all --"
else
	alone=(unshare -Urn) plain="unshare --user --map-user=$(id -u) --"
fi
in_namespace()
{
	# shellcheck disable=SC2016 # the inner shell's
	# shellcheck disable=SC2154 # live_env: lib.sh's
	timeout -k 5 "$LIVE_TIMEOUT" env -i "${live_env[@]}" "${alone[@]}" sh -c "
		ip link set lo up && ip route add local 198.18.0.0/15 dev lo && ip address add 198.18.0.1/32 dev lo &&
		ip route add local fd00:5a::/32 dev lo && ip address add fd00:5a::1/128 dev lo nodad &&
		exec $plain sh ./all" </dev/null
}

cd "$T/w" || die "cd"
if "${alone[@]}" true 2>/dev/null; then
	in_namespace >"$T/native" 2>&1
	grep -q "inet 198.18.0.1/32" "$T/native" || skip "no addresses can be added here: $(head -n 3 "$T/native")"
fi
# What a namespace and its copy differ in: routes' protocols, the kernel's addresses of other ages, ports of its own,
# and that this test's address is there at once.
normal()
{
	sed 's/ proto \(static\|boot\)//; s/ noprefixroute//; s/ proto kernel_lo//
		s/ nodad//; s/ uid [0-9]*//; s/ *$//' "$1"
}

inside()
{
	net_run -w "$T/w" "$@" -- sh ./all >"$T/inside" 2>&1
	[ -e "$T/native" ] || cp "$T/inside" "$T/native" # in a container: that all tell the same is left
	diff <(normal "$T/native") <(normal "$T/inside") >"$T/diff" ||
		fail "'$LIVE_WITHOUT' $*: natively (<) and inside (>): $(head -n 30 "$T/diff")"
	grep -q "b'by zmq'\|no zmq" "$T/inside" || fail "'$LIVE_WITHOUT' $*: $(tail -n 5 "$T/inside")"
}

mapfile -t sets < <(differing "" netns pidns namespaces)
for LIVE_WITHOUT in "${sets[@]}"; do
	inside
done
LIVE_WITHOUT=cgroups inside -m 2G
layer netns && LIVE_WITHOUT=cgroups,namespaces inside -m 2G

# Java asks by ioctl and /proc/net/if_inet6, on a socket of UDP.
if command -v javac >/dev/null && layer netns; then
	javac -J-XX:TieredStopAtLevel=1 -d "$T/w" "$SRC/tests/cases/Interfaces.java" 2>"$T/err" ||
		die "javac: $(cat "$T/err")"
	LIVE_WITHOUT='' net_run -w "$T/w" -- java -XX:TieredStopAtLevel=1 -cp . Interfaces >"$T/out" 2>&1
	grep -q '^lo 1 true true 65536 \[.*127.0.0.1' "$T/out" || fail "Java: $(head -n 5 "$T/out")"
	grep -qx "$(uname -n)/127.0.0.1" "$T/out" || fail "Java's local host: $(tail -n 1 "$T/out")"
fi
