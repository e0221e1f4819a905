#!/bin/bash
# What tells a failed run from a denied one. Names that do not exist on the host were not refused. What every program
# does without (syscalls/account/result/probes.c) is not listed. All else is. The log has everything.
. "$(dirname "$0")/../lib.sh"
need jq
judged record || skip "this is about reads that are denied"
mkdir -p "$T/w/sub" "$T/host/bin" "$T/host/etc"
echo SECRET >"$T/w/sub/.env" && echo x >"$T/host/etc/there"
printf '#!/bin/sh\necho ran\n' >"$T/host/bin/tool" && chmod 755 "$T/host/bin/tool"

# Nothing is redirected here: $T lies in /var/tmp, of which the profiles show an empty one.
cat >"$T/p.json" <<'END'
{"version": 1, "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64"], "public": ["/etc"], 
"exec": ["/usr/bin", "/usr/lib", "/usr/lib64", "/bin", "/lib", "/lib64"], "write": ["@workdir"], "deny": ["**/.env"]}}
END

# ends STATUS NAME SCRIPT: a run of the script ends with that status; $T/result, $T/audit.
ends()
{
	rm -f "$T/audit"
	cg run -p "$T/p.json" --audit "$T/audit" -e "PATH=/usr/bin:/bin" --json -w "$T/w" -- \
		sh -c "$3; exit 1" >"$T/result" 2>/dev/null
	[ "$(jq -r .status "$T/result")" = "$1" ] || fail "$2: $(jq -c '.status, .denials' "$T/result"), not $1"
	[ "$1" = denied ] || [ "$(jq '.denials | length' "$T/result")" = 0 ] ||
		fail "$2: listed: $(jq -c .denials "$T/result")"
}

ends failed "nothing" ":"
ends failed ".env where there is none" "cat .env sub/x/.env; test -e .env; . ./.env"
ends failed "absent names" "cat /none/x '$T/host/etc/none' '$T/host/none/deep/x'; ls /usr/none"
ends failed "a program that is not there" "/usr/none/program; '$T/host/bin/none'; /none"
ends failed "a search of PATH" "PATH='$T/host/bin:$T/host/none:$T/none:'\$PATH; nosuchprogram"
ends failed "a list of probes" "cat /proc/sys/crypto/fips_enabled /proc/self/coredump_filter /sys/fs/cgroup/memory.max \
	/sys/fs/cgroup/cpu.max; ls /sys/fs/cgroup; echo 500 >/proc/self/oom_score_adj"

ends denied ".env that is there" "cat sub/.env"
ends denied ".env that is there, by PATH_MAX and dots" "cat sub/../sub/./.env"
ends denied ".env to be made" "echo x >.env"
ends denied "a file of the host" "cat '$T/host/etc/there'"
ends denied "a directory of the host" "ls '$T/host/etc'"
ends denied "a name to be made outside" "echo x >'$T/host/etc/new'"
ends denied "a directory to be made outside" "mkdir '$T/host/new'"
ends denied "a program of the host" "'$T/host/bin/tool'"
ends denied "a program found in PATH" "PATH='$T/host/none:$T/host/bin:'\$PATH; tool"
ends denied "a name to be made in a read-only tree" "echo x >/usr/none"
ends denied "a link to what is there" "ln -s '$T/host/etc/there' l; cat l"
ends denied "probes and a denial" "cat /proc/sys/crypto/fips_enabled '$T/host/etc/there'"
jq -e '.calls.denied > .calls.expected' "$T/result" >/dev/null || fail "calls: $(jq -c .calls "$T/result")"

# The log has what the result leaves out, and the summary one line for all of it.
"$CALLGATE" audit show --denied --json "$T/audit" >"$T/shown" || fail "audit show"
jq -se 'any(.[]; .path == "/proc/sys/crypto/fips_enabled" and .verdict == "deny")' "$T/shown" >/dev/null ||
	[ -e /proc/sys/crypto/fips_enabled ] || fail "a probe is not in the log"
cg run -p "$T/p.json" -e "PATH=/usr/bin:/bin" --events blocked -w "$T/w" -- \
	sh -c "cat /proc/self/coredump_filter /proc/self/loginuid /proc/cgroups '$T/host/etc/there'" \
	>"$T/out" 2>&1
[ "$(grep -c 'not listed: [0-9]* refused probes' "$T/out")" = 1 ] || fail "summary: $(cat "$T/out")"
grep '^callgate: denied [a-z]' "$T/out" | grep -v there && fail "a probe is listed"
exit 0
