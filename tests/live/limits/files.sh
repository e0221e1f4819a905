#!/bin/bash
# limits.file_size, open_files, audit and the output limits: enforced and reported when exceeded, without effect below.
# For the disk see limits/disk.sh.
. "$(dirname "$0")/../lib.sh"
need jq

# result NAME STATUS FILTER [OPTION…] -- PROGRAM…: it ends with STATUS, and the result fulfils the jq filter.
result()
{
	local name=$1 want=$2 filter=$3 status
	shift 3
	cg run --json --profile extended -t 100 "$@" >"$T/result" 2>"$T/err"
	status=$?
	[ $status = "$want" ] || fail "$name: status $status, not $want: $(head -c 300 "$T/err")"
	jq -e "$filter" "$T/result" >/dev/null || fail "$name: not $filter: $(jq -c '{status, exit_code, signal, limits,
		stdout, stderr}' "$T/result")"
}

# every limit is there, with or without one
result names 0 '.limits | keys == ["audit", "cpu", "disk", "file_size", "memory", "open_files", "pids", "stderr",
	"stdout", "wall"]' -- true
result no-limits 0 'all(.limits[]; has("limit") and has("used") and has("peak") and .hit == false)' -- true
result unknown 0 '.limits.disk == {limit: null, used: null, peak: null, hit: false} and .limits.audit.used == null' \
	-- true

# file_size: a signal, or EFBIG where it is ignored; and what the supervisor does for the program knows it as well
write="$CASES/cases-fill"
result write 153 '.status == "limit" and .signal == 25 and .limits.file_size.hit and
	.limits.file_size.limit == 1048576' \
	-x "$write" --file-size 1M -- "$write" one
result ignored 4 '.status == "failed" and (.stderr | contains("File too large"))' -x "$write" --file-size 1M \
	-- "$write" ignore
result truncate 153 '.limits.file_size.hit' --file-size 1M -- truncate -s 1025K x
result truncate-path 1 '.limits.file_size.hit and (.stdout | contains("EFBIG 1048576"))' --file-size 1M -- python3 -c '
import errno, os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("x", "w").close()
os.truncate("x", 1 << 20)
try:
    os.truncate("x", (1 << 20) + 1)
except OSError as e:
    print(errno.errorcode[e.errno], os.stat("x").st_size)
    sys.exit(1)'
result fallocate 153 '.limits.file_size.hit' --file-size 1M --disk 100M -- fallocate -l 2M x
result below 0 '.limits.file_size.hit == false' --file-size 1M -- truncate -s 1M x
# lowered it may be, raised not
result raise 0 '.stdout == "524288 524288\nValueError\n"' --file-size 1M -- python3 -c '
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
print(*resource.getrlimit(resource.RLIMIT_FSIZE))
try:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))
except ValueError as e:
    print(type(e).__name__)'

# open_files: soft and hard; EMFILE, and a program that goes on
result descriptors 0 '.limits.open_files == {limit: 32, used: 32, peak: 32, hit: true} and
	.stdout == "29 EMFILE (32, 32) ValueError\n"' \
	--open-files 32 -- python3 -c '
import errno, resource
kept = []
try:
    while True:
        kept.append(open("/etc/passwd"))
except OSError as e:
    code = errno.errorcode[e.errno]
count = len(kept)
del kept[:]
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
except ValueError as e:
    raised = type(e).__name__
print(count, code, resource.getrlimit(resource.RLIMIT_NOFILE), raised)'
result few 0 '.limits.open_files.hit == false and .limits.open_files.peak >= 4' --open-files 32 -- cat /etc/passwd

# audit: a flood of calls ends by the size of its log, which is whole
rm -f "$T/audit"
# shellcheck disable=SC2016 # the shell inside
result log 137 '.status == "limit" and .limits.audit.hit and .limits.audit.used < 4000000' --audit "$T/audit" \
	--audit-limit 1M -- \
	sh -c 'while :; do [ -e /nowhere ]; done'
[ "$(tail -n 1 "$T/audit" | jq -r .status)" = limit ] ||
	fail "the log does not say how it ended: $(tail -n 1 "$T/audit")"
cg audit stats "$T/audit" >"$T/out" 2>&1 || fail "the log cannot be read: $(head -n 3 "$T/out")"
result quiet-log 0 '.limits.audit.hit == false and .limits.audit.used > 0' --audit "$T/audit2" --audit-limit 1M -- true

# the limit of a policy, lifted and set by the command line
printf '{"extends": ["extended"], "limits": {"file_size": "64K"}, "process": {"max": 50}}' >"$T/policy.json"
cg run --json -p "$T/policy.json" -- truncate -s 65K x >"$T/result" 2>"$T/err"
[ $? = 153 ] || fail "the policy's limit does not hold: $(jq -c .limits "$T/result")"
[ "$(jq .limits.pids.limit "$T/result")" = 50 ] || fail "process.max is not limits.pids: $(jq -c .limits "$T/result")"
cg run --json -p "$T/policy.json" --file-size none -- truncate -s 65K x >"$T/result" 2>"$T/err" ||
	fail "none does not lift it: $(jq -c .limits "$T/result")"
