#!/bin/bash
# A run judged again: under the same policy nothing changes; under another one exactly that changes which a run under it
# shows. Damaged logs are refused. A replay is ten times as fast as "jq -c .", in little memory.
. "$(dirname "$0")/../lib.sh"
need jq git tar
W=$T/w
mkdir -p "$W" "$T/data/pub/sub" "$T/data/priv" "$T/data/a/b" "$T/lower"
echo x | tee "$T/data/file" "$T/data/a/b/x.pem" "$T/data/a/.env" "$T/data/pub/sub/y" "$T/data/priv/z" \
	"$T/lower/file" >/dev/null
ln -s ../a/b "$T/data/pub/link"
ln -s /etc/passwd "$T/data/pub/away"
cp "$SRC/tests/cases/replay-ops.py" "$W/ops.py"

replay()
{
	timeout 120 "$CALLGATE" replay "$@" </dev/null
}

# unchanged NAME OPTION… -- PROGRAM…: runs it with a log, and judges the log by the same options. What is not replayable
# is at most two fifths.
unchanged()
{
	local name=$1 options
	shift
	take_options "$@"
	shift $((${#options[@]} + 1))
	rm -f "$T/$name.log"
	cg run "${options[@]}" --audit "$T/$name.log" -- "$@" >"$T/out" 2>&1 || fail "$name: $(tail -n 3 "$T/out")"
	replay "${options[@]}" --fail-on any --json "$T/$name.log" >"$T/$name.json" 2>"$T/err" ||
		fail "$name: $? $(cat "$T/err") $(jq -c '.newly_denied, .newly_allowed, .other_rule' "$T/$name.json")"
	jq -e '.logs[0].same_policy and .records > 10 and .not_replayable.count * 5 < .records * 2' "$T/$name.json" \
		>/dev/null || fail "$name: $(jq -c '.logs, .records, .same, .not_replayable' "$T/$name.json")"
}

cat >"$T/rich.json" <<JSON
{"version": 1, "extends": ["extended"], "audit": {"compact": true},
 "filesystem": {"read": ["$T/data/a", "$T/data/file"], "write": ["@workdir"], "public": ["$T/data/pub"],
  "private": ["$T/data/pub/sub"], "deny": ["**/.env", "@workdir/.git/secret"],
  "redirect": [{"from": "/opt/lower", "to": "@scratch/low"}, {"from": "/srv/vt", "to": "@scratch/vt"}],
  "provide": {"/etc/motd": "hello\n"}, "decoy": ["/srv/key"]}}
JSON
# shellcheck disable=SC2016 # expanded inside
unchanged shell -p "$T/rich.json" -w "$W" -- /bin/sh -c '
	echo y >/opt/lower/file; cat /etc/motd /opt/lower/file /srv/key "$0"/a/.env "$0"/pub/sub/y
	cat "$0"/pub/link/x.pem "$0"/priv/z
	ls -la / /etc "$0" "$0"/pub /dev /nonexistent; echo new >here; mv here there
	ln -s there link; cat link; ln there hard; /none/x; /etc/passwd
	mkdir -p d/e; mv d f; touch /usr/x "$0"/a/new; rm -r f; mkdir .env; echo y >/opt/lower/made
	cat /dev/stdin </dev/null; cd /proc/self && cat status >/dev/null; exit 0' "$T/data"
unchanged git -p "$T/rich.json" -w "$W" -- /bin/sh -c 'git init -q . && git add ops.py &&
	git -c user.name=a -c user.email=a@b commit -qm one && git log --stat >/dev/null && git checkout -qb two'
unchanged tar --profile extended -w "$W" -- \
	/bin/sh -c 'tar czf /tmp/x.tgz . && mkdir out && tar xzf /tmp/x.tgz -C out'
unchanged python --profile python -- /usr/bin/python3 -c '
import os, sqlite3, subprocess, tempfile
with tempfile.TemporaryDirectory() as d:
    sqlite3.connect(os.path.join(d, "x")).execute("create table t (a)")
print(subprocess.run(["/usr/bin/python3", "-c", "print(1)"]))'
unchanged network -p "$T/rich.json" --allow 'GET nowhere.invalid/x/**' -- /usr/bin/python3 -c '
import socket
for host, port in ("nowhere.invalid", 443), ("nowhere.invalid", 80), ("other.invalid", 443), ("127.0.0.1", 9):
    try: socket.create_connection((host, port), 5)
    except OSError as error: print(error)'
for name in shell python; do
	replay -p "$T/rich.json" -w "$W" --json "$T/$name.log" >"$T/one" 2>&1
	replay -p "$T/rich.json" -w "$W" --json "$T/$name.log" >"$T/two" 2>&1
	cmp -s "$T/one" "$T/two" || fail "$name: two reports differ"
done

# Other policies: what a run under each has recorded, the replay of the first run's log says beforehand.
mkdir "$T/kept"
cp -a "$T/data" "$T/lower" "$T/kept"
paths=$W/paths
for path in "$T/data" "$T/lower" /usr/lib /etc; do
	find "$path" -maxdepth 4 | grep -v '\.no$' | LC_ALL=C sort | head -n 40
done >"$paths"
printf '%s\n' "$T/data/a/none" "$T/data/none" "$T/none" /opt/lower/file /opt/none /usr/none /none /etc/motd /dev/null \
	/dev /bin/sh /lib/none /root/.ssh/id_rsa "$T/data/pub/link/x.pem" >>"$paths"
base='"@workdir"'
for rules in "\"read\": [\"$T/data\"]" "\"read\": [\"$T/data/a\", \"/etc\"], \"write\": [\"$T/lower\"]" \
	"\"write\": [\"$T/data\"], \"deny\": [\"**/*.pem\", \"$T/data/priv\"]" \
	"\"read\": [\"$T/data/*/b/**\"], \"provide\": {\"/etc/motd\": \"x\"}" \
	"\"read\": [\"$T/data/pub\"], \"redirect\": [{\"from\": \"/opt/lower\", \"to\": \"@scratch/low\"}]"; do
	number=$((${number:-0} + 1))
	cat >"$T/p$number.json" <<-JSON
		{"version": 1, "extends": ["python"], "filesystem": {"exec": [$base], $rules}}
	JSON
	sed -i "s/\"exec\"/\"write\": [$base], &/; s/\"write\": \[$base\], \(.*\)\"write\": \[/\1\"write\": [$base, /" \
		"$T/p$number.json"
	rm -rf "$T/log$number" "$T/data" "$T/lower"
	cp -a "$T/kept/." "$T"
	cg run -p "$T/p$number.json" -w "$W" --audit "$T/log$number" -- /usr/bin/python3 ops.py paths >"$T/out" 2>&1 ||
		fail "p$number: $(cat "$T/out")"
done
# The calls of ops.py, in order: what is behind the opening of its list.
calls()
{
	jq -sc 'map(select(.syscall and .path and (.syscall | IN("close") | not))) |
		(map(.path == "paths") | rindex(true)) as $at | .[$at + 1:][] |
		{seq, key: [.syscall, .path, .path2, .args.flags], elsewhere: (.verdict == "redirect" or .resolved),
			allowed: (.verdict | IN("deny", "kill") | not),
			fails: (.errno | IN("ENOENT", "EEXIST", "EISDIR"))}' "$1" |
		grep -F "$T/data
$T/lower
/opt/
/etc
/usr/
/dev
/none
/bin/sh
/root"
}
compared=0 differing=0
for one in $(seq "$number"); do
	calls "$T/log$one" >"$T/calls$one"
done
for one in $(seq "$number"); do
	for other in $(seq "$number"); do
		replay -p "$T/p$other.json" -w "$W" --list "$T/log$one" >"$T/list" 2>"$T/err" ||
			fail "$one $other: $(cat "$T/err")"
		jq -nc --slurpfile one "$T/calls$one" --slurpfile other "$T/calls$other" --slurpfile list "$T/list" '
			($list | map({key: (.seq | tostring), value: .change}) | from_entries) as $change |
			($other | map({key: (.key | tojson), value: .}) | from_entries) as $is |
			[$one[] | ($change[.seq | tostring] // "same") as $said | $is[.key | tojson] as $is |
			 select($is and $said != "not_replayable") |
			 (if $said == "newly_denied" then false elif $said == "newly_allowed" then true
				else .allowed end) as $expected |
			 {key, seq, $said, real: $is.allowed, was: .allowed,
			  # a run that was refused or led elsewhere did not see what is there; hidden links are ENOENT
			  right: ($expected == $is.allowed or ((.allowed == false or .elsewhere) and
				$expected == false and $is.fails))}] |
			{compared: length, changed: map(select(.real != .was)) | length,
			 wrong: map(select(.right | not))}' \
			>"$T/verdict"
		[ "$(jq '.wrong | length' "$T/verdict")" = 0 ] ||
			fail "p$one replayed under p$other: $(jq -c '.wrong[:5][]' "$T/verdict")"
		compared=$((compared + $(jq .compared "$T/verdict")))
		differing=$((differing + $(jq .changed "$T/verdict")))
	done
done
[ $compared -gt 5000 ] || fail "only $compared calls compared"
[ $differing -gt 200 ] || fail "only $differing calls changed their verdict"

# Exit status.
replay -p "$T/p1.json" -w "$W" "$T/log4" >"$T/out" || fail "without --fail-on: $?"
grep -q '^newly denied: ' "$T/out" || fail "$(cat "$T/out")"
for what in denied allowed any; do
	replay -p "$T/p1.json" -w "$W" --fail-on $what "$T/log4" >/dev/null
	[ $? = 1 ] || fail "--fail-on $what"
done
replay -p "$T/p2.json" -w "$W" --fail-on any "$T/log2" >"$T/out" || fail "--fail-on any: $(cat "$T/out")"

# refused WANTED ARGUMENT…: exit status 125, and this message alone.
refused()
{
	local wanted=$1 status
	shift
	replay --profile python "$@" >"$T/out" 2>"$T/err"
	status=$?
	if [ $status != 125 ] || [ "$(wc -l <"$T/err")" != 1 ] || [ -s "$T/out" ] || ! grep -qE "$wanted" "$T/err"; then
		fail "$*: $status $(cat "$T/err")"
	fi
}
lines=$(wc -l <"$T/python.log")
head -n 20 "$T/python.log" >"$T/cut"
refused "cut:21: there is no trailer" "$T/cut"
sed 9d "$T/python.log" >"$T/gap"
refused "gap:9: records are missing before this line" "$T/gap"
sed '9s/,/;/' "$T/python.log" >"$T/edited"
refused "edited:9: not a line of an audit log" "$T/edited"
head -c -30 "$T/python.log" >"$T/torn"
refused "torn:$lines: the last line is incomplete" "$T/torn"
sed '9p' "$T/python.log" >"$T/twice"
refused "twice:10: records are missing" "$T/twice"
{ cat "$T/python.log"; sed -n 2p "$T/python.log"; } >"$T/behind"
refused "behind:$((lines + 1)): a line behind the trailer" "$T/behind"
echo '{}' >"$T/other"
refused "other: this is not an audit log" "$T/other"
: >"$T/empty"
refused "empty: this is not an audit log" "$T/empty"
refused "none: No such file" "$T/none"
refused "data: Is a directory" "$T/data"
for damaged in cut gap edited torn behind; do
	replay --profile python --allow-damaged "$T/$damaged" >"$T/out" 2>"$T/err" || fail "$damaged: $(cat "$T/err")"
	grep -q 'warning: ' "$T/err" || fail "$damaged: no warning"
done
# The same JSON, otherwise written, is the same log, if its bytes need not be the ones that were written.
jq -cS . "$T/python.log" | sed 's/,"/, "/g; s/":/" : /' >"$T/otherwise"
replay --profile python --json "$T/python.log" | sed "s/python[.]log/X/" >"$T/one"
replay --profile python --json "$T/otherwise" >"$T/two" 2>"$T/err" && fail "a log with other bytes is taken"
grep -q 'was edited' "$T/err" || fail "other bytes: $(cat "$T/err")"
replay --profile python --allow-damaged --json "$T/otherwise" 2>"$T/err" | sed "s/otherwise/X/" >"$T/two"
cmp "$T/one" "$T/two" || fail "another form of the log gives another report"

# Speed and memory, of a longer log, which has no chain.
"$PYTHON" - "$T/python.log" "$T/long" <<'PY'
import re, sys
lines = open(sys.argv[1]).read().splitlines()
records = [re.sub(r'^\{"seq":\d+', "", line) for line in lines[1:-1]]
with open(sys.argv[2], "w") as out:
    out.write(lines[0] + "\n")
    seq = 1
    while seq < 200000:
        for record in records:
            out.write('{"seq":%d%s\n' % (seq, record))
            seq += 1
    out.write(re.sub(r'^\{"seq":\d+', '{"seq":%d' % seq, lines[-1]) + "\n")
PY
cat "$T/long" >/dev/null
"$PYTHON" - "$CALLGATE" "$T/long" <<'PY' || fail "speed or memory"
import os, resource, subprocess, sys

def measure(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

callgate, log = sys.argv[1:]
replay = min(measure(callgate, "replay", "--profile", "python", "--allow-damaged", log) for _ in range(3))
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
jq = measure("jq", "-c", ".", log)
print("replay %.3f s, jq %.3f s (%.0f times), %d KB" % (replay, jq, jq / replay, memory))
# Sanitizers and coverage make a build slow and large.
if os.environ.get("CALLGATE_SLOW_BUILD"):
    sys.exit(0)
sys.exit(jq / replay < 10 or memory > 32 << 10)
PY
exit 0
