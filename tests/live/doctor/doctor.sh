#!/bin/bash
# callgate doctor reports what runs really do, where all sandbox layers work and where they do not. It gives the advice
# that applies, exits with 1 where no run works, and leaves nothing behind.
. "$(dirname "$0")/../lib.sh"
need jq unshare
D=$T/doctor.json

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

# examine STATUS [COMMAND…]: runs doctor --json below COMMAND; the result is in $D.
examine()
{
	local want=$1 status
	shift
	timeout 20 "$@" "$CALLGATE" doctor --json >"$D" 2>"$T/err" </dev/null
	status=$?
	[ $status = "$want" ] || fail "doctor ends with $status, not $want: $(cat "$T/err") $(jq -c '[.works,
		.reason]' "$D")"
	jq -e '.schema == "callgate-doctor/1"' "$D" >/dev/null || die "no JSON: $(head -c 300 "$D")"
	[ ! -s "$T/err" ] || fail "on standard error: $(cat "$T/err")"
}

# says FILTER: it is true of what doctor said.
says()
{
	jq -e "def state(name): .checks[] | select(.name == name) | .state;
		def text(name): .checks[] | select(.name == name) | .text;
		def advice(part): [.advice[].text | contains(part)] | any; $1" "$D" >/dev/null ||
		fail "$2: not so: $1: $(jq -c '[.checks[] | select(.state != "works") | [.name, .state, .text]], .run,
		[.advice[].title]' "$D")"
}

# agrees COMMAND…: the layers it tells are those of a run below COMMAND that asks for limits, and those expected.
agrees()
{
	local run
	run=$(timeout 20 "$@" "$CALLGATE" run --json --memory 300M --pids 100 -- /bin/true </dev/null)
	[ "$(jq -r .status <<<"$run")" = ok ] || fail "$*: no run: $(jq -c .error <<<"$run")"
	[ "$(jq -cS '.enforcement | map_values(.active)' <<<"$run")" \
		= "$(jq -cS '.layers | map_values(.active)' "$D")" ] ||
		fail "$*: doctor says $(jq -c '.layers | map_values(.active)' "$D"), a run has $(jq -c '.enforcement |
		map_values(.active)' <<<"$run")"
	says '.run.tried and .run.contradictions == [] and ([.layers[] | .active == .expected] | all)' "$*"
}

