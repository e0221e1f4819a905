#!/bin/bash
# Another thread rewrites the path of an exec while the kernel reads it again. Of two scripts with the same interpreter
# only the approved one runs, and the log has no exec of the other.
. "$(dirname "$0")/../lib.sh"
D=$(mktemp -d /root/cg-attack.XXXXXX 2>/dev/null || mktemp -d "$HOME/cg-attack.XXXXXX") || skip "no place for scripts"
trap 'rm -rf "$D"; live_done' EXIT
mkdir "$D/yes" "$D/not" "$T/w"
printf '#!/bin/sh\necho approved\n' >"$D/yes/script"
printf '#!/bin/sh\necho refused\n' >"$D/not/script"
chmod 755 "$D"/*/script
cg_run extended -x "$CASES/cases-attack" -x "$D/yes" -r "$D/not" -w "$T/w" -- "$CASES/cases-attack" script \
	"$D/yes/script" "$D/not/script" >"$T/out" 2>"$T/err" || fail "it ended with $?: $(tail -n 3 "$T/err")"
grep -q '^approved$' "$T/out" || fail "nothing ran: $(tail -n 3 "$T/err")"
grep -q '^refused$' "$T/out" && fail "the refused script ran"
runs=$(grep -c '^approved$' "$T/out")
logged=$(jq -c 'select(.syscall == "execve" and .verdict == "allow" and .ret == 0)' "$T/audit" | wc -l)
[ "$logged" = $((runs + 1)) ] || fail "$runs scripts ran, the log has $logged execs"
exit 0
