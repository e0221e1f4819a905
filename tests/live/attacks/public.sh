#!/bin/bash
# A "public" grant gives what everybody on the host may read: not more by another name, another call, a descriptor, a
# link, or while modes and names change. "private" excepts from it; every secret that `extended` names is planted.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir -p "$T/w" "$T/pub/shut/deep" "$T/pub/listed" "$T/pub/passed" "$T/pub/kept/open"
for file in open shut/deep/file listed/file passed/file group owner kept/secret kept/open/file kept/named; do
	echo "SECRET $file" >"$T/pub/$file"
done
chmod 640 "$T/pub/group" && chmod 600 "$T/pub/owner"
chmod 750 "$T/pub/shut" && chmod 744 "$T/pub/listed" && chmod 711 "$T/pub/passed"
ln -s owner "$T/pub/link-private" && ln -s open "$T/pub/link-open" && ln "$T/pub/owner" "$T/pub/hard"
ln -s "$T/pub/owner" "$T/w/link"
jq -n --arg pub "$T/pub" '{version: 1, extends: ["extended"],
	filesystem: {public: [$pub], private: ["\($pub)/kept"], read: ["\($pub)/kept/named"]}}' >"$T/p.json"
cat >"$T/w/probe.py" <<'END'
import ctypes, errno, os, sys
pub, here = sys.argv[1], os.getcwd()
libc = ctypes.CDLL(None, use_errno=True)
def name(error):
    return errno.errorcode[error]
def say(what, do, *args):
    try:
        print(what, do(*args))
    except OSError as error:
        print(what, name(error.errno))
def read(path, flags=os.O_RDONLY, dir_fd=None):
    fd = os.open(path, flags, dir_fd=dir_fd)
    try:
        return os.read(fd, 99).decode().strip()
    finally:
        os.close(fd)
def again(path):
    pin = os.open(path, os.O_PATH)
    return read(f"/proc/self/fd/{pin}")
def watch(path):
    fd = libc.inotify_init1(0)
    if libc.inotify_add_watch(fd, path.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "")
    return "watched"
def enter(path):
    os.chdir(path)
    os.chdir(here)
    return "entered"
for file in ("open", "link-open", "passed/file", "kept/named", "group", "owner", "hard", "link-private",
             "shut/deep/file", "listed/file", "kept/secret", "kept/open/file"):
    path = f"{pub}/{file}"
    say(f"read {file}", read, path)
    say(f"nofollow {file}", read, path, os.O_RDONLY | os.O_NOFOLLOW)
    say(f"nonblock {file}", read, path, os.O_RDONLY | os.O_NONBLOCK)
    say(f"write {file}", read, path, os.O_RDWR)
    say(f"create {file}", read, path, os.O_RDONLY | os.O_CREAT)
    say(f"again {file}", again, path)
    say(f"access {file}", os.access, path, os.R_OK)
    say(f"size {file}", lambda: os.stat(path).st_size > 0)
    say(f"watch {file}", watch, path)
    say(f"attribute {file}", os.getxattr, path, "user.x")
    say(f"link {file}", os.link, path, f"{here}/made")
    say(f"exec {file}", os.execv, path, ["x"])
say("by dirfd", read, "owner", os.O_RDONLY, os.open(pub, os.O_RDONLY))
say("by dirfd down", read, "deep/file", os.O_RDONLY, os.open(pub + "/shut", os.O_PATH))
say("by own link", read, "link")
say("by root", read, "/proc/self/root" + pub + "/owner")
for path in ("", "/shut", "/listed", "/passed", "/kept", "/shut/deep"):
    say(f"list {path}", lambda: sorted(os.listdir(pub + path)))
    say(f"enter {path}", enter, pub + path)
END
cat >"$T/expected" <<'END'
list  ['group', 'hard', 'kept', 'link-open', 'link-private', 'listed', 'open', 'owner', 'passed', 'shut']
enter  entered
list /shut EACCES
enter /shut EACCES
list /listed ['file']
enter /listed EACCES
list /passed EACCES
enter /passed entered
list /kept EACCES
enter /kept entered
list /shut/deep EACCES
enter /shut/deep EACCES
END
cg run -p "$T/p.json" --audit "$T/audit" -w "$T/w" -- "$PYTHON" probe.py "$T/pub" >"$T/out" 2>"$T/err" ||
	die "probe: $(cat "$T/out" "$T/err")"
