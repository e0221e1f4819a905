#!/bin/bash
# callgate-egress is started only by runs that use a network, when they do. Runs whose policy has a network are refused
# where it is missing, of another build, or writable by others.
. "$(dirname "$0")/../lib.sh"
HELPER=$(dirname "$(readlink -f "$CALLGATE")")/callgate-egress
[ -e "$HELPER" ] || skip "no callgate-egress beside $CALLGATE"
if [ -n "$(command -v objdump)" ]; then
	objdump -p "$CALLGATE" | grep NEEDED | grep -E 'ssl|crypto|nghttp2' &&
		fail "callgate loads the network's libraries"
fi
"$HELPER" </dev/null >"$T/out" 2>&1 && fail "callgate-egress does something by itself"
grep -q 'a part of callgate' "$T/out" || fail "callgate-egress by itself: $(cat "$T/out")"

echo '{"version": 1, "network": {"allow": [{"host": "*.example.com"}, {"host": "bücher.example"}]}}' >"$T/wild.json"
echo '{"version": 1, "network": {"allow": [{"host": "api.example.com", "http": ["GET /"]}]}}' >"$T/plain.json"
echo '{"version": 1, "network": {"allow": [{"host": "*.co.uk"}]}}' >"$T/public.json"
net_run=(run --quiet --profile minimal -x /usr/bin -p "$T/plain.json" -- true)
# children COMMAND OPTION…: the command lines of what the keeper of a run has started, when COMMAND has ended.
children()
{
	local first=$1
	shift
	"$CALLGATE" run --quiet --profile minimal -x /usr/bin "$@" -i -- sh -c "$first"'; echo ready; cat' \
		<"$T/in" >"$T/said" 2>"$T/err" &
	local pid=$!
	exec 5>"$T/in"
	await "the program" has_line "$T/said" ready
	for child in $(pgrep -P "$pid"); do
		tr '\0' ' ' <"/proc/$child/cmdline"
		echo
	done
	exec 5>&-
	wait "$pid"
	rm -f "$T/said"
}
mkfifo "$T/in"
children : >"$T/children"
grep callgate-egress "$T/children" && fail "a run without a network starts callgate-egress"
children : -p "$T/plain.json" >"$T/children"
grep callgate-egress "$T/children" && fail "a run that does not use its network starts callgate-egress"
children "curl -s -m 5 https://api.example.com/" -p "$T/plain.json" >"$T/children"
[ "$(grep -c 'callgate-egress egress $' "$T/children")" = 1 ] ||
	fail "a run that uses its network: $(cat "$T/children" "$T/err")"
children "getent hosts other.example.com" -p "$T/plain.json" >"$T/children"
[ "$(grep -c 'callgate-egress egress $' "$T/children")" = 1 ] ||
	fail "a run that resolves a name: $(cat "$T/children" "$T/err")"
"$CALLGATE" check "$T/wild.json" >"$T/out" 2>&1 || fail "names: $(cat "$T/out")"
"$CALLGATE" show -p "$T/wild.json" | grep -q xn--bcher-kva.example ||
	fail "a name with other letters: $("$CALLGATE" show -p "$T/wild.json")"
"$CALLGATE" check "$T/public.json" >"$T/out" 2>&1 && fail "a public suffix is taken"
grep -q 'anybody who registers' "$T/out" || fail "a public suffix: $(cat "$T/out")"

# refused WHAT WORDS ARGUMENT…: a run of the copy ends with 125 and says the words.
refused()
{
	local what=$1 words=$2
	shift 2
	"$T/bin/callgate" "$@" >"$T/out" 2>&1
	[ $? = 125 ] || fail "$what: not refused: $(cat "$T/out")"
	grep -q "$words" "$T/out" || fail "$what: $(cat "$T/out")"
}
mkdir "$T/bin"
cp "$CALLGATE" "$T/bin/callgate"
"$T/bin/callgate" run --profile minimal -x /usr/bin -- true || fail "without callgate-egress nothing runs"
installed=$(strings -a "$CALLGATE" | grep -m 1 '^/[^ ]*/lib[^ ]*/callgate$')
if ! [ -e "$installed/callgate-egress" ]; then
	refused "no callgate-egress" 'callgate-egress, which cannot be started' "${net_run[@]}"
