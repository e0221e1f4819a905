#!/bin/bash
# Runs the unit tests that were copied to top_builddir, in the virtual machine: two at a time. Shows what of those that
# fail is at the end of their output. Exit status 1 when one failed, or when there is none.
set -u

logs=$(mktemp -d "${LIVE_TMP:-/tmp}/unit.XXXXXX") || exit 99
# As Makefile.am has it. Processors may be emulated, and busy: what waits waits ten times as long.
export logs CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER=10 CALLGATE_RUNNERS=${top_srcdir:?}/agents/runner
cd "$logs" || exit 99
one()
{
	local name=${1#"$top_builddir/tests/unit/"} status
	timeout -k 5 "${UNIT_SECONDS:-900}" "$1" >"$logs/${name//\//-}" 2>&1 </dev/null
	status=$?
	case $status in
	0) echo "$name" >>"$logs/passed" ;;
	77) echo "$name" >>"$logs/skipped" ;;
	*) printf '%s ended with %s:\n%s\n' "$name" "$status" "$(tail -n 6 "$logs/${name//\//-}")" >>"$logs/failed" ;;
	esac
}
export -f one
# shellcheck disable=SC2016 # the inner shell's
find "$top_builddir/tests/unit" -name 'test_*' -type f | LC_ALL=C sort | xargs -n 1 -P 2 bash -c 'one "$1"' one
passed=$(grep -c . passed 2>/dev/null)
[ ! -e skipped ] || echo "skipped: $(paste -sd ' ' skipped)"
[ ! -e failed ] || cat failed
echo "${passed:-0} passed, $(grep -c ' ended with [0-9]*:$' failed 2>/dev/null || echo 0) failed"
[ ! -e failed ] && [ "${passed:-0}" -gt 0 ]
