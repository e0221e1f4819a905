#!/bin/bash
# Landlock holds without the seccomp filter. With a filter that allows everything, and without namespaces, a hostile
# program gets no file and no connection. Three runs: that one; a control run without Landlock, in which every attempt
# must succeed; and the unmodified callgate, which denies everything, including what Landlock alone cannot. Then the
# same with --judge changes, which takes namespaces: there Landlock also grants to read what the policy grants.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../canary.sh"
need jq "$PYTHON" setsid
OPEN=$CASES/callgate-open
[ -x "$OPEN" ] || skip "not built: $OPEN"
abi=$("$OPEN" run --json --without namespaces --profile minimal -x /bin/true -- /bin/true 2>/dev/null |
	jq -r '.enforcement.landlock | select(.active) | .why | capture("ABI (?<n>[0-9]+)").n')
[ -n "$abi" ] || skip "no Landlock here"

# Loud about it everywhere.
"$OPEN" --version 2>"$T/err" | grep -q 'CONFINES NOTHING' || fail "--version says nothing of the open filter"
grep -q 'FIRST LOCK IS OFF' "$T/err" || fail "no warning on stderr"
"$CALLGATE" --version 2>&1 | grep -qi 'confines nothing\|first lock' &&
	fail "the true program says that it has an open filter"

# attempt PROGRAM OPTION…: what it got, in $T/out. Fresh victims each time.
attempt()
{
	local dir program=$1
	shift
	chmod -R u+rwX "$T/outside" "$T/w" "$T/home2" 2>/dev/null
	rm -rf "$T/outside" "$T/w" "$T/home2"
	for dir in outside w home2; do
		mkdir -p "$T/$dir/sub"
		echo victim >"$T/$dir/victim"
	done
	printf '#!/bin/sh\nexit 0\n' >"$T/w/script"
	chmod 755 "$T/w/script"
	canary_start
	timeout -k 5 "$LIVE_TIMEOUT" "$program" run --json "$@" --profile minimal -x "$CASES/cases-second-lock" \
		-w "$T/w" -- \
		"$CASES/cases-second-lock" "$T/outside" "$T/w" "$T/home2" "$(canary tcp)" "$(canary udp)" \
		"$(canary abstract)" \
		"$(canary path)" "$CANARY_PID" "$abi" </dev/null >"$T/result" 2>"$T/err"
	jq -r .stdout "$T/result" >"$T/out" || die "no result: $(cat "$T/err")"
}
same_tree()
{
	find "$1" -printf '%y %s %P\n' | sort
}

attempt "$OPEN" --without namespaces
[ "$(jq -r .enforcement.seccomp_notify.active "$T/result")" = false ] || fail "the result claims the first lock"
grep '^got ' "$T/out" | head -n 20 >"$T/got"
[ ! -s "$T/got" ] || fail "without the first lock it got: $(cat "$T/got")"
grep -q '^unheld stat$' "$T/out" || fail "it did not run, or the filter is not open: $(cat "$T/out" "$T/err")"
[ "$(same_tree "$T/outside")" = "$(printf '%s\n' "d 4096 " "d 4096 sub" "f 7 victim" |
	sed "s/4096/$(stat -c %s "$T/outside")/" | sort)" ] ||
	fail "the directory outside changed: $(same_tree "$T/outside")"
! grep -qv '^socket \(tcp\|udp\|path\)$' "$CANARY/contacts" || fail "the canary was reached: $(cat "$CANARY/contacts")"
kill -0 "$CANARY_PID" || fail "the canary is dead"
canary_stop
echo "not held by Landlock ABI $abi alone: $(sed -n 's/^unheld //p' "$T/out" | paste -sd, | sed 's/,/, /g')"
# doc/security.md tells users the same.
sed -n 's/^unheld //p' "$T/out" | while read -r what; do
	grep -qiF -- "$what" "$SRC/doc/security.md" || echo "$what"
done >"$T/undocumented"
[ ! -s "$T/undocumented" ] || fail "doc/security.md does not name what Landlock leaves: $(paste -sd, "$T/undocumented")"

