# shellcheck shell=bash
# Samples the memory and descriptors of keeper and supervisor; sourced after lib.sh. Needs root, since they are not
# dumpable.

# child_of PID: its first one. To look for it among all processes takes long where many hundreds run.
child_of()
{
	local children=()
	if [ -e "/proc/$1/task/$1/children" ]; then
		read -ra children 2>/dev/null <"/proc/$1/task/$1/children"
	else
		read -ra children < <(pgrep -P "$1" -d ' ')
	fi
	echo "${children[0]:-}"
}

# processes_of PID: of a run whose callgate is PID or the first callgate below it: the keeper, then the supervisor.
processes_of()
{
	local keeper=$1 program exe
	program=$(readlink -f "$CALLGATE")
	while [ -n "$keeper" ]; do
		exe=$(readlink "/proc/$keeper/exe")
		[ "${exe%-shared}" != "$program" ] || break # what it becomes for a network
		keeper=$(child_of "$keeper")
	done
	[ -z "$keeper" ] || { echo "$keeper" && child_of "$keeper"; }
}

# sample PID: anonymous memory in KiB and descriptors of keeper and supervisor together. Nothing when one is gone.
sample()
{
	local pid memory=0 fds=0 one count=0
	for pid in $(processes_of "$1"); do
		one=$(awk '/^Anonymous:/ {print $2}' "/proc/$pid/smaps_rollup" 2>/dev/null)
		[ -n "$one" ] || return 0
		memory=$((memory + one))
		fds=$((fds + $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)))
		count=$((count + 1))
	done
	[ $count -ne 2 ] || echo "$memory $fds"
}

# watch_run PID SECONDS FILE: samples, on a quiet machine eight times a second, from a fifth of the time on, while
# caches fill, to nearly its end.
watch_run()
{
	local end=$((SECONDS + $2 - 2))
	: >"$3"
	sleep $(($2 / 5 + 1))
	while [ $SECONDS -lt $end ] && kill -0 "$1" 2>/dev/null; do
		sample "$1" >>"$3"
		sleep 0.1
	done
}

WATCH_LEAST=6 # samples that watch_flat needs

# watch_flat NAME FILE KIB FDS: from the first third of the samples to the last one, the medians grew by no more than
# that.
watch_flat()
{
	local third first last
	third=$(($(wc -l <"$2") / 3))
	if [ $third -lt $((WATCH_LEAST / 3)) ]; then
		[ "$(id -u)" != 0 ] || fail "$1: too few samples of keeper and supervisor: $(wc -l <"$2")"
		return
	fi
	first=$(head -n $third "$2" | sort -n | sed -n "$(((third + 1) / 2))p")
	last=$(tail -n $third "$2" | sort -n | sed -n "$(((third + 1) / 2))p")
	echo "$1: keeper and supervisor hold KiB and descriptors $first, at the end $last"
	[ $((${last% *} - ${first% *})) -le "$3" ] || fail "$1: their memory grew from ${first% *} to ${last% *} KiB"
	[ $((${last#* } - ${first#* })) -le "$4" ] || fail "$1: their descriptors grew from ${first#* } to ${last#* }"
}
