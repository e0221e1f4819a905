#!/bin/bash
# The runners of agents/runner/, outside a sandbox, through the protocol of agents/context.
: "${top_srcdir:=$(cd "$(dirname "$0")/../../.." && pwd)}"
export top_srcdir PYTHONDONTWRITEBYTECODE=1
unset PYTHONUNBUFFERED
tests=$top_srcdir/tests/unit/agents/runner

# The first Python that has pandas, matplotlib and Pillow; else any.
for python in python3 /usr/bin/python3; do
	"$python" -c 'import pandas, matplotlib, PIL' 2>/dev/null && break
done
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || {
	echo "SKIP: no Python 3.8 or later"
	exit 77
}
status=0
for name in python data bash node; do
	if [ $name = node ] && ! node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null; then
		echo "$name: skipped: no node 18 or later"
		continue
	fi
	timeout -k 5 300 "$python" "$tests/test_$name.py"
	result=$?
	[ $result = 0 ] || [ $result = 77 ] || status=1
done
exit $status
