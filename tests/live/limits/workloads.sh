#!/bin/bash
# Programs below every limit notice none of them: runs the workloads again with all limits set; the output is identical
# to a native run.
. "$(dirname "$0")/../lib.sh"

export LIVE_OPTIONS="-t 10m --cpu 10m -m 8G --disk 4G --file-size 2G --pids 2000 --audit-limit 4G"
export DIFF_PART=${DIFF_PART:-2/6}
# In a surrounding where core.sh runs all of these already, the three that write most are enough.
usual="workloads/git workloads/sqlite workloads/files workloads/python-sqlite workloads/shell syscalls/diff-open"
for name in ${LIMITED_TESTS:-$usual syscalls/diff-path}; do
	timeout -k 5 400 bash "$SRC/tests/live/$name.sh" >"$T/log" 2>&1
	case $? in
	0) ;;
	77) echo "$name: $(tail -n 1 "$T/log")" ;;
	*) fail "$name: $(tail -n 12 "$T/log")" ;;
	esac
done
# shellcheck disable=SC2034 # read by lib.sh
CG_OPTIONS=(--open-files 512)
prepare()
{
	printf '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n' >"$1/a.c"
}
unset LIVE_OPTIONS
CG_OPTIONS+=(--disk 64M --file-size 32M --pids 64 -m 1G --cpu 60s)
# shellcheck disable=SC2016 # bash inside expands these
if command -v gcc >/dev/null; then
	same gcc bash -c \
		'set -e; for i in 1 2 3; do
			gcc -O2 -o a a.c && ./a; gcc -c a.c && ar rc liba.a a.o; done; rm -f *.o; ls'
fi
