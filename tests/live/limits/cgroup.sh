#!/bin/bash
# No control group is left behind by a run, or by many at once. Those of a killed keeper are removed by the next run.
# Other tests may have control groups at the same time, so only those of this test are checked.
. "$(dirname "$0")/../lib.sh"
need jq pgrep

BOMB=$CASES/cases-bomb

# left RUN-ID: what there is of it.
left()
{
	find /sys/fs/cgroup -type d -name "$1" 2>/dev/null
}

# run DIR [OPTION…] -- PROGRAM…: the result goes to DIR/result.
run()
{
	local dir=$1
	shift
	mkdir -p "$dir/w"
	cg run --profile minimal -x "$BOMB" --json -m 100M --pids 50 --cpu 20s -w "$dir/w" "$@" \
		>"$dir/result" 2>"$dir/err"
}

# Every run that is on record in $T/*/result was in groups, and none is left.
all_gone()
{
	local result id
	for result in "$T"/*/result; do
		id=$(jq -r .run_id "$result")
		[ "$(jq -r .enforcement.cgroups.active "$result")" = true ] || fail "$1: no groups: $(cat "$result")"
		[ -z "$(left "$id")" ] || fail "$1: left: $(left "$id")"
	done
}

run "$T/a" -- "$BOMB" serial 1
jq -e '.status == "ok"' "$T/a/result" >/dev/null || die "$(cat "$T/a/result" "$T/a/err")"
[ "$(jq -r .enforcement.cgroups.active "$T/a/result")" = true ] ||
	skip "no control groups here: $(jq -r .enforcement.cgroups.why "$T/a/result")"
run "$T/b" -- "$BOMB" crowd 10
run "$T/c" -- "$BOMB" anonymous 2000
all_gone "one after the other"
for i in 1 2 3 4 5 6 7 8; do
	run "$T/$i" -- "$BOMB" serial 20 &
done
wait
all_gone "at once"

# --require holds when nothing is limited.
mkdir -p "$T/r/w"
cg run --profile minimal -x "$BOMB" --pids none --require cgroups --json -w "$T/r/w" -- "$BOMB" serial 1 \
	>"$T/r/result" 2>&1
jq -e '.status == "ok" and .enforcement.cgroups.active and .limits.pids.limit == null' "$T/r/result" >/dev/null ||
	fail "required without limits: $(cat "$T/r/result")"
all_gone "required"

# The number of tasks alone asks for them only where nothing else holds that; and a usual run's is held by something.
mkdir -p "$T/p/w"
cg run --profile minimal -x "$BOMB" --json -w "$T/p/w" -- "$BOMB" serial 1 >"$T/p/json" 2>&1
jq -e '.status == "ok" and .limits.pids.limit == 4096 and
	(.enforcement.cgroups | .active or (.why | test("pid_max|RLIMIT_NPROC")))' "$T/p/json" >/dev/null ||
	fail "pids alone: $(cat "$T/p/json")"
[ -z "$(left "$(jq -r .run_id "$T/p/json")")" ] || fail "pids alone: left"

# SIGKILL to the keeper: its leaves stay, and the next run takes them.
mkdir -p "$T/k/w"
cp "$BOMB" "$T/spinner" || die "copy"
"$CALLGATE" run --profile minimal -x "$T/spinner" -m 100M --pids 50 -w "$T/k/w" -- "$T/spinner" spin 1 >/dev/null 2>&1 &
keeper=$!
spins() { program=$(pgrep -f "^$T/spinner spin"); }
await "the program" spins
# "4:memory:/…/callgate-0/RUN-ID" or "0::/…/callgate-0/RUN-ID"
killed=$(sed -n 's,.*/callgate-[0-9]*/\([^/]*\)$,\1,p' "/proc/$program/cgroup" | head -n 1)
if [ -z "$killed" ] || [ -z "$(left "$killed")" ]; then
	die "the program is in no group of ours: $(cat "/proc/$program/cgroup")"
fi
kill -KILL $keeper
wait 2>/dev/null
awaited not spins || fail "the program outlived its keeper"
# The supervisor goes last; until then the run is not dead, and its directory not the next one's to take.
await "the supervisor's end" flock -n "$T/tmp/callgate-$(id -u)/run-$killed" true
run "$T/z" -- "$BOMB" serial 1
[ -z "$(left "$killed")" ] || fail "the killed keeper's groups are left: $(left "$killed")"
all_gone "after the killed keeper"
