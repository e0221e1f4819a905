#!/bin/bash
# callgate ws diff tells exactly what the program changed, as lines, JSON, numbers and a patch that git and patch(1)
# take; nothing of names or contents moves the terminal; the directory and the workspace stay as they are.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq git patch "$PYTHON"
W=$T/w

cow() # PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -r "$T/program" -- "$@" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

ws() # as callgate ws diff: stdout in $T/out, status in $status
{
	status=0
	cg ws diff "$@" >"$T/out" 2>"$T/err2" || status=$?
}

mkdir -p "$W/a/b" "$W/empty" "$W/hidden/sub"
printf 'one\ntwo\nthree\n' >"$W/one"
printf 'two\0\377' >"$W/a/two"
echo three >"$W/a/b/three"
echo x >"$W/hidden/x"
echo y >"$W/hidden/sub/y"
echo a text that moves >"$W/move me"
echo t >"$W/type"
: >"$W/nothing"
echo s >"$W/run.sh"
truncate -s 20G "$W/big"
printf unended >"$W/unended"
ln -s one "$W/link"
cp -a "$W" "$T/git"
cp -a "$W" "$T/patch"
cat >"$T/program" <<'END'
printf 'one\n2\nthree\nfour\n' >one
printf 'two\0\376' >a/two
rm -r hidden; mkdir hidden; echo z >hidden/z
mv 'move me' 'a/moved there'
rm type; ln -s one type
rm nothing; : >void; chmod 755 run.sh
printf 'escape \033[31m\302\233\342\200\256\n' >escape
mkfifo fifo; mkdir new; chmod 700 empty; touch -d 2001-01-01 big
printf ended >unended; ln -sf two link
echo n >"new/$(printf 'n\t\n\\"\303\244\377\033[2J \342\200\256')"
END
find "$W" -type f -size -1M -exec cat {} + >/dev/null # sets access times
picture "$W" >/dev/null
picture "$W" >"$T/before"
cow /bin/sh "$T/program"
[ -n "$id" ] || die "no workspace: $(cat "$T/result" "$T/err")"
"$CALLGATE" ws diff "$id" >/dev/null # makes the layer of a copy
layer=$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0)
picture "$layer" >/dev/null
picture "$layer" >"$T/layer"

ws "$id"
[ $status = 1 ] || fail "status $status: $(cat "$T/err2")"
cat >"$T/expected" <<'END'
R  move me -> a/moved there
M  a/two  content, time
M  big  time
M  empty/  mode 0755 -> 0700
A  escape
A  fifo  fifo
D  hidden/sub/
D  hidden/sub/y
D  hidden/x
A  hidden/z
M  link  symlink, content, time
A  new/
A  new/n\u0009\u000a\"ä\xff\u001b[2J \u202e
D  nothing
M  one  content, time
M  run.sh  mode 0644 -> 0755
T  type  file -> symlink
M  unended  content, time
A  void
END
diff "$T/expected" "$T/out" >"$T/differs" || fail "lines: $(cat "$T/differs")"
ws "$id" a "$W/hidden/" '*.sh'
[ "$(cut -c1-9 "$T/out" | tr '\n' ,)" = 'R  move m,M  a/two ,D  hidden,D  hidden,D  hidden,A  hidden,M  run.sh,' ] ||
	fail "selected: $(cat "$T/out")"
# What matches nothing is told, also what the program has not changed, and changes no exit status.
ws "$id" a nowhere '*.none' a/b/three
{ [ $status = 1 ] && [ "$(wc -l <"$T/out")" = 2 ]; } || fail "one matches: status $status, $(cat "$T/out")"
printf 'callgate ws diff: %s: the run has changed nothing there\n' nowhere '*.none' a/b/three | cmp -s - "$T/err2" ||
	fail "no match: $(cat "$T/err2")"
ws --json "$id" run.sh $'no\377where'
jq -es 'length == 2 and .[0].path == "run.sh" and .[1].warning == "no_match" and (.[1].pattern | startswith("no"))' \
	"$T/out" >/dev/null || fail "no match: $(cat "$T/out")"
ws "$id" nowhere
{ [ $status = 0 ] && [ ! -s "$T/out" ] && [ -s "$T/err2" ]; } || fail "none matches: status $status, $(cat "$T/out")"
for all in . ./. "$W/." ../w "$W//" a/.. hidden/../..; do
	ws "$id" "$all"
	case $all in
	a/.. | hidden/..*)
		{ [ $status = 125 ] && grep -q 'not a path or pattern' "$T/err2"; } || fail "'$all': status $status"
		;;
	*) diff "$T/expected" "$T/out" >"$T/differs" || fail "all by '$all': $(cat "$T/differs")" ;;
	esac
