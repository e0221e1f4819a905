#!/bin/bash
# The module of the network is loaded by runs that have one and by no other; without it, or with another build's, a run that
# needs it is refused.
. "$(dirname "$0")/lib.sh"
MODULE=$(dirname "$(readlink -f "$CALLGATE")")/callgate-net.so
SHARED=$(dirname "$MODULE")/callgate-shared # where callgate is linked statically: what loads the module
[ -e "$MODULE" ] || skip "no module beside $CALLGATE"
[ -e "$SHARED" ] || SHARED=
if [ -n "$(command -v objdump)" ]; then
	objdump -p "$CALLGATE" ${SHARED:+"$SHARED"} | grep NEEDED | grep -E 'ssl|crypto|nghttp2|idn2|psl' &&
		fail "the program loads the network's libraries"
fi

echo '{"version": 1, "network": {"allow": [{"host": "*.example.com"}, {"host": "bücher.example"}]}}' >"$T/wild.json"
echo '{"version": 1, "network": {"allow": [{"host": "api.example.com", "http": ["GET /"]}]}}' >"$T/plain.json"
echo '{"version": 1, "network": {"allow": [{"host": "*.co.uk"}]}}' >"$T/public.json"
# maps POLICY…: the files that the keeper of a run has mapped.
maps()
{
	"$CALLGATE" run --quiet --profile minimal -x /usr/bin "$@" -i --status-fd 3 -- cat <"$T/in" >/dev/null 2>"$T/err" 3>"$T/status" &
	local pid=$!
	exec 5>"$T/in"
	for _ in {1..100}; do
		[ -s "$T/status" ] && break
		sleep 0.1
	done
	sleep 0.5
	cat "/proc/$pid/maps"
	exec 5>&-
	wait "$pid"
}
mkfifo "$T/in"
if [ "$(id -u)" = 0 ]; then # a keeper is not dumpable
	maps | grep -E 'callgate-net|libssl' && fail "a run without a network loads the module"
	maps -p "$T/plain.json" | grep -q callgate-net.so || fail "a run with a network does not: $(cat "$T/err")"
fi
"$CALLGATE" check "$T/wild.json" >"$T/out" 2>&1 || fail "names: $(cat "$T/out")"
"$CALLGATE" show -p "$T/wild.json" | grep -q xn--bcher-kva.example || fail "a name with other letters: $("$CALLGATE" show -p "$T/wild.json")"
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
"$T/bin/callgate" run --profile minimal -x /usr/bin -- true || fail "without the module nothing runs"
installed=$(strings -a "$CALLGATE" | grep -m 1 '^/[^ ]*/callgate$')
if [ -n "$SHARED" ]; then
	if ! [ -e "$installed/callgate-shared" ]; then
		refused "no program with shared libraries" 'callgate-shared, which cannot be started' \
			run --profile minimal -x /usr/bin -p "$T/plain.json" -- true
		refused "names without it" 'callgate-shared, which cannot be started' check "$T/wild.json"
	fi
	cp "$SHARED" "$T/bin/callgate-shared"
fi
if ! [ -e "$installed/callgate-net.so" ]; then
	refused "no module" 'callgate-net.so' run --profile minimal -x /usr/bin -p "$T/plain.json" -- true
	refused "names without the module" 'callgate-net.so' check "$T/wild.json"