fi
cp /bin/true "$T/bin/callgate-egress"
refused "another program" 'callgate-egress, which is another program' "${net_run[@]}"
version=$("$CALLGATE" --version) version=${version#callgate }
sed "s/\\x00$version\\x00/\\x00${version//?/9}\\x00/g" "$HELPER" >"$T/bin/callgate-egress"
refused "another version" "is of callgate ${version//?/9}" run --profile minimal -x /usr/bin -p "$T/plain.json" -- true
# What cannot be executed when it is needed: no connection is made, and the result says why.
if grep -q /lib64/ld-linux- "$HELPER"; then
	sed 's#/lib64/ld-linux-#/lib64/no-linux-#g' "$HELPER" >"$T/bin/callgate-egress"
	"$T/bin/callgate" run --json --profile minimal -x /usr/bin -p "$T/plain.json" -- \
		curl -sS -m 9 https://api.example.com/ >"$T/result" 2>"$T/err"
	jq -e '.error.code == "egress_failed" and
		(.error.message | contains("callgate-egress, which cannot be started"))
		and (.network | any(.decision == "deny" and .reason == "egress_failed"))' "$T/result" >/dev/null ||
		fail "a file that cannot be executed: $(cat "$T/result" "$T/err")"
fi
cp "$HELPER" "$T/bin/callgate-egress"
"$T/bin/callgate" run --profile minimal -x /usr/bin -p "$T/plain.json" -- true >"$T/out" 2>&1 ||
	fail "callgate-egress itself: $(cat "$T/out")"

# Another user's, beside a program in a directory for everybody: not even started.
shown="is of callgate ${version//?/9}"
sed "s/\\x00$version\\x00/\\x00${version//?/9}\\x00/g" "$HELPER" >"$T/bin/callgate-egress"
untrusted()
{
	"$T/bin/callgate" "${net_run[@]}" >"$T/out" 2>&1
	grep -q "$shown" "$T/out" && fail "started $1"
	rm -f "$T/bin/callgate-egress"
	cp "$T/other" "$T/bin/callgate-egress"
}
cp "$T/bin/callgate-egress" "$T/other"
"$T/bin/callgate" "${net_run[@]}" 2>&1 | grep -q "$shown" || fail "not started at all"
chmod o+w "$T/bin/callgate-egress"
untrusted "what everybody may write"
# A group's: who is in it could not replace the program. Where the group may write that as well, it may do so here.
chmod g+w "$T/bin/callgate-egress"
chgrp 54321 "$T/bin/callgate-egress" 2>/dev/null || group=none
if [ "${group:-}" != none ]; then
	chgrp 54321 "$T/bin/callgate"
	chmod g+w "$T/bin/callgate"
	"$T/bin/callgate" "${net_run[@]}" 2>&1 | grep -q "$shown" ||
		fail "what the program's own group may write is not started"
	chmod g-w "$T/bin/callgate"
	chgrp 54321 "$T/bin"
	chmod g+w "$T/bin"
	"$T/bin/callgate" "${net_run[@]}" 2>&1 | grep -q "$shown" ||
		fail "what the directory's group may write is not started"
	chmod +t "$T/bin" # and now they cannot replace the program
	untrusted "what a group may write, in a directory where it cannot replace the program"
	chmod 755 "$T/bin" && chgrp "$(id -g)" "$T/bin" "$T/bin/callgate"
	chmod g+w "$T/bin/callgate-egress" && chgrp 54321 "$T/bin/callgate-egress"
	untrusted "what a group may write"
	chmod g+w "$T/bin/callgate"
	if setfacl -m u:54322:rw "$T/bin/callgate-egress" 2>/dev/null; then
		untrusted "what a list of rights lets another user write"
	fi
	chmod g-w "$T/bin/callgate"
fi
ln -sf "$T/other" "$T/bin/callgate-egress"
untrusted "what a link leads to"
if [ "$(id -u)" = 0 ]; then
	chown 54321 "$T/bin/callgate-egress"
	untrusted "another user's"
fi

# Where it is installed, each directory up to "/" counts. Over a copy of that place, in a mount namespace of the test's
# own.
if [ "$(id -u)" = 0 ] && [ -d "$(dirname "$installed")" ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m bash -c '
		set -e
		net_run() { "$3/callgate" run --quiet --profile minimal -x /usr/bin -p "$4" -- true; }
		mount -t tmpfs none "$(dirname "$1")"
		mkdir "$1"
		cp "$2" "$1/callgate-egress"
		rm -f "$3/callgate-egress"
		net_run "$@" || { echo "FAIL: not used where it is installed"; exit 1; }
		chmod 775 "$(dirname "$1")" && chgrp 54321 "$(dirname "$1")"
		net_run "$@" >"$5" 2>&1 && { echo "FAIL: used where a group may put another"; exit 1; }
		grep -q "may be written by others" "$5" || { cat "$5"; exit 1; }
		chgrp 54321 "$3" && chmod 775 "$3"
		net_run "$@" >"$5" 2>&1 ||
			{ echo "FAIL: where the same group may replace the program: $(cat "$5")"; exit 1; }
	' sh "$installed" "$HELPER" "$T/bin" "$T/plain.json" "$T/out" >"$T/said" 2>&1 ||
		fail "installed: $(cat "$T/said")"
fi
exit $live_failed
