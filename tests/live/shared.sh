#!/bin/bash
# A callgate that is linked statically becomes callgate-shared where it needs to: as if it had been that from the beginning.
# Where there is one program the same has to hold.
. "$(dirname "$0")/lib.sh"
need jq
SHARED=$(dirname "$(readlink -f "$CALLGATE")")/callgate-shared
export TMPDIR=$T/scratch
mkdir -m 700 "$T/scratch" "$T/w"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]}}' >"$T/plain.json"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]},
	"network": {"allow": [{"host": "*.example.com"}]}}' >"$T/net.json"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]},
	"network": {"allow": [{"host": "a.github.io"}]}}' >"$T/warned.json"
echo '{"version": 1, "network": {"allow": [{"host": "bücher.example"}]}}' >"$T/idna.json"

# became POLICY OPTION…: which program the keeper of a run is; its log has the run's one header.
became()
{
	local pid path=
	rm -f "$T/status" "$T/log"
	mkfifo "$T/in"
	"$CALLGATE" run --quiet --audit "$T/log" -i --status-fd 3 -p "$@" -- cat <"$T/in" >"$T/out" 2>"$T/err" 3>"$T/status" &
	pid=$!
	exec 5>"$T/in"
	for _ in {1..100}; do
		[ -s "$T/status" ] && break
		sleep 0.1
	done
	[ "$(id -u)" != 0 ] || path=$(readlink "/proc/$pid/exe") # a keeper is not dumpable
	exec 5>&-
	wait "$pid" || fail "$*: exit status $?: $(cat "$T/err")"
	rm -f "$T/in"
	[ "$(grep -c '"type":"header"' "$T/log")" = 1 ] || fail "$*: $(head -n 3 "$T/log")"
	keeper=${path##*/}
}

if [ -e "$SHARED" ]; then
	[ -z "$(command -v objdump)" ] || ! objdump -p "$CALLGATE" | grep NEEDED || fail "callgate is not linked statically"
	became "$T/plain.json"
	[ "$(id -u)" != 0 ] || [ "$keeper" = callgate ] || fail "a run without a network became ${keeper:-nothing}"
	became "$T/net.json"
	[ "$(id -u)" != 0 ] || [ "$keeper" = callgate-shared ] || fail "a run with a network is $keeper's"
fi

# A policy that can be read once, whether it turns out to need a network or not; options in any order.
for policy in plain net; do
	became <(cat "$T/$policy.json") -w "$T/w"
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

# Where it is not installed, or is none, whoever can do without it does; else nothing runs.
mkdir "$T/alone"
cp "$CALLGATE" "$T/alone/callgate"
cp -r "$CALLGATE_PROFILES" "$T/alone/profiles"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"],
	"provide": {"/etc/passwd": {"from": "account:passwd"}}}}' >"$T/account.json"
alone=("$T/alone/callgate" run -p "$T/account.json")
[ "$(id -u)" != 0 ] || alone=(setpriv --reuid 54321 --regid 54321 --clear-groups env CALLGATE_PROFILES="$T/alone/profiles" "${alone[@]}")
if [ -e "$SHARED" ]; then
	chmod 755 "$T" "$T/alone" && chmod 777 "$T/scratch"
	out=$("${alone[@]}" -- echo alone 2>"$T/err")
	[ "$out" = alone ] || fail "without callgate-shared: $out $(cat "$T/err")"
	install -m 755 /dev/null "$T/alone/callgate-shared"
	"${alone[@]}" -- echo alone >"$T/out" 2>"$T/err"
	ret=$?
	[ "$ret" = 125 ] || [ "$(cat "$T/out")" = alone ] || fail "with an empty callgate-shared: $ret $(cat "$T/err")"
fi

# A name service that has the account, or nobody that has it.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T" && chmod 777 "$T/w" "$T/scratch"
	out=$("$CALLGATE" run --user 54321 -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err")
	[ "$out" = 54321 ] || fail "--user of a number without an account: $out $(cat "$T/err")"
	out=$("$CALLGATE" run --user nobody -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err")
	[ "$out" = "$(id -u nobody)" ] || fail "--user nobody: $out $(cat "$T/err")"
	"$CALLGATE" run --user no-such-user -p "$T/plain.json" -w "$T/w" -- id -u 2>"$T/err" && fail "a user that is not"
	grep -q 'no such user' "$T/err" || fail "a user that is not: $(cat "$T/err")"
fi
exit $live_failed
