#!/bin/bash
# callgate audit show, top, stats and diff: filters agree with jq, several logs are merged, live runs are followed to
# their end, nothing reaches a terminal raw, and memory does not grow with the log.
. "$(dirname "$0")/../lib.sh"
need jq script "$PYTHON"
mkdir "$T/w" "$T/refused"
cp "$SRC/tests/cases/audit-hostile.py" "$T/w/hostile.py"
"$PYTHON" "$T/w/hostile.py" "$T/refused" --make

audit()
{
	timeout 300 "$CALLGATE" audit "$@" </dev/null
}

# audit_memory LOG VERB…: peak resident memory in KB.
audit_memory()
{
	local log=$1
	shift
	"$PYTHON" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$CALLGATE" audit "$@" "$log"
}

for name in one two; do
	cg run --profile python -w "$T/w" -r "$T/refused" --audit "$T/$name.log" -- "$PYTHON" hostile.py "$T/refused" \
		>"$T/out" 2>&1 || die "the program: $(tail -n 3 "$T/out")"
done

# filter JQ OPTION…: show prints what jq selects.
filter()
{
	local wanted=$1
	shift
	audit show --json "$@" "$T/one.log" >"$T/got" 2>"$T/err" || fail "show $*: $(cat "$T/err")"
	jq -c "select(.type == null) | select($wanted) | .seq" "$T/one.log" >"$T/wanted"
	jq -c .seq "$T/got" >"$T/seq"
	cmp -s "$T/seq" "$T/wanted" || fail "show $*: $(diff "$T/seq" "$T/wanted" | head -n 5)"
	[ -s "$T/wanted" ] || fail "show $*: nothing to select"
	[ "$(audit show "$@" "$T/one.log" | wc -l)" = "$(wc -l <"$T/wanted")" ] || fail "show $*: not a line each"
}

filter '.verdict == "deny"' --denied
filter '.verdict == "deny" or .verdict == "provide"' --verdict deny,provide
filter '.syscall == "rename" or .syscall == "unlink"' --call rename,unlink
filter '.syscall == "openat" and .verdict == "allow"' --syscall openat --verdict allow
filter '.errno == "EROFS" or .errno == "ENOENT"' --errno EROFS,ENOENT
filter '(.resolved // .path // "" | contains("/refused/"))' --path "$T/refused"
filter '(.resolved // .path // "" | contains("quote")) or (.resolved2 // .path2 // "" | contains("quote"))' \
	--path '*quote*'
filter '.exe | contains("python3")' --program 'python3*'
filter '.rule != null and (.rule | contains("/refused"))' --rule /refused
filter '.ns != null and .ns > 50000' --slower-than 50us
middle=$(jq -r 'select(.seq == 100).time' "$T/one.log")
filter '.seq >= 100' --since "$middle"
filter '.seq <= 100' --until "$middle"
filter '.seq == 100' --since "${middle%Z}" --until "$middle"
filter '.seq > 0' --until "${middle%%-*}"
pid=$(jq -r 'select(.seq == 100).pid' "$T/one.log")
filter ".pid == $pid or .host_pid == $pid or .tid == $pid" --pid "$pid"

# Several logs: by time, each line with its run; a log that goes on in further files; the same files named one by one.
audit show "$T/one.log" "$T/two.log" >"$T/out" || fail "two logs"
for name in one two; do
	run=$(jq -r 'select(.type == "header").run[:8]' "$T/$name.log")
	[ "$(grep -c "^$run " "$T/out")" = "$(wc -l <"$T/$name.log")" ] || fail "$name: lines of the run $run"
done
audit show --json "$T/two.log" "$T/one.log" | jq -r .time | sort -c || fail "not merged by time"
"$PYTHON" - "$T/one.log" "$T/parts" <<'EOF'
import json, os, sys
lines = open(sys.argv[1], encoding="utf-8").readlines()
header = json.loads(lines[0])
os.mkdir(sys.argv[2])
parts = [lines[1:50], lines[50:51], lines[51:]]
for i, part in enumerate(parts):
    name = "log" + ("." + str(i) if i else "")
    with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
        file.write(json.dumps(dict(header, file=i)) + "\n")
        file.writelines(part)
        if i + 1 < len(parts):
            file.write('{"seq":0,"time":"%s","type":"next","next":"log.%d"}\n' % (header["time"], i + 1))
