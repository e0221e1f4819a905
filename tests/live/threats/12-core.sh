#!/bin/bash
# Threat 12: no core file, and no crash handler of the host (RLIMIT_CORE is 1, which the program cannot change to 0),
# whatever limit callgate's caller has.
. "$(dirname "$0")/../lib.sh"
HOSTILE_STATUS=134
for limit in "$(ulimit -H -c)" 0; do
	ulimit -S -c "$limit" && ulimit -H -c "$limit"
	hostile cases-threat core
	[ -z "$(find "$T/w" -name 'core*')" ] || fail "a core file"
done
