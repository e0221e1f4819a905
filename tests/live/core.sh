#!/bin/bash
# Runs the live tests that tell most about another surrounding (as-user.sh, in-container.sh), two at a time. One line a
# test; the last lines are the ends of the failed tests' logs and their names, because the end of a long log is what
# people are shown: of each what failed first, and its last lines. Exit status 1 when one failed. Environment as in
# lib.sh; LIVE_TMP must be set.
#
#   core.sh            run them; CORE_TESTS: only these, CORE_TIMEOUT: seconds for each, CORE_JOBS: so many at a time,
#                      CORE_SHUFFLE: in another order, which this seed gives
#   core.sh copy DIR   copy what they need to DIR, built things to DIR/built, readable by anybody
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = copy ]; then
	set -e
	: "${top_srcdir:?}" "${top_builddir:?}"
	mkdir -p "$2/built/tests/cases/kept" "$2/built/agents" "$2/built/cli/inspect"
	ln -s ../../agents/runner ../../agents/templates "$2/built/agents"
	ln -s ../../../cli/inspect/parsers "$2/built/cli/inspect"
	cp "$top_builddir"/callgate{,-agents,-egress,-elf,-files} "$2/built/"
	cp "$top_builddir"/tests/cases/cases-* "$top_builddir"/tests/cases/{callgate-{failing,open},attack-fuzz} \
		"$2/built/tests/cases/"
	# Built here, once: there a user without a cache would build it anew.
	CASES=$top_builddir/tests/cases T=$2/built
	# shellcheck source=tests/live/net.sh
	. "$here/net.sh"
	die() { echo "$*" >&2 && exit 1; }
	go_program net-go "$top_srcdir/tests/cases/net-go.go" || :
	go_program net-corpus-go "$top_srcdir/tests/cases/http-servers/server.go" || :
	go_program interfaces-go "$top_srcdir/tests/cases/interfaces.go" || :
	for program in "$top_builddir"/tests/cases/kept/*; do
		{ [ ! -f "$program" ] || [ ! -x "$program" ]; } || cp "$program" "$2/built/tests/cases/kept/"
	done
	for folder in agents/runner agents/templates cli/inspect/parsers base doc syscalls policy examples tests; do
		(cd "$top_srcdir" && find "$folder" -type f ! -name '*.o' ! -name '*.log' -print0 |
			tar --null -T - -cf -) |
			tar -C "$2" --no-same-owner -xf -
	done
	chmod -R u=rwX,go=rX "$2"
	exit 0
fi
logs=$(mktemp -d "$LIVE_TMP/core.XXXXXX") || exit 99
cd "$here" || exit 99

one()
{
	local name=$1 log status
	log=$(mktemp "$logs/${name//\//-}.XXXXXX") || exit 99
	timeout -k 5 "${CORE_TIMEOUT:-600}" bash "./$name" >"$log" 2>&1
	status=$?
	case $status in
	0) echo "ok   $name: $SECONDS s" ;;
	77) echo "skip $name: $(tail -n 1 "$log")" ;;
	*)
		echo "FAIL $name: ended with $status after $SECONDS s"
		echo "$name $status $log" >>"$logs/failed"
		;;
	esac
}

# What waits for a crowded machine waits longer.
[ -z "${CORE_TIMEOUT:-}" ] || export LIVE_TIMEOUT=$((CORE_TIMEOUT - 20))
export LIMITED_TESTS="workloads/git workloads/sqlite syscalls/diff-open"
# Every call and every shape of a path, but not each with each: another third in each surrounding.
if [ -n "${OUTER_FILTER:-}" ]; then
	export DIFF_PART=${DIFF_PART:-1/3}
else
	export DIFF_PART=${DIFF_PART:-0/3}
fi
# Of servers, which are outside in any case, one for each way to them.
export CORPUS_EVERY=${CORPUS_EVERY:-9} CORPUS_WITHOUT=${CORPUS_WITHOUT-} \
	CORPUS_SERVERS=${CORPUS_SERVERS:-python hostile proxied go}
# Races, which need many seconds, were run at length outside.
export FLIP_SECONDS=${FLIP_SECONDS:-1} SWAP_SECONDS=${SWAP_SECONDS:-1} STORM_SECONDS=${STORM_SECONDS:-1} \
	KILL_SECONDS=${KILL_SECONDS:-1} CHDIR_SECONDS=${CHDIR_SECONDS:-0.4} PTY_SECONDS=${PTY_SECONDS:-1}
export INTERRUPTED_CALLS=${INTERRUPTED_CALLS:-600} INTERRUPTED_ROUNDS=${INTERRUPTED_ROUNDS:-100} \
	INTERRUPTED_BUSY=${INTERRUPTED_BUSY:-0}
# What is tried at random moments, or until a clock has shown it, was so outside.
export ROUNDS=${ROUNDS:-2} HOARD_PART=${HOARD_PART-core}
export DISK_WAYS=${DISK_WAYS:-many mapped pinned falloc dirs copy shm}
# Of the network, what differs by surrounding: sockets, the view, the clients that look at it most closely.
chosen=()
names="agents/contexts.sh
agents/pause.sh
attacks/denied-names.sh
attacks/host-names.sh
attacks/proc-net.sh
cli/audit-read.sh
cli/bad-input.sh
cli/examples.sh
cli/inspect.sh
cli/learn.sh
cli/user.sh
confine/least-privilege.sh
confine/namespaces.sh
confine/kernel-reads-names.sh
confine/kernel-reads.sh
confine/second-lock.sh
doctor/doctor.sh
egress/corpus.sh
egress/curl.sh
egress/files.sh
egress/git.sh
egress/http2.sh
egress/loopback.sh
egress/secrets.sh
egress/smoke.sh
egress/static.sh
keeper/keeper.sh
keeper/terminal.sh
limits/*.sh
supervisor/after-read.sh
supervisor/affinity.sh
supervisor/approve.sh
supervisor/approve-network.sh
supervisor/ask-file.sh
syscalls/async.sh
syscalls/closed-directory.sh
syscalls/diff-*.sh
syscalls/errnos.sh
syscalls/exec-*.sh
syscalls/fstat.sh
syscalls/interrupted.sh
syscalls/ipc-private.sh
syscalls/rename-random.sh
syscalls/rename-trees.sh
syscalls/self-restriction.sh
syscalls/signals.sh
threats/*.sh
workloads/*.sh
"
for name in $names; do
	case $name in
	# A user has the layers that root has, and what differs by layers is asked in the container.
	egress/corpus.sh | egress/curl.sh | egress/files.sh | egress/http2.sh | egress/static.sh | limits/disk.sh | \
		limits/hoard.sh | limits/workloads.sh)
		[ -z "${OUTER_FILTER:-}" ] || chosen+=("$name")
		;;
	workloads/git.sh | workloads/python-data.sh | workloads/shell.sh | workloads/sqlite.sh) chosen+=("$name") ;;
	# The list of refusals of one has callgate's errnos. What the others show depends on whose process it is, or on
	# what is read and written, and not on layers or on another filter.
	attacks/host-names.sh | cli/audit-read.sh | cli/learn.sh | limits/disk-copy.sh | supervisor/approve.sh | \
		syscalls/diff-deviate.sh | syscalls/rename-trees.sh | workloads/debuggers.sh)
		[ -n "${OUTER_FILTER:-}" ] || chosen+=("$name")
		;;
	# What shows most where least is there: the other surrounding is between that and root's.
	agents/contexts.sh | cli/bad-input.sh | cli/examples.sh | cli/inspect.sh | egress/git.sh | \
		egress/loopback.sh | egress/secrets.sh | keeper/*.sh | limits/cpu.sh | supervisor/affinity.sh | \
		supervisor/after-read.sh | supervisor/approve-network.sh | supervisor/ask-file.sh | \
		syscalls/exec-again.sh | syscalls/interrupted.sh | threats/33-flood.sh | threats/34-38-network.sh | \
		threats/39-datagrams.sh)
		[ -z "${OUTER_FILTER:-}" ] || chosen+=("$name")
		;;
	limits/bombs.sh | limits/crowd-200.sh | limits/weight.sh | workloads/build.sh | workloads/python-venv.sh) ;;
	workloads/*) [ -z "${OUTER_FILTER:-}" ] || chosen+=("$name") ;;
	*) chosen+=("$name") ;;
	esac
done
[ -z "${CORE_TESTS:-}" ] || read -ra chosen <<<"$CORE_TESTS"
export -f one
export logs
# shuffled SEED: the lines of the standard input, always in the same order for a seed.
shuffled() { shuf --random-source=<(yes "$1"); }

# shellcheck disable=SC2016 # the inner shell's
printf '%s\n' "${chosen[@]}" | if [ -n "${CORE_SHUFFLE:-}" ]; then shuffled "$CORE_SHUFFLE"; else cat; fi |
	xargs -n 1 -P "${CORE_JOBS:-2}" bash -c 'one "$1"' one
if [ -s "$logs/failed" ]; then
	while read -r name status log; do
		echo "---- $name ended with $status:"
		{ grep -a '^FAIL' "$log" | head -n 3; tail -n 8 "$log"; } | awk '!seen[$0]++' | cut -c 1-300 |
			sed 's/^/     /'
	done <"$logs/failed"
	echo "failed: $(cut -d ' ' -f 1 "$logs/failed" | tr '\n' ' ')"
	exit 1
fi
rm -rf "$logs"