for file in open link-open passed/file kept/named; do
	for how in read nonblock again; do
		grep -q "^$how $file SECRET" "$T/out" || fail "$how $file: $(grep "^$how $file " "$T/out")"
	done
	grep -qx "access $file True" "$T/out" || fail "access $file"
done
grep 'SECRET' "$T/out" | grep -Ev '^[a-z]+ (open|link-open|passed/file|kept/named) ' && fail "a secret was read"
for file in group owner hard link-private; do
	for how in read nonblock again watch attribute; do
		grep -qx "$how $file EACCES" "$T/out" || fail "$how $file: $(grep "^$how $file " "$T/out")"
	done
	grep -qx "access $file False" "$T/out" || fail "access $file"
	grep -qx "size $file True" "$T/out" || fail "stat of $file: as natively for another user"
done
for file in shut/deep/file listed/file; do
	for how in read again size; do
		grep -qx "$how $file EACCES" "$T/out" || fail "$how $file: $(grep "^$how $file " "$T/out")"
	done
done
grep -E '^(write|link|exec) ' "$T/out" | grep -Ev ' E[A-Z]+$' && fail "written, linked or executed"
grep -E '^by ' "$T/out" | grep -Ev ' E[A-Z]+$' && fail "read by another name"
grep -E '^(list|enter) ' "$T/out" | diff "$T/expected" - || fail "directories"
[ ! -e "$T/w/made" ] || fail "a hard link was made"

# What is on record: the rule, and why. A denial by the mode is told from an errno of the kernel.
jq -se --arg at "$T/pub/owner" 'any(.[]; .syscall == "openat" and .path == $at and .verdict == "deny" and
	.errno == "EACCES" and .reason == "not_public" and (.rule | endswith("filesystem.public[0] \($at[:-6])")))' \
	"$T/audit" >/dev/null || fail "no record of the refusal"
jq -se --arg at "$T/pub/open" 'any(.[]; .path == $at and .verdict == "allow" and .reason == "public")' \
	"$T/audit" >/dev/null || fail "no record of the grant"
jq -se 'any(.[]; .reason == "private")' "$T/audit" >/dev/null || fail "no record of what is private"
"$CALLGATE" why -p "$T/p.json" --open "$T/pub/kept/secret" >"$T/why" && fail "why allows what is private"
grep -q 'reason *private' "$T/why" || fail "why: $(cat "$T/why")"
"$CALLGATE" why -p "$T/p.json" --open "$T/pub/owner" >"$T/why" && fail "why allows what is not public"
grep -q 'reason *not_public' "$T/why" || fail "why: $(cat "$T/why")"
"$CALLGATE" why -p "$T/p.json" --open "$T/pub/shut/deep/file" >"$T/why" &&
	fail "why allows what is below a closed directory"
"$CALLGATE" why -p "$T/p.json" --open "$T/pub/open" >"$T/why" || fail "why: $(cat "$T/why")"
"$CALLGATE" show -p "$T/p.json" >"$T/shown.json" || fail "show"
"$CALLGATE" show -p "$T/shown.json" | diff "$T/shown.json" - || fail "show of what is shown"

# While modes and names change outside, nothing private is read. The public text is one word, the private another.
mkdir "$T/pub/race" "$T/race" && echo open >"$T/pub/race/file" && echo open >"$T/race/public"
echo HIDDEN >"$T/race/private"
chmod 600 "$T/race/private"
(
	trap 'exit 0' TERM
	while :; do
		ln -f "$T/race/private" "$T/race/next" && mv -f "$T/race/next" "$T/pub/race/file"
		ln -f "$T/race/public" "$T/race/next" && mv -f "$T/race/next" "$T/pub/race/file"
	done
) 2>/dev/null &
live_kept+=($!)
cat >"$T/w/race.py" <<'END'
import os, sys, time
seen, end = {}, time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_NOFOLLOW, os.O_RDONLY | os.O_CREAT):
        try:
            fd = os.open(sys.argv[1], flags)
            text = os.read(fd, 9).decode().strip()
            os.close(fd)
        except OSError as error:
            text = type(error).__name__
        seen[text] = seen.get(text, 0) + 1
