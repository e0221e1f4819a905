#!/bin/bash
# Names of hosts and accounts in a policy. callgate-egress is asked for accounts that are not in /etc/passwd. That does
# not disturb the rest of the run, and what does not need an answer works without one.
. "$(dirname "$0")/../lib.sh"
need jq
HELPER=$(dirname "$(readlink -f "$CALLGATE")")/callgate-egress
export TMPDIR=$T/scratch
mkdir -m 700 "$T/scratch" "$T/w"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]}}' >"$T/plain.json"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]},
	"network": {"allow": [{"host": "*.example.com"}]}}' >"$T/net.json"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]},
	"network": {"allow": [{"host": "a.github.io"}]}}' >"$T/warned.json"
echo '{"version": 1, "network": {"allow": [{"host": "bücher.example"}]}}' >"$T/idna.json"

# runs POLICY OPTION…: a run's log has the run's one header.
runs()
{
	rm -f "$T/log"
	"$CALLGATE" run --quiet --audit "$T/log" -p "$@" -- true >"$T/out" 2>"$T/err" ||
		fail "$*: exit status $?: $(cat "$T/err")"
	[ "$(grep -c '"type":"header"' "$T/log")" = 1 ] || fail "$*: $(head -n 3 "$T/log")"
}

# A policy that can be read once, whether it turns out to need a network or not; options in any order.
for policy in plain net; do
	runs <(cat "$T/$policy.json") -w "$T/w"
	out=$("$CALLGATE" run -w "$T/w" -p <(cat "$T/$policy.json") --json -- echo one two 2>"$T/err" | jq -r .stdout)
	[ "$out" = "one two" ] || fail "$policy by a pipe: $out $(cat "$T/err")"
	out=$("$CALLGATE" check "$T/$policy.json" 2>&1)
	[ "$out" = "$T/$policy.json: good" ] || fail "check $policy: $out"
done

# What was done before is not done twice, and nothing of it stays.
echo copied >"$T/input"
out=$("$CALLGATE" run -p "$T/net.json" -w "$T/w" --input "$T/input" --output "$T/kept" -- cat input 2>"$T/err")
[ "$out" = copied ] || fail "--input: $out $(cat "$T/err")"
left=$(find "$T/scratch" -mindepth 2 -maxdepth 2 ! -name spare)
[ -z "$left" ] || fail "left in the scratch space: $left"

"$CALLGATE" run -v -p "$T/warned.json" -- true 2>"$T/err" || fail "warned.json: $(cat "$T/err")"
[ "$(grep -c warning "$T/err")" = 1 ] || fail "not warned once: $(cat "$T/err")"
out=$("$CALLGATE" check "$T/plain.json" "$T/idna.json" 2>&1 | grep -c plain.json)
[ "$out" = 1 ] || fail "of a policy that was checked before another is said $out times that it is good"

# Without callgate-egress, or with one that is none, what can do without it does; else nothing runs.
mkdir "$T/alone"
cp "$CALLGATE" "$T/alone/callgate"
cp -r "$CALLGATE_PROFILES" "$T/alone/profiles"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"],
	"provide": {"/etc/passwd": {"from": "account:passwd"}}}}' >"$T/account.json"
alone=("$T/alone/callgate" run -p "$T/account.json")
[ "$(id -u)" != 0 ] || alone=(setpriv --reuid 54321 --regid 54321 \
	--clear-groups env CALLGATE_PROFILES="$T/alone/profiles" "${alone[@]}")
chmod 755 "$T" "$T/alone" && chmod 777 "$T/scratch"
for helper in none empty true own; do
	case $helper in
	empty) install -m 755 /dev/null "$T/alone/callgate-egress" ;;
	true) install -m 755 /bin/true "$T/alone/callgate-egress" ;;
	own) install -m 755 "$HELPER" "$T/alone/callgate-egress" ;;
	esac
	out=$("${alone[@]}" -- echo alone 2>"$T/err")
	[ "$out" = alone ] || fail "callgate-egress: $helper: $out $(cat "$T/err")"
done

# A name service that has the account, or none that has it.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T" && chmod 777 "$T/w" "$T/scratch"
	out=$("$CALLGATE" run --user 54321 -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err")
	[ "$out" = 54321 ] || fail "--user of a number without an account: $out $(cat "$T/err")"
	out=$("$CALLGATE" run --user nobody -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err")
	[ "$out" = "$(id -u nobody)" ] || fail "--user nobody: $out $(cat "$T/err")"
	"$CALLGATE" run --user no-such-user -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err" &&
		fail "a user that is not"
	grep -q 'no such user' "$T/err" || fail "a user that is not: $(cat "$T/err")"
fi
exit $live_failed
