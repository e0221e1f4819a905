#!/bin/bash
# "ask" rules for names in directories that nothing grants: one question for each call, of one path or of two, and after
# "once" the call succeeds. A call of two paths is not asked about when a rule asks about one of them only.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

cases=$SRC/tests/cases/approval-calls.py
mkdir "$T/calls"
python3 "$cases" make "$T/calls" >"$T/names" || skip "the files of the test: $(cat "$T/names")"
jq --rawfile names "$T/names" --arg unasked "$T/calls/unasked" '.on_deny = "errno" |
	.filesystem.ask = ($names | split("\n") | map(select(. != ""))) | .filesystem.read += [$unasked + "/read"] |
	.filesystem.deny = [$unasked + "/denied/secret"]' "$T/p.json" >"$T/p2.json" && mv "$T/p2.json" "$T/p.json"
cp "$cases" "$T/w/calls.py"
look()
{
	(cd "$T/calls/unasked" && find . -printf '%P %y %s %n %m %l\n' | sort)
}
before=$(look)
approver once
asks "socket:$T/s" -- python3 calls.py run "$T/calls"
ended '.stdout == "" and .exit_code == 0'
wrong=$(python3 "$cases" check "$T/calls" "$T/asked")
[ -z "$wrong" ] || fail "$wrong"
question '[.[] | select(.shown | index("note: the call exchanges what is at the two paths")) | .syscall] ==
	["renameat2", "renameat2"]'
[ "$(look)" = "$before" ] || fail "changed without an answer: $(look)"
exit 0
