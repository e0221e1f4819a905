#!/bin/bash
# Keeper and supervisor during a run: they have no privileges, no secrets, no inherited file descriptors and no core
# dumps. Each has a seccomp filter of its own, and the OOM killer prefers the program.
. "$(dirname "$0")/../lib.sh"
need jq pgrep
SECRET=canary-$RANDOM$RANDOM$RANDOM

# field PID NAME: of /proc/PID/status
field()
{
	awk -v name="$2:" '$1 == name { $1 = ""; print substr($0, 2) }' "/proc/$1/status"
}

# start [OPTION…] -- PROGRAM…: sets keeper, supervisor, program once PROGRAM (a sleep) runs
start()
{
	mkfifo "$T/status"
	timeout 400 "$CALLGATE" run --status-fd 9 ${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} "$@" \
		9>"$T/status" </dev/null >"$T/out" 2>"$T/err" &
	shell=$!
	read -r -t 60 line <"$T/status"
	rm "$T/status"
	keeper=$(jq -r .pid <<<"$line")
	awaited runs || die "nothing runs: $(cat "$T/err")"
}
# shellcheck disable=SC2317 # awaited calls it
runs()
{
	supervisor=$(pgrep -P "$keeper" | head -n 1)
	[ -n "$supervisor" ] && program=$(pgrep -P "$supervisor" -x sleep)
}

stop()
{
	kill "$keeper"
	wait "$shell" 2>/dev/null
	return 0
}

# ---- a secret in the caller's environment and on its descriptors ----
echo "$SECRET" >"$T/secret-file"
exec 7<"$T/secret-file" 8>"$T/secret-log"
export CALLER_SECRET=$SECRET
start -x /usr/bin -- /usr/bin/sleep 300
exec 7<&- 8>&-
for pid in "$keeper" "$supervisor" "$program"; do
	[ -r "/proc/$pid/environ" ] && grep -qa "$SECRET" "/proc/$pid/environ" &&
		fail "process $pid has the secret in its environ"
	for fd in "/proc/$pid/fd"/*; do
		case $(readlink "$fd") in
		"$T/secret-"*) fail "process $pid holds descriptor ${fd##*/}, the caller's" ;;
		esac
	done
done
if [ "$(id -u)" = 0 ] && layer self_filter; then # a sanitizer keeps a copy of its own
	# the whole of what they could be made to give away
	for pid in "$keeper" "$supervisor" "$program"; do
		"$PYTHON" - "$pid" "$SECRET" <<'PY' || fail "process $pid has the secret in its memory"
import re, sys
pid, secret = sys.argv[1], sys.argv[2].encode()
with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
    for line in maps:
        begin, end = (int(x, 16) for x in line.split()[0].split("-"))
        if "rw" not in line or end - begin > 64 << 20:
            continue
        try:
            mem.seek(begin)
            data = mem.read(end - begin)
        except (OSError, ValueError, OverflowError):
            continue
        if secret in data:
            sys.exit(1)
PY
	done
fi

# ---- what they are ----
for pid in "$keeper" "$supervisor" "$program"; do
	for caps in CapInh CapPrm CapEff CapAmb; do
		[ "$(field "$pid" $caps)" = 0000000000000000 ] || fail "process $pid: $caps is $(field "$pid" $caps)"
	done
	[ "$(field "$pid" NoNewPrivs)" = 1 ] || fail "process $pid may gain privileges"
	[ "$(field "$pid" Seccomp)" = 2 ] || ! layer self_filter || fail "process $pid has no filter"
	core='1 1' # which a piped core_pattern heeds; 0 it does not
	[ "$(ulimit -H -c)" != 0 ] || [ "$(id -u)" = 0 ] || core='0 0'
	[ "$(awk '/Max core file size/ { print $5, $6 }' "/proc/$pid/limits")" = "$core" ] ||
		fail "process $pid may leave a core file"
