#!/bin/bash
# "on_deny": what a denial does to the process that made the call; "on_read" of decoys.
. "$(dirname "$0")/../lib.sh"
need jq python3
mkdir -p "$T/w" "$T/host"
echo SECRET >"$T/host/there" && echo SECRET >"$T/w/.env" && echo plain >"$T/w/plain"

# policy GLOBAL DENY: the modes of the policy and of its rule for .env.
policy()
{
	cat >"$T/p.json" <<END
{"version": 1, "on_deny": "$1", "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64", "/etc"],
"exec": ["/usr", "/bin", "/lib", "/lib64"], "write": ["@workdir"],
"deny": [{"path": "**/.env", "on_deny": "$2"}],
"decoy": ["/home/u/.aws/credentials", {"path": "/home/u/.netrc", "on_read": "kill"}]}}
END
}

# runs SCRIPT: its result is $T/result, its log $T/audit.
runs()
{
	rm -f "$T/audit"
	cg run -p "$T/p.json" --audit "$T/audit" -e PATH=/usr/bin:/bin --json -w "$T/w" -- sh -c "$1" \
		>"$T/result" 2>"$T/err"
}

# result FILTER: the result fulfils it.
result()
{
	jq -e "$1" "$T/result" >/dev/null || fail "not $1: $(jq -c '[.status, .exit_code, .signal, .stdout, .stderr,
		.denials, .decoys, .error]' "$T/result") $(cat "$T/err")"
}

# record FILTER: some record fulfils it.
record()
{
	jq -se "any(.[]; $1)" "$T/audit" >/dev/null || fail "no record with $1: $(grep -E 'env|decoy|there' "$T/audit")"
}

# ---- errno: as without the key ----
policy errno errno
runs "cat .env; echo on; exit 0"
result '.status == "ok" and .stdout == "on\n" and (.denials[0] | .count == 1 and (has("on_deny") | not))'

# ---- kill: the process that made the call, and no other; the verdict is on record before ----
policy kill errno
runs "cat '$T/host/there'; echo status \$?; cat .env; cat plain; exit 3"
result '.status == "denied" and .stdout == "status 137\nplain\n" and .exit_code == 3'
result '[.denials[] | .on_deny] == ["kill", null]'
record '.on_deny == "kill" and .verdict == "deny" and .reason == "not_granted" and .errno == "ENOENT"'
policy errno kill
runs "cat '$T/host/there'; cat <.env; echo alive"
result '.status == "denied" and .stdout == "" and .exit_code == 137 and .signal == 9'
result '[.denials[] | .on_deny] == [null, "kill"]'

# Every thread of the process ends, and no thread gets a call done after the denial.
cat >"$T/w/threads.py" <<'END'
import os, threading, time
def work(n):
    for i in range(100000):
        os.close(os.open("/usr", os.O_RDONLY))
        time.sleep(0.001)
for n in range(4):
    threading.Thread(target=work, args=(n,)).start()
time.sleep(0.1)
try:
    open(".env")
finally:
    open("after", "w")
END
runs "python3 threads.py; echo status \$?; test -e after || echo gone"
result '.stdout == "status 137\ngone\n"'

# What programs do without, and what is not there natively, is no denial.
policy kill kill
runs "cat /none/x /usr/none /proc/sys/crypto/fips_enabled; echo 500 >/proc/self/oom_score_adj
	test -e /home/none; echo on"
result '.stdout == "on\n"'

# ---- stop: the process stays where it is until it is continued; the user is told how ----
policy errno stop
rm -f "$T/err" "$T/audit"
cg run -p "$T/p.json" --audit "$T/audit" -e PATH=/usr/bin:/bin --json -t 60 -w "$T/w" -- \
	sh -c "cat .env || echo went on" >"$T/result" 2>"$T/err" &
run=$!
go_on='.* go on: kill -CONT \([0-9]*\)$'
awaited has_line "$T/err" "$go_on" || die "not told: $(cat "$T/err")"
pid=$(sed -n "s/$go_on/\1/p" "$T/err")
await "the stop of process $pid" has_line "/proc/$pid/status" '^State:.T'
grep -q '^Name:.cat' "/proc/$pid/status" || fail "process $pid is another"
grep -q "gdb -p $pid" "$T/err" || fail "no gdb: $(cat "$T/err")"
kill -CONT "$pid"
wait "$run"
result '.status == "ok" and .stdout == "went on\n" and .denials[0].on_deny == "stop"'
record '.on_deny == "stop"'
# The limits still hold.
cg run -p "$T/p.json" -e PATH=/usr/bin:/bin --json -t 1 -w "$T/w" -- sh -c "cat .env; echo went on" \
	>"$T/result" 2>"$T/err"
result '.status == "timeout" and .exit_code == 124'

# ---- decoys ----
policy errno errno
runs "cat /home/u/.aws/credentials >/dev/null; cat /home/u/.aws/credentials | grep -c aws_secret; ls -l /home/u/.aws"
result '.status == "ok" and (.stdout | startswith("1\n")) and (.decoys | length == 2)'
result '.decoys[0] | .path == "/home/u/.aws/credentials" and (.exe | endswith("/cat")) and .pid > 0 and .count == 1 and
	(.killed | not) and (.rule | test("decoy"))'
record '.reason == "decoy" and .verdict == "provide"'
runs "ls -lR /home/u; test -r /home/u/.netrc; find /home/u; echo on"
result '.status == "ok" and .decoys == []'
cat >"$T/w/opath.py" <<'END'
import os
fd = os.open("/home/u/.aws/credentials", os.O_PATH)
print(len(open("/proc/self/fd/%d" % fd).read()) > 9)
END
runs "python3 opath.py"
result '.stdout == "True\n" and (.decoys | length == 1)'
runs "(sleep 60; echo late) & cat /home/u/.netrc; echo after; sleep 60"
result '.status == "killed" and .stdout == "" and .exit_code == 137 and .termination.cause == "decoy"'
result '.decoys[0] | .path == "/home/u/.netrc" and .killed'
record '.reason == "decoy" and .verdict == "kill" and .effect == "refused" and .errno == "EACCES"'

# ---- why, show, check ----
policy stop kill
why()
{
	"$CALLGATE" why -p "$T/p.json" -w "$T/w" --open "$1" --json | jq -r '.reason + " " + .then'
}
[ "$(why .env)" = "denied_by_rule kill" ] || fail "why: the rule's mode"
[ "$(why /none)" = "not_granted stop" ] || fail "why: the policy's mode"
[ "$(why /home/u/.netrc)" = "decoy kill" ] || fail "why: a decoy"
"$CALLGATE" show -p "$T/p.json" -w "$T/w" >"$T/shown.json" || fail "show"
jq -e '.on_deny == "stop" and any(.filesystem.deny[]; .on_deny == "kill") and
	any(.filesystem.decoy[]; (.on_read? // "") == "kill")' "$T/shown.json" >/dev/null ||
	fail "show: $(cat "$T/shown.json")"
"$CALLGATE" show -p "$T/shown.json" -w "$T/w" | cmp - "$T/shown.json" || fail "what show prints is shown differently"
exit 0
