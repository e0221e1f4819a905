#!/bin/bash
# Runs the live tests that tell most about another surrounding (as-user.sh, in-container.sh), two at a time. One line a
# test; of a failed one the end of its log. Exit status 1 when one failed. Environment as in lib.sh; LIVE_TMP must be set.
#
#   core.sh            run them
#   core.sh copy DIR   copy what they need to DIR, built things to DIR/built, readable by anybody
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = copy ]; then
	set -e
	: "${top_srcdir:?}" "${top_builddir:?}"
	mkdir -p "$2/built/tests/cases"
	cp "$top_builddir/callgate" "$2/built/"
	cp "$top_builddir"/tests/cases/cases-* "$2/built/tests/cases/"
	for folder in base syscalls policy examples tests; do
		(cd "$top_srcdir" && find "$folder" -type f ! -name '*.o' ! -name '*.log' -print0 | tar --null -T - -cf -) |
			tar -C "$2" --no-same-owner -xf -
	done
	chmod -R u=rwX,go=rX "$2"
	exit 0
fi
logs=$(mktemp -d "$LIVE_TMP/core.XXXXXX") || exit 99
# Left out: what needs many seconds and shows nothing that depends on the surrounding.
cd "$here" || exit 99
ls diff-*.sh exec-forms.sh bad-input.sh examples.sh threat-*.sh workload-*.sh |
	grep -vE '^(threat-(16|19|20|29|30)-.*|threat-02-exec-race|workload-(build|python-venv))\.sh$' |
	xargs -n 1 -P 2 sh -c '
		timeout -k 5 100 bash "./$1" >"$0/$1.log" 2>&1
		status=$?
		case $status in
		0) echo "ok   $1" ;;
		77) echo "skip $1: $(tail -n 1 "$0/$1.log")" ;;
		*)
			echo "FAIL $1: ended with $status"
			tail -n 12 "$0/$1.log" | cut -c 1-300 | sed "s/^/     /"
			echo "$1" >>"$0/failed" ;;
		esac' "$logs"
if [ -s "$logs/failed" ]; then
	echo "failed: $(tr '\n' ' ' <"$logs/failed")"
	exit 1
fi
rm -rf "$logs"
