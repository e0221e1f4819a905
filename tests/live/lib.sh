# shellcheck shell=bash
# The harness of the live tests. A test sources it, runs things natively and inside callgate, and calls fail or skip.
# Knows from the environment: CALLGATE (the program), LIVE_TMP (where work is done), LIVE_TIMEOUT (seconds a command),
# LIVE_WITHOUT (layers, as --without takes them), LIVE_OPTIONS (further options of run), LIVE_JUDGE ("changes": the
# kernel judges reading, as far as it can).
# Gives: T (this test's own directory), SRC and BUILD (source and build tree), CASES (the compiled cases).
set -u

# Without "..": make distcheck says "_build/sub/../..", and inside there is no "_build" to leave.
SRC=$(cd "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd -P)
BUILD=${top_builddir:-$(dirname "$(command -v "${CALLGATE:-$SRC/build/callgate}" || echo "$SRC/build/callgate")")}
CALLGATE=${CALLGATE:-$BUILD/callgate}
export CALLGATE_PROFILES=${CALLGATE_PROFILES:-$SRC/policy/profiles}
CASES=$BUILD/tests/cases
PYTHON=/usr/bin/python3
LIVE_TIMEOUT=${LIVE_TIMEOUT:-300}
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

# Descriptors that the caller of the tests left open would show in /proc/self/fd of one side. 255 is bash's own.
for live_fd in "/proc/$$/fd"/*; do
	live_fd=${live_fd##*/}
	[ "$live_fd" -gt 2 ] && [ "$live_fd" != 255 ] && eval "exec $live_fd>&-" # inherited
done

# The tests start thousands: jq 1.6 takes 34 ms for that, gojq 2. Keys of objects come sorted from gojq.
if command -v gojq >/dev/null; then
	jq()
	{
		case $1 in
		-S) shift ;;
		-cS) set -- -c "${@:2}" ;;
		esac
		gojq "$@"
	}
fi

