#!/bin/sh
# A judged call takes no more instructions than its budget, and a budget that is exceeded is told.
set -u

T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
bench="$top_srcdir/bench/instructions"
failed=0

fail()
{
	echo "FAIL: $*"
	failed=1
}

# The guard itself, by made-up counts: these need no valgrind.
if made_with=$("$top_builddir/bench-instructions" --build 2>/dev/null); then
	made_with="$(uname -m), ${made_with% }"
	printf '# %s\nopen 1000\nstat 2000\n' "$made_with" >"$T/budget"
	printf 'open 1029\nstat 1500\n' >"$T/within"
	printf 'open 1031\nstat 2000\n' >"$T/beyond"
	printf 'open 1000\n' >"$T/fewer"
	"$bench" --build "$top_builddir" --budget "$T/budget" --counts "$T/within" >"$T/out" 2>&1 || fail "within the budget: $(cat "$T/out")"
	"$bench" --build "$top_builddir" --budget "$T/budget" --counts "$T/beyond" >"$T/out" 2>&1
	[ $? = 1 ] || fail "beyond the budget: $(cat "$T/out")"
	grep -q 'open .* TOO MANY' "$T/out" && grep -q -- '--update, and say why' "$T/out" || fail "no word of what to do: $(cat "$T/out")"
	"$bench" --build "$top_builddir" --budget "$T/budget" --counts "$T/fewer" >"$T/out" 2>&1 && fail "a case that is missing"
	printf '# another compiler\nopen 1000\n' >"$T/other"
	"$bench" --build "$top_builddir" --budget "$T/other" --counts "$T/within" >"$T/out" 2>&1
	[ $? = 77 ] || fail "another compiler: $(cat "$T/out")"
fi
[ "$failed" = 0 ] || exit 1

"$bench" --build "$top_builddir"
