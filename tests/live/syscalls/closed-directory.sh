#!/bin/bash
# Directories whose own user has closed them (chmod 0, no permission to search, none to read): the workdir itself, which
# is the top of a mount in the view, and one below it. Each call on them has the result that it has natively, by their
# absolute paths, by ".", by descriptors and by /proc; opened again they work as before. Also with --cow.
. "$(dirname "$0")/../lib.sh"
need "$PYTHON"
W=$T/w
cp "$SRC/tests/live/syscalls/closed-directory.py" "$T/program.py" || die "no program"
chmod 755 "$T" && chmod 644 "$T/program.py"
mkdir -p "$W/sub/subsub" && echo x | tee "$W/f" "$W/sub/f" >"$W/sub/subsub/f"
drop=()
[ "$(id -u)" != 0 ] || drop=(setpriv --no-new-privs --inh-caps=-all --bounding-set=-all --)
for where in . sub sub/subsub; do
	(cd "$W/$where" && "${drop[@]}" "$PYTHON" "$T/program.py") >"$T/native" 2>&1 ||
		die "natively: $(tail -n 3 "$T/native")"
	grep -q EACCES "$T/native" || die "nothing is refused natively"
	for way in '' --cow --cow=copy; do
		cg run ${way:+"$way"} -q --profile python -w "$W" -x /usr/bin -r "$T/program.py" -- \
			/bin/sh -c "cd $where && exec $PYTHON $T/program.py" >"$T/inside" 2>"$T/err" ||
			fail "$where $way: $(cat "$T/err")"
		cmp -s "$T/native" "$T/inside" || fail "$where $way: $(diff "$T/native" "$T/inside" | head -n 3)"
	done
done
LIVE_MAY_LEAVE=1 # workspaces in which modes were changed, and put back