# ---- here ----
before=$(traces)
examine 0
[ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
says '.works and .reason == null and .run.status == "ok"' here
says '[.checks[].state | . == "works" or . == "lacks" or . == "warns"] | all' here
agrees
cg doctor >"$T/text" || fail "as text it ends with $?"
for layer in $(jq -r '.layers | keys[]' "$D"); do
	grep -q "^.*[ :]$layer\b" "$T/text" || fail "the text does not tell about $layer"
done
# what nothing is wrong with needs no advice
[ "$(jq '[.checks[] | select(.state != "works")] | length' "$D")" != 0 ] || says '.advice == []' here
# A trial that waits for nothing takes a second. What a run takes tells how fast this machine is at this moment.
fastest=999999 control=999999
for _ in 1 2 3; do
	begin=$(date +%s%3N)
	cg doctor >/dev/null
	middle=$(date +%s%3N)
	cg run --profile minimal -x /usr/bin/true -- /usr/bin/true
	end=$(date +%s%3N)
	[ $((middle - begin)) -ge $fastest ] || fastest=$((middle - begin))
	[ $((end - middle)) -ge $control ] || control=$((end - middle))
done
[ $fastest -lt 1000 ] || [ $fastest -lt $((control * 10)) ] || fail "it takes $fastest ms, a run $control ms"

# ---- descriptors that are missing ----
timeout 20 "$CALLGATE" doctor --json >"$D" <&- 2>&-
says '.run.status == "ok"' closed

# ---- a TMPDIR that is none ----
examine 1 env TMPDIR="$T/nowhere"
says 'state("scratch") == "lacks" and advice("TMPDIR=/var/tmp") and (.reason | contains("TMPDIR"))' tmpdir

# ---- inside of a run ----
# shellcheck disable=SC2016 # the inner shell's
timeout 40 "$CALLGATE" run --profile extended -e CALLGATE_PROFILES -e ASAN_OPTIONS=detect_leaks=0 -x "$CALLGATE" \
	-r "$SRC" -r "$BUILD" \
	-- /bin/sh -c '"$1" doctor --json; echo "status $?"' sh "$CALLGATE" >"$D.nested" 2>"$T/err" </dev/null
grep -qx 'status 1' "$D.nested" || fail "nested: $(tail -n 1 "$D.nested") $(cat "$T/err")"
grep -vx 'status [0-9]*' "$D.nested" >"$D"
says '.works == false and (text("seccomp_notify") | contains("callgate run")) and advice("runs do not nest")' nested
says '[.advice[].title] == ["one listener only"]' nested

# ---- without what a kernel, a profile or a setting withholds ----
# A filter that gives system calls an errno: NUMBER:ERRNO,… with "listener" for seccomp(2) that wants one and
# "namespaces" for clone(2) that makes some.
cat >"$T/refuse.py" <<'PY'
import ctypes, os, struct, sys
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for pair in sys.argv[1].split(","):
    number, error = pair.split(":")
    if number == "listener":  # seccomp(2) with SECCOMP_FILTER_FLAG_NEW_LISTENER
        number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
        code += struct.pack("HBBI", 0x15, 0, 4, number) + struct.pack("HBBI", 0x20, 0, 0, 24)
        code += struct.pack("HBBI", 0x45, 0, 1, 8) + struct.pack("HBBI", 0x06, 0, 0, 0x50000 | int(error))
        code += struct.pack("HBBI", 0x20, 0, 0, 0)
    elif number == "namespaces":  # as Docker's profile
        number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
        code += struct.pack("HBBI", 0x15, 0, 4, number) + struct.pack("HBBI", 0x20, 0, 0, 16)
        code += struct.pack("HBBI", 0x45, 0, 1, 0x7e020000) + struct.pack("HBBI", 0x06, 0, 0, 0x50000 | int(error))
        code += struct.pack("HBBI", 0x20, 0, 0, 0)
    else:
        code += struct.pack("HBBI", 0x15, 0, 1, int(number)) + struct.pack("HBBI", 0x06, 0, 0, 0x50000 | int(error))
code += struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
program = Program(len(code) // 8, code)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit("no filter: %s" % os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], sys.argv[2:])
PY
case $(uname -m) in
x86_64) nr_unshare=272 nr_ptrace=101 nr_readv=310 ;;
aarch64) nr_unshare=97 nr_ptrace=117 nr_readv=270 ;;
*) skip "numbers of system calls here are not known to this test" ;;
esac
nr_landlock=444
refusing() { echo "$PYTHON $T/refuse.py $1 /usr/bin/env"; }

# shellcheck disable=SC2046 # words
{
	examine 0 $(refusing $nr_landlock:95) # EOPNOTSUPP: built in, not switched on
	says 'state("landlock") == "lacks" and advice("lsm=landlock")' no-landlock
	agrees $(refusing $nr_landlock:95)
	examine 0 $(refusing $nr_unshare:1) # a clone(2) makes them as well
	agrees $(refusing $nr_unshare:1)
	examine 0 $(refusing $nr_unshare:1,namespaces:1)
	says 'state("userns") == "lacks" and (text("outer_filter") | contains("unshare"))' no-unshare
	says 'advice("\"unshare\"") and advice("SCMP_ACT_ALLOW")' no-unshare
	agrees $(refusing $nr_unshare:1,namespaces:1)
	examine 1 $(refusing $nr_ptrace:1)
	says 'state("exec_tracing") == "lacks" and advice("\"ptrace\"") and .run.status != "ok"' no-ptrace
	examine 1 $(refusing $nr_readv:38)
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
	examine 1 "${covered[@]}" $(refusing $nr_ptrace:1)
	says '(text("exec_tracing") | contains("ptrace_scope is 2")) and advice("ptrace_scope=1")' yama
	# shellcheck disable=SC2016 # the inner shell's
	examine 0 "${covered[@]}" unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh
	says 'advice("profile callgate") and advice("userns,")' apparmor
fi

[ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
