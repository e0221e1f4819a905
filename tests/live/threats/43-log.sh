#!/bin/bash
# Threat 43: the program cannot access the log: not by its name, a granted directory or a file descriptor. A run in
# which it could does not start. The log has every attempt, numbered without gaps.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir "$T/w" "$T/log"
# shellcheck disable=SC2016 # the inner shell's
attempts='for f in "$1" "$2" /proc/self/fd/* /proc/1/fd/*; do
	: >>"$f"; echo forged >"$f"; rm -f "$f"; mv "$f" x; ln "$f" y; chmod 777 "$f"
	done
	[ "$(ls /proc/self/fd | wc -l)" -le 4 ] || echo "got: descriptors"; cat "$1" && echo "got: the log"'

# attack OPTION…: with the log in $T/log/audit
attack()
{
	rm -f "$T/log/audit"
	# shellcheck disable=SC2016 # the inner shell's
	cg run --profile extended --audit "$T/log/audit" -w "$T/w" "$@" \
		-- bash -c "$attempts" bash "$T/log/audit" "$T/log" >"$T/out" 2>"$T/err"
	! grep -q '^got:' "$T/out" || fail "$*: $(cat "$T/out")"
	[ -s "$T/log/audit" ] || die "no log: $(cat "$T/err")"
	jq -es 'length > 10 and (map(.seq) | . == [range(.[0]; .[0] + length)])' "$T/log/audit" >/dev/null ||
		fail "$*: the numbers have gaps, or a line is no record"
	! grep -q '^forged' "$T/log/audit" || fail "$*: the log was written by the program"
	jq -es --arg log "$T/log/audit" 'any(.[]; .path == $log)' "$T/log/audit" >/dev/null ||
		fail "$*: the attempts on the log are not in it"
}
attack -q
attack -q -W "$T/log/audit" # when that was granted there was no such file, so nothing was
for name in x y; do
	[ ! -e "$T/w/$name" ] || fail "the log was moved or linked"
done

# By a grant it could be written: refused before anything runs.
for grant in "$T/log" "$T"; do
	rm -f "$T/log/audit" "$T/w/ran"
	cg run --profile extended --audit "$T/log/audit" -w "$T/w" -W "$grant" -- touch "$T/w/ran" >"$T/out" 2>&1
	[ $? = 125 ] || fail "-W $grant with the log in it is accepted"
	[ ! -e "$T/w/ran" ] || fail "-W $grant: it ran"
done
cg run --profile extended --audit "$T/w/audit" -w "$T/w" -- true >"$T/out" 2>&1
[ $? = 125 ] || fail "a log in the workdir is accepted"
