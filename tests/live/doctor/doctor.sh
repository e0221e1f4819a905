#!/bin/bash
# callgate doctor reports what runs really do, where all sandbox layers work and where they do not. It gives the advice
# that applies, exits with 1 where no run works, and leaves nothing behind.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/examine.sh"
need jq unshare

# Under a name of its own: other tests' processes are not ours.
cp "$CALLGATE" "$T/callgate" && CALLGATE=$T/callgate
# What there is of processes, mounts and control groups beyond this moment's.
traces()
{
	local dir
	find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$CALLGATE" -printf '%h\n' 2>/dev/null |
		while read -r dir; do
			echo "process $(tr '\0' ' ' <"$dir/cmdline")"
		done
	cut -d ' ' -f 5 /proc/self/mountinfo
	find /sys/fs/cgroup -maxdepth 6 -name 'doctor-*' 2>/dev/null
	find "$T/tmp" -mindepth 1 ! -regex '.*/callgate-[0-9]+\(/spare\(/[a-z-]*\)?\)?' # what a run leaves to the next
}

# ---- here ----
before=$(traces)
examine 0
[ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
says '.works and .reason == null and .run.status == "ok"' here
says '[.checks[].state | . == "works" or . == "lacks" or . == "warns"] | all' here
agrees
cow_agrees
cg doctor >"$T/text" || fail "as text it ends with $?"
for layer in $(jq -r '.layers | keys[]' "$D"); do
	grep -q "^.*[ :]$layer\b" "$T/text" || fail "the text does not tell about $layer"
done
# what nothing is wrong with needs no advice
[ "$(jq '[.checks[] | select(.state != "works")] | length' "$D")" != 0 ] || says '.advice == []' here
# A trial that waits for nothing takes a second. What a run takes tells how fast this machine is at this moment.
fastest=999999 control=999999
for _ in 1 2 3; do
	begin=$(now_ms)
	cg doctor >/dev/null
	middle=$(now_ms)
	cg run --profile minimal -x /usr/bin/true -- /usr/bin/true
	end=$(now_ms)
	[ $((middle - begin)) -ge $fastest ] || fastest=$((middle - begin))
	[ $((end - middle)) -ge $control ] || control=$((end - middle))
done
[ $fastest -lt 1000 ] || [ $fastest -lt $((control * 10)) ] || fail "it takes $fastest ms, a run $control ms"

# ---- descriptors that are missing ----
timeout 100 "$CALLGATE" doctor --json >"$D" <&- 2>&-
says '.run.status == "ok"' closed

# ---- a TMPDIR that is none ----
examine 1 env TMPDIR="$T/nowhere"
says 'state("scratch") == "lacks" and advice("TMPDIR=/var/tmp") and (.reason | contains("TMPDIR"))' tmpdir

# ---- inside of a run ----
# shellcheck disable=SC2016 # the inner shell's
timeout 100 "$CALLGATE" run --profile extended -e CALLGATE_PROFILES -e ASAN_OPTIONS=detect_leaks=0 -x "$CALLGATE" \
	-r "$SRC" -r "$BUILD" \
	-- /bin/sh -c '"$1" doctor --json; echo "status $?"' sh "$CALLGATE" >"$D.nested" 2>"$T/err" </dev/null
grep -qx 'status 1' "$D.nested" || fail "nested: $(tail -n 1 "$D.nested") $(cat "$T/err")"
grep -vx 'status [0-9]*' "$D.nested" >"$D"
says '.works == false and (text("seccomp_notify") | contains("callgate run")) and advice("runs do not nest")' nested
says '[.advice[].title] == ["one listener only"]' nested

# ---- without what a kernel, a profile or a setting withholds ----
# shellcheck disable=SC2046 # words
{
	examine 0 $(refusing landlock_create_ruleset:95) # EOPNOTSUPP: built in, not switched on
	says 'state("landlock") == "lacks" and advice("lsm=landlock")' no-landlock
	agrees $(refusing landlock_create_ruleset:95)
	examine 0 $(refusing unshare:1) # a clone(2) makes them as well
	agrees $(refusing unshare:1)
	examine 0 $(refusing unshare:1,namespaces:1)
	says 'state("userns") == "lacks" and (text("outer_filter") | contains("unshare"))' no-unshare
	says 'advice("\"unshare\"") and advice("SCMP_ACT_ALLOW")' no-unshare
	agrees $(refusing unshare:1,namespaces:1)
	says 'state("cow") == "warns" and (text("cow") | startswith("the directory is copied: "))' no-unshare
	cow_agrees $(refusing unshare:1,namespaces:1)
	examine 1 $(refusing ptrace:1)
	says 'state("exec_tracing") == "lacks" and advice("\"ptrace\"") and .run.status != "ok"' no-ptrace
	examine 1 $(refusing process_vm_readv:38)
	says 'state("process_memory") == "lacks" and .works == false' no-readv
	examine 1 $(refusing listener:1)
	says 'state("seccomp_notify") == "lacks" and state("seccomp_filter") == "works" and (.reason |
		contains("listener"))' no-listener
}

