#!/bin/bash
# No judged call ends with EINTR unless it does natively: under timers whose handlers lack SA_RESTART, every call that
# takes a path, and dash, which would otherwise run the next program of the same name. Calls that natively end with
# EINTR still do. INTERRUPTED_CALLS, INTERRUPTED_ROUNDS: 1000000 and 100000 for the long form. INTERRUPTED_BUSY: number
# of busy loops next to it, on a machine that is not busy anyway.
. "$(dirname "$0")/../lib.sh"
need jq
case $(uname -m) in
x86_64) ;;
*) skip "on $(uname -m) a signal frame has no first argument: most calls keep their EINTR (doc/architecture.md)" ;;
esac
calls=${INTERRUPTED_CALLS:-2000}
rounds=${INTERRUPTED_ROUNDS:-200}
case=$CASES/cases-interrupted
mkdir "$T/w" "$T/first" "$T/second"
for dir in first second; do
	cp "$case" "$T/$dir/tool" || die "cp"
done

for _ in $(seq "${INTERRUPTED_BUSY:-0}"); do
	(while :; do :; done) &
	live_kept+=($!)
done

# storm CASE USEC HOW…: nothing is interrupted, nothing is done twice, no frame is left.
storm()
{
	local case=$1 usec=$2 how out
	shift 2
	for how; do
		rm -rf "${T:?}/w" && mkdir "$T/w"
		cg run --profile minimal --json -x "$case" -w "$T/w" -- "$case" storm "$calls" "$usec" "$how" \
			>"$T/out" 2>"$T/err"
		out=$(jq -r '"\(.stdout | rtrimstr("\n")), restarted \(.calls.restarted), left \(.calls.interrupted)"' \
			"$T/out")
		echo "$how, every $usec us: $out"
		[[ $out == *" EINTR 0 wrong 0, restarted "[1-9]*", left 0" ]] ||
			fail "$how: $out: $(jq -r .stderr "$T/out" | sort | uniq -c | head -n 8)"
	done
}
storm "$case" 50 plain altstack
storm "$case" 500 nested threads
# where memory is sampled locks are notified
LIVE_WITHOUT=cgroups LIVE_OPTIONS="-m 1G" storm "$case" 50 plain
# At one place, syscall(2), and with one frame: calls whose number cannot be found, which are left, and others.
rm -rf "${T:?}/w" && mkdir "$T/w"
cg run --profile minimal --json -x "$case" -w "$T/w" -- "$case" beside $((calls * 20)) 50 >"$T/out" 2>"$T/err"
echo "beside: $(jq -c '[.stdout, .calls.restarted, .calls.interrupted]' "$T/out")"
left='[1-9][0-9]*'
judged native || left=0 # these calls only read
jq -e --arg left "$left" '.exit_code == 0 and (.stdout | test("^hidden \($left) plain 0\n$"))' "$T/out" >/dev/null ||
	fail "beside calls that were left: $(jq -c '[.status, .stdout, .stderr, .error]' "$T/out")"
# musl has its calls in line, and other functions that make them for others
if command -v musl-gcc >/dev/null && musl-gcc -D_GNU_SOURCE -O2 -static \
	-o "$T/musl" "$SRC/tests/cases/interrupted.c"; then
	storm "$T/musl" 50 plain
fi

# From the second on it would be another program: a call that ends with EINTR is tried in the next place.
# shellcheck disable=SC2016 # the inner shell's
script='i=0 wrong=0
while [ $i -lt '$rounds' ]; do
	r=$(echo | tool)
	[ "$r" = "$1" ] || wrong=$((wrong + 1))
	i=$((i + 1))
done
echo "rounds $i wrong $wrong"'
cg run --profile minimal -e "PATH=$T/first:$T/second" -r "$T/first" -r "$T/second" -x "$T/first" -x "$T/second" \
	-x /bin/dash -w "$T/w" \
	-- /bin/dash -c "$script" x "$T/first/tool" >"$T/out" 2>&1
cat "$T/out"
grep -qx "rounds $rounds wrong 0" "$T/out" || fail "dash ran another program"

# Frames and code that are to mislead: their program ends as it may, the run goes on.
rm -rf "${T:?}/w" && mkdir "$T/w"
cg run --profile minimal --json -x "$case" -w "$T/w" -- "$case" forge 300 >"$T/out" 2>"$T/err"
jq -r .stdout "$T/out" | grep -qx "ended 300 of 300" || fail "forged frames: $(jq -c '[.status, .stdout, .stderr,
	.error]' "$T/out")"
echo "forged frames: restarted $(jq .calls.restarted "$T/out"), left $(jq .calls.interrupted "$T/out")"

CG_OPTIONS=(-x "$case")
same "what a signal ends" "$case" waits
LIVE_WITHOUT=cgroups LIVE_OPTIONS="-m 1G" same "what a signal ends, where locks are counted" "$case" waits
