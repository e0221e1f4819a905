#!/bin/bash
# A grant of "/" does not include the terminal of callgate's caller: /dev stays the one of the view.
. "$(dirname "$0")/../lib.sh"
need script
export CALLGATE
cat >"$T/try.sh" <<'TRY'
tty=$(tty)
timeout 100 "$CALLGATE" run --profile extended -r / -- sh -c "
	if (exec 5<$tty) 2>/dev/null; then echo 'GOT the terminal'; else echo refused; fi
	for name in /dev/pts/[0-9]*; do [ -e \$name ] && echo GOT \$name; done;
	[ -c /dev/null ] && echo x >/dev/null && echo null works; ls /etc >/dev/null && echo etc"
TRY
script -qec "bash $T/try.sh" /dev/null >"$T/out" 2>&1 </dev/null
grep -q GOT "$T/out" && fail "$(cat "$T/out")"
grep -q "null works" "$T/out" || fail "/dev/null does not work: $(cat "$T/out")"
grep -q etc "$T/out" || fail "the grant of / does not work: $(cat "$T/out")"
true
