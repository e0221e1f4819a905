#!/bin/bash
# The supervisor is killed at random moments under load. Every effect that a program saw or that the file system shows
# is in the log, all processes are dead, and the scratch directory is removed. KILLS: how often.
. "$(dirname "$0")/../lib.sh"
need jq

# find_program NAME ARGUMENT…
find_program()
{
	local found
	found=$(grep -lsaxzF -- "$1" /proc/[0-9]*/cmdline) || return
	for found in $found; do
		cmp -s "$found" <(printf '%s\0' "$@") && cut -d / -f 3 <<<"$found" && return
	done
}

# is_loaded: the program has done something. Sets program.
is_loaded()
{
	{ [ -s "$T/acks" ] || compgen -G "$T/w/file-*" >/dev/null; } &&
		program=$(find_program "$CASES/cases-threat" load 10000000) && [ -n "$program" ]
}

# $1: seconds of load before the kill
round()
{
	local program supervisor keeper i missing
	rm -rf "$T/w"
	mkdir "$T/w"
	cg_run minimal -x "$CASES/cases-threat" -w "$T/w" -- "$CASES/cases-threat" load 10000000 >"$T/acks" 2>"$T/err" &
	keeper=$!
	program=
	awaited is_loaded || die "no program: $(cat "$T/err")"
	sleep "$1"
	supervisor=$(awk '{print $4}' "/proc/$program/stat")
	kill -KILL "$supervisor" || die "no supervisor"
	awaited dead "$program" || fail "the program outlived its supervisor"
	wait "$keeper"
	i=$?
	[ $i = 125 ] || fail "ended with $i, not 125: $(cat "$T/err")"
	# done: what is in the directory, and what was there before it was renamed
	{
		find "$T/w" -mindepth 1 -printf '%f\n'
		find "$T/w" -name 'moved-*' -printf '%f\n' | sed 's/^moved/file/'
		sed -n 's/^made //p; s/^moved //p' "$T/acks" | tr -cd 'a-z0-9\n-' | grep -E -- '-[0-9]+-[0-9]+$'
	} | sort -u >"$T/effects"
	jq -R -r 'try (fromjson | select(.verdict != "deny") | .path, .path2) catch "bad line" | select(. != null)' \
		"$T/audit" |
		sed 's|.*/||' | sort -u >"$T/logged"
	missing=$(comm -23 "$T/effects" "$T/logged" | grep -v '^$' | head -n 5)
	[ -z "$missing" ] || fail "performed and not in the log after $1 s: $missing"
	[ "$(wc -l <"$T/effects")" -gt 1 ] || fail "no effects at all"
	grep -q 'bad line' "$T/logged" && fail "a torn line was left in the log"
	"$CALLGATE" audit verify --json "$T/audit" >"$T/verified" || fail "verify: $(cat "$T/verified")"
	[ "$(jq .recovered "$T/verified")" -ge 1 ] || fail "not told that the log was recovered: $(cat "$T/verified")"
	echo "after $1 s: $(wc -l <"$T/effects") effects, $(wc -l <"$T/audit") records"
}

for _ in $(seq "${KILLS:-6}"); do
	round "0.$((RANDOM % 60 + 10))"
done
