#!/bin/bash
# Threat 16: a thread flips the path of a chdir(2) between two directories. The working directory is the one on record,
# and never one without a name in the view.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir -p "$T/w/a" "$T/w/b" "$T/s/a"

# flipped DIR OTHER [OPTION…]
flipped()
{
	local pair=("$1" "$2")
	shift 2
	CG_OPTIONS=("$@")
	hostile cases-threat flip-chdir "${CHDIR_SECONDS:-1}" "${pair[@]}"
	mountns=$(jq -r 'select(.type == "header") | .layers.mountns.active' "$T/audit")
}

# agrees: the places, in order, are those of the calls on record that succeeded. With a mount namespace the kernel reads
# the path once more: then they are two within the view.
agrees()
{
	grep '^cwd ' "$T/out" | cut -d ' ' -f 2- >"$T/places"
	[ "$mountns" = true ] && return
	jq -r 'select(.syscall == "chdir" and .ret == 0) | .resolved // .path' "$T/audit" >"$T/records"
	cmp -s "$T/places" "$T/records" ||
		fail "it stood elsewhere than the record says: $(diff "$T/places" "$T/records" |
		grep -c '^[<>]') lines of $(wc -l <"$T/records")"
	[ "$(sort -u "$T/places" | wc -l)" = "$1" ] || fail "it got to $(sort -u "$T/places" | tr '\n' ' ')"
}

for without in none mountns namespaces; do
	options=()
	[ $without = none ] || options=(--without "$without")
	flipped "$T/w/a" "$T/s/a" "${options[@]}"
	agrees 1
	grep '^cwd' "$T/out" | grep -vFx "cwd $T/w/a" && fail "$without: it stood outside"
	flipped "$T/w/a" "$T/w/b" "${options[@]}"
	agrees 2
done

# What a chdir is led by tells no other thread the names in a directory in which only globs grant.
{ mkdir "$T/g" && touch "$T/g/seen.txt" "$T/g/hidden"; } || die "setup"
jq -n --arg g "$T/g/*.txt" --arg exec "$CASES/cases-threat" \
	'{version: 1, name: "globs", extends: ["minimal"], filesystem: {read: [$g], exec: [$exec]}}' >"$T/globs.json"
for without in "${LIVE_WITHOUT:-none}" mountns; do
	LIVE_WITHOUT=${without#none} cg run -p "$T/globs.json" -w "$T/w" -- "$CASES/cases-threat" list-chdir 1 "$T/g" \
		>"$T/out" 2>&1 ||
		fail "without $without: $(head -n 5 "$T/out")"
done
exit $live_failed
