#!/bin/bash
# Threat 2: a thread, or a process with shared memory, flips the path of an exec between two programs, both of which may
# be executed. Whichever runs is the one on record; where the kernel took the other one, the process is killed.
. "$(dirname "$0")/../lib.sh"
need jq
# "cat /dev/null" ends with 0, "cut /dev/null" with 1: it wants an option.
{ [ -x /usr/bin/cat ] && [ -x /usr/bin/cut ]; } || skip "cat and cut are not in /usr/bin"
if cut /dev/null 2>/dev/null; then skip "cut wants no option"; fi

# count PROGRAM: execs on record of what was to run
count()
{
	jq -r --arg path "$1" 'select(.syscall == "execve" and .ret == 0 and .path == $path) | .seq' "$T/audit" | wc -l
}

# agrees CASE PROGRAM OTHER: the programs on record are those that ran
agrees()
{
	hostile cases-threat "$1" "${FLIP_SECONDS:-1}" "$2" "$3"
	local ran=("$(grep -c '^ran exited 0$' "$T/out")" "$(grep -c '^ran exited 1$' "$T/out")"
		"$(grep -c '^ran killed 9$' "$T/out")")
	local total record=("$(count "$2")" "$(count "$3")"
		"$(jq -r 'select(.verdict == "kill") | .seq' "$T/audit" | wc -l)")
	total=$(grep -c '^ran ' "$T/out")
	echo "$1 $2: ran ${ran[*]}, on record ${record[*]}"
	[ "${ran[*]}" = "${record[*]}" ] || fail "$1 $2: ran ${ran[*]}, on record ${record[*]}"
	[ $((ran[0] + ran[1] + ran[2])) = "$total" ] || fail "$1 $2: $(grep '^ran ' "$T/out" | sort | uniq -c)"
	{ [ "${ran[0]}" -gt 0 ] && [ "${ran[1]}" -gt 0 ]; } || fail "$1 $2: nothing was flipped: ${ran[*]}"
}

# By names that the run cannot lead elsewhere, the name is compared; of copies in the workdir, the files.
{ mkdir -p "$T/w" && cp /usr/bin/cat /usr/bin/cut "$T/w"; } || die "setup"
for case in flip-exec flip-exec-shared; do
	CG_OPTIONS=(-x /usr/bin/cat -x /usr/bin/cut)
	agrees $case /usr/bin/cat /usr/bin/cut
	CG_OPTIONS=(-x "$T/w")
	agrees $case "$T/w/cat" "$T/w/cut"
done
exit $live_failed
