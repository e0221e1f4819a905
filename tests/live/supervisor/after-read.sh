#!/bin/bash
# after_read: reading a file takes writing and the network from the whole run, before the descriptor is given out: by
# whatever name, whatever is open already, in whichever process.
. "$(dirname "$0")/../lib.sh"
. "$SRC/tests/live/net.sh"
need jq python3
cp "$SRC/tests/cases/after-read.py" "$T/after-read.py" || die "cp"
EXECS='"/usr", "/bin", "/lib", "/lib64"'

# policy THEN [NETWORK]: the policy of the runs below; "secret" fires it.
policy()
{
	local network=${2:-none}
	[ "$network" != none ] || network='"none"'
	cat >"$T/p.json" <<END
{"version": 1, "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "$T/after-read.py"],
"exec": [$EXECS, "$T/fork-chain"],
"write": ["@workdir"], "redirect": [{"from": "/keep", "to": "@scratch/keep"}]},
"after_read": [{"paths": ["@workdir/data/secret"], "then": $1, "because": "it must not leave"}], "network": $network}
END
}

# prepare: what the runs find in their workdir.
prepare()
{
	rm -rf "$T/w"
	mkdir -p "$T/w/data/secret" "$T/w/out" || die "mkdir"
	echo SECRET >"$T/w/data/secret/key" && echo other >"$T/w/data/other" && echo plain >"$T/w/out/plain"
}

# runs [OPTION…] -- SCENARIO…: its output is $T/said, its result $T/result, its log $T/audit.
runs()
{
	local options
	take_options "$@"
	shift $((${#options[@]} + 1))
	prepare
	rm -f "$T/audit"
	cg run -p "$T/p.json" "${options[@]}" --audit "$T/audit" -e PATH=/usr/bin:/bin \
		-e SECRET=data/secret/key -e OUT=out -e KEEP=/keep --json -w "$T/w" -- \
		"$PYTHON" "$T/after-read.py" "$@" >"$T/result" 2>"$T/err" || true
	jq -r .stdout "$T/result" >"$T/said"
}

# said LINE…: exactly that.
said()
{
	diff <(printf '%s\n' "$@") <(sed '/^$/d' "$T/said") >"$T/diff" || fail "said otherwise: $(cat "$T/diff") $(
		jq -c '[.status, .exit_code, .signal, .stderr, .denials, .error]' "$T/result") $(cat "$T/err")"
}

# record COUNT FILTER: so many records fulfil it; "+": at least one.
record()
{
	local count
	count=$(jq -s "[.[] | select($2)] | length" "$T/audit")
	[ "$count" = "$1" ] || { [ "$1" = + ] && [ "$count" -gt 0 ]; } || fail "$count records, not $1, with $2"
}

# ---- files ----
policy '{"write": ["@scratch"]}'
runs -- files
said SECRET "write: OSError 9" "read: b''" "ftruncate: OSError 22" "fallocate: OSError 9" \
	"copy_file_range: OSError 22" "sendfile: OSError 9" "deleted: OSError 9" "open: OSError 30" \
	"append: OSError 30" "truncate: OSError 30" "mkdir: OSError 30" "unlink: OSError 30" \
	"rename: OSError 30" "link: OSError 30" "symlink: OSError 30" "chmod: OSError 30" \
	"utime: OSError 30" "fchmod: OSError 30" "reopen: OSError 30" "fifo: OSError 30" "kept: 4" "keep:" \
	"memfd: 1" "pipe: 1" "null: 1" "plain: plain"
[ "$(cat "$T/w/out/fd")" = before ] || fail "was written: $(cat "$T/w/out/fd")"
record 1 '.event == "after_read" and .reason == "fired" and .rule == "p.json: after_read[0]"'
record 2 '.event == "after_read" and .reason == "descriptor_closed"'
record + '.syscall == "mkdir" and .reason == "after_read" and .rule == "p.json: after_read[0]" and .errno == "EROFS"'
jq -e '.after_read | length == 1 and .[0].rule == "p.json: after_read[0]" and .[0].descriptors == 2' "$T/result" \
	>/dev/null || fail "not in the result: $(jq -c .after_read "$T/result")"
# The descriptor is given out after all has been closed.
jq -se '(map(.event == "after_read") | rindex(true)) < (map(.resolved == "/work/data/secret/key" or
	(.path == "data/secret/key" and .syscall == "openat")) | index(true))' "$T/audit" >/dev/null ||
	fail "the read is on record before what it closes"

runs -- mapping
said "b'\\x00'" SECRET "-11 0"
[ "$(head -c 1 "$T/w/out/mapped" | tr '\0' 0)" = 0 ] || fail "the mapping was written"
record 6 '.event == "after_read" and .reason == "mapping_closed"' # of three processes

