#!/bin/bash
# What differs inside on purpose must differ exactly as tests/cases/diff-deviations.txt says.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
cg_run extended -x "$CASES/cases-diff" -w "$T/w" -- "$CASES/cases-diff" "$T/w" deviate >"$T/inside.out"
grep -v '^#' "$SRC/tests/cases/diff-deviations.txt" >"$T/native.out"
compare "deviations from the list" out