EOF
jq -c 'select(.type == null) | .seq' "$T/one.log" >"$T/wanted"
for files in log "log log.1 log.2" "log.2 log"; do
	# shellcheck disable=SC2086 # words
	(cd "$T/parts" && audit show --json $files) | jq -c 'select(.type == null) | .seq' | cmp -s - "$T/wanted" ||
		fail "a log of several files: $files"
done
rm "$T/parts/log.2"
audit show "$T/parts/log" >/dev/null 2>"$T/err" && fail "a missing file"
grep -q 'goes on in .*parts/log.2: No such file' "$T/err" || fail "a missing file: $(cat "$T/err")"
printf '%s\n' "$(head -n 1 "$T/parts/log.1")" '{"seq":0,"type":"next","next":"log"}' >"$T/parts/log.2"
sed -i 's/"next":"log"}/"next":"log.1"}/' "$T/parts/log.2"
audit show "$T/parts/log" >/dev/null 2>"$T/err"
[ $? = 125 ] || fail "a circle of files"

# The tree: who started whom.
cg run --profile extended --audit "$T/tree.log" -- \
	/bin/sh -c '/bin/sh -c "cat /etc/shadow; :"; ls / >/dev/null' >/dev/null 2>&1
audit show --tree "$T/tree.log" >"$T/out" || fail "show --tree"
grep -q '^[0-9]' "$T/out" || fail "no root: $(cat "$T/out")"
grep -q '^    *[0-9]*  .*/cat ' "$T/out" || fail "cat is no grandchild: $(cat "$T/out")"
[ "$(sed -n 's/.* \([0-9]*\) calls.*/\1/p' "$T/out" | awk '{ sum += $1 } END { print sum }')" = \
	"$(jq -s 'map(select(.type == null and .pid)) | length' "$T/tree.log")" ] || fail "calls of the tree"

# stats: counts as jq counts, percentiles, what would allow a denial, rules never used.
audit stats --json "$T/one.log" >"$T/stats.json" || fail "stats"
[ "$(jq .by_syscall.openat.count "$T/stats.json")" = "$(grep -c '"syscall":"openat"' "$T/one.log")" ] ||
	fail "stats: openat"