# A limit of user namespaces that holds in one user namespace alone; none can be made below it.
if unshare -U true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	without=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh)
	examine 0 "${without[@]}"
	says 'state("userns") == "lacks" and (text("userns") | contains("max_user_namespaces")) and
		advice("user.max_user_namespaces=")' no-userns
	agrees "${without[@]}"
	# Root of a user namespace with fewer ids, as in a container: the ids that it has can be mapped.
	examine 0 unshare -Ur
	says 'state("userns") == "works"' fewer-ids
	agrees unshare -Ur
fi

# The kernel tells the newest pid in two files. A container covers the first, and lxcfs the second.
if unshare -Urm true 2>/dev/null; then
	mkdir "$T/own"
	echo "0.00 0.00 0.00 1/80 7" >"$T/own/loadavg"
	echo '{"version": 1, "after_read": [{"paths": ["'"$T/own"'"], "then": {"write": []}}]}' >"$T/after.json"
	# shellcheck disable=SC2016 # the inner shell's
	covered=(unshare -Urm sh -c 'mount --bind "$0" /proc/sys/kernel/ns_last_pid 2>/dev/null
		mount --bind "$0" /proc/loadavg && exec "$@"' "$T/own/loadavg")
	examine 0 "${covered[@]}"
	says 'state("last_pid") == "lacks" and (text("last_pid") | contains("after_read")) and
		advice("umount /proc/loadavg")' last_pid
	"${covered[@]}" "$CALLGATE" run --json --profile extended -p "$T/after.json" -r "$T/own" -- \
		/bin/cat "$T/own/loadavg" >"$T/after" 2>"$T/err" </dev/null
	jq -e '.denials | any(.reason == "after_read_incomplete" and .errno == "EACCES")' "$T/after" >/dev/null ||
		fail "the read is not refused: $(cat "$T/after" "$T/err")"
	examine 0 env
	says 'state("last_pid") == "works"' last_pid
fi

# Settings of the kernel, as files mounted over them.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -p "$T/kernel/yama"
	echo 2 >"$T/kernel/yama/ptrace_scope"
	echo 1 >"$T/kernel/apparmor_restrict_unprivileged_userns"
	echo '|/usr/bin/handler %p' >"$T/kernel/core_pattern"
	# shellcheck disable=SC2016 # the inner shell's
	covered=(unshare -m sh -c 'mount --bind "$0" /proc/sys/kernel && exec "$@"' "$T/kernel")
	examine 0 "${covered[@]}"
	says 'state("core_pattern") == "works" and (text("core_pattern") | contains("/usr/bin/handler"))' handler
	echo '@/run/handler.socket' >"$T/kernel/core_pattern"
	examine 0 "${covered[@]}"
	says 'state("core_pattern") == "warns" and (text("core_pattern") | contains("/run/handler.socket")) and
		advice("core_pattern=core")' handler
	# shellcheck disable=SC2046 # words
	examine 1 "${covered[@]}" $(refusing ptrace:1)
	says '(text("exec_tracing") | contains("ptrace_scope is 2")) and advice("ptrace_scope=1")' yama
	# shellcheck disable=SC2016 # the inner shell's
	examine 0 "${covered[@]}" unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh
	says 'advice("profile callgate") and advice("userns,")' apparmor
fi

[ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
