#!/bin/bash
# One of everything, in a second: exec, files, the network, limits, the audit log, the second lock. tests/vm runs this
# on kernels and settings where there is no time for the tests of each.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir "$T/w" "$T/outside"
echo victim >"$T/outside/victim"

# is FILTER WHAT: true of the last result.
is()
{
	jq -e "$1" "$T/result" >/dev/null ||
		fail "$2: not so: $1: $(jq -c '[.status, .exit_code, .stdout, .stderr, .denials, .error]' "$T/result")"
}
run() { cg_run extended --json -w "$T/w" "$@" >"$T/result" 2>"$T/err" || true; }

# Files, and a program that may be started.
# shellcheck disable=SC2016 # the inner shell's
run -- /bin/bash -c 'echo x >new; /bin/cat new; cat "$1/victim"; echo y >"$1/victim"; echo $?' bash "$T/outside"
is '.stdout == "x\n1\n" and (.stderr | contains("No such file"))' files
is '.changes | length == 1' changes
[ "$(cat "$T/w/new" "$T/outside/victim")" = $'x\nvictim' ] || fail "files: $(cat "$T/w/new" "$T/outside/victim")"
cg audit verify "$T/audit" >"$T/out" 2>&1 || fail "the audit log does not verify: $(cat "$T/out")"
cg audit show --json "$T/audit" | jq -se --arg path "$T/outside/victim" 'any(.[]; tostring | contains($path))' \
	>/dev/null || fail "not in the audit log: $T/outside/victim"

# Programs that may not be started: an exec, and one by the dynamic loader.
cp /bin/true "$T/outside/true"
cat >"$T/w/start" <<'SH'
for program in "$1/true" "/lib64/ld-linux-x86-64.so.2 $1/true" "/lib/ld-linux-aarch64.so.1 $1/true"; do
	$program && echo started
done
/bin/true && echo control
echo tried
SH
run -- /bin/bash start "$T/outside"
is '.stdout == "control\ntried\n"' exec

# Sockets: none to an address, and none of other kinds (AF_PACKET, AF_VSOCK); one between its own processes.
run -- /bin/bash -c 'echo >/dev/tcp/127.0.0.1/9; echo $?'
is '.stdout == "1\n" and (.denials | length > 0)' network
run -- "$PYTHON" -c 'import socket
for family, kind in (17, socket.SOCK_DGRAM), (40, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_STREAM):
    try:
        socket.socket(family, kind)
        print("works")
    except OSError as error:
        print("refused")'
is '.stdout == "refused\nrefused\nworks\n"' "other kinds of sockets"

# Limits: tasks, memory, time.
run --pids 20 -x "$CASES/cases-bomb" -- "$CASES/cases-bomb" crowd 60
# Before Linux 5.14, RLIMIT_NPROC counts the processes that the user has elsewhere, too.
is '.limits.pids.limit == 20 and (.stdout | test("^fork after 1?[0-9]: EAGAIN\n$"))' pids
run -m 64M -- /bin/bash -c 'head -c 300M /dev/zero | tail -c 290M | wc -c'
is '.limits.memory.hit and .status != "ok"' memory
run -t 1s -- /bin/sleep 60
is '.status == "timeout" and .limits.wall.hit' time

# Landlock, without the first lock and without namespaces; and that there is nothing else then.
open=$CASES/callgate-open
if layer landlock && [ -x "$open" ]; then
	for without in namespaces namespaces,landlock; do
		timeout -k 5 "$LIVE_TIMEOUT" "$open" run --without "$without" --profile minimal -x /bin/cat -- \
			/bin/cat "$T/outside/victim" >"$T/out.$without" 2>&1 </dev/null
	done
	! grep -q '^victim' "$T/out.namespaces" || fail "Landlock alone holds nothing"
	grep -q '^victim' "$T/out.namespaces,landlock" || fail "the control: $(cat "$T/out.namespaces,landlock")"
fi
