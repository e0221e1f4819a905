#!/bin/bash
# What an older kernel lacks, each in turn: a filter around callgate answers as such a kernel does. The run gives what
# it gives with the feature, or is refused by one line; doctor and enforcement name what is missing; and no attempt to
# reach what the policy does not grant gets further than with the feature. Landlock's ABIs: confine/landlock-abi.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/examine.sh"
need jq python3
without=$CASES/cases-without
[ -x "$without" ] || skip "not built: $without"
if [ -n "${OUTER_FILTER:-}" ]; then
	skip "a container's filter lacks things by itself"
fi
mkdir "$T/outside"
echo SECRET >"$T/outside/secret"
cat >"$T/program.py" <<'EOF'
import os, subprocess, sys

OUTSIDE = sys.argv[1]

def told(name, attempt):
    try:
        print(name, attempt())
    except OSError as error:
        print(name, error.strerror)

def read(name, *flags):
    with open(name, opener=lambda path, mode: os.open(path, mode | sum(flags))) as file:
        return file.read().strip()

def change_directory():
    os.chdir("sub")
    name = os.path.basename(os.getcwd())
    os.chdir("..")
    return name

def race():
    """Another process makes sub/secret lead outside and back, while it is opened: by itself, and below a link."""
    pid = os.fork()
    while pid == 0:
        os.symlink(OUTSIDE, "link")
        os.rename("sub", "real")
        os.rename("link", "sub")
        os.unlink("sub")
        os.rename("real", "sub")
        if os.getppid() == 1:
            os._exit(0)
    got = set()
    for _ in range(400):
        try:
            got.add(read("sub/secret"))
        except OSError:
            pass
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return sorted(got - {"open"})

told("read", lambda: read("open"))
told("write", lambda: os.close(os.open("new", os.O_CREAT | os.O_WRONLY, 0o600)))
told("stat", lambda: (os.stat("open").st_size, os.stat("new").st_mode))
told("exec", lambda: subprocess.run(["/bin/echo", "echo"], capture_output=True, check=True).stdout)
told("chdir", change_directory)
told("denied", lambda: read(".env"))
told("outside", lambda: read(OUTSIDE + "/secret"))
told("parent", lambda: read("../outside/secret"))
told("parents", lambda: read("sub/../../outside/secret"))
told("host", lambda: read("/etc/shadow"))
os.symlink("../outside/secret", "out")
told("link", lambda: read("out"))
told("no link", lambda: read("out", os.O_NOFOLLOW))
told("root", lambda: read("/proc/self/root" + OUTSIDE + "/secret"))
told("directory", lambda: read("/proc/self/cwd/../outside/secret"))
told("race", race)
EOF

# run_without OPTION…: what the program tells is in $T/told, the result in $T/result.
run_without()
{
	rm -rf "$T/w"
	mkdir -p "$T/w/sub"
	cp "$T/program.py" "$T/w"
	echo SECRET >"$T/w/.env"
	echo open | tee "$T/w/open" >"$T/w/sub/secret"
	timeout -k 5 "$LIVE_TIMEOUT" "$@" "$CALLGATE" run --json --profile extended -w "$T/w" -- \
		"$PYTHON" program.py "$T/outside" </dev/null >"$T/result" 2>"$T/err"
	jq -r '(.stdout // "") + (.stderr // "")' "$T/result" >"$T/told"
}

run_without env
cp "$T/told" "$T/with"
[ "$(jq -r .status "$T/result")" = ok ] || die "the run with everything: $(cat "$T/err" "$T/told")"
grep -q SECRET "$T/with" && die "with everything: $(cat "$T/with")"

# works FEATURE LAYER WORDS CHECK: LAYER's reason in enforcement has WORDS, and so has doctor's CHECK.
works()
{
	run_without "$without" "-$1"
	[ "$(jq -r .status "$T/result")" = ok ] || fail "$1: $(cat "$T/err" "$T/told")"
	diff "$T/with" "$T/told" >"$T/diff" || fail "$1: other than with it: $(cat "$T/diff")"
	jq -e --arg layer "$2" --arg words "$3" '.enforcement[$layer].why | contains($words)' "$T/result" >/dev/null ||
		fail "$1: enforcement: $(jq -c --arg layer "$2" '.enforcement[$layer]' "$T/result")"
	examine 0 "$without" "-$1"
	says "(state(\"$4\") != \"works\") and .run.contradictions == [] and .reason == null" "$1"
}

# refused FEATURE WORDS CHECK: the run is refused by a line with WORDS, and doctor's reason is CHECK's text.
refused()
{
	run_without "$without" "-$1"
	[ "$(wc -l <"$T/err")" = 1 ] || fail "$1: not one line: $(cat "$T/err")"
	grep -qF "$2" "$T/err" || fail "$1: \"$2\" is not in: $(cat "$T/err")"
	[ -z "$(cat "$T/told")" ] || fail "$1: the program ran: $(cat "$T/told")"
	examine 1 "$without" "-$1"
	says "state(\"$3\") == \"lacks\" and .reason == text(\"$3\") and .works == false" "$1"
}

if layer seccomp_notify; then
	works wait-killable seccomp_notify WAIT_KILLABLE_RECV seccomp_notify
	works sync-wake-up seccomp_notify SYNC_WAKE_UP seccomp_notify
fi
! layer mountns || works open_tree mountns "cannot copy a mount" mountns
! layer mountns || works mount_setattr mountns "cannot copy a mount" mountns
! layer landlock || works landlock landlock "not in this kernel" landlock
refused addfd "ADDFD (Linux 5.9)" seccomp_notify
refused openat2 "openat2(2) (Linux 5.6)" openat2
refused close_range CLOSE_RANGE_UNSHARE outer_filter
refused close_range-unshare CLOSE_RANGE_UNSHARE outer_filter

# A filter that refuses unshare(2), on a kernel without copies of mounts: clone(2) makes the network namespace.
if layer mountns && layer netns; then
	# shellcheck disable=SC2046 # words
	{
		examine 0 $(refusing unshare:1,open_tree:38,open_tree_attr:38)
		agrees $(refusing unshare:1,open_tree:38,open_tree_attr:38)
	}
fi
exit "$live_failed"
