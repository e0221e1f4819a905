#!/bin/bash
# A directory below which only globs grant something is listed by a stand-in directory. Files created there are created
# on the host. A symbolic link that was listed earlier leads nowhere after a directory replaced it.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$T/g/sub/c" "$T/outside" "$T/w"
echo text >"$T/g/sub/c/x.txt"
echo hidden >"$T/g/sub/c/hidden"
cat >"$T/policy.json" <<EOF2
{"version": 1, "extends": ["extended"], "filesystem": {"write": ["$T/g/*", "$T/g/*/c/*.txt"]}}
EOF2
cat >"$T/w/attack.sh" <<EOF2
cd $T/g || exit 9
ln -s $T/outside link && ls -la . && rm link && mv sub link && ls link link/c && mkdir dir && ln -s $T/outside again
cat link/c/x.txt link/c/hidden
mkdir -p link/c/made again/made
exit 0
EOF2
cg run -p "$T/policy.json" -w "$T/w" -- /bin/sh "$T/w/attack.sh" >"$T/out" 2>&1 || fail "it ended with $?"
[ -z "$(ls -A "$T/outside")" ] || fail "it made something outside: $(ls -A "$T/outside")"
if ! [ -d "$T/g/dir" ] || ! [ -L "$T/g/again" ] || ! [ -e "$T/g/link/c/x.txt" ]; then
	fail "not made on the host: $(cat "$T/out")"
fi
grep -q '^text$' "$T/out" || fail "not readable: $(cat "$T/out")"
grep -q '^hidden$' "$T/out" && fail "it read what no glob grants"
exit 0
