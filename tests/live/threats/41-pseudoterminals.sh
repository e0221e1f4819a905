#!/bin/bash
# Threat 41: from the pseudoterminals that a program makes, nothing leads to those of the host, nor to processes that
# have one: guessed names, reused numbers, masters, signals, more pairs than there are.
. "$(dirname "$0")/../lib.sh"
need script
mkdir -p "$T/w"
cp "$SRC/tests/cases/terminal-attacks.py" "$T/w/attacks.py"

# An outsider with a terminal, which reads what is typed into it and makes new pairs all the time.
cat >"$T/outsider.py" <<'EOT'
import os, pty, select, signal, sys, time
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
    signal.signal(number, lambda got, frame: os.write(log, b"signal %d\n" % got))
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
master, slave = pty.openpty()
with open(sys.argv[2], "w") as ready:
    ready.write(os.ttyname(slave))
while True:
    pairs = [pty.openpty() for _ in range(4)]
    for fd in [master] + [pair[0] for pair in pairs]:
        if select.select([fd], [], [], 0.001)[0]:
            os.write(log, b"read %r\n" % os.read(fd, 100))
    for pair in pairs:
        os.close(pair[0]), os.close(pair[1])
EOT
"$PYTHON" "$T/outsider.py" "$T/outsider.log" "$T/outsider.tty" & live_kept+=($!)
outsider=$!
await "the outsider" test -s "$T/outsider.tty"

cat >"$T/inner.sh" <<EOT
trap 'echo a signal came' INT QUIT TSTP HUP
tty=\$(tty)
"$CALLGATE" run --profile extended ${LIVE_WITHOUT:+--without $LIVE_WITHOUT} -i -r / -W /dev/pts -W /dev/tty \
	-w "$T/w" -e PTY_SECONDS="${PTY_SECONDS:-3}" -- \
	"$PYTHON" "$T/w/attacks.py" "\$tty" "$(cat "$T/outsider.tty")" "$outsider"
echo "status \$?"
EOT
timeout -k 5 "$LIVE_TIMEOUT" script -qec "bash '$T/inner.sh'; timeout 1 cat" /dev/null <<<"" >"$T/out" 2>&1
grep -q 'status 0' "$T/out" || fail "ended with: $(tail -n 5 "$T/out")"
grep -q tried "$T/out" || fail "not tried: $(cat "$T/out")"
grep -E 'GOT|typed-by|a signal came' "$T/out" >"$T/reached" && fail "reached: $(head -n 5 "$T/reached")"
[ "$(grep -c '^refused after .*No space left' "$T/out")" -ge 1 ] || fail "no limit: $(grep refused "$T/out")"
[ -s "$T/outsider.log" ] && fail "the outsider got: $(head -n 3 "$T/outsider.log")"
kill -0 "$outsider" || fail "the outsider is dead"

# What a policy grants by name is no terminal of another session either.
cat >"$T/granted.sh" <<EOT
"$CALLGATE" run --profile extended ${LIVE_WITHOUT:+--without $LIVE_WITHOUT} -W "\$(tty)" -w "$T/w" -- \
	sh -c "echo written >\$(tty); cat <\$(tty); head -c 0 <\$(tty) && echo GOT it"
EOT
timeout -k 5 "$LIVE_TIMEOUT" script -qec "bash '$T/granted.sh'" /dev/null <<<"" >"$T/out" 2>&1
grep -qE '^written|GOT' "$T/out" && fail "a granted terminal: $(cat "$T/out")"
true