done
ws "$id" none 'no/**'
{ [ $status = 0 ] && [ ! -s "$T/out" ]; } || fail "nothing selected: $status $(cat "$T/out")"
ws "$id" --json
jq -se 'length == 19 and (map(select(.change == "renamed")) | .[0].old_path == "move me" and length == 1) and
	any(.[]; .path == "run.sh" and .differences == ["mode"] and .old.mode == "0644" and .new.mode == "0755") and
	any(.[]; .path == "type" and .old.type == "file" and .new.type == "symlink") and
	any(.[]; .path == "new/n\t\n\\\\\"ä\\xff\u001b[2J \u202e" and .old == null)' "$T/out" >/dev/null ||
	fail "JSON: $(cat "$T/out")"
# SHA-256, of what was there and what is now. A renamed file, and one with another mode, has both. What is read here is
# no file of the directory or the workspace, whose access times are compared below.
# shellcheck disable=SC2059 # a format
sha_is() # PATH OLD NEW: contents, for printf; '': none
{
	local was is
	was=$([ -z "$2" ] || printf "$2" | sha256sum) is=$([ -z "$3" ] || printf "$3" | sha256sum)
	jq -es --arg path "$1" --arg was "${was%% *}" --arg is "${is%% *}" 'any(.[]; .path == $path and
		(.old.sha256 // "") == $was and (.new.sha256 // "") == $is)' "$T/out" >/dev/null ||
		fail "SHA-256 of $1: not ${was%% *}, ${is%% *}: $(grep -F "$1" "$T/out")"
}
sha_is one 'one\ntwo\nthree\n' 'one\n2\nthree\nfour\n'
sha_is a/two 'two\0\377' 'two\0\376'
sha_is unended unended ended
sha_is 'a/moved there' 'a text that moves\n' 'a text that moves\n'
sha_is run.sh 's\n' 's\n'
sha_is type 't\n' ''
sha_is hidden/x 'x\n' ''
sha_is hidden/z '' 'z\n'
jq -es 'any(.[]; .path == "big" and .old.sha256 == null and .new.sha256 == null and (.new | has("sha256"))) and
	all(.[]; .new.type == "file" or .new.sha256 == null) and all(.[]; .conflict == null)' "$T/out" >/dev/null ||
	fail "no SHA-256: $(cat "$T/out")"
ws "$id" --stat
grep -qE '^ one +\| +3 \+\+-$' "$T/out" || fail "numbers of lines: $(cat "$T/out")"
grep -qE '^ a/two +\| +Bin 5 -> 5 bytes$' "$T/out" || fail "numbers of bytes: $(cat "$T/out")"
grep -qx ' 19 changed, 8 insertions(+), 6 deletions(-)' "$T/out" || fail "sum: $(tail -n 1 "$T/out")"

# The patch, on two copies.
ws "$id" --patch
cp "$T/out" "$T/the.patch"
[ $status = 1 ] || fail "patch: status $status: $(cat "$T/err2")"
grep -q 'does not have 5 of the changes' "$T/err2" || fail "not told: $(cat "$T/err2")"
grep -qxF '# Binary files a/a/two and b/a/two differ' "$T/the.patch" || fail "binary: $(cat "$T/the.patch")"
(cd "$T/git" && git apply --whitespace=nowarn "$T/the.patch") >"$T/said" 2>&1 || fail "git apply: $(cat "$T/said")"
# patch(1) creates no file with a newline in its name since 2.8, and stops there: such a one is then git's alone.
cp "$T/the.patch" "$T/taken.patch"
mkdir "$T/lines"
printf '%s\n' '--- /dev/null' '+++ "b/a\nb"' '@@ -0,0 +1 @@' '+x' | patch -d "$T/lines" -p1 >"$T/said" 2>&1 || {
	awk '/^diff --git / { skip = /\\012/ } !skip' "$T/the.patch" >"$T/taken.patch"
	cp -a "$T/git/new" "$T/patch/"
}
(cd "$T/patch" && patch -p1 --binary <"$T/taken.patch") >"$T/said" 2>&1 || fail "patch: $(cat "$T/said")"
view() # of a copy: content of what has a form in a patch
{
	(cd "$1" && rm -rf big a/two fifo &&
		find . ! -type d -printf '%P %y %m %l\n' -type f -exec sha256sum {} \; | sort)
}
view "$T/git" >"$T/by-git"
view "$T/patch" | diff "$T/by-git" - >"$T/differs" || fail "git and patch: $(cat "$T/differs")"
cp -a "$W" "$T/native"
(cd "$T/native" && sh "$T/program")
view "$T/native" | diff "$T/by-git" - >"$T/differs" || fail "the program and the patch: $(cat "$T/differs")"

# Nothing was changed by looking.
picture "$layer" | cmp -s - "$T/layer" || fail "the layer changed: $(picture "$layer" | diff - "$T/layer")"
picture "$W" | cmp -s - "$T/before" || fail "the directory changed: $(picture "$W" | diff - "$T/before")"

# On a terminal, names and contents are escaped. A pipe gets the contents as they are.
LC_ALL=C grep -q "$(printf '\033')" "$T/the.patch" || fail "the patch is not exact"
id=$(basename "${layer%/0}")
cat >"$T/on-terminal.py" <<'END'
import os, pty, sys
pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536))
END
for form in --patch --stat --json ''; do
	# shellcheck disable=SC2086 # no form: no word
	"$PYTHON" "$T/on-terminal.py" "$CALLGATE" ws diff "$id" $form </dev/null >"$T/shown" 2>&1
	"$PYTHON" - "$T/shown" <<'END' || fail "on a terminal, $form: $(cat -v "$T/shown")"
