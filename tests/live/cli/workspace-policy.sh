#!/bin/bash
# "workspace" of a policy is as --cow: the directory of -w stays as it is. A later file replaces it, --cow holds in any
# case, and what does not go with --cow does not go with the key: then nothing is run, and no input is copied.
. "$(dirname "$0")/../lib.sh"
need jq
W=$T/w
mkdir "$W"
echo old >"$W/old"

# policy NAME TEXT: the file $T/NAME.json
policy()
{
	printf '{"version": 1, "extends": ["minimal"], "filesystem": {"read": ["/usr"], "exec": ["/usr/bin"],
		"write": ["@workdir"]}, %s}' "$2" >"$T/$1.json"
}

policy cow '"workspace": {"mode": "cow"}'
policy direct '"workspace": {"mode": "direct"}'
printf '{"version": 1, "extends": ["./cow.json"], "workspace": {"mode": "direct"}}' >"$T/later.json"
printf '{"version": 1, "extends": ["./cow.json"]}' >"$T/inherits.json"

# writes WHERE OPTION…: the program's file is in the workspace (ws), or in the directory (dir)
writes()
{
	local where=$1 at=ws id
	shift
	cg run -q --json -w "$W" "$@" -- /bin/sh -c 'echo new >new; echo changed >old' >"$T/result" 2>"$T/err" ||
		fail "$*: $(cat "$T/err")"
	[ -e "$W/new" ] && at=dir
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ "$at" = "$where" ] || fail "$*: wrote to $at"
	[ "$at" = dir ] || [ "$(cat "$W/old")" = old ] || fail "$*: changed $W/old"
	[ "$([ -n "$id" ] && echo ws || echo dir)" = "$where" ] || fail "$*: says $id"
	[ -z "$id" ] || "$CALLGATE" ws discard "$id" || fail "discard"
	rm -f "$W/new"
	echo old >"$W/old"
}

writes dir -p "$T/direct.json"
writes dir -p "$T/later.json"
"$CALLGATE" show -p "$T/later.json" | jq -e 'has("workspace") | not' >/dev/null || fail "show: direct"
"$CALLGATE" show -p "$T/inherits.json" | jq -e '.workspace == {"mode": "cow"}' >/dev/null || fail "show: cow"
"$CALLGATE" policy diff "$T/cow.json" "$T/direct.json" >"$T/diff"
grep -q 'workspace\.mode' "$T/diff" || fail "policy diff: $(cat "$T/diff")"

# refuses TEXT OPTION…
refuses()
{
	local text=$1
	shift
	cg run -q "$@" -- /bin/sh -c 'echo new >new' >"$T/out" 2>"$T/err" && fail "$*: not refused"
	grep -qF -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
	[ "$(ls "$W")" = old ] || fail "$*: wrote to the directory: $(ls "$W")"
	[ -z "$("$CALLGATE" ws list)" ] || fail "$*: left a workspace"
}
refuses '"workspace" of the policy is as --cow: ' -p "$T/cow.json"
refuses 'name one with -w' -p "$T/inherits.json"
for option in --dry-run "--mode observe" "--inspect --setup true" "--inspect --input $T/later.json" \
	"--output $T/kept"; do
	# shellcheck disable=SC2086 # an option and its value
	refuses 'leave out one of them' -p "$T/cow.json" -w "$W" $option
done

cg run --cow -q -p "$T/cow.json" -w "$W" -- /bin/true 2>"$T/err"
if grep -q 'cannot be kept as it is' "$T/err"; then
	refuses 'cannot be kept as it is' -p "$T/cow.json" -w "$W"
	live_done
fi
for id in $("$CALLGATE" ws list --json | jq -r .id); do
	"$CALLGATE" ws discard "$id"
done
writes ws -p "$T/cow.json"
writes ws -p "$T/inherits.json"
writes ws -p "$T/direct.json" --cow