print(sorted(seen))
END
cg run -p "$T/p.json" -w "$T/w" -- "$PYTHON" race.py "$T/pub/race/file" "${FLIP_SECONDS:-3}" >"$T/out" 2>&1
kill "${live_kept[@]}" && live_kept=()
grep -q HIDDEN "$T/out" && fail "read while it was swapped: $(cat "$T/out")"
grep -q open "$T/out" || fail "never read: $(cat "$T/out")"

# Every secret of `extended`, planted readable by everybody, in a copy of /etc and an empty /var/lib.
cat >"$T/plant.sh" <<'END'
set -eu
etc=$1 lib=$2 cache=$3 words=$4
mount --bind "$etc" /etc && mount --bind "$lib" /var/lib && mount --bind "$cache" /var/cache
plant() { mkdir -p "$(dirname "$1")" && chmod a+rx "$(dirname "$1")" && echo PLANTED >"$1" && chmod 644 "$1"; }
jq -r '.filesystem.private[]' "$words" | while read -r path; do
	case $path in
	'**/'*) for dir in /etc /etc/nginx /var/cache/app /var/lib /var/lib/app; do plant "$dir/${path#**/}"; done ;;
	*'**/*'*) for dir in "${path%%/\*\**}" "${path%%/\*\**}/app/tls"; do plant "$dir/x${path##*\*}"; done ;;
	*'*'*) plant "${path//\*/rsa}" ;;
	*) if [ -d "$path" ]; then plant "$path/x"; else plant "$path" && rm "$path" && plant "$path"; fi
	   [ -d "$path" ] || { rm "$path" && plant "$path/below/x" && plant "$path/x"; } ;;
	esac
done
plant /etc/app/public && echo readable >/etc/app/public
shift 4
exec "$@"
END
mkdir -p "$T/lib" "$T/cache" && cp -a /etc "$T/etc" 2>/dev/null
enter=(unshare -m)
[ "$(id -u)" = 0 ] || enter=(unshare -rm)
planted=("${enter[@]}" bash "$T/plant.sh" "$T/etc" "$T/lib" "$T/cache" "$CALLGATE_PROFILES/extended.json")
[ "$live_failed" = 0 ] || exit 1
"${enter[@]}" mount --bind "$T/lib" /var/lib 2>/dev/null ||
	skip "cannot mount here: the secrets of extended were not planted"
count=$("${planted[@]}" grep -rls PLANTED /etc /var/cache /var/lib | wc -l)
[ "$count" -ge 100 ] || fail "$count secrets could be planted"
"${planted[@]}" timeout -k 5 300 "$CALLGATE" run --profile extended -w "$T/w" -- \
	sh -c 'grep -rs PLANTED /etc /var/cache /var/lib; cat /etc/app/public' >"$T/out" 2>"$T/err" </dev/null
grep -q readable "$T/out" || fail "the plain file was not read: $(cat "$T/out" "$T/err")"
grep PLANTED "$T/out" && fail "secrets were read"
# As files too, where the list names what may be either.
# shellcheck disable=SC2016 # the inner shell expands it
"${planted[@]}" bash -c 'jq -r ".filesystem.private[]" "$0" | grep -v "[*]" | while read -r path; do
		rm -rf "$path" && echo PLANTED >"$path"; done; exec "$@"' "$CALLGATE_PROFILES/extended.json" \
	timeout -k 5 300 "$CALLGATE" run --profile extended -w "$T/w" -- \
	sh -c 'grep -rs PLANTED /etc /var/cache /var/lib; cat /etc/app/public' >"$T/out" 2>"$T/err" </dev/null
grep -q readable "$T/out" || fail "the plain file was not read: $(cat "$T/out" "$T/err")"
grep PLANTED "$T/out" && fail "secrets were read"
exit 0
