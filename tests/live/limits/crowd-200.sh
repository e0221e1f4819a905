#!/bin/bash
# Two hundred sandboxes at once: all start, idle, end well, and leave no process, control group or directory. Prints and
# bounds the memory of keeper and supervisor of an idle one (proportional set size, so that shared pages count once).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../watch.sh"
need jq pgrep
count=${CROWD:-200} most=6144 # KiB
ulimit -n 4096 2>/dev/null
ulimit -u 8192 2>/dev/null
most_tasks=$(ulimit -u)
[ "$most_tasks" = unlimited ] || [ "$most_tasks" -ge $((count * 8)) ] ||
	skip "no more than $most_tasks processes and threads here"

# Each reads a fifo without a writer: the writer's end ends them all.
mkfifo "$T/idle"
mkdir "$T/w" "$T/out"
exec 3<>"$T/idle"
start()
{
	timeout -k 30 900 "$CALLGATE" run -i --json --profile minimal -x /usr/bin/cat -m 64M --pids 16 -w "$T/w" \
		-- cat "$T-mark" - \
		<"$T/idle" >"$T/out/$1.json" 2>"$T/out/$1.err" 3>&- &
	pids+=($!)
}

# weigh PID: KiB of keeper and supervisor.
weigh()
{
	local pid sum=0 one
	[ "$(id -u)" = 0 ] || return 0
	for pid in $(processes_of "$1"); do
		one=$(awk '/^Pss:/ {print $2}' "/proc/$pid/smaps_rollup" 2>/dev/null)
		sum=$((sum + ${one:-0}))
	done
	echo $sum
}

# settled COUNT: that many programs have come to their fifo.
settled()
{
	local deadline=$((SECONDS + 300))
	while [ "$(pgrep -cf "^[a-z/]*cat $T-mark -\$")" -lt "$1" ]; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.2
	done
}

pids=()
start alone
settled 1 || die "one does not start: $(cat "$T/out"/*)"
alone=$(weigh "${pids[0]}")
began=$SECONDS
for i in $(seq 2 "$count"); do
	start "$i"
done
settled "$count" || fail "only $(pgrep -cf "^[a-z/]*cat $T-mark -\$") of $count run at once: $(cat "$T"/out/*.err |
	sort | uniq -c | head -n 5)"
echo "$count sandboxes up after $((SECONDS - began)) s"
for pid in "${pids[@]}"; do
	weigh "$pid"
done | sort -n >"$T/weights"
exec 3>&-

for pid in "${pids[@]}"; do
	wait "$pid"
done
# The file it names does not exist: cat says so, copies the empty fifo and ends with 1.
cat "$T"/out/*.json | jq -r '.status + " " + (.exit_code | tostring)' | sort | uniq -c >"$T/ends"
[ "$(awk '{print $1, $2, $3}' "$T/ends")" = "$count failed 1" ] ||
	fail "not all ended alike: $(cat "$T/ends" "$T"/out/*.err | head -n 5)"

[ -z "$(survivors "$T-mark")" ] || fail "left running: $(survivors "$T-mark" | head -n 5)"
cat "$T"/out/*.json | jq -r .run_id >"$T/ids"
left=$(find /sys/fs/cgroup -type d 2>/dev/null | grep -F -f "$T/ids" | head -n 5)
[ -z "$left" ] || fail "control groups left: $left"
left=$(grep -lF -f "$T/ids" /proc/[0-9]*/mountinfo 2>/dev/null | head -n 5)
[ -z "$left" ] || fail "mounts left in: $left"
if [ "$(id -u)" = 0 ]; then
	echo "an idle sandbox weighs $alone KiB alone," \
		"$(sed -n "$(((count + 1) / 2))p" "$T/weights") KiB (at most $(tail -n 1 "$T/weights")) among $count"
	for weight in "$alone" "$(tail -n 1 "$T/weights")"; do
		[ "$weight" -lt $most ] || fail "it weighs $weight KiB, which is not below $most"
	done
	[ "$(head -n 1 "$T/weights")" -gt 100 ] || fail "not all could be weighed: $(head -n 1 "$T/weights") KiB"
fi
exit 0
