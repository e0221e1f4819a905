#!/bin/bash
# The Landlock domain lets the program execute what the policy grants: subtrees, single files, globs, writable
# directories, ELF interpreters, interpreters of scripts. First with a seccomp filter that allows everything, so that
# only Landlock decides; then each of these programs runs under both. All of it without namespaces, and again where the
# kernel judges reading: there the domain also grants reading, which must not grant to execute.
. "$(dirname "$0")/../lib.sh"
need jq
OPEN=$CASES/callgate-open
[ -x "$OPEN" ] || skip "not built: $OPEN"
"$OPEN" run --json --profile minimal -x /bin/true -- /bin/true 2>/dev/null |
	jq -e .enforcement.landlock.active >/dev/null ||
	skip "no Landlock here"

# Static programs that end with 2, since no library can be opened.
starter=$CASES/cases-second-lock
mkdir -p "$T/ro/tree/deep" "$T/ro/glob/dir1" "$T/ro/glob/dir2" "$T/ro/wide/a/b" "$T/ro/one" "$T/ro/denied" "$T/w/made"
for name in tree/deep/program glob/tool-1 glob/tool-2 glob/other glob/dir1/tool-3 glob/dir2/tool-4 wide/a/b/run \
	one/this one/that \
	denied/x; do
	cp "$starter" "$T/ro/$name"
done
ln -s other "$T/ro/glob/tool-link"
printf '#!%s/ro/one/this\n' "$T" >"$T/ro/one/script"
printf '#!%s/ro/one/that\n' "$T" >"$T/ro/one/script-of-that"
chmod 755 "$T"/ro/one/script*
jq -n --arg d "$T" --arg starter "$starter" '{version: 1, extends: ["minimal"], filesystem: {read: [$d + "/ro"],
	exec: [$starter,
	"/usr/bin/env", "/usr/bin/cp", "/usr/bin/rm", "/usr/bin/mkdir", "/usr/bin/mv", "/usr/bin/bash", $d + "/ro/tree",
	$d + "/ro/glob/tool-*", $d + "/ro/glob/*1/tool-*", $d + "/ro/wide/**/run", $d + "/ro/one/this",
	$d + "/ro/one/script*",
	"@workdir/bin/**", "@workdir/made", "@workdir/a.out"]}}' >"$T/policy.json"

modes=("--without namespaces")
if layer mountns && layer pidns && layer netns; then
	modes+=("--judge changes --require kernel-reads")
fi
mode=${modes[0]}

inside()
{
	local callgate=$1 options
	shift
	read -ra options <<<"$mode"
	timeout -k 5 "$LIVE_TIMEOUT" "$callgate" run "${options[@]}" -p "$T/policy.json" -w "$T/w" -- "$@" \
		>"$T/out" 2>&1 </dev/null
}

# can WHAT PROGRAM [STATUS], cannot WHAT PROGRAM: whether it can be executed.
can()
{
	local callgate
	for callgate in "$OPEN" "$CALLGATE"; do
		inside "$callgate" "$starter" exec "$2"
		[ $? = "${3:-2}" ] || fail "${callgate##*/} $mode refuses $1: $(cat "$T/out")"
	done
}
cannot()
{
	local callgate
	for callgate in "$OPEN" "$CALLGATE"; do
		inside "$callgate" "$starter" exec "$2"
		[ $? = 111 ] || fail "${callgate##*/} $mode lets pass $1: $(cat "$T/out")"
		grep -q 'Permission denied' "$T/out" || fail "${callgate##*/} $mode, $1: $(cat "$T/out")"
	done
}

for mode in "${modes[@]}"; do
	can "a program below a directory" "$T/ro/tree/deep/program"
	can "a glob's match" "$T/ro/glob/tool-1"
	can "a glob's other match" "$T/ro/glob/tool-2"
	can "a glob with two parts" "$T/ro/glob/dir1/tool-3"
	can "a deep glob" "$T/ro/wide/a/b/run"
	can "a single file" "$T/ro/one/this"
	can "a script and its interpreter" "$T/ro/one/script"
	cannot "what a glob does not match" "$T/ro/glob/other"
	cannot "a link to what it does not match" "$T/ro/glob/tool-link"
	cannot "what the second glob does not match" "$T/ro/glob/dir2/tool-4"
	cannot "a neighbour of a single file" "$T/ro/one/that"
	cannot "a script whose interpreter is not granted" "$T/ro/one/script-of-that"
	cannot "what is only readable" "$T/ro/denied/x"
