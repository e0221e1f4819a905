#!/bin/bash
# A run has its own namespace of every kind. In them the kernel resolves no path outside the view, and all processes die
# with the supervisor. A namespace that the system does not permit is left out and reported.
. "$(dirname "$0")/../lib.sh"
need jq unshare setpriv awk
[ -z "${LIVE_WITHOUT:-}" ] || skip "runs go without $LIVE_WITHOUT"
mkdir "$T/w" "$T/w/hidden"
echo secret >"$T/w/hidden/key"
echo secret >"$T/w/denied"
echo secret >"$T/secret"
kinds='userns mountns pidns ipcns utsns netns cgroupns'
# shellcheck disable=SC2016 # the inner shell's
work='cd /tmp && echo text >f && mv f g && cat g && ls /proc/self/fd >/dev/null && [ -r /etc/passwd ] && kill -0 $$'

# has FILE LAYER BOOL: what the result in FILE says of a layer.
has()
{
	[ "$(jq -r ".enforcement.$2.active" "$1")" = "$3" ] || fail "$1: $2 is not $3: $(jq -c ".enforcement.$2" "$1")"
}

more=() # further options of tried()

# tried NAME COMMAND…: a run below COMMAND works; its result is in $T/NAME.
tried()
{
	local name=$1
	shift
	"$@" timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" run --json --profile extended "${more[@]}" -- sh -c "$work" \
		</dev/null >"$T/$name" 2>"$T/err"
	[ "$(jq -r .stdout "$T/$name")" = text ] || fail "$name: $(cat "$T/$name" "$T/err")"
}

# refused COMMAND…: --require namespaces is an error with one message there.
refused()
{
	local status
	"$@" timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" run --require namespaces -- true </dev/null >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 125 ] || fail "--require namespaces: ended with $status: $(cat "$T/err")"
	grep -q 'the layer [a-z]*ns is required and not active: ' "$T/err" || fail "not said: $(cat "$T/err")"
	[ "$(wc -l <"$T/err")" = 1 ] || fail "not one message: $(cat "$T/err")"
}

# ---- with less, also where nothing is permitted at all ----

tried all env
for kind in $kinds namespaces; do
	for side in with without; do
		[ $side = with ] && [ "$kind" = namespaces ] && continue
		timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" run --json --profile extended --without "$kind" \
			-- sh -c "$work" </dev/null >"$T/less" 2>&1
		[ "$(jq -r .stdout "$T/less")" = text ] || fail "--without $kind: $(cat "$T/less")"
	done
done
if [ "$(jq -r .enforcement.pidns.active "$T/all")" != true ]; then
	refused env
	echo "no namespaces here: $(jq -c .enforcement.userns.why "$T/all")"
	exit
fi

# A procfs of which parts are hidden, as in containers: the kernel gives out no other one. Of every one: a chroot's
# counts, too.
# shellcheck disable=SC2016 # the inner shell's
tried masked unshare --user --map-root-user --mount sh -c '
	for proc in $(awk "/ - proc / && \$4 == \"/\" {print \$5}" /proc/self/mountinfo); do
		mount -t tmpfs none "$proc/sys" || exit
	done
	exec "$@"' sh
has "$T/masked" pidns false
has "$T/masked" mountns true
has "$T/masked" netns true
# No further user namespaces, but the capabilities for the others.
tried privileged unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh
has "$T/privileged" userns false
has "$T/privileged" pidns true
# All of them but one kind: neither one clone that makes all, nor the thread that makes the network's, hides that.
for kind in net ipc uts cgroup; do
	tried "no-$kind" unshare --user --map-root-user sh \
		-c "echo 0 >/proc/sys/user/max_${kind}_namespaces && exec \"\$@\"" sh
	has "$T/no-$kind" "${kind}ns" false
	jq -e ".enforcement.${kind}ns.why | startswith(\"refused by the system: \")" "$T/no-$kind" >/dev/null ||
		fail "no $kind: not said: $(jq -c ".enforcement.${kind}ns" "$T/no-$kind")"
	has "$T/no-$kind" pidns true
	has "$T/no-$kind" mountns true