done
# A new user namespace begins with a full one; without any, an ordinary user cannot empty his.
if [ "$(id -u)" = 0 ] || layer userns; then
	for pid in "$supervisor" "$program"; do
		[ "$(field "$pid" CapBnd)" = 0000000000000000 ] || fail "process $pid: CapBnd is $(field "$pid" CapBnd)"
	done
fi
for thread in "/proc/$supervisor/task"/*; do
	[ "$(awk '$1 == "Seccomp:" { print $2 }' "$thread/status")" = 2 ] || ! layer self_filter ||
		fail "the supervisor's thread ${thread##*/} has no filter"
done
# not dumpable: what is theirs in /proc is root's, and no process may trace them
for pid in "$keeper" "$supervisor"; do
	[ "$(stat -c %u "/proc/$pid/environ")" = 0 ] || fail "process $pid is dumpable"
	if [ "$(id -u)" != 0 ]; then
		for leaf in environ maps mem auxv; do
			head -c 1 "/proc/$pid/$leaf" >/dev/null 2>&1 && fail "its user reads /proc/$pid/$leaf"
		done
	fi
done
before=$(cat "/proc/$$/oom_score_adj")
[ "$(cat "/proc/$program/oom_score_adj")" -ge 800 ] ||
	fail "the program's oom_score_adj is $(cat "/proc/$program/oom_score_adj")"
for pid in "$keeper" "$supervisor"; do
	[ "$(cat "/proc/$pid/oom_score_adj")" = "$before" ] ||
		fail "process $pid: oom_score_adj is $(cat "/proc/$pid/oom_score_adj")"
done
stop

# ---- inside, by every way there is ----
exec 7<"$T/secret-file"
# shellcheck disable=SC2016 # the inner shell's
cg run -x /usr/bin -- /usr/bin/sh -c '
	env; tr "\0" "\n" </proc/self/environ; ls -l /proc/self/fd
	for p in /proc/[0-9]*; do cat $p/environ $p/cmdline $p/fd/[3-9]; done
	cat /proc/$PPID/environ /proc/1/environ /proc/$PPID/fd/7 /dev/fd/7 <&-
	echo; echo searched' >"$T/out" 2>"$T/err" # the two are passed on each by itself
exec 7<&-
grep -qah "$SECRET" "$T/out" "$T/err" &&
	fail "the program finds the secret: $(grep -ah "$SECRET" "$T/out" "$T/err" | head -n 2)"
{ grep -q "PATH=" "$T/out" && grep -qx searched "$T/out"; } || fail "the search did not run: $(head -n 5 "$T/out")"
unset CALLER_SECRET

# ---- a policy through a descriptor still works, though it is closed before the program starts ----
printf '{"version": 1, "extends": ["minimal"], "filesystem": {"exec": ["/usr/bin"]}}' >"$T/p.json"
[ "$(cg run -p <(cat "$T/p.json") -- /usr/bin/echo through)" = through ] || fail "a policy from a pipe"

# ---- and it is said ----
layer self_filter || cg run --json -x /usr/bin -- /usr/bin/true | jq -r .enforcement.self_filter.why |
	grep -q sanitizer ||
	fail "self_filter is not active"
LIVE_WITHOUT=self_filter start -x /usr/bin -- /usr/bin/sleep 300
[ "$(field "$supervisor" Seccomp)" = "$(field $$ Seccomp)" ] || fail "--without self_filter: there is one"
stop

# ---- a supervisor that its own filter kills is told about; the first process of a pid namespace takes no such signal
# from us ----
LIVE_WITHOUT=pidns start -x /usr/bin -- /usr/bin/sleep 300
kill -SYS "$supervisor"
wait "$shell"
[ $? = 125 ] || fail "a killed supervisor: $(cat "$T/err")"
grep -q "signal 31: it made a call that self_filter kills for" "$T/err" || fail "a killed supervisor: $(cat "$T/err")"
awaited dead "$program" || fail "the program outlives it"
exit 0
