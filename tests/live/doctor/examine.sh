# For the tests of callgate doctor, after lib.sh: what it says, and whether a run below the same command agrees.
# shellcheck shell=bash

D=$T/doctor.json

# examine STATUS [COMMAND…]: runs doctor --json below COMMAND; the result is in $D.
examine()
{
	local want=$1 status
	shift
	timeout 100 "$@" "$CALLGATE" doctor --json >"$D" 2>"$T/err" </dev/null
	status=$?
	[ $status = "$want" ] || fail "doctor ends with $status, not $want: $(cat "$T/err") $(jq -c '[.works,
		.reason]' "$D")"
	jq -e '.schema == "callgate-doctor/1"' "$D" >/dev/null || die "no JSON: $(head -c 300 "$D")"
	[ ! -s "$T/err" ] || fail "on standard error: $(cat "$T/err")"
}

# says FILTER: it is true of what doctor said.
says()
{
	jq -e "def state(name): .checks[] | select(.name == name) | .state;
		def text(name): .checks[] | select(.name == name) | .text;
		def advice(part): [.advice[].text | contains(part)] | any; $1" "$D" >/dev/null ||
		fail "$2: not so: $1: $(jq -c '[.checks[] | select(.state != "works") | [.name, .state, .text]], .run,
		[.advice[].title]' "$D")"
}

# agrees COMMAND…: the layers it tells are those of a run below COMMAND that asks for limits, and those expected.
agrees()
{
	local run
	run=$(timeout 100 "$@" "$CALLGATE" run --json --memory 300M --pids 100 -- /bin/true </dev/null)
	[ "$(jq -r .status <<<"$run")" = ok ] || fail "$*: no run: $(jq -c .error <<<"$run")"
	[ "$(jq -cS '.enforcement | map_values(.active)' <<<"$run")" \
		= "$(jq -cS '.layers | map_values(.active)' "$D")" ] ||
		fail "$*: doctor says $(jq -c '.layers | map_values(.active)' "$D"), a run has $(jq -c '.enforcement |
		map_values(.active)' <<<"$run")"
	says '.run.tried and .run.contradictions == [] and ([.layers[] | .active == .expected] | all)' "$*"
}

# cow_agrees COMMAND…: a run with --cow below COMMAND takes the way that doctor tells.
cow_agrees()
{
	local by id
	mkdir -p "$T/cow"
	timeout 100 "$@" "$CALLGATE" run --json --cow -w "$T/cow" -- /bin/true </dev/null >"$T/cow.json" 2>"$T/err"
	by=$(jq -r .workspace.by "$T/cow.json") id=$(jq -r .workspace.id "$T/cow.json")
	says "state(\"cow\") == {\"overlay\": \"works\", \"copy\": \"warns\"}[\"$by\"]" "$* cow by $by"
	"$CALLGATE" ws discard "$id" || fail "$*: no workspace: $(cat "$T/cow.json" "$T/err")"
}

# refusing SPEC,…: words of a command that puts filter.py around what follows. Names of system calls become numbers.
refusing()
{
	echo "$PYTHON $SRC/tests/live/doctor/filter.py $(numbered "$1") /usr/bin/env"
}

# numbered SPEC,…: NAME:ERRNO with the number in place of the name; without those of other architectures.
numbered()
{
	tr , '\n' <<<"$1" | awk -F: 'NR == FNR { number[$3] = $2; next }
		$1 in number { print number[$1] ":" $2; next } $1 ~ /^(listener|namespaces|default)$/' \
		<("$CASES/cases-rows" all | tr ' ' :) - | paste -sd,
}