done
mode=${modes[0]}
# The loader is in the domain without being named: it runs, and what it would load is not.
inside "$OPEN" /usr/bin/env
grep -q 'error while loading shared libraries' "$T/out" || fail "the system's loader does not run: $(cat "$T/out")"

# A redirect shows what may be executed under its own name; in a mount namespace it is a mount of its own.
jq -n --arg d "$T" --arg starter "$starter" '{version: 1, filesystem: {read: [$d + "/ro"],
	exec: [$starter, $d + "/ro/tree"],
	write: ["@workdir"], redirect: [{from: ($d + "/ro/one"), to: ($d + "/ro/tree/deep")}]}}' >"$T/redirect.json"
for without in cgroups namespaces; do
	cg run --without $without -p "$T/redirect.json" -w "$T/w" -- "$starter" exec "$T/ro/one/program" >"$T/out" 2>&1
	[ $? = 2 ] || fail "without $without, a redirect is not executed: $(cat "$T/out")"
done

# What the program makes itself: by name, in a directory that was not there, and after the directory was another one.
made='set -e; rm -rf bin made a.out
	mkdir bin; cp /usr/bin/env bin/x; bin/x true=1
	rm -r bin; mkdir bin; cp /usr/bin/env bin/y; bin/y true=1
	cp /usr/bin/env a.out; ./a.out true=1
	mkdir new; cp /usr/bin/env new/z; mv new made; made/z true=1'
for mode in "${modes[@]}"; do
	inside "$CALLGATE" bash -c "$made" || fail "$mode: what the program made and may execute: $(cat "$T/out")"
	rm -rf "$T/w"/*
	cp /bin/true "$T/w/a.out"
	inside "$CALLGATE" ./a.out || fail "$mode: a program that was there before: $(cat "$T/out")"
	rm "$T/w/a.out"
done

# No place but the program's and those of the system's loaders, glibc's and musl's.
loaders=0
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 /lib/ld-musl-*.so.1; do
	[ ! -e "$loader" ] || loaders=$((loaders + 1))
done
places=$("$CALLGATE" run --json --profile minimal -x "$T/ro/one/this" -w "$T/w" -- "$T/ro/one/this" |
	jq -r '.enforcement.landlock.why | capture("in (?<n>[0-9]+) places").n')
[ "$places" = $((1 + loaders)) ] || fail "minimal with one program has $places places, and there are $loaders loaders"

# Sixteen domains are the kernel's limit (LANDLOCK_MAX_NUM_LAYERS): the seventeenth is an error, not a run without.
crowded()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" - "$CALLGATE" "$@" <<'EOF' >"$T/out" 2>&1
import ctypes, os, sys
syscall = ctypes.CDLL(None, use_errno=True).syscall
make_block = ctypes.c_uint64(1 << 11)
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
for _ in range(16):
    fd = syscall(444, ctypes.byref(make_block), 8, 0)
    if fd < 0 or syscall(446, fd, 0) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
EOF
}
crowded run --profile minimal -x "$starter" -w "$T/w" -- "$starter"
status=$?
[ "$status $(grep -c "too many domains" "$T/out")" = "125 1" ] ||
	fail "below sixteen domains it ended with $status: $(cat "$T/out")"
crowded run --without landlock --profile minimal -x "$starter" -w "$T/w" -- "$starter"
[ $? = 2 ] || fail "below sixteen domains, without another one: $(cat "$T/out")"
# A domain forbids renaming between directories; the scratch space is removed all the same, however deep.
crowded run --without landlock --profile extended -w "$T/w" -- "$PYTHON" -c 'import os
os.chdir("/tmp")
for i in range(300):
    os.mkdir("d")
    os.chdir("d")
    open("file", "w").close()
    os.mkdir("empty")
    os.mkdir("full")
    os.symlink("x", "full/link")'
status=$?
[ "$status$(cat "$T/out")" = 0 ] || fail "a deep tree below a domain: $status $(cut -c 1-300 "$T/out")"
