#!/bin/bash
# Random programs of 200 file operations in a workspace and on a copy: the program sees the same, ws apply makes the
# directory the same, a part of it touches just that, SIGKILL leaves each file wholly old or new, discard leaves all as
# it was. The same in workspaces of two directories. A few of them; with CHECK_LONG=1 1,000 programs and 300 kills.
. "$(dirname "$0")/../lib.sh"
need jq "$PYTHON"
seeds=${WORKSPACE_SEEDS:-4} kills=${WORKSPACE_KILLS:-3} first=${WORKSPACE_FIRST:-1}
[ -z "${CHECK_LONG:-}" ] || seeds=${WORKSPACE_SEEDS:-1000} kills=${WORKSPACE_KILLS:-300} LIVE_TIMEOUT=7200
cp "$SRC/tests/live/cli/workspace-program.py" "$T/program.py" || die "no program"
chmod 755 "$T"
mkdir "$T/w"
run=(run --json "${WORKSPACE_COW:---cow}" --profile minimal -r /usr -x /usr/bin -r "$T/program.py" --output-limit 4M)
cg "${run[@]}" -w "$T/w" -- /bin/true >"$T/result" 2>"$T/err"
jq -r .workspace.id "$T/result" | xargs "$CALLGATE" ws discard || fail "cannot be discarded"
json() # WORD…: as a JSON array
{
	jq -nc '$ARGS.positional' --args -- "$@"
}
drop=(env)
[ "$(id -u)" != 0 ] || drop=(setpriv --no-new-privs --inh-caps=-all --bounding-set=-all --)
for dirs in 1 2; do
	WORKSPACE_DIRS=$dirs WORKSPACE_RUN=$(json "$CALLGATE" "${run[@]}") WORKSPACE_NATIVE=$(json "${drop[@]}") \
		WORKSPACE_T=$T WORKSPACE_PROGRAM=$T/program.py CALLGATE=$CALLGATE \
		timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$SRC/tests/live/cli/workspace-random.py" \
		"$first" $(((seeds + dirs - 1) / dirs)) $((kills / dirs)) || fail "see above"
done