# ---- other names ----
for how in link rename directory list opath fd symlink; do
	runs -- names "$how"
	[ "$(tail -n 1 <(sed '/^$/d' "$T/said"))" = "after: OSError 30" ] ||
		fail "$how does not fire: $(cat "$T/said" "$T/err")"
done
# Without "write", a rename fires and is performed.
policy '{"network": "none"}'
for how in link rename directory; do
	runs -- names "$how"
	said "moved:" "after:"
	record 1 '.event == "after_read" and .reason == "fired"'
done
policy '{"write": ["@scratch"]}'
runs -- names stat
said "7 True" other "after:"
policy '{"write": []}'
sed -i "s|@workdir/data/secret\"|/usr/bin/true\"|" "$T/p.json"
runs -- names exec /usr/bin/true
said "after: OSError 30"

# ---- other processes ----
policy '{"write": ["@scratch"]}'
runs -- processes
said SECRET "stay: True grown before: True" "alive: 6"
record 0 '.event == "after_read" and .reason == "killed"'
runs -- traced
# Without a pid namespace and Landlock nothing can be traced.
grep -q "^PermissionError\|^OSError" "$T/said" || {
	said SECRET "stay: True grown before: True" "-9"
	record 1 '.event == "after_read" and .reason == "killed" and .verdict == "kill"'
}
for _ in 1 2 3; do
	runs -- fork_race
	said SECRET "stay: True grown before: True"
done
# Each process or thread of a chain is gone when its turn in a list comes. Where not all can be stopped, the read is
# refused. A chain leaves a zombie a link: where a user may have few processes, it leaves some for the test beside it.
chain_limits=()
[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -ge 10000 ] || chain_limits=(--pids 200)
cp "$CASES/cases-fork-chain" "$T/fork-chain" || die "cp"
for chain in fork fork fork fork fork fork fork fork thread thread thread; do
	prepare
	cg run -p "$T/p.json" -w "$T/w" "${chain_limits[@]}" -- "$T/fork-chain" "$chain" 4 data/secret/key out/race \
		>"$T/said" 2>"$T/err"
	grep -qx "given: [01] grown: [01]" "$T/said" || fail "chain: $(cat "$T/said" "$T/err")"
	! grep -qx "given: 1 grown: 1" "$T/said" || fail "a chain of ${chain}s writes on"
done
# What is not looked through within two seconds is killed. (Where few descriptors are allowed, all can be.)
if [ "$(ulimit -Hn)" -ge 10000 ]; then
	runs -- descriptors
	said SECRET "stay: True in time: True"
	record + '.event == "after_read" and .reason == "killed" and .verdict == "kill"'
fi
runs -- in_flight
said "for writing: 1" "listener: 1" SECRET "received: OSError 88" "accepted: OSError 88" "other: 1 y"
record 2 '.event == "after_read" and .reason == "socket_closed"'

# ---- the network ----
net_servers echo
policy '{"network": "none"}' "{\"allow\": [{\"host\": \"echo.test\", \"port\": $(net_port echo), \"proto\": \"tcp\",
	\"private\": true}], \"resolve\": {\"echo.test\": \"127.0.0.1\"}, \"listen\": [8000]}"
runs -- network echo.test "$(net_port echo)"
said before SECRET "send: OSError 88" "receive: b''" "loopback: OSError 88" "accepted: OSError 88" \
	"accept: OSError 88" "connect: ConnectionRefusedError 111" "endpoint: ConnectionRefusedError 111" \
	"bind: PermissionError 13" "listen: PermissionError 13" "unix: 1" "write:"
record + '.event == "after_read" and .reason == "socket_closed"'
record + '.syscall == "connect" and .reason == "after_read"'
grep -q secret "$NET/access" && fail "it was sent"

# ---- nothing fires, nothing changes; observing closes nothing ----
runs --mode observe -- files
grep -q '^write: 1$' "$T/said" || fail "observing closes: $(cat "$T/said")"
record 1 '.event == "after_read" and .reason == "fired"'

# ---- why, replay ----
policy '{"write": ["@scratch"]}'
runs -- names fd
cp "$T/audit" "$T/fired"
cg replay "$T/fired" -p "$T/p.json" --json >"$T/replay" || fail "replay fails"
jq -e '.newly_denied.count == 0 and .newly_allowed.count == 0 and .other_rule.count == 0' "$T/replay" >/dev/null ||
	fail "the same policy, and not the same verdicts: $(cat "$T/replay")"
jq 'del(.after_read)' "$T/p.json" >"$T/plain.json"
cg replay "$T/fired" -p "$T/plain.json" --json >"$T/replay" || fail "replay fails"
jq -e '.newly_denied.count == 0 and .newly_allowed.count == 1' "$T/replay" >/dev/null ||
	fail "without after_read: $(cat "$T/replay")"