# The control: neither lock. What is not had now, the first run proves nothing about.
attempt "$OPEN" --without namespaces,landlock
canary_stop
for what in "read /etc/passwd" "list /etc" "write /dev/null" "create $T/outside" "create $T/w" "create /tmp" \
	"mkdir $T/outside" \
	"mkfifo $T/home2" "mknod $T/outside" "symlink $T/outside" "socket $T/outside" "tmpfile $T/w" \
	"read $T/outside/victim" \
	"write $T/outside/victim" "truncate $T/outside/victim" "overwrite $T/outside/victim" "link $T/outside/victim" \
	"rename $T/outside/victim" "exchange $T/outside/victim" "unlink" "rmdir" "reopen /etc/passwd" "exec /bin/true" \
	"loader /bin/true" "script" "tcp connect" "tcp bind" "abstract connect" "signal kill" "signal pidfd" \
	"signal supervisor"; do
	case $what in
	truncate*) [ "$abi" -ge 3 ] || continue ;;
	tcp*) [ "$abi" -ge 4 ] || continue ;;
	abstract* | signal*) [ "$abi" -ge 6 ] || continue ;;
	esac
	grep -qF "got $what" "$T/out" || fail "the control: without both locks it did not get: $what"
done

# The true program: none of it outside what `minimal` grants, and nothing of what Landlock leaves.
attempt "$CALLGATE" --without namespaces
canary_untouched
canary_stop
grep -e "^got .*\($T/outside\|$T/home2\)" \
	-e "^got \(exec\|loader\|script\|tcp\|abstract\|signal\|ptrace\|memory\|descriptor\)" -e "^unheld" \
	"$T/out" >"$T/got"
[ ! -s "$T/got" ] || fail "inside it got: $(cat "$T/got")"
grep -q "^got create $T/w" "$T/out" || fail "it did not even get what is granted: $(cat "$T/out")"

# ---- where the kernel judges reading ----
for kind in mountns pidns netns; do
	layer $kind || exit "$live_failed"
done
# What is granted can be read, listed and opened again, also by the kernel's /proc of the program itself. Nothing else.
reading="^got \(read\|list\|reopen\) \(/etc/passwd\|/etc/os-release\|/proc/self/[a-z]*\|/proc/version\|\
/dev/[a-z]*\|/\|/etc\|/usr/lib\|/proc\|/dev\|/tmp\|$T/w\|$T/w/victim\)\$"
attempt "$OPEN" --judge changes
[ "$(jq -r .judge "$T/result")" = changes ] || fail "judged: $(jq -c '.enforcement["kernel-reads"]' "$T/result")"
grep '^got ' "$T/out" | grep -v "$reading" >"$T/got"
[ ! -s "$T/got" ] || fail "--judge changes, without the first lock it got: $(cat "$T/got")"
for what in "read /etc/passwd" "list /etc" "read $T/w/victim"; do
	grep -qxF "got $what" "$T/out" || fail "--judge changes: not granted: $what"
done
grep '^unheld ' "$T/out" | grep -vx "unheld \(exec of memory\|listen without bind\|udp\)" >"$T/got"
[ ! -s "$T/got" ] || fail "--judge changes: not held by mounts, namespaces and Landlock: $(cat "$T/got")"
[ "$(same_tree "$T/w")" = "$(printf '%s\n' "d 4096 " "d 4096 sub" "f 17 script" "f 7 victim" |
	sed "s/4096/$(stat -c %s "$T/w")/" | sort)" ] ||
	fail "--judge changes: the workdir changed: $(same_tree "$T/w")"
canary_untouched
canary_stop

# The control: it is Landlock that holds what can be named.
attempt "$OPEN" --judge changes --without landlock
canary_stop
for what in "write /dev/null" "create $T/w" "mkdir $T/w" "tmpfile $T/w" "write $T/w/victim" "rename $T/w/victim"; do
	grep -qF "got $what" "$T/out" || fail "--judge changes, the control did not get: $what"
done

# The true program.
attempt "$CALLGATE" --judge changes
[ "$(jq -r .judge "$T/result")" = changes ] || fail "judged: $(jq -c '.enforcement["kernel-reads"]' "$T/result")"
canary_untouched
canary_stop
grep -e "^got .*\($T/outside\|$T/home2\)" \
	-e "^got \(exec\|loader\|script\|tcp\|abstract\|signal\|ptrace\|memory\|descriptor\)" -e "^unheld" \
	"$T/out" >"$T/got"
[ ! -s "$T/got" ] || fail "--judge changes: inside it got: $(cat "$T/got")"
grep -q "^got create $T/w" "$T/out" || fail "--judge changes: it did not even get what is granted: $(cat "$T/out")"
exit "$live_failed"
