#!/bin/bash
# The Python package, from the source tree, by Debian's python3 and nothing else: against callgate serve, against a
# server that lies, its executor with functions that mean harm, and the examples that need no other package.
. "$(dirname "$0")/../lib.sh"
[ -x "$PYTHON" ] || skip "no $PYTHON"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$PYTHON is older than 3.10"
[ -x "$BUILD/callgate-agents" ] || skip "callgate-agents is not built"
unset CALLGATE_API_URL CALLGATE_API_KEY E2B_API_URL E2B_API_KEY E2B_SANDBOX_URL
export CALLGATE SRC PYTHONPATH=$SRC/python PYTHONDONTWRITEBYTECODE=1

# case_of_package NAME: tests of a part.
case_of_package()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" -W error::ResourceWarning "$SRC/tests/cases/python-$1.py" 2>"$T/$1" || {
		echo "FAIL: $1: $(tail -n 60 "$T/$1")" >&2
		return 1
	}
}

# example NAME LINE…: an example prints these lines, and ends well.
example()
{
	local name=$1 line
	shift
	PYTHON=$PYTHON timeout -k 5 "$LIVE_TIMEOUT" "$SRC/examples/$name/run.sh" >"$T/$name" 2>&1 || {
		echo "FAIL: the example $name: $(tail -n 60 "$T/$name")" >&2
		return 1
	}
	for line; do
		grep -qxF -e "$line" "$T/$name" || {
			echo "FAIL: the example $name does not print $line: $(cat "$T/$name")" >&2
			return 1
		}
	done
}
parts=()
example python 6 'hello from a file' '168 primes below 1000' True &
parts+=($!)
example agent 'sandbox: 42' "sandbox: OSError: [Errno 30] Read-only file system: '/usr/bin/total'" \
	'model: The shop sold 42 units.' &
parts+=($!)
for part in hostile executor sandbox; do
	case_of_package $part &
	parts+=($!)
done
for part in "${parts[@]}"; do
	wait "$part" || live_failed=1
done
# Examples that need further packages say so in one line. Without -S, this Python may have them.
printf '#!/bin/sh\nexec %s -S "$@"\n' "$PYTHON" >"$T/bare" && chmod +x "$T/bare"
for name in inspect ray dask e2b; do
	PYTHON=$T/bare "$SRC/examples/$name/run.sh" >"$T/lacks" 2>&1
	status=$?
	if [ $status != 1 ] || [ "$(wc -l <"$T/lacks")" != 1 ] ||
		! grep -q 'has no package .*: pip install ' "$T/lacks"; then
		fail "the example $name without its package: status $status: $(cat "$T/lacks")"
	fi
done
await_sessions "the servers have ended"
left=$(find "$TMPDIR" -maxdepth 1 -name 'callgate-server-*')
[ -z "$left" ] || fail "directories of servers are left: $left"
