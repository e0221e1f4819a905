#!/bin/bash
# exec and restarted system calls while the program races them, executes from many threads at once, and single-steps
# itself: the behaviour is as natively, and no denied program runs.
. "$(dirname "$0")/../lib.sh"
attack=$CASES/cases-exec
prepare()
{
	mkdir "$1/sub"
	printf '#!/bin/echo script\n' >"$1/script"
	chmod 755 "$1/script"
}
for without in none mountns namespaces; do
	CG_OPTIONS=(-x "$CASES" -x "$T/w")
	[ $without = none ] || CG_OPTIONS+=(--without "$without")
	same "chdir-$without" "$attack" chdir "$T/w/sub"
	same "code-$without" "$attack" code "$T/w/sub"
	same "exec-$without" "$attack" exec /bin/true
done
CG_OPTIONS=(-x "$CASES" -x "$T/w")
same exec-script "$attack" exec "$T/w/script"

# A script that is rewritten while it is executed, and what is put on the stack for it, by its own name and by one that
# makes the call go round. The denied program leaves a file "one".
mkdir "$T/denied" && cp /bin/touch "$T/denied/touch"
rewritten() # AT COMMAND…
{
	local at=$1
	shift
	rm -rf "$T/w" && mkdir "$T/w"
	printf '#!/bin/true\n%500s\n' '' >"$T/w/good"
	cat >"$T/w/run" <<END
cd "$T/w" && cp good "$at/script-$$" && chmod 755 "$at/script-$$" &&
	"$attack" rewrite "$at/script-$$" /bin/true "$T/denied/touch"
END
	"$@" sh "$T/w/run" >"$T/out" 2>"$T/err" || fail "rewrite in $at: status $?: $(cat "$T/out" "$T/err")"
	cat "$T/err"
}
rewritten "$T/w" native
[ -e "$T/w/one" ] || fail "natively it does not run either"
for at in "$T/w" /tmp; do
	rewritten "$at" cg_run extended -x "$CASES" -x "$T/w" -x /tmp -r "$T/denied" -t 60 -w "$T/w" --
	[ ! -e "$T/w/one" ] || fail "the denied program ran"
done
true
