#!/bin/bash
# --approve with --cow: what an answer permits in the directory of -w is written to the workspace, by whatever name.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"
W=$T/w
mkdir "$W/.git" "$W/sub" "$W/sub/.git" "$W/dir"
echo old >"$W/.git/config"
echo old >"$W/sub/.git/config"
echo old >"$W/file"
echo old >"$W/dir/in"
# What a pattern denies has no cover in the kernel's view, and what is named has one, if no answer may permit it.
jq '.filesystem.deny += ["@workdir/**/.git/**", "@workdir/file", "@workdir/dir"]' "$T/p.json" >"$T/p.new" &&
	mv "$T/p.new" "$T/p.json"
ln -s "$W" "$H/alias"
host=$(ls "$H")
before=$(find "$W" -printf '%P %y %m %s %T@ %C@\n' | sort)
unchanged()
{
	[ "$(find "$W" -printf '%P %y %m %s %T@ %C@\n' | sort)" = "$before" ] || fail "the directory was written"
}
# diff LINE…: the workspace of the latest run has just these changes; it is discarded.
diff_is()
{
	local id
	id=$(jq -r '.workspace.id // .run_id' "$T/result")
	"$CALLGATE" ws diff "$id" >"$T/diff" 2>&1
	[ "$(cut -d ' ' -f 1-3 "$T/diff")" = "$(printf '%s\n' "$@")" ] || fail "diff: $(cat "$T/diff")"
	"$CALLGATE" ws discard "$id" || fail "discard"
}

for cow in --cow --cow=copy; do
	approver run run run run run
	asks "socket:$T/s" "$cow" -- /usr/bin/python3 -c "
import os
open('file', 'a').write('more')
dir = os.open('dir', os.O_RDONLY)
open(os.open('in', os.O_RDWR | os.O_APPEND, dir_fd=dir), 'a').write('more')
os.chdir(dir)
print(os.listdir(dir), os.readlink('/proc/self/fd/%d' % dir), os.getcwd(), open('in').read().split())"
	ended ".stdout == \"['in'] $W/dir $W/dir ['old', 'more']\\n\" and .exit_code == 0"
	unchanged
	diff_is "M  dir/in" "M  file"

	approver run run run run
	asks "socket:$T/s" "$cow" --judge changes -- sh -c "echo new >>.git/config && cat .git/config && cd sub/.git &&
		cat config && echo rel >config && echo host >$H/out"
	ended '.exit_code == 0 and .stdout == "old\nnew\nold\n" and .calls.approved >= 5'
	unchanged
	[ "$(cat "$H/out")" = host ] || fail "what is outside was not written"
	rm "$H/out"
	diff_is "M  .git/config" "M  sub/.git/config"

	# Other names of what is there: by links, by /proc, by ".." from outside. An object keeps its answer under all
	# of them, since paths are resolved first. Moving out of a layer, or in, could only be EXDEV, so none is asked.
	approver run run run
	asks "socket:$T/s" "$cow" -- /usr/bin/python3 -c "
import os
os.symlink('../.git', 'sub/link')
for name in '$H/alias/.git/config', '/proc/self/cwd/sub/link/two', '$H/../w/.git/three', '.git/config':
    open(name, 'a').write('more')
for call, old, new in ((os.rename, '$H/b', '.git/b'), (os.link, '$H/c', '.git/c'),
                       (os.rename, '.git/three', '$H/three'), (os.link, '.git/three', '$H/three')):
    try:
        call(old, new)
    except OSError as error:
        print(error.errno, end=' ')"
	ended '.stdout == "2 2 13 13 " and .exit_code == 0'
	unchanged
	[ "$(ls "$H")" = "$host" ] || fail "outside: $(ls "$H")"
	diff_is "M  .git/config" "A  .git/three" "A  .git/two" "A  sub/link"
done
unchanged

# A session asks likewise.
approver once
id=$("$CALLGATE" session create -q -p "$T/p.json" --approve "socket:$T/s" --cow -w "$W") || die "no session"
"$CALLGATE" session exec "$id" -- /bin/sh -c 'echo session >.git/config' || fail "session exec"
"$CALLGATE" session stop "$id"
wait "$approver"
unchanged
"$CALLGATE" ws diff "$id" | grep -qx "M  .git/config  content, time" || fail "session: $("$CALLGATE" ws diff "$id")"
"$CALLGATE" ws discard "$id"

# A grant that shows the directory by another name, and may only be read, would lead past the workspace by an answer.
jq --arg t "$T" '.filesystem.redirect = [{"from": "/data", "to": $t}] | .filesystem.read += [$t]' "$T/p.json" \
	>"$T/p.new" && mv "$T/p.new" "$T/p.json"
asks "command:exit 1" --cow -- true
jq -e '.status == "error" and (.error.message | test("by the name /data;"))' "$T/result" >/dev/null ||
	fail "$(cat "$T/result")"
[ -z "$("$CALLGATE" ws list)" ] || fail "left: $("$CALLGATE" ws list)"
