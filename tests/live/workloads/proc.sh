#!/bin/bash
# What tools read of /proc, natively in a network namespace and inside: tables of mounts, the network, the machine.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq df findmnt
judged proc || skip "the tables of callgate's own are looked at"
net_policy '{"allow": []}'
mkdir "$T/w"
cat >"$T/w/all" <<'END'
exec 2>&1
set -e
# Each place is in the tables, with the device and the rights that stat(2) and open(2) tell.
for place in / . /usr /tmp /proc; do
	df --output=target "$place" | tail -n 1
done
findmnt -n -o TARGET -T .
findmnt -n -o OPTIONS -T . | grep -o '^rw'
findmnt -n -o OPTIONS -T /usr | grep -o '^ro'
findmnt -n -o TARGET,FSTYPE /proc
df -P . >/dev/null && df -a >/dev/null && df -i . >/dev/null && mountpoint -q /proc && mountpoint -q .
[ "$(awk -v dir="$PWD" '$5 == dir { print $3 }' /proc/self/mountinfo)" = "$(mountpoint -d .)" ]
[ "$(wc -l </proc/mounts)" = "$(wc -l </proc/self/mountinfo)" ]
[ "$(wc -l </proc/self/mounts)" = "$(wc -l </proc/thread-self/mountstats)" ]
cmp /proc/mounts /etc/mtab 2>/dev/null || [ ! -e /etc/mtab ]
readlink /proc/mounts /proc/net
# The network.
cat /proc/net/dev | cut -d : -f 1
awk '{ print $1, $6 }' /proc/net/if_inet6 | sort
cat /proc/self/net/route
head -qn 1 /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 /proc/net/unix
ls /proc/net /proc/self/net/
cd /proc/self/net && ls && cat dev | wc -l && cd "$OLDPWD"
# The machine's.
for file in vmstat stat loadavg uptime cpuinfo; do
	[ "$(head -c 1 /proc/$file | wc -c)" = 1 ]
done
ls -d /proc/self/task/$$ /proc/self/fdinfo/1 | sed 's/[0-9]*$//'
uptime >/dev/null; free >/dev/null; vmstat >/dev/null; w >/dev/null 2>&1 || :
# Listed is what can be opened.
find /proc/sys -type d -exec ls {} + | sort -u | tr '\n' ' '
find /proc/sys -type f -exec cat {} + >/dev/null
(cd /proc/sys/kernel && ls random && cd .. && ls)
# Refused.
! cat /proc/self/pagemap 2>/dev/null
END
sed -i "s/ls -d \/proc\/self\/task\/\$\$ /ls -d \/proc\/self\/task\/* /" "$T/w/all"

first=
mapfile -t sets < <(differing "" netns pidns namespaces)
mapfile -t ends < <(differing "" namespaces)
for LIVE_WITHOUT in "${sets[@]}"; do
	net_run -w "$T/w" -- bash ./all >"$T/out" 2>&1 || fail "'$LIVE_WITHOUT': $(tail -n 5 "$T/out")"
	cg_run extended -w "$T/w" -- bash ./all >"$T/bare" 2>&1 || fail "'$LIVE_WITHOUT', bare: $(tail -n 5 "$T/bare")"
	[ -n "$first" ] || cp "$T/out" "$T/first"
	first=1
	diff "$T/first" "$T/out" >&2 || fail "'$LIVE_WITHOUT' tells something else"
	# The run's own address of the pool is there with a network alone.
	diff <(grep -v '^fd00005a' "$T/out") "$T/bare" >&2 || fail "'$LIVE_WITHOUT': without a network it differs"
done

# As in a namespace.
if unshare -n true 2>/dev/null; then
	files="cd /proc/self/net; cat dev route tcp tcp6 udp udp6 if_inet6; head -n 1 unix"
	LIVE_WITHOUT=namespaces cg_run extended -- sh -c "$files" >"$T/out" 2>&1
	unshare -n sh -c "ip link set lo up; $files" >"$T/native" 2>&1
	diff "$T/native" "$T/out" >&2 || fail "a namespace (<) and its copy (>)"
fi

if command -v java >/dev/null && command -v javac >/dev/null; then
	mkdir "$T/j"
	cat >"$T/j/Store.java" <<'END'
import java.nio.file.*;

public class Store {
    public static void main(String[] args) throws Exception {
        FileStore store = Files.getFileStore(Path.of("."));
        System.out.println(store.isReadOnly() + " " + (store.getTotalSpace() > 0));
    }
}
END
	javac -J-XX:TieredStopAtLevel=1 -d "$T/w" "$T/j/Store.java" 2>"$T/err" || die "javac: $(cat "$T/err")"
	for LIVE_WITHOUT in "${ends[@]}"; do
		cg_run extended -w "$T/w" -- java -XX:TieredStopAtLevel=1 -cp . Store >"$T/out" 2>&1
		[ "$(cat "$T/out")" = "false true" ] || fail "'$LIVE_WITHOUT' Java: $(head -n 3 "$T/out")"
	done
fi

prepare() { cp "$SRC/tests/cases/proc-ends.py" "$1/"; }
for LIVE_WITHOUT in "${ends[@]}"; do
	same "processes that have ended, without '$LIVE_WITHOUT'" "$PYTHON" proc-ends.py
done

# A setup and the program share a scratch directory, in which these files are made.
for LIVE_WITHOUT in "${ends[@]}"; do
	rm -f "$T/audit.setup"
	cg_run extended -w "$T/w" --setup 'cat /proc/mounts >before && ls /proc/net/' \
		-- sh -c 'cmp /proc/mounts before && cat /proc/net/dev >/dev/null' >"$T/out" 2>&1 ||
		fail "'$LIVE_WITHOUT' with a setup: $(tail -n 3 "$T/out")"
done
