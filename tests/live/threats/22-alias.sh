#!/bin/bash
# Threat 22: hard links and renames give no file a second name with more rights.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$T/w/locked"
echo the-secret >"$T/w/locked/secret"
echo read-only >"$T/readonly"
chmod 666 "$T/readonly"
cat >"$T/policy.json" <<EOF
{"version": 1, "name": "alias", "extends": ["minimal"],
 "filesystem": {"read": ["$T/readonly"], "exec": ["$CASES/cases-threat"], "deny": ["$T/w/locked/secret"]}}
EOF
cg run -p "$T/policy.json" -w "$T/w" --audit "$T/audit" -- "$CASES/cases-threat" alias "$T/readonly" "$T/w/locked" \
	>"$T/out" 2>&1 ||
	fail "alias: $(cat "$T/out")"
[ "$(cat "$T/readonly"; stat -c %h "$T/readonly")" = "$(printf 'read-only\n1')" ] || fail "the read-only file changed"
[ "$(cat "$T/w/locked/secret"; stat -c %h "$T/w/locked/secret")" = "$(printf 'the-secret\n1')" ] ||
	fail "the denied file changed"

# Denied names neither appear nor are carried away with the directory they are in, nor by a link in its place. With and
# without the namespaces and control groups; the policy names the workdir by its name here and by the one outside.
denied()
{
	jq -n --arg work "$1" '{version: 1, name: "denied", extends: ["minimal"],
		filesystem: {exec: [$ARGS.positional[0]],
		deny: ["\($work)/.git/hooks", "\($work)/deep/a/key", "\($work)/*/priv", "**/.hg/store",
		"\($work)/src/**/*.pem", "**/.env",
			"\($work)/later/secret", "\($work)/later/below/secret"],
		decoy: ["@workdir/conf/token"], redirect: [{from: "@workdir/red/cache", to: "@scratch/cache"},
			{from: "@workdir/shown", to: "@workdir/target"},
			{from: "@workdir/shown2", to: "@workdir/above/below"}]}}' \
		--args "$CASES/cases-threat" >"$T/denied.json"
}

# attack NAME: in $T/v, in both ways
attack()
{
	local without
	for without in "${LIVE_WITHOUT:-}" namespaces,cgroups; do
		rm -f "$T/audit2"
		LIVE_WITHOUT=$without cg run -p "$T/denied.json" -w "$T/v" --audit "$T/audit2" \
			-- "$CASES/cases-threat" "$1" "${where[@]}" \
			>"$T/out" 2>&1 || fail "$1 without '$without': $(cat "$T/out")"
		"$2"
	done
}

# shellcheck disable=SC2317 # called by attack
nothing_appeared()
{
	local name
	for name in .git/hooks deep/a/key p/priv z/.hg/store conf/token red/cache later/secret later/below/secret; do
		[ ! -e "$T/v/$name" ] || fail "$name appeared"
	done
	[ -z "$(find "$T/v/src" -name '*.pem')" ] || fail "a .pem appeared in src"
	jq -se 'map(select(.reason == "rights_differ_below" and (.rule | test("[.]git/hooks")))) | length > 0' \
		"$T/audit2" >/dev/null ||
		fail "no record names the rule"
	jq -se 'map(select(.syscall == "symlink" and .reason == "leads_to_denied" and (.rule | test("[.]git/hooks")))) |
		length > 0' \
		"$T/audit2" >/dev/null || fail "no record of the link names the rule"
	rm -rf "$T/v" && mkdir "$T/v"
}

# shellcheck disable=SC2317 # called by attack
all_stayed()
{
	local name
	for name in "${held[@]}"; do
		[ "$(cat "$T/v/$name")" = held ] || fail "$name went away"
	done
}

need jq
for work in @workdir "$T/v" both; do
	rm -rf "$T/v" && mkdir "$T/v"
	where=()
	if [ "$work" = both ]; then # rules about @workdir, which another grant shows by its name outside
		denied @workdir
		jq --arg v "$T/v" '.workdir = "/work" | .filesystem.write = [$v] |
			del(.filesystem.redirect, .filesystem.decoy)' \
			"$T/denied.json" >"$T/both.json" && mv "$T/both.json" "$T/denied.json"
		where=("$T/v")
	else
		denied "$work"
		attack appear nothing_appeared
	fi
	held=(.git/hooks/post-checkout deep/a/key p/priv/key z/.hg/store/data src/m/n/k.pem)
	for name in "${held[@]}"; do
		mkdir -p "$T/v/${name%/*}" && echo held >"$T/v/$name"
	done
	attack carried all_stayed
done
exit $live_failed
