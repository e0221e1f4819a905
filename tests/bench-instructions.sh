#!/bin/sh
# A judged call takes no more instructions than its budget, and an exceeded budget is reported.
set -u

T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
build=${top_builddir:-.}
bench=${top_srcdir:-.}/bench/instructions
failed=0

fail()
{
	echo "FAIL: $*"
	failed=1
}

# The guard itself, by made-up counts: these need no valgrind.
if made_with=$("$build/bench-instructions" --build 2>/dev/null); then
	made_with="$(uname -m), ${made_with% }"
	printf '# %s\nopen 1000\nstat 2000\n' "$made_with" >"$T/budget"
	printf 'open 1029\nstat 1500\n' >"$T/within"
	printf 'open 1031\nstat 2000\n' >"$T/beyond"
	printf 'open 1000\n' >"$T/fewer"
	"$bench" --build "$build" --budget "$T/budget" --counts "$T/within" >"$T/out" 2>&1 ||
		fail "within the budget: $(cat "$T/out")"
	"$bench" --build "$build" --budget "$T/budget" --counts "$T/beyond" >"$T/out" 2>&1
	[ $? = 1 ] || fail "beyond the budget: $(cat "$T/out")"
	for word in 'open .* TOO MANY' '--update, and say why'; do
		grep -q -- "$word" "$T/out" || fail "does not say $word: $(cat "$T/out")"
	done
	"$bench" --build "$build" --budget "$T/budget" --counts "$T/fewer" >"$T/out" 2>&1 &&
		fail "a case that is missing"
	printf '# another compiler\nopen 1000\n' >"$T/other"
	"$bench" --build "$build" --budget "$T/other" --counts "$T/within" >"$T/out" 2>&1
	[ $? = 77 ] || fail "another compiler: $(cat "$T/out")"
fi
[ "$failed" = 0 ] || exit 1

"$bench" --build "$build"