mv "$T/p.json" "$T/after.json" && mv "$T/plain.json" "$T/p.json"
runs -- names fd
[ "$(tail -n 1 <(sed '/^$/d' "$T/said"))" = "after:" ] || fail "without after_read something is closed"
cg replay "$T/audit" -p "$T/after.json" --json >"$T/replay" || fail "replay fails"
jq -e '.newly_denied | .count == 1 and .groups[0].now == "after.json: after_read[0]"' "$T/replay" >/dev/null ||
	fail "with after_read: $(cat "$T/replay")"
why() { cg why -p "$T/after.json" -w "$T/w" "$@"; }
[ "$(why --open data/secret/key --json | jq -c .fires)" = '["after.json: after_read[0]"]' ] || fail "why: fires"
[ "$(why --open data/other --json | jq -c .fires)" = '[]' ] || fail "why: fires"
why --open out/x:w >/dev/null || fail "why: writing is denied before"
why --open out/x:w --after-read 0 --json | jq -e '.rule == "after.json: after_read[0]" and .errno == "EROFS" and
	.suggest == null' >/dev/null || fail "why: writing after"
why --open /keep/x:w --after-read 0 >/dev/null || fail "why: what remains"
why --open /keep/x:w --after-read 1 >/dev/null 2>"$T/err"
grep -q 'after-read 1: the policy has 1' "$T/err" || fail "why: an entry that is not there: $(cat "$T/err")"
cg policy diff "$T/after.json" "$T/p.json" --no-new-access >"$T/diff" && fail "diff: to drop it is no new access"
grep -q 'after_read' "$T/diff" || fail "diff: $(cat "$T/diff")"
cg policy fmt "$T/after.json" >"$T/fmt.json" || fail "fmt fails"
cg policy diff "$T/after.json" "$T/fmt.json" --no-new-access >"$T/diff" || fail "fmt changes it: $(cat "$T/diff")"

# Other names of what is closed: a hard link made before, and a mapped file whose name looks like that of a removed one.
mkdir -p "$T/w2/out"
echo topsecret >"$T/w2/secret"
cat >"$T/w2/aliases.py" <<'EOF'
import mmap, os
open("a", "w").write("before\n")
for name in ("out/a", "b"):
    try: os.link("a", name); print("linked", name)
    except OSError as error: print(name, error.strerror)
fd = os.open("x (deleted)", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4096)
mapped = mmap.mmap(fd, 4096)
secret = open("secret").read().encode()
open("out/kept", "wb").write(secret)
for name in ("a", "b"):
    try: open(name, "wb").write(secret); print("written", name)
    except OSError as error: print(name, error.strerror)
print(flush=True)
mapped[:len(secret)] = secret
EOF
cat >"$T/aliases.json" <<'EOF'
{"extends": ["python"], "filesystem": {"write": ["@workdir"]},
 "after_read": [{"paths": ["@workdir/secret"], "then": {"write": ["@workdir/out"]}}]}
EOF
cg run -p "$T/aliases.json" -w "$T/w2" -- "$PYTHON" aliases.py >"$T/said" 2>/dev/null
wanted="out/a Invalid cross-device link;linked b;a Read-only file system;b Read-only file system;;"
[ "$(tr "\n" ";" <"$T/said")" = "$wanted" ] ||
	fail "aliases: $(cat "$T/said")"
[ "$(cat "$T/w2/out/kept")" = topsecret ] || fail "aliases: what remains cannot be written"
! grep -q topsecret "$T/w2/a" "$T/w2/b" "$T/w2/x (deleted)" ||
	fail "aliases: the secret is in $(grep -lr topsecret "$T/w2")"

# ---- programs of a session ----
policy '{"write": ["@scratch"]}'
prepare
cat >"$T/w/writer.sh" <<'END'
exec 3>>"out/$1"
echo before >&3
if [ "$1" = reader ]; then
	cat data/secret/key
else
	read -r _
fi
echo SECRET 2>/dev/null >&3 && echo "$1 has written"
END
read -ra more <<<"${LIVE_OPTIONS:-}"
[ -z "${LIVE_WITHOUT:-}" ] || more+=(--without "$LIVE_WITHOUT")
mkfifo "$T/fifo"
id=$("$CALLGATE" session create "${more[@]}" -p "$T/p.json" -w "$T/w") || die "session create"
timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session exec -i "$id" -- sh writer.sh other \
	<"$T/fifo" >"$T/other" 2>&1 &
other=$!
exec 9>"$T/fifo"
await "the other program" test -s "$T/w/out/other"
timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session exec "$id" -- sh writer.sh reader >"$T/said" 2>&1
echo go >&9
exec 9>&-
grep -qx SECRET "$T/said" || fail "a session: the secret is not read: $(cat "$T/said")"
wait "$other"
[ "$(cat "$T/w/out/reader" "$T/w/out/other")" = "before
before" ] || fail "programs of a session have written afterwards: $(cat "$T/said" "$T/other")"
"$CALLGATE" session stop "$id" || fail "session stop"
await_sessions "the session"
