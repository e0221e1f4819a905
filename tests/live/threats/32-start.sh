#!/bin/bash
# Threat 32: the listener reaches the supervisor before any call can block on it. A run starts, again and again, on one
# CPU, with no spare file descriptors, and where pidfd_getfd(2) is refused (in-container.sh).
. "$(dirname "$0")/../lib.sh"
need taskset
export LIVE_TIMEOUT=20
first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
one()
{
	cg run --profile minimal -x /bin/true -w "$T" -- /bin/true >"$T/out" 2>&1 ||
		die "$1: a run ended with $?: $(cat "$T/out")"
}
for i in $(seq 15); do
	one "any processor, $i"
done
taskset -cp "$first" $$ >/dev/null || die "taskset"
for i in $(seq 15); do
	one "one processor, $i"
done
