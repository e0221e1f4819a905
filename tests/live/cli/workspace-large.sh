#!/bin/bash
# Large files with --cow: a call that has them copied first takes as long as the copy, and succeeds as natively. The
# supervisor's watchdog, which interrupts what blocks for 0.2 s, leaves it alone; other calls go on meanwhile, and so do
# the limits: a run that is over does not wait for the copy.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
mkdir "$W"
megabytes=320
[ "$(df -Pm "$T" | awk 'NR == 2 { print $4 }')" -gt $((4 * megabytes)) ] || skip "no room for copies of $megabytes MiB"
head -c ${megabytes}M /dev/zero | tr '\0' x >"$W/large" || die "no file"
picture "$W" >"$T/before"
cat >"$T/program.py" <<'END'
import os, sys, threading, time
def beside():
    """Other calls are answered while the file is copied, also for a second call that awaits the copy."""
    threads, gap = [threading.Thread(target=os.chmod, args=('large', 0o600)) for _ in range(3)], 0
    begin = last = time.monotonic()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        os.stat('.')
        gap, last = max(gap, time.monotonic() - last), time.monotonic()
    assert last - begin < 0.3 or gap < (last - begin) / 2, (gap, last - begin)
def write():
    with open('large', 'r+b') as file:
        file.write(b'y')
{'beside': beside,
 'rename': lambda: os.rename('large', 'other'), 'chmod': lambda: os.chmod('large', 0o600), 'write': write,
 'truncate': lambda: os.truncate('large', os.stat('large').st_size - 1),
 'utime': lambda: os.utime('large', (1, 1)), 'setxattr': lambda: os.setxattr('large', 'user.a', b'b'),
 'nameless': lambda: os.close(os.open('/proc/self/fd/%d' % os.open('large', os.O_RDONLY), os.O_RDWR))}[sys.argv[1]]()
name, = os.listdir()
with open(name, 'rb') as file:
    first = file.read(1)
    print(name, os.stat(name).st_size, first.decode())
END
"$CALLGATE" run --json --cow --profile python -w "$W" -- "$PYTHON" -c 0 >"$T/result" 2>"$T/err"
by=$(jq -r .workspace.by "$T/result")
discard_all
tried=0
for change in beside rename chmod write truncate utime setxattr nameless; do
	# A copy is not to be seen before it has its content (workspace-large-copies.sh).
	[ $change != beside ] || [ "$by" = overlay ] || continue
	"$CALLGATE" run --json --cow --profile python -w "$W" -r "$T/program.py" -- "$PYTHON" "$T/program.py" $change \
		>"$T/result" 2>"$T/err" || fail "$change: $(jq -r .stderr "$T/result" | tail -n 1) $(cat "$T/err")"
	name=large size=$((megabytes << 20)) first=x
	case $change in
	rename) name=other ;;
	write) first=y ;;
	truncate) size=$((size - 1)) ;;
	esac
	[ "$(jq -r .stdout "$T/result")" = "$name $size $first" ] ||
		fail "$change: $(jq -c '[.stdout, .stderr]' "$T/result")"
	tried=$((tried + 1))
	discard_all
done
[ $tried = 8 ] || { [ $tried = 7 ] && [ "$by" != overlay ]; } || fail "$tried tried"
# A run whose time is over ends while the file is copied. --timeout 0.2 s may end it before it has begun to.
"$CALLGATE" run --json --cow --timeout 0.2s --profile python -w "$W" -r "$T/program.py" -- "$PYTHON" -c '
import os, time
time.sleep(0.1)
os.rename("large", "other")
time.sleep(1000)' >"$T/result" 2>"$T/err"
[ "$(jq -r .status "$T/result")" = timeout ] || fail "a limit: $(cat "$T/result" "$T/err")"
discard_all
# So does one that is copied for a link, and nothing of it is left then, unless the copy was complete before.
"$CALLGATE" run --json --cow --timeout 0.2s --profile python -w "$W" -- "$PYTHON" -c '
import os, time
os.link("large", "other")
print("linked", flush=True)
time.sleep(1000)' >"$T/result" 2>"$T/err"
[ "$(jq -r .status "$T/result")" = timeout ] || fail "a limit, link: $(cat "$T/result" "$T/err")"
left=$(find "$TMPDIR"/callgate-*/workspaces/*/0/upper -mindepth 1 -not -path '*/upper/large')
copied=$(find "$TMPDIR"/callgate-*/workspaces/*/0/upper -path '*/upper/large')
[ -z "$copied" ] || [ "$(stat -c %s "$copied")" = $((megabytes << 20)) ] || fail "a limit, link: a part is left"
[ -z "$left" ] || [ "$(jq -r .stdout "$T/result")" = linked ] || fail "a limit, link: left $left"
discard_all
cmp -s "$T/before" <(picture "$W") || fail "the directory has changed: $(diff "$T/before" <(picture "$W"))"
