#!/bin/bash
# A cached decision about a program is not used for another one: files are executed, changed in every way, and executed
# again.
. "$(dirname "$0")/../lib.sh"
need jq readelf
mkdir "$T/ro" "$T/w" "$T/kinds"
loader=$(readelf -l /bin/true 2>/dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
[ -n "$loader" ] || skip "/bin/true is no dynamic program"
{ cp "$loader" "$T/own" && cp "$loader" "$T/other"; } || die "cp"
# Of one size and time: true, false, true with a loader of its own that is granted, and with one that is not.
"$PYTHON" - "$T" <<'EOF' || die "cannot make the programs"
import os, struct, sys
top = sys.argv[1]
true, false = open("/bin/true", "rb").read(), open("/bin/false", "rb").read()
size = max(len(true), len(false))
def put(name, data, interp=b""):
    data = bytearray(data.ljust(size, b"\0") + interp.ljust(4096, b"\0"))
    at, = struct.unpack_from("<Q", data, 32)
    for i in range(struct.unpack_from("<H", data, 56)[0]):
        if interp and struct.unpack_from("<I", data, at + 56 * i)[0] == 3:
            struct.pack_into("<Q", data, at + 56 * i + 8, size)
            struct.pack_into("<Q", data, at + 56 * i + 32, len(interp) + 1)
    path = f"{top}/kinds/{name}"
    open(path, "wb").write(data)
    os.chmod(path, 0o755)
    os.utime(path, (10**9, 10**9))
put("true", true)
put("false", false)
put("own", true, f"{top}/own".encode())
put("other", true, f"{top}/other".encode())
EOF
# Runs what it is told, as often as it is told: a program, a line with the exit status or errno of each.
cat >"$T/again.py" <<'EOP'
import errno, os, shutil, sys, time
top = sys.argv[1]
def run(path):
    pid = os.fork()
    if not pid:
        try:
            os.execv(path, [path])
        except OSError as error:
            os._exit(100 + error.errno)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def say(text):
    print(text, flush=True)
if sys.argv[2] == "own":
    path = f"{top}/w/program"
    for way in "inplace", "rename":
        for kind in ["true", "false", "own", "false", "own", "true", "other", "true"] * 5:
            new = path if way == "inplace" else f"{top}/w/new"
            with open(f"{top}/kinds/{kind}", "rb") as source, \
                    open(new, "r+b" if os.path.exists(new) else "wb") as target:
                shutil.copyfileobj(source, target)
            os.chmod(new, 0o755)
            os.utime(new, (10**9, 10**9))
            if way == "rename":
                os.rename(new, path)
            got = [run(path), run(path)]
            want = {"true": 0, "false": 1, "own": 0, "other": 100 + errno.EACCES}[kind]
            if got != [want, want]:
                say(f"{way} {kind}: {got}, not {want}")
    say("done")
else:
    for line in sys.stdin:
        say(" ".join(str(run(f"{top}/ro/program")) for _ in range(3)))
EOP
options=(-x "$T/ro" -r "$T/kinds" -r "$T/again.py" -x "$T/own" -r "$T/other" -w "$T/w" -x "$T/w")

# files the run writes itself
out=$(cg_run python "${options[@]}" -- "$PYTHON" "$T/again.py" "$T" own 2>&1)
[ "$out" = "done" ] || fail "what the run writes: $out"

# files that a process outside writes, where the run cannot: known by then, because they have not changed for a while
change()
{
	if [ "$1" = rename ]; then
		cp -p "$T/kinds/$2" "$T/ro/new" && mv "$T/ro/new" "$T/ro/program"
	else
		cat "$T/kinds/$2" >"$T/ro/program" && touch -r "$T/kinds/$2" "$T/ro/program"
	fi
}
cp -p "$T/kinds/true" "$T/ro/program" && sleep 3.2
mkfifo "$T/asks" "$T/says"
inside()
{
	timeout 400 "$CALLGATE" run -i --profile python ${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} \
		--audit "$T/audit2" "${options[@]}" -- \
		"$PYTHON" "$T/again.py" "$T" outside <"$T/asks" >"$T/says" 2>"$T/err"
}
inside &
exec 8>"$T/asks" 9<"$T/says"
ask()
{
	local got
	echo >&8
	read -r -t 60 got <&9
	[ "$got" = "$2" ] || fail "$1: $got, not $2 $(cat "$T/err")"
}
ask "as it is" "0 0 0"
for way in inplace rename inplace; do
	change "$way" own
	ask "$way: its own loader" "0 0 0"
	change "$way" false
	ask "$way: false" "1 1 1"
	change "$way" other
	ask "$way: a loader that is not granted" "113 113 113"
	[ "$way" = rename ] || sleep 3.2
	ask "$way: the same" "113 113 113"
	change "$way" true
	ask "$way: true" "0 0 0"
	[ "$way" = rename ] || sleep 3.2
	ask "$way: true once more" "0 0 0"
done
chmod 644 "$T/ro/program"
ask "not executable" "113 113 113"
chmod 755 "$T/ro/program"
ask "executable again" "0 0 0"
exec 8>&- 9<&-
wait
[ "$(jq -r 'select(.syscall == "execve" and .verdict == "deny") |
	.reason' "$T/audit2" | sort -u | tr '\n' ' ')" = "not_executable " ] ||
	fail "refused for: $(jq -c 'select(.syscall == "execve" and .verdict == "deny") |
	[.reason, .path2]' "$T/audit2" | sort | uniq -c)"
