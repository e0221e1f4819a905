#!/bin/bash
# A program that the user's PATH has in the home directory is not found in a run. One line says so, and which options
# grant it; with them it runs.
. "$(dirname "$0")/../lib.sh"
need jq
H=$T/u
mkdir -p "$H/.cargo/bin" "$H/.rustup" "$H/.local/bin" "$H/.nvm/versions/node/v20/bin" \
	"$H/.sdkman/candidates/java/21/bin" "$H/.pyenv/shims" "$H/.pyenv/versions" "$H/bin" "$H/it's/bin" "$T/w"
ln -s 21 "$H/.sdkman/candidates/java/current"
path=$H/bin:$H/it\'s/bin
for dir in .cargo/bin .local/bin .nvm/versions/node/v20/bin .sdkman/candidates/java/current/bin .pyenv/shims; do
	path=$path:$H/$dir
	printf '#!/bin/sh\necho "%s ran"\n' "$dir" >"$H/$dir/tool-${dir//\//-}"
done
printf '#!/bin/sh\necho quoted ran\n' >"$H/it's/bin/tool-quoted"
chmod 755 "$H"/*/bin/tool* "$H"/.*/bin/tool* "$H"/.pyenv/shims/* "$H"/.nvm/versions/node/*/bin/* \
	"$H"/.sdkman/candidates/java/21/bin/*

# home OPTION… -- COMMAND…
home()
{
	(cd "$T/w" && HOME=$H PATH=$path:/usr/local/bin:/usr/bin:/bin cg run --profile extended "$@")
}

# advised PROGRAM OPTIONS: the one line names the options, and with these the program runs.
advised()
{
	local program=$1 wanted=$2 more
	home -- "$program" >"$T/out" 2>&1
	[ $? = 127 ] || fail "$program: status"
	[ "$(wc -l <"$T/out")" = 1 ] || fail "$program: more than one line: $(cat "$T/out")"
	grep -qF "to allow: $wanted -e PATH" "$T/out" || fail "$program: not '$wanted': $(cat "$T/out")"
	eval "more=($(HOME=$H bash -c "printf '%q ' $wanted"))"
	home "${more[@]}" -e PATH -- "$program" >"$T/out" 2>&1 || fail "$program with $wanted: $(cat "$T/out")"
	grep -q ' ran$' "$T/out" || fail "$program with $wanted: $(cat "$T/out")"
	home --events summary "${more[@]}" -e PATH -- sh -c "$program" >"$T/out" 2>&1 ||
		fail "$program by a shell: $(cat "$T/out")"
}

# shellcheck disable=SC2016 # the user's shell expands it
advised tool-.cargo-bin '-x ~/.cargo/bin -x ~/.rustup -e RUSTUP_HOME="$HOME/.rustup"'
advised tool-.local-bin '-x ~/.local/bin'
advised tool-.nvm-versions-node-v20-bin '-x ~/.nvm/versions/node/v20'
advised tool-.sdkman-candidates-java-current-bin '-x ~/.sdkman/candidates/java/current'
advised tool-quoted "-x '${H//\'/\'\\\'\'}/it'\\''s/bin'"
home --json -- tool-.local-bin 2>/dev/null | jq -e '.exit_code == 127 and .error.code == "not_found" and
	(.error.message | endswith("to allow: -x ~/.local/bin -e PATH"))' >/dev/null || fail "--json"

# A shell inside did not find it: one line for all directories. Not where nothing was looked for, or nothing is there.
home --events summary -- sh -c tool-.local-bin >"$T/out" 2>&1
[ "$(grep -c 'to allow: .*-x ~/.local/bin .*-e PATH$' "$T/out")" = 1 ] || fail "by a shell: $(cat "$T/out")"
home --events none -- sh -c tool-.local-bin 2>&1 | grep 'to allow' && fail "said in spite of --events none"
home --events summary -- sh -c 'exit 1' 2>&1 | grep 'to allow' && fail "said where a program failed"
home -- nonesuch 2>&1 | grep 'to allow' && fail "said for a program that is not there"
home -- ./tool-.local-bin 2>&1 | grep 'to allow' && fail "said for a path"
PATH=/usr/bin:/bin HOME=$H cg run --events summary --profile extended -- sh -c nonesuch 2>&1 | grep 'to allow' &&
	fail "said without such a PATH"
exit 0
