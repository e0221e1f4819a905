#!/bin/bash
# unit.sh [unit/FOLDER…]: runs the unit tests that were copied to top_builddir, in the virtual machine: two at a time.
# Shows what of those that fail is at the end of their output. Exit status 1 when one failed, or when there is none, or
# when it was ended (SIGTERM) before all had been run.
set -u

tests=${top_builddir:?}/tests/${1:-unit}
logs=$(mktemp -d "${LIVE_TMP:-/tmp}/unit.XXXXXX") || exit 99
# As Makefile.am has it. Processors may be emulated, and busy: what waits waits ten times as long.
export CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER=10 CALLGATE_SLOW=1
export logs CALLGATE_RUNNERS=${top_srcdir:?}/agents/runner
cd "$logs" || exit 99
touch passed skipped failed started
one()
{
	local name=${1#"$top_builddir/tests/unit/"} status
	echo "$name" >>"$logs/started"
	timeout -k 5 "${UNIT_SECONDS:-900}" "$1" >"$logs/${name//\//-}" 2>&1 </dev/null
	status=$?
	case $status in
	0) echo "$name" >>"$logs/passed" ;;
	77) echo "$name" >>"$logs/skipped" ;;
	*) printf '%s ended with %s:\n%s\n' "$name" "$status" "$(tail -n 6 "$logs/${name//\//-}")" >>"$logs/failed" ;;
	esac
}
export -f one

report()
{
	local passed failed skipped
	passed=$(grep -c . passed) failed=$(grep -c ' ended with [0-9]*:$' failed) skipped=$(grep -c . skipped)
	cat failed
	[ "$skipped" = 0 ] || echo "skipped: $(paste -sd ' ' skipped)"
	echo "$passed passed, $failed failed, $skipped skipped of $all"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ] && [ $((passed + skipped)) = "$all" ]
}

find "$tests" -name 'test_*' -type f | LC_ALL=C sort >all
all=$(grep -c . all)
on_term()
{
	echo "ended while these were running or had failed:"
	grep -vxFf <(cat passed skipped) started
	report
	exit 1
}
trap on_term TERM
# shellcheck disable=SC2016 # the inner shell's
xargs -n 1 -P 2 bash -c 'one "$1"' one <all &
wait $!
report