"$PYTHON" - "$T/one.log" "$T/stats.json" <<'EOF' || fail "stats: percentiles"
import json, sys
ns = sorted(r["ns"] for r in map(json.loads, open(sys.argv[1])) if r.get("ns") is not None and "syscall" in r)
latency = json.load(open(sys.argv[2]))["latency"]
assert latency["ns_max"] == ns[-1] and latency["ns_total"] == sum(ns), latency
for key, part in ("ns_p50", 0.5), ("ns_p90", 0.9), ("ns_p99", 0.99):
    exact = ns[max(0, -int(-len(ns) * part // 1) - 1)]
    assert exact <= latency[key] <= exact * 1.04, (key, exact, latency[key])
EOF
echo '{"version": 1, "filesystem": {"read": ["/usr", "/etc/hostname", "@workdir"], "exec": ["/usr/bin/cat"]}}' \
	>"$T/p.json"

# same_suggestions NAME OPTION… -- PROGRAM…: the statistics of the log suggest what the result does.
same_suggestions()
{
	local name=$1 options
	shift
	take_options "$@"
	shift $((${#options[@]} + 1))
	cg run "${options[@]}" --json --audit "$T/$name.log" -- "$@" >"$T/result.json" 2>/dev/null
	audit stats --json "$T/$name.log" | jq -S '[.denials[] | .suggest | strings] | unique' >"$T/got"
	jq -S '[.denials[] | .suggest | strings] | unique' "$T/result.json" >"$T/wanted"
	cmp -s "$T/got" "$T/wanted" || fail "$name: other suggestions: $(diff "$T/wanted" "$T/got")"
	jq -e 'length > 0' "$T/wanted" >/dev/null || fail "$name: no suggestion: $(jq -c .denials "$T/result.json")"
}

same_suggestions paths -p "$T/p.json" -- /usr/bin/cat /etc/gai.conf /etc/host.conf /etc/shadow "/usr/../etc/issue"
same_suggestions writes --profile python -w "$T/w" -r "$T/refused" -- "$PYTHON" hostile.py "$T/refused"
same_suggestions network --profile python --allow-host 127.0.0.1:99 -- "$PYTHON" -c '
import socket
for port in 9, 10:
    try:
        socket.create_connection(("127.0.0.1", port))
    except OSError:
        pass
socket.getaddrinfo("none.invalid", 443)'
cg run -p "$T/p.json" --audit "$T/rules.log" -- /usr/bin/cat /usr/share/none >/dev/null 2>&1
audit stats -p "$T/p.json" "$T/rules.log" >"$T/out" 2>"$T/err" || fail "stats -p: $(cat "$T/err")"
grep -q 'read\[1\] /etc/hostname' "$T/out" || fail "the unused rule: $(cat "$T/out")"
grep -q 'never used (the logs' "$T/out" && fail "the same policy is taken for another one"

# diff: equal runs, and what differs.
cg run -p "$T/p.json" --audit "$T/again.log" -- /usr/bin/cat /usr/share/none >/dev/null 2>&1
audit diff "$T/rules.log" "$T/again.log" >"$T/out" || fail "two equal runs differ: $(cat "$T/out")"
cg run -p "$T/p.json" --audit "$T/other.log" -- /usr/bin/cat /usr/share/none /usr/bin/env /etc/passwd >/dev/null 2>&1
audit diff "$T/rules.log" "$T/other.log" >"$T/out"
[ $? = 1 ] || fail "diff's status"
grep -q '^+ read  *1  /usr/bin/env$' "$T/out" || fail "diff: $(cat "$T/out")"
grep -q '^+ denied  *1  openat /etc/passwd: not_granted$' "$T/out" || fail "diff: $(cat "$T/out")"
! grep -q '^- ' "$T/out" || fail "diff, backwards: $(cat "$T/out")"
audit diff --json "$T/other.log" "$T/rules.log" | jq -e '.read.only_first["/usr/bin/env"] == 1 and .read.both > 0' \
	>/dev/null || fail "diff --json"

# Nothing raw on a terminal, whatever is in the log: all verbs, and exports to a terminal.
sed 's/"exe":"[^"]*"/"exe":"\/x\xe2\x80\xae\xc2\x9b31m\x7f"/' "$T/one.log" >"$T/edited.log"
raw=$'[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]\|\xc2[\x80-\x9f]' # controls, and what changes the direction of text
raw+=$'\|\xe2\x80[\x8e\x8f\xaa-\xae]\|\xe2\x81[\xa6-\xa9]\|\xd8\x9c'
for verb in show "show --json" "show --tree" "top --once" top stats "stats --json" "diff $T/one.log" \
	"export --format csv" "export --format jsonl" "export --format ocsf" "export --format otlp-json" \
	"export --format perfetto"; do
	script -qec "timeout 300 $CALLGATE audit $verb $T/edited.log" /dev/null </dev/null >"$T/out" 2>&1
	sed -i 's/\x1b\[?\(1049\|25\|7\)[hl]\|\x1b\[H\|\x1b\[2J//g' "$T/out" # top's own
	! LC_ALL=C grep "$raw" "$T/out" >"$T/raw" || fail "$verb writes raw controls: $(cat -v "$T/raw")"
	[ "$(wc -c <"$T/out")" -gt 40 ] || fail "$verb: nothing: $(cat -v "$T/out")"
done

# top gives the terminal back, also when a signal ends it.
for signal in INT TERM HUP; do
	head -n 20 "$T/one.log" >"$T/growing.log"
	script -qec "timeout -s $signal 2 $CALLGATE audit top $T/growing.log" /dev/null </dev/null >"$T/out" 2>&1
	grep -qF $'\x1b[?1049h' "$T/out" || fail "top at SIG$signal does not take the screen"
	grep -qF $'\x1b[?25h\x1b[?1049l' "$T/out" || fail "top at SIG$signal leaves the screen: $(cat -v "$T/out")"
done

# -f: a live run to its end; a run whose processes are all killed; a file that takes the log's name.
follow()
{
	true >"$T/followed" # there before the reader has begun
	timeout 300 "$CALLGATE" audit show -f --json "$1" >>"$T/followed" 2>"$T/err" </dev/null &
	follower=$!
	live_kept+=("$follower")
}
wait_for_log()
{
	await "the log" test -s "$1"
}
rm -f "$T/live.log"
cg run --profile extended --audit "$T/live.log" -w "$T/home" -- /bin/sh -c \
	'for i in 1 2 3; do ls / >/dev/null; sleep 0.4; done; until [ -e go ]; do sleep 0.05; done; ls / >/dev/null' &
wait_for_log "$T/live.log"
follow "$T/live.log"
await "-f shows something while the run goes on" test -s "$T/followed"
touch "$T/home/go"
wait "$follower" || fail "-f: $? $(cat "$T/err")"
wait
cmp -s "$T/followed" "$T/live.log" || fail "-f: $(diff "$T/followed" "$T/live.log" | head -n 3)"

# The trailer is shown when it is signed, or when no process is left that could sign it.
blank=$(printf '%088d' 0 | tr 0 -)
sed "s|\"signature\":\"[^\"]*\"|\"signature\":\"$blank\"|" "$T/one.log" >"$T/unsigned.log"
cmp -s "$T/one.log" "$T/unsigned.log" && fail "the log has no signature"
follow "$T/unsigned.log"
wait $follower || fail "-f of an unsigned log: $? $(cat "$T/err")"
cmp -s "$T/followed" "$T/unsigned.log" || fail "-f of an unsigned log: $(diff "$T/followed" "$T/unsigned.log")"
flock -F "$T/unsigned.log" sleep 600 & # -F: by a process that lives, without which no lock is told in a pid namespace
holder=$!
await "the lock" not flock -n "$T/unsigned.log" true
# has_lines COUNT: -f has shown so many.
has_lines() { [ "$(wc -l <"$T/followed")" -ge "$1" ]; }
follow "$T/unsigned.log"
await "all but the trailer" has_lines $(($(wc -l <"$T/one.log") - 1))
sleep 0.3 # in which it could show the trailer
grep -q '"type":"trailer"' "$T/followed" && fail "-f shows a trailer that is not signed yet"
dd if="$T/one.log" of="$T/unsigned.log" conv=notrunc status=none || fail "dd"
kill $holder
wait $follower || fail "-f of a log that is signed late: $? $(cat "$T/err")"
cmp -s "$T/followed" "$T/one.log" || fail "-f of a log that is signed late: $(diff "$T/followed" "$T/one.log")"

export LIVE_MAY_LEAVE=1 # of a keeper that is killed
rm -f "$T/killed.log"
"$CALLGATE" run --profile extended --audit "$T/killed.log" -- /bin/sh -c 'ls / >/dev/null; exec sleep 30' \
	</dev/null >/dev/null 2>&1 &
keeper=$!
disown $keeper
wait_for_log "$T/killed.log"
follow "$T/killed.log"
sleep 1
locked=$(awk -v inode="$(stat -c %i "$T/killed.log")" '$2 == "FLOCK" && $6 ~ ":" inode "$"' /proc/locks)
kill -KILL $keeper
if [ -n "$locked" ]; then # else the log's end cannot be told
	wait $follower || fail "-f of a killed run: $(cat "$T/err")"
	jq -c . "$T/followed" >/dev/null || fail "-f of a killed run is no JSON"
else
	kill $follower
fi
wait 2>/dev/null

head -n 30 "$T/one.log" >"$T/turn.log"
follow "$T/turn.log"
await "what is in the log" has_lines 30
mv "$T/turn.log" "$T/turn.old"
sed -n 31,32p "$T/one.log" >>"$T/turn.old"
cp "$T/two.log" "$T/turn.new" && mv "$T/turn.new" "$T/turn.log"
wait $follower || fail "-f of a renamed log: $? $(cat "$T/err")"
cat "$T/turn.old" "$T/two.log" | cmp -s - "$T/followed" ||
	fail "-f of a renamed log: $(cat "$T/turn.old" "$T/two.log" | diff - "$T/followed" | head -n 5)"

# Memory does not grow with the log.
{
	head -n 1 "$T/one.log"
	for _ in $(seq 60); do sed '1d;$d' "$T/one.log"; done
} >"$T/large.log"
for verb in show stats "export --format csv"; do
	# shellcheck disable=SC2086 # words
	small=$(audit_memory "$T/one.log" $verb) large=$(audit_memory "$T/large.log" $verb)
	[ "$large" -lt $((small + 2000)) ] || fail "$verb: $small KB, and $large KB for a log 60 times as long"
done
echo "filters, merging, files, tree, stats, diff, terminals, following"