import sys, unicodedata
text = open(sys.argv[1], 'rb').read().decode().replace('\r\n', '\n')
sys.exit('run.sh' not in text or any(c not in '\n\t' and unicodedata.category(c) in ('Cc', 'Cf') for c in text))
END
done

# What the program has closed is opened in the layer, and told.
cow /bin/sh -c 'mkdir locked; echo x >locked/x; chmod 0 locked'
ws "$id"
{ [ $status = 1 ] && grep -q 'locked/x' "$T/out"; } || fail "closed: $status $(cat "$T/out" "$T/err2")"
# So is a file, also in a patch; modes that it cannot say are counted.
cow /bin/sh -c 'umask 022; echo x >a/before; echo x >a/locked; chmod 0 a/locked; echo x >a/own; chmod 600 a/own
	echo x >a/text'
ws "$id" --patch
[ $status = 1 ] || fail "modes: $status $(cat "$T/err2")"
grep -q 'does not have 2 of the changes' "$T/err2" || fail "modes of added files: $(cat "$T/err2")"
[ "$(grep -c '^+x' "$T/out")" -ge 3 ] || fail "the patch ends early: $(cat "$T/out")"
ws "$id" --stat
{ [ $status = 1 ] && grep -q '^ 4 changed' "$T/out"; } ||
	fail "numbers with an unreadable file: $status $(cat "$T/err2" "$T/out")"
# No process for a file that is new or deleted: there may be many.
[ "$(id -u)" = 0 ] || { (ulimit -u 1 && exec "$CALLGATE" ws diff "$id" --patch a/text) >"$T/out" 2>"$T/err2"
	grep -qx '+x' "$T/out"; } || fail "a new file needs diff(1): $(cat "$T/err2" "$T/out")"
ws "$id" --stat --patch
[ $status = 125 ] || fail "two forms"
for word in ../../w 0000000000000000 ''; do
	ws "$word"
	{ [ $status = 125 ] && grep -q 'no such workspace' "$T/err2"; } || fail "'$word': $status $(cat "$T/err2")"
done
ws
[ $status = 125 ] || fail "no workspace named: $status"
mv "$W" "$T/elsewhere"
ws "$id"
{ [ $status = 125 ] && grep -q 'its directory cannot be opened' "$T/err2"; } || fail "moved: $status $(cat "$T/err2")"
mv "$T/elsewhere" "$W"

# A directory of the layer that the program has closed is opened there, and told as it was.
if [ "$(id -u)" != 0 ]; then
	mkdir "$W/closed"
	echo x >"$W/closed/x"
	"$CALLGATE" run "${WORKSPACE_COW:---cow}" --json --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
		'rm -r closed; mkdir closed; echo new >closed/x; chmod 600 closed' >"$T/result" 2>"$T/err2"
	closed=$(jq -r .workspace.id "$T/result")
	ws "$closed"
	{ [ $status = 1 ] && grep -q '^M  closed/  mode 0755 -> 0600' "$T/out" && grep -q '^M  closed/x' "$T/out"; } ||
		fail "a closed directory: $status $(cat "$T/out" "$T/err2")"
	rm -r "$W/closed"
fi

# In use.
begin_run
ws "$id"
{ [ $status = 125 ] && grep -q 'has not ended' "$T/err2"; } || fail "in use: $status $(cat "$T/err2")"
end_run
for id in $("$CALLGATE" ws list --json | jq -r .id); do
	"$CALLGATE" ws discard "$id" || fail "discard $id"
done
