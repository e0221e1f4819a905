#!/bin/bash
# --cow with --input and --setup, by overlay and by copy: what both write is in the workspace, where the program finds
# it and changes it further; the directory stays as it is. What cannot go together is refused, and leaves no workspace.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w D=$T/d

cow() # OPTION… -- PROGRAM…: the result in $T/result, the workspace in $id
{
	local status
	cg run --json "$how" --profile minimal -w "$W" -r /usr -x /usr/bin "$@" >"$T/result" 2>"$T/err"
	status=$?
	id=$(jq -r '.workspace.id // empty' "$T/result")
	return $status
}

holds() # WHAT FILTER: of the result
{
	jq -e "$2" "$T/result" >/dev/null || fail "$how: $1: $(jq -c . "$T/result" | head -c 1500) $(cat "$T/err")"
}

unchanged() # AFTER WHAT
{
	picture "$W" | cmp -s - "$T/before" || fail "$how: $1: changed: $(picture "$W" | diff - "$T/before")"
}

mkdir -p "$W/a" "$D" "$T/links" "$T/tree/sub"
echo one >"$W/one"
echo two >"$W/a/two"
echo d >"$D/d"
printf 'echo the tool\n' >"$T/tool"
echo t >"$T/tree/sub/t"
chmod 750 "$T/tree"
ln -s sub/t "$T/tree/link"
mkdir "$T/bad"
ln -s /etc "$T/bad/link"
for how in --cow --cow=copy; do
	chmod 755 "$W"
	echo one >"$W/one" # again, after what was applied
	rm -rf "$W"/one.*
	picture "$W" >/dev/null # sets access times
	picture "$W" >"$T/before"

	# Both phases write to one layer: the base of what both changed is the directory's.
	# shellcheck disable=SC2016 # the program's shell expands it
	cow --input "$T/tool" --input "$T/tree" --cow-dir "$D" -W "$D" --setup 'set -e; sh ./tool; echo s >>one
			echo made >made; ln made other; rm a/two; echo x >>tree/sub/t; chmod 711 .; ln -s one link
			mkdir dir; echo s >dir/s; echo s >'"$D/s"'; mkfifo fifo; cat one >/dev/null' -- \
		/bin/sh -c 'set -e; sh ./tool
			cat one made tree/link '"$D/s"'; stat -c %a . tree; ls a; [ made -ef other ]
			echo p >>one; echo p >>made; cat other; rm -r tree/link dir; mkdir dir; echo p >new
			mv fifo pipe; rm '"$D/d"
	holds "ran" '.status == "ok" and .setup.status == "ok" and .workspace.id == .run_id and
		.setup.workspace == null'
	holds "the program sees all" '.stdout == "the tool\none\ns\nmade\nt\nx\ns\n711\n750\nmade\np\n"'
	unchanged "a run with a setup"
	[ "$(ls "$D")" = d ] || fail "$how: changed: $(ls "$D")"
	cg ws diff "$id" >"$T/diff"
	printf '%s\n' 'M  /  mode 0755 -> 0711' 'A  /dir/' 'A  /link  symlink' 'A  /made' 'A  /new' \
		'M  /one  content, time' 'A  /other' 'A  /pipe  fifo' 'A  /tool' 'A  /tree/' 'A  /tree/sub/' \
		'A  /tree/sub/t' 'D  /a/two' 'D  +/d' 'A  +/s' | sort -u >"$T/expected"
	sed "s:$W::; s:$D:+:" "$T/diff" | sort | cmp -s - "$T/expected" || fail "$how: diff: $(cat "$T/diff")"
	[ -z "$(find "$TMPDIR"/callgate-*/workspaces/"$id" -maxdepth 1 -name inputs)" ] || fail "$how: inputs left"
	echo outside >>"$W/one"
	cg ws apply "$id" >"$T/out" 2>"$T/err"
	[ $? = 3 ] || fail "$how: not a conflict: $(cat "$T/out" "$T/err")"
	[ "$(cat "$W/one.base" "$W/one.theirs" "$W/made" "$D/s")" = "$(printf 'one\none\ns\np\nmade\np\ns')" ] ||
		fail "$how: applied: $(head "$W"/one* "$W/made")"
	[ "$W/made" -ef "$W/other" ] || fail "$how: two files"
	cg ws discard "$id" || fail "$how: discard"
	rm -rf "${W:?}"/* "${D:?}"/*
	mkdir "$W/a"
	echo one >"$W/one"
	echo two >"$W/a/two"
	echo d >"$D/d"
	chmod 755 "$W"
	picture "$W" >/dev/null
	picture "$W" >"$T/before"

	# A rule names what the setup makes.
	cow -x @workdir/true --setup 'cp /usr/bin/true true' -- ./true
	holds "a rule" '.status == "ok" and .exit_code == 0'
	cg ws discard "$id" || fail "$how: discard"
	# A setup that fails: the program is not run, and what was written is kept, if anything was.
	cow --setup 'echo x >x; exit 7' -- touch "ran"
	holds "a failed setup" '.exit_code == 7 and .workspace.id == .run_id and .error.code == "setup_unsuccessful"'
	cg ws diff "$id" | grep -qx 'A  x' || fail "$how: a failed setup: $(cg ws diff "$id")"
	cg ws discard "$id" || fail "$how: discard"
	cow --setup 'exit 7' -- touch ran
	holds "a failed setup" '.exit_code == 7 and .workspace == null'
	# What a hostile setup leaves is judged for the program as it is for the setup.
	cow --setup 'rm -rf a; ln -s /etc a; ln -s "'"$W"'" self; echo bad >.wh.one' -- /bin/sh -c \
		'cat a/shadow; echo x >self/y && echo x >a/x; ls -a; cat one'
	holds "a hostile setup" '.status == "ok" and (.stdout | contains("one") and (contains("root") | not))'
	unchanged "a hostile setup"
	[ -z "$id" ] || cg ws discard "$id" || fail "$how: discard"
	cow --setup 'chmod 0 .' -- cat one
	[ "$(id -u)" = 0 ] || holds "a closed directory" '.exit_code == 125 and .workspace.id == .run_id'
	unchanged "a closed directory"
	cg ws discard "$id" || fail "$how: discard"

	# Refused before anything is run.
	echo '{"version": 1, "workspace": {"directories": ["'"$T/links/d"'"]}}' >"$T/links.json"
	ln -sfn ../d "$T/links/d"
	cow -p "$T/links.json" -W "$D" -W "$T/links" --setup "echo s >$D/s; ln -sfn ../tree $T/links/d" -- touch ran
	holds "another directory" '.exit_code == 125 and .workspace.id == .run_id and
		(.error.message | contains("has changed where"))'
	[ "$(ls "$D")" = d ] || fail "$how: changed: $(ls "$D")"
	cg ws discard "$id" || fail "$how: discard"
	cp "$T/tool" "$T/one"
	WORKSPACE_COW=$how
	refuses "$W/past" 'has a file of this name already' --input "$T/one"
	refuses "$W/past" 'has a file of this name already' --input "$T/tool" --input "$T/tree/../tool"
	refuses "$W/past" 'is a link that leads out' --input "$T/bad"
	refuses "$W/past" 'where --inspect does not look' --inspect --setup "echo >$W/past"
	refuses "$W/past" 'where --inspect does not look' --inspect --input "$T/tool"
	unchanged "what was refused"

	# A session, and a policy that asks for the workspace.
	echo '{"version": 1, "extends": ["minimal"], "workspace": {"mode": "cow"}, "filesystem": {"read": ["/usr"],
		"exec": ["/usr/bin"]}}' >"$T/cow.json"
	id=$("$CALLGATE" session create "$how" -p "$T/cow.json" -w "$W" --input "$T/tool" 2>"$T/err") ||
		fail "$how: session: $(cat "$T/err")"
	[ "$("$CALLGATE" session exec "$id" -- /bin/sh -c 'sh ./tool; echo x >>tool')" = "the tool" ] ||
		fail "$how: a session"
	"$CALLGATE" session stop "$id"
	[ "$(cg ws diff "$id")" = "A  tool" ] || fail "$how: a session: $(cg ws diff "$id")"
	cg ws discard "$id"
	[ "$how" = --cow ] || continue
	cg run --json -p "$T/cow.json" -w "$W" --input "$T/tool" -- /bin/sh ./tool >"$T/result" 2>"$T/err"
	holds "a policy" '.stdout == "the tool\n" and .workspace.id == .run_id'
	unchanged "a session"
	cg ws discard --all
done
[ -z "$(cg ws list)" ] || fail "left: $(cg ws list)"
