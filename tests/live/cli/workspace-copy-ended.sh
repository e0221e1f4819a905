#!/bin/bash
# --cow=copy is ended while it copies: the time limit counts from the start of the run, a signal is obeyed at once, and
# what was copied is removed. A directory with too many entries is refused before anything is copied.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
mkdir "$W"
"$PYTHON" - "$W" <<'END' || die "files"
import os, sys
for i in range(10):
    os.mkdir('%s/%d' % (sys.argv[1], i))
    for j in range(1000):
        with open('%s/%d/%d' % (sys.argv[1], i, j), 'w') as file:
            file.write('x')
END
run=("$CALLGATE" run --json --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin)
left_nothing()
{
	[ -z "$(ws list)" ] || fail "$1: left $(ws list)"
	jq -e '.workspace == null and .error == null' "$T/result" >/dev/null || fail "$1: $(cat "$T/result")"
}

for grace in 0 1s; do
	"${run[@]}" -t 0.05s --grace $grace -- /bin/sh -c 'echo ran' >"$T/result" 2>"$T/err"
	[ $? = 124 ] || fail "time limit, grace $grace: $(cat "$T/result" "$T/err")"
	jq -e '.status == "timeout" and .stdout == ""' "$T/result" >/dev/null || fail "grace $grace: $(cat "$T/result")"
	left_nothing "time limit"
done

copying() { compgen -G "$TMPDIR/callgate-$(id -u)/workspaces/*/0/copy/1" >/dev/null; }
ends_by() # SIGNAL: sets status
{
	# Interrupts are not ignored there, as they are in background jobs.
	"$PYTHON" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "${run[@]}" --audit "$T/log" -- /bin/sh -c 'echo ran' \
		>"$T/result" 2>"$T/err" &
	runner=$!
	awaited copying_or_ended
	kill "-$1" $runner 2>/dev/null
	wait $runner
	status=$?
	rm -f "$T/log"
}
copying_or_ended() { copying || dead "$runner"; }
for signal in TERM INT; do
	for _ in 1 2 3; do # on a busy machine all may have been copied before the signal
		ends_by $signal
		[ "$(jq -r .stdout "$T/result")" = ran ] || break
	done
	[ "$status" = $((128 + $(kill -l $signal))) ] || fail "SIG$signal: status $status $(cat "$T/result" "$T/err")"
	jq -e '.status == "killed" and .stdout == ""' "$T/result" >/dev/null || fail "SIG$signal: $(cat "$T/result")"
	left_nothing "SIG$signal"
done

# As the copying is not ended, the program runs.
"${run[@]}" -t 60s -- /bin/sh -c 'ls 7 | wc -l; echo y >7/7' >"$T/result" 2>"$T/err" ||
	fail "not ended: $(cat "$T/result" "$T/err")"
[ "$(jq -r .stdout "$T/result")" = 1000 ] || fail "not ended: $(cat "$T/result")"
[ "$(ws diff "$(jq -r .workspace.id "$T/result")")" = 'M  7/7  content, time' ] || fail "not ended: diff"
discard_all

# 1,000,001 names, of few files.
if [ -n "${CHECK_LONG:-}" ]; then
	"$PYTHON" - "$W" <<'END' || die "names"
import os, sys
for i in range(100):
    top = '%s/more-%d' % (sys.argv[1], i)
    os.mkdir(top)
    open(top + '/0', 'w').close()
    for j in range(1, 9999):
        os.link(top + '/0', '%s/%d' % (top, j))
END
	SECONDS=0
	"${run[@]}" -- /bin/sh -c 'echo ran' >"$T/result" 2>"$T/err" && fail "too many: not refused"
	jq -e '.error.message | test("has more than 1,000,000 entries, which is the most that is copied; name")' \
		"$T/result" >/dev/null || fail "too many: $(cat "$T/result")"
	[ $SECONDS -lt 30 ] || fail "too many: refused after $SECONDS s"
	[ -z "$(ws list)" ] || fail "too many: left $(ws list)"
fi