# fail WHAT: the test goes on. The first failure shows the ends of what was written last, where WHAT has no more of it.
fail()
{
	local name text
	echo "FAIL: $*" >&2
	for name in err out result; do
		[ "${live_failed:-0}" = 0 ] && [ -s "${T:-}/$name" ] || continue
		text=$(tail -n 2 "$T/$name" | tail -c 300 | tr -c '[:print:]' ' ')
		[[ ${*//[![:print:]]/ } == *"${text% }"* ]] || echo "     $name: $text" >&2
	done
	live_failed=1
}

# For what makes the rest of the test pointless.
die()
{
	fail "$@"
	exit 1
}

skip()
{
	echo "SKIP: $*"
	exit 77
}

need()
{
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

live_failed=0
live_kept=() # processes that end with the test
T=$(mktemp -d "${LIVE_TMP:-/var/tmp}/cg-live.XXXXXX") || exit 99
T=$(cd "$T" && pwd -P)
mkdir "$T/tmp" "$T/home"
export TMPDIR=$T/tmp

# awaited COMMAND…: true once it succeeds; false when it does not within a minute, which only a test that fails needs:
# a busy machine is ten times slower than an idle one. A test waits for a state by this, and for no fixed time.
awaited()
{
	local now end
	read -r end _ </proc/uptime # not SECONDS, nor date(1): the machine's clock may be set
	end=$((${end%.*} + 60))
	until "$@"; do
		read -r now _ </proc/uptime
		[ "${now%.*}" -lt $end ] || return 1
		sleep 0.02
	done
}

# now_ms: milliseconds since the machine was started, in steps of ten.
now_ms()
{
	local now
	read -r now _ </proc/uptime
	echo "${now/./}0"
}

# await WHAT COMMAND…: the test ends with WHAT when the command does not succeed within a minute.
await()
{
	awaited "${@:2}" || die "not within a minute: $1"
}

# For the commands of await. has_line FILE REGEX: the file need not exist yet.
# dead PID: no process of this number runs; one that nobody has waited for yet does not.
not() { ! "$@"; }
has_line() { grep -qs -e "$2" "$1"; }
dead() { [ ! -d "/proc/$1" ] || has_line "/proc/$1/status" '^State:.[ZX]'; }

# own_uid: the number of a user that no other test has, since the kernel counts processes, and what is under way in
# sockets, by user. It has no account. The number behind it is this test's, too.
own_uid() { echo $((20000 + $$ % 15000 * 2)); }

# unmounted DIR: what ended just now may still have it in use.
unmounted() { awaited umount "$1" 2>/dev/null || fail "in use: $1"; }

# grows_no_more FILE: nothing has been written to it for 0.3 s.
grows_no_more()
{
	local size
	size=$(stat -c %s "$1")
	sleep 0.3
	[ "$(stat -c %s "$1")" = "$size" ]
}

# await_sessions WHAT: until nothing is left of any session. They end by themselves when their client has gone, which
# takes its time on a busy machine.
await_sessions()
{
	awaited no_session_left || fail "$1: left: $left_of_sessions"
}
no_session_left()
{
	left_of_sessions=$(find "$TMPDIR/callgate-$(id -u)" -maxdepth 1 \
		\( -name 'run-*' -o -name 'session-*' \) 2>/dev/null)
	[ -z "$left_of_sessions" ]
}

# Ends what is kept. One that has ended is left out: a machine with 32,768 process numbers, which the tests use up in
# minutes, may have given its number to a process of another test.
end_kept()
{
	local pid
	for pid in $(jobs -rp) $(jobs -sp); do
		[[ " ${live_kept[*]} " != *" $pid "* ]] || kill "$pid" 2>/dev/null
	done
}

# Leaves nothing: neither the test nor callgate, whose scratch space is below TMPDIR. (spare: empty directories,
# scratch-inside.c)
live_done()
{
	local status=$? left
	# Bash runs the trap also in a process that it has just made, where that gets a signal before it executes.
	[ "$BASHPID" = $$ ] || return
	trap - EXIT
	left=$(find "$T/tmp/callgate-$(id -u)"* -mindepth 1 ! -path '*/lock' ! -path '*/results*' ! -path '*/spare' \
		! -path '*/spare/work' ! -path '*/spare/tmp' ! -path '*/spare/shm' ! -path '*/spare/var-tmp' \
		2>/dev/null | head -n 5)
	if [ -n "$left" ] && [ -z "${LIVE_MAY_LEAVE:-}" ] && [ $status -ne 77 ]; then
		fail "left behind in scratch: $left"
	fi
	end_kept
	cd / && chmod -R u+rwX "$T" 2>/dev/null
	if [ -n "${LIVE_KEEP:-}" ]; then
		echo "kept: $T"
	else
		rm -rf "$T"
	fi
	[ $status -ne 0 ] && exit $status
	exit $live_failed
}
trap live_done EXIT

[ -x "$CALLGATE" ] || skip "callgate is not built: $CALLGATE"

# A profile may pass these on.
unset TERM LANG LANGUAGE COLUMNS LINES NO_COLOR

# differing SET…: of sets of layers to go without ("": none), a line each, those that differ here: where no namespace
# can be had, a run without the namespace is the same run once more.
differing()
{
	local set name
	for set; do
		[ -n "$set" ] || echo
		for name in ${set//,/ }; do
			[ "$name" = namespaces ] && name='.*ns'
			layer "$name" && echo "$set" && break
		done
	done
}

# What both sides get; the rest of the caller's environment is unknown to the program anyway.
live_env=(PATH=/usr/local/bin:/usr/bin:/bin "HOME=$T/home" LC_ALL=C.UTF-8 TZ=UTC TERM=dumb OPENBLAS_NUM_THREADS=1)
# Below a container's seccomp filter: refusals may have its errno, and there is no pidfd_getfd for inotify.
[ -z "${OUTER_FILTER:-}" ] || live_env+=(OUTER_FILTER=1)

# layer NAME: whether runs have this layer here; control groups, where a limit asks for them. Asks once a test.
layer()
{
	[ -n "${live_layers:-}" ] || live_layers=$(LIVE_OPTIONS="" cg run --json -m 4G -- true 2>/dev/null |
		jq -r '.enforcement | to_entries[] | select(.value.active).key')
	grep -qx "$1" <<<"$live_layers"
}

# native COMMAND…: as callgate's program runs: no capabilities, no new privileges, nothing on stdin, same environment.
# An ordinary user's user namespace knows his own ids alone: other files are nobody's there, as they are inside.
native()
{
	local drop=()
	if [ "$(id -u)" = 0 ]; then
		drop=(setpriv --no-new-privs --inh-caps=-all --bounding-set=-all --)
	elif layer userns; then
		drop=(unshare --user --map-current-user --)
	fi
	timeout -k 5 "$LIVE_TIMEOUT" env -i "${live_env[@]}" TMPDIR="$T/tmp" "${drop[@]}" "$@" </dev/null
}

# cg COMMAND…: callgate itself, with a deadline. LIVE_WITHOUT: layers that runs go without. LIVE_OPTIONS: of all runs.
# LIVE_REQUIRE: layers without which no run starts, but for those from which the test takes layers itself.
cg()
{
	local more
	read -ra more <<<"${LIVE_OPTIONS:-}"
	[ -z "${LIVE_JUDGE:-}" ] || more=(--judge "$LIVE_JUDGE" "${more[@]}") # a --judge of the test's own comes later
	[ "${1:-}" != run ] || set -- run "${more[@]}" "${@:2}"
	[ "${1:-}" != run ] || [ -z "${LIVE_WITHOUT:-}" ] || set -- run --without "$LIVE_WITHOUT" "${@:2}"
	if [ "${1:-}" = run ] && [ -n "${LIVE_REQUIRE:-}" ] && [[ " $* " != *" --without "* ]]; then
		set -- run --require "$LIVE_REQUIRE" "${@:2}"
	fi
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" "$@" </dev/null
}

# What is not the same where the kernel judges reading (LIVE_JUDGE=changes), by a word for judged(). All that is checked
# less or otherwise in this mode is here; doc/security.md says more of each.
declare -A live_differences=(
	[record]="reads are not on record, and a denied read is not reported as one"
	[proc]="the kernel shows all that it has of the run's own processes in /proc/PID"
	[subject]="the test is about how reads are judged"
	[native]="a call that only reads ends as natively where judging it ends otherwise"
)

# kernel_reads: whether the kernel judges reading in a run without further options, but LIVE_WITHOUT's.
kernel_reads()
{
	[ "${LIVE_JUDGE:-}" = changes ] && [[ ! ${LIVE_WITHOUT:-} =~ ns|namespaces|landlock ]] && layer kernel-reads
}

# judged WORD: whether the runs of this test judge reading, too; if not, the test leaves out what follows, and says so.
judged()
{
	[ -n "${live_differences[$1]:-}" ] || die "not a difference: $1"
	kernel_reads || return 0
	echo "not checked: ${live_differences[$1]}"
	return 1
}

# take_options OPTION… -- …: what comes before "--", in the array "options", which is the caller's own; he shifts it
# away:
#   local options; take_options "$@"; shift $((${#options[@]} + 1))
take_options()
{
	options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
}

# cg_run PROFILE [OPTION…] -- PROGRAM…: the audit log goes to $T/audit.
cg_run()
{
	local profile=$1 set=() pair
	shift
	# What programs expect otherwise, where reading is not judged.
	[[ " $* " == *" --without "* ]] || ! kernel_reads || set+=(-e KERNEL_READS=1)
	for pair in "${live_env[@]}"; do
		set+=(-e "$pair")
	done
	rm -f "$T/audit"
	cg run --profile "$profile" --audit "$T/audit" "${set[@]}" -W "$T/home" "$@"
}

# tree DIR: one line an entry: type, mode, links of files, size, target or hash, path. No times. TREE_SKIP: a regex of
# paths.
tree()
{
	TREE_SKIP=${TREE_SKIP:-} "$PYTHON" -I -S - "$1" <<'EOF'
import hashlib, os, re, stat, sys
root = os.fsencode(sys.argv[1])
skip = os.environ["TREE_SKIP"].encode()
for here, dirs, files in os.walk(root):
    dirs.sort()
    for name in sorted(files + dirs):
        path = os.path.join(here, name)
        rel = os.path.relpath(path, root)
        if skip and re.search(skip, rel):
            continue
        st = os.lstat(path)
        extra = ""
        if stat.S_ISLNK(st.st_mode):
            extra = os.readlink(path).decode("ascii", "backslashreplace")
        elif stat.S_ISREG(st.st_mode):
            extra = "%d %d " % (st.st_nlink, st.st_size)
            try:
                with open(path, "rb") as f:
                    extra += hashlib.sha256(f.read()).hexdigest()
            except OSError as e:
                extra += os.strerror(e.errno)
        print("%06o %s %s" % (st.st_mode, extra, rel.decode("ascii", "backslashreplace")))
EOF
}

# prepare: a test redefines it to fill the fresh workdir (its argument) the same way before both runs.
prepare() { :; }

# same NAME COMMAND…: runs COMMAND natively in $T/w and then inside under `extended` in a fresh directory of the same
# name; stdout, stderr (unless SAME_STDERR=no), exit status and the resulting tree must be equal. CG_OPTIONS: further
# options of run. SAME_STATUS: the exit status both must have (default 0). LIVE_COW: inside, it is a workspace, which is
# then applied.
same()
{
	local name=$1 side status
	shift
	for side in native inside; do
		rm -rf "${T:?}/w" "${T:?}/home"
		mkdir "$T/w" "$T/home" || die "mkdir"
		prepare "$T/w"
		chmod -R u+w "$T/w" # what was copied from a read-only source tree
		cd "$T/w" || die "cd"
		if [ $side = native ]; then
			native "$@" >"$T/$side.out" 2>"$T/$side.err"
		else
			cg_run extended ${CG_OPTIONS[@]+"${CG_OPTIONS[@]}"} ${LIVE_COW:+--cow -q} -w "$T/w" -- "$@" \
				>"$T/$side.out" 2>"$T/$side.err"
		fi
		status=$?
		cd "$T" || die "cd"
		[ $side = native ] || [ -z "${LIVE_COW:-}" ] || apply_workspace "$name"
		echo "$status" >"$T/$side.status"
		tree "$T/w" >"$T/$side.tree"
	done
	compare "$name" status
	compare "$name" out
	[ "${SAME_STDERR:-yes}" = no ] || compare "$name" err
	compare "$name" tree
	[ "$(cat "$T/native.status")" = "${SAME_STATUS:-0}" ] || {
		head -n 20 "$T/native.err" >&2
		fail "$name: natively it ends with $(cat "$T/native.status")"
	}
	return $live_failed
}

# before_apply DIR: a test redefines it to look at the layer of the workspace.
before_apply() { :; }

# apply_workspace NAME: all that the run of `same` has written to its workspace becomes what the directory has.
apply_workspace()
{
	local id
	id=$("$CALLGATE" ws list --json | jq -r .id)
	before_apply "$TMPDIR/callgate-$(id -u)/workspaces/$id/0/upper"
	cg ws apply --allow-executed "$id" >"$T/applied" 2>&1 || fail "$1: ws apply: $(tail -n 5 "$T/applied")"
	cg ws diff "$id" >"$T/applied" 2>&1 || fail "$1: left after ws apply: $(tail -n 5 "$T/applied")"
	cg ws discard "$id" || fail "$1: ws discard"
}

compare()
{
	cmp -s "$T/native.$2" "$T/inside.$2" && return
	fail "$1: $2 differs, native (<) from inside (>):"
	diff "$T/native.$2" "$T/inside.$2" | cut -c 1-600 | head -n "${LIVE_LINES:-30}" >&2
	[ "$2" = status ] && head -n 20 "$T/inside.err" >&2
	[ "$2" = status ] && [ -s "$T/audit" ] && jq -c 'select(.verdict == "deny") |
		[.syscall, .path, .errno, .reason]' \
		"$T/audit" 2>/dev/null | sort | uniq -c | sort -rn | head -n 15 >&2
}

# audit_has FILTER: some record of $T/audit fulfils the jq filter. audit_none: no record does.
audit_has()
{
	[ -n "$(jq -c "select($1)" "$T/audit" 2>&1 | head -n 1)" ] || fail "no audit record with: $1"
}

audit_none()
{
	local found
	found=$(jq -c "select($1)" "$T/audit" 2>&1 | head -n 1)
	[ -z "$found" ] || fail "there is an audit record with: $1: $found"
}

# hostile CASE [ARG…]: runs $CASES/CASE under `minimal` in a fresh workdir $T/w. It exits with 0 when every attempt
# was refused, and prints what it got otherwise. CG_OPTIONS as above.
hostile()
{
	local case=$1 status
	shift
	mkdir -p "$T/w"
	cg_run "${PROFILE:-minimal}" -x "$CASES/$case" ${CG_OPTIONS[@]+"${CG_OPTIONS[@]}"} -w "$T/w" \
		-- "$CASES/$case" "$@" >"$T/out" 2>&1
	status=$?
	[ $status = "${HOSTILE_STATUS:-0}" ] || fail "$case $*: ended with $status: $(tail -n 15 "$T/out")"
	return 0
}

# start_canary: an outsider who listens at $T/w/stream and elsewhere (tests/cases/threat-canary.py). Sets tcp, udp,
# abstract.
start_canary()
{
	"$PYTHON" "$SRC/tests/cases/threat-canary.py" "$T" >"$T/canary" 2>&1 &
	live_canary=$!
	live_kept+=("$live_canary")
	awaited test -s "$T/ports"
	# shellcheck disable=SC2034 # the tests'
	read -r tcp udp abstract <"$T/ports" || die "the canary does not start: $(cat "$T/canary")"
}

# met_nobody: so far no process has got to the canary, nor the canary to another process, and it lives.
met_nobody()
{
	sleep 0.2 # to be met takes it no longer than 10 ms
	kill -0 "$live_canary" || fail "the canary is dead: $(cat "$T/canary")"
	[ ! -s "$T/met" ] || fail "the canary met: $(sort "$T/met" | uniq -c | head -n 5)"
}

# met WHAT: the canary has met a process so.
met()
{
	awaited has_line "$T/met" "$1" || fail "the canary did not meet: $1: $(tail -n 5 "$T/out")"
}

# tree_dead MARK: no process has MARK in its command line any more.
survivors()
{
	grep -lsaFf - /proc/[0-9]*/cmdline <<<"$1" | cut -d / -f 3 # not in grep's own command line
}