fi
cp /bin/true "$T/bin/callgate-net.so"
refused "another file" 'callgate-net.so' run --profile minimal -x /usr/bin -p "$T/plain.json" -- true
refused "names with another file" 'callgate-net.so' check "$T/wild.json"
version=$("$CALLGATE" --version) version=${version#callgate }
sed "s/\\x00$version\\x00/\\x00${version//?/9}\\x00/g" "$MODULE" >"$T/bin/callgate-net.so"
refused "another version" "is of callgate ${version//?/9}" run --profile minimal -x /usr/bin -p "$T/plain.json" -- true
cp "$MODULE" "$T/bin/callgate-net.so"
"$T/bin/callgate" run --profile minimal -x /usr/bin -p "$T/plain.json" -- true >"$T/out" 2>&1 || fail "the module itself: $(cat "$T/out")"

# Somebody else's, beside a program in a directory for everybody: not even opened.
shown="is of callgate ${version//?/9}"
sed "s/\\x00$version\\x00/\\x00${version//?/9}\\x00/g" "$MODULE" >"$T/bin/callgate-net.so"
untrusted()
{
	"$T/bin/callgate" check "$T/wild.json" >"$T/out" 2>&1
	grep -q "$shown" "$T/out" && fail "loaded $1"
	rm -f "$T/bin/callgate-net.so"
	cp "$T/other.so" "$T/bin/callgate-net.so"
}
cp "$T/bin/callgate-net.so" "$T/other.so"
"$T/bin/callgate" check "$T/wild.json" 2>&1 | grep -q "$shown" || fail "not loaded at all"
chmod o+w "$T/bin/callgate-net.so"
untrusted "what everybody may write"
# A group's: who is in it could not replace the program. Where the group may write that as well, it may do so here.
chmod g+w "$T/bin/callgate-net.so"
chgrp 54321 "$T/bin/callgate-net.so" 2>/dev/null || group=none
if [ "${group:-}" != none ]; then
	programs=("$T/bin/callgate" ${SHARED:+"$T/bin/callgate-shared"}) # the second one loads it, where there are two
	chgrp 54321 "${programs[@]}"
	chmod g+w "${programs[@]}"
	"$T/bin/callgate" check "$T/wild.json" 2>&1 | grep -q "$shown" || fail "what the program's own group may write is not loaded"
	chmod g-w "${programs[@]}"
	chgrp 54321 "$T/bin"
	chmod g+w "$T/bin"
	"$T/bin/callgate" check "$T/wild.json" 2>&1 | grep -q "$shown" || fail "what the directory's group may write is not loaded"
	chmod +t "$T/bin" # and now they cannot replace the program
	untrusted "what a group may write, in a directory where it cannot replace the program"
	chmod 755 "$T/bin" && chgrp "$(id -g)" "$T/bin" "${programs[@]}"
	chmod g+w "$T/bin/callgate-net.so" && chgrp 54321 "$T/bin/callgate-net.so"
	untrusted "what a group may write"
	chmod g+w "${programs[@]}"
	if setfacl -m u:54322:rw "$T/bin/callgate-net.so" 2>/dev/null; then
		untrusted "what a list of rights lets another user write"
	fi
	chmod g-w "${programs[@]}"
fi
ln -sf "$T/other.so" "$T/bin/callgate-net.so"
untrusted "what a link leads to"
if [ "$(id -u)" = 0 ]; then
	chown 54321 "$T/bin/callgate-net.so"
	untrusted "another user's"
fi

# Where it is installed, each directory up to "/" counts. Over a copy of that place, in a mount namespace of the test's own.
if [ "$(id -u)" = 0 ] && [ -d "$(dirname "$installed")" ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m bash -c '
		set -e
		mount -t tmpfs none "$(dirname "$1")"
		mkdir "$1"
		cp "$2" "$1/callgate-net.so"
		[ -z "$3" ] || cp "$3" "$1/callgate-shared"
		rm -f "$4/callgate-net.so" "$4/callgate-shared"
		"$4/callgate" check "$5" || { echo "FAIL: not used where it is installed"; exit 1; }
		chmod 775 "$(dirname "$1")" && chgrp 54321 "$(dirname "$1")"
		"$4/callgate" check "$5" >"$6" 2>&1 && { echo "FAIL: used where a group may put another"; exit 1; }
		grep -q "may be written by others" "$6" || { cat "$6"; exit 1; }
		chgrp 54321 "$4" && chmod 775 "$4"
		"$4/callgate" check "$5" >"$6" 2>&1 || { echo "FAIL: where the same group may replace the program: $(cat "$6")"; exit 1; }
	' sh "$installed" "$MODULE" "$SHARED" "$T/bin" "$T/wild.json" "$T/out" >"$T/said" 2>&1 || fail "installed: $(cat "$T/said")"
fi
exit $live_failed