done
# A view that was built for a network namespace of the run's own is built again without it.
more=(--profile npm)
tried no-net-npm unshare --user --map-root-user sh \
	-c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' sh
more=()
has "$T/no-net-npm" netns false
has "$T/no-net-npm" mountns true
jq -e '.enforcement.netns.why | startswith("refused by the system: ")' "$T/no-net-npm" >/dev/null ||
	fail "no net, npm: not said: $(jq -c .enforcement.netns "$T/no-net-npm")"
# Neither.
none=(unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces &&
	exec setpriv --inh-caps=-all --bounding-set=-all "$@"' sh)
tried none "${none[@]}"
for kind in $kinds; do
	has "$T/none" "$kind" false
done
refused "${none[@]}"

# ---- with all of them, seen from outside ----

cg run --require namespaces -- true 2>"$T/err" || fail "--require namespaces: $(cat "$T/err")"
jq -n --arg w "$T/w" '{version: 1, name: "t", extends: ["extended"],
	filesystem: {deny: ["\($w)/hidden", "\($w)/denied"]}}' >"$T/p.json"
mark=601.$$$RANDOM
cg run -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- sh -c \
	"ls -A / >names; uname -n >>names; cat /etc/shadow; exec sleep $mark" \
	>"$T/out" 2>"$T/err" &
keeper=$!
sleeps()
{
	for program in $(survivors "$mark"); do
		[ "$(cat "/proc/$program/comm" 2>/dev/null)" != sleep ] || return 0
	done
	return 1
}
awaited sleeps || die "no program: $(cat "$T/err")"
sees=/proc/$program
for kind in user mnt pid ipc uts net cgroup; do
	[ "$(readlink "$sees/ns/$kind")" != "$(readlink "/proc/self/ns/$kind")" ] || fail "its $kind namespace is ours"
done

diff <(cd "$sees/root" && ls -A && uname -n) "$T/w/names" >"$T/diff" ||
	fail "the kernel's root is not the view's: $(cat "$T/diff")"
[ ! -s "$sees/root/etc/shadow" ] || fail "the kernel finds what only a private rule excepts"
for path in "$T/secret" "$T/home" /proc/kcore; do
	[ ! -e "$sees/root$path" ] || [ "$path" = /proc/kcore ] || fail "the kernel finds $path"
done
[ -s "$sees/root$T/w/names" ] || fail "the kernel does not find the workdir"
cat "$sees/root$T/w/hidden/key" "$sees/root$T/w/denied" 2>/dev/null && fail "the kernel finds what is denied"
mounts=$(awk '{print $5, $6}' "$sees/mountinfo")
grep -qE '^/usr ro,nosuid' <<<"$mounts" || fail "/usr can be written or holds set-user-ID programs: $mounts"
grep -qE "^$T/w rw,nosuid,nodev" <<<"$mounts" || fail "the workdir's mount: $mounts"
grep -qE '^/(sys/fs|boot|home|mnt|run)' <<<"$mounts" && fail "mounts of the host are seen: $mounts"
[ "$(awk 'NR > 2 {print $1}' "$sees/net/dev")" = lo: ] || fail "interfaces: $(cat "$sees/net/dev")"
grep -q 127.0.0.1 "$sees/net/fib_trie" || fail "the loopback is down"

inside=$(awk '/^NSpid:/ {print $NF}' "$sees/status")
[ "$inside" -lt 50 ] || fail "its number inside is $inside"
audit_has ".syscall == \"execve\" and .pid == $inside and .host_pid == $program and (.path | endswith(\"/sleep\"))"
audit_has ".path == \"/etc/shadow\" and .verdict == \"deny\" and .host_pid > 0 and .pid < 50 and .host_pid != .pid"
"$CALLGATE" audit show --pid "$program" "$T/audit" | grep -q sleep ||
	fail "audit show --pid does not know the number outside"

supervisor=$(awk '{print $4}' "$sees/stat")
[ "$(awk '/^NSpid:/ {print $NF}' "/proc/$supervisor/status")" = 1 ] ||
	fail "the supervisor is not the run's first process"
kill -KILL "$supervisor"
awaited dead "$program" || fail "the program outlived its supervisor"
wait $keeper
[ $? = 125 ] || fail "the keeper: $(cat "$T/err")"
true
