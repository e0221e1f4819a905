# shellcheck shell=bash
# For the tests of limits; sourced after lib.sh. Runs a case of cases-bomb inside and writes its result to $T/result.
# METER: the limit whose meter a failure prints.
BOMB=$CASES/cases-bomb

# bomb KIND MUCH [OPTION…]
bomb()
{
	local kind=$1 much=$2
	shift 2
	mkdir -p "$T/w"
	cg_run minimal -x "$BOMB" --json "$@" -w "$T/w" -- "$BOMB" "$kind" "$much" >"$T/result" 2>"$T/err"
}

# is FILTER NAME: the result fulfils the jq filter.
is()
{
	jq -e "$1" "$T/result" >/dev/null 2>&1 ||
		fail "$2: not $1: $(jq -c --arg meter "$METER" '[.status, .exit_code, .stdout, .error, .limits[$meter],
		.enforcement.cgroups]' "$T/result") $(cat "$T/err")"
}
