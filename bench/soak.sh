#!/bin/bash
# Does callgate leak in the long run? Many short runs one after the other, and one long run of a mixed load; memory,
# descriptors, processes, control groups, mounts and scratch directories must be flat. As root, who can look into keeper
# and supervisor.
#
#   soak.sh [RUNS [MINUTES]]        10000 runs of true, 30 minutes; CALLGATE names the program under test
. "$(dirname "$0")/../tests/live/lib.sh"
. "$SRC/tests/live/watch.sh"
need jq pgrep
runs=${1:-10000} minutes=${2:-30}
[ "$(id -u)" = 0 ] || skip "not root: keeper and supervisor cannot be looked into"

# What the machine holds: open files, processes, control groups, mounts, unreclaimable kernel memory in KiB.
machine()
{
	echo "$(cut -f 1 /proc/sys/fs/file-nr) $(find /proc -maxdepth 1 -name '[0-9]*' | wc -l)" \
		"$(find /sys/fs/cgroup -type d 2>/dev/null | wc -l) $(wc -l </proc/self/mountinfo)" \
		"$(awk '/^SUnreclaim:/ {print $2}' /proc/meminfo)"
}

# short COUNT: milliseconds a run.
short()
{
	local i begin
	begin=$(date +%s%N)
	for ((i = 0; i < $1; i++)); do
		"$CALLGATE" run --profile minimal -x /bin/true -m 64M --pids 8 -w "$T/w" -- /bin/true \
			</dev/null >"$T/out" 2>&1 ||
			die "a run ended with $?: $(cat "$T/out")"
	done
	awk -v ns=$(($(date +%s%N) - begin)) -v runs="$1" 'BEGIN {printf "%.2f\n", ns / runs / 1e6}'
}

mkdir "$T/w"
tenth=$((runs / 10 + 1))
: >"$T/machine"
echo "$runs runs of true; a run in ms, then open files, processes, control groups, mounts, kernel memory:"
for part in $(seq 10); do
	took=$(short $tenth)
	machine >>"$T/machine"
	echo "  $((part * tenth)): $took ms; $(tail -n 1 "$T/machine")"
done
first=$(head -n 1 "$T/machine") last=$(tail -n 1 "$T/machine")
names=("open files" processes "control groups" mounts "KiB of kernel memory")
slack=(2000 60 20 4 65536) # what else the machine does
for i in 0 1 2 3 4; do
	a=$(cut -d ' ' -f $((i + 1)) <<<"$first") b=$(cut -d ' ' -f $((i + 1)) <<<"$last")
	[ $((b - a)) -le "${slack[i]}" ] || fail "${names[i]} grew from $a to $b"
done

# A mixed load: files, listings, renames, programs, scripts, pipes, threads, what is refused.
cat >"$T/w/load.sh" <<'EOF'
end=$(($(date +%s) + $1))
while [ "$(date +%s)" -lt $end ]; do
	mkdir -p d/e && for i in 1 2 3 4 5; do echo $i >d/e/$i; done
	mv d/e/1 d/one; ln -s one d/link; cat d/link d/e/* | sort | uniq -c >d/counts
	ls -lR d >d/listing; find d -type f | xargs stat >>d/listing;
	tar cf d.tar d; rm -rf d; tar xf d.tar; rm -rf d d.tar
	cat /etc/shadow; kill -9 1; ls /root; mkfifo f; (echo x >f &) ; cat f; rm f
	/usr/bin/python3 -c 'import threading, os, tempfile
def work():
	for i in range(50):
		with tempfile.NamedTemporaryFile() as f:
			f.write(b"x" * 1000)
			os.stat(f.name)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]'
done >/dev/null 2>&1
echo done
EOF
export LIVE_TIMEOUT=$((minutes * 60 + 120))
cg run --profile extended -w "$T/w" -- bash load.sh $((minutes * 60)) >"$T/out" 2>"$T/err" &
watch_run $! $((minutes * 60)) "$T/samples"
wait $! || fail "the load ended with $?: $(cat "$T/err")"
[ "$(cat "$T/out")" = "done" ] || fail "the load did not end: $(cat "$T/out" "$T/err")"
watch_flat "$minutes minutes of mixed load" "$T/samples" 2048 32
