#!/bin/bash
# shellcheck disable=SC2016 # commands for other shells
# callgate ws apply leaves out what runs later outside, also where a directory is known by what it contains or by git's
# configuration only, and not by its name. What it leaves out is told in few lines, and no empty directory is made.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq git
W=$T/w
export HOME=$T/home XDG_CONFIG_HOME=
mkdir -p "$HOME"

fresh() # BASE…: a new directory, in which these commands were run
{
	rm -rf "$W"
	mkdir "$W"
	(cd "$W" && eval "$*") >"$T/base" 2>&1 || fail "base: $(cat "$T/base")"
}

cow() # COMMANDS: run in the directory; the workspace is $id
{
	cg run --json "${how:---cow}" --profile minimal -w "${at:-$W}" -r /usr -x /usr/bin -- /bin/sh -c "$1" \
		>"$T/result" 2>"$T/err" || fail "$1: $(cat "$T/result" "$T/err")"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

# leaves PATHS APPLIED: all of the first are left out, all of the second are applied
leaves()
{
	local left=$1 applied=$2 status=0
	cg ws apply --json "$id" >"$T/out" 2>"$T/said" || status=$?
	[ $status = 3 ] || [ -z "$left" ] || fail "status $status: $(cat "$T/out" "$T/said")"
	for path in $left; do
		[ "$(jq -r --arg p "$path" 'select(.path == $p).result' "$T/out")" = runs_later ] ||
			fail "$how: applied: $path: $(cat "$T/out" "$T/said")"
	done
	for path in $applied; do
		[ "$(jq -r --arg p "$path" 'select(.path == $p).result' "$T/out")" = applied ] ||
			fail "$how: not applied: $path: $(cat "$T/out" "$T/said")"
	done
	discard_all
}

hook='printf "#!/bin/sh\ntouch ran\n"'
for how in --cow --cow=copy; do
	# Git directories of other names: bare, separate, of a worktree, of a submodule.
	fresh 'git init -q --bare ex/srv.git; git init -q --separate-git-dir=gd sub; mkdir no no/objects no/refs'
	cow "cd ex/srv.git; $hook >hooks/post-receive; chmod 755 hooks/post-receive; echo '[core]' >>config
		echo >refs/x
		cd ../../gd; echo '[core]' >>config; $hook >hooks/pre-commit; mkdir -p modules/x; echo >modules/x/config
		mkdir info 2>/dev/null; echo '* filter=x' >info/attributes; echo >>description
		echo >../no/config; echo >../sub/a"
	leaves 'ex/srv.git/hooks/post-receive ex/srv.git/config gd/config gd/hooks/pre-commit gd/modules/x/config
		gd/info/attributes' 'ex/srv.git/refs/x gd/description no/config sub/a'
	[ ! -e "$W/ex/srv.git/hooks/post-receive" ] || fail "$how: a hook"
	# The worktree's own git directory, and one of which the run has made a part.
	fresh 'git init -q m; cd m; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		git worktree add -q ../wt; mkdir ../part ../part/objects; echo ref: refs/heads/x >../part/HEAD'
	cow 'echo >m/.git/worktrees/wt/config.worktree; mkdir part/refs; echo >part/config; echo >wt/a'
	leaves 'm/.git/worktrees/wt/config.worktree part/config' wt/a
	# The directory of -w is one itself, or is in one.
	fresh 'git init -q --bare .'
	cow 'echo >>config; echo >hooks/update; echo >description'
	leaves 'config hooks/update' description
	at=$W/info
	cow 'echo "* filter=x" >attributes; echo >x'
	leaves attributes x
	at=

	# What the configuration names: of the repository, an included one, the user's.
	fresh 'git init -q .; git config core.hooksPath scripts/hooks; git config include.path ../shared.cfg
		git config filter.x.clean "./tools/clean.sh -v %f"; git config diff.external "tools/quoted name"
		git config alias.a "!sh tools/alias.sh"; git config alias.b "log tools/none.sh"
		git config core.pager ""
		printf "[core]\n\tfsmonitor = \\\\\n\"more/mon\" ; x\n" >shared.cfg; git init -q sub
		git -C sub config core.hooksPath "$PWD/outer"; mkdir real; ln -s real linked; git -C sub config --add \
		core.hooksPath ../linked/h; printf "[core]\nhooksPath = .myhooks\n" >"$HOME/.gitconfig"'
	cow 'mkdir -p scripts/hooks/lib tools more sub outer real/h .myhooks
		for f in scripts/hooks/lib/x scripts/y shared.cfg tools/clean.sh \
			tools/alias.sh tools/none.sh more/mon sub/a real/h/x \
			outer/x .myhooks/x; do echo >>$f; done'
	leaves 'scripts/hooks/lib/x shared.cfg tools/clean.sh tools/alias.sh more/mon .myhooks/x outer/x real/h/x' \
		'scripts/y tools/none.sh sub/a'
	# A link in the place of a directory on the way to it.
	rm -r "$W/scripts"
	cow 'mkdir -p else/hooks; echo >else/hooks/x; ln -s else scripts'
	leaves scripts else/hooks/x
	rm "$HOME/.gitconfig"

	# Environments, whatever their name, and tools' directories.
	fresh 'mkdir -p e1/bin e2/conda-meta cargo/bin; echo home=/usr/bin >e1/pyvenv.cfg; echo >cargo/.crates.toml'
	cow 'echo >e1/bin/python; mkdir -p e1/lib/python3/x e3/Scripts e2/etc/conda/activate.d nm/a
		echo >e1/lib/python3/x/a.py; echo >e1/notes; echo >e2/etc/conda/activate.d/a.sh
		echo home=/ >e3/pyvenv.cfg
		echo >e3/Scripts/activate; echo >cargo/bin/tool; echo >cargo/src; echo {} >nm/.package-lock.json
		echo >nm/a/a.js'
	leaves 'e1/bin/python e1/lib/python3/x/a.py e2/etc/conda/activate.d/a.sh e3/Scripts/activate e3/pyvenv.cfg
		cargo/bin/tool nm/a/a.js' 'e1/notes cargo/src'

	# Few lines for many changes, and no directories of which nothing is applied.
	fresh 'mkdir lib; echo >lib/a.c'
	cow 'mkdir -p deep/nm many some/empty; echo {} >deep/nm/.package-lock.json; echo home=/ >some/pyvenv.cfg
		i=0; while [ $((i += 1)) -le 30 ]; do
		mkdir -p deep/nm/p$i some/bin lib/m$i/__pycache__ app/node_modules/q$i
		echo >deep/nm/p$i/.gitattributes; echo >app/node_modules/q$i/x; echo >some/bin/$i
		echo >lib/m$i/__pycache__/x.pyc
		echo >lib/m$i/a.py; [ $i -gt 20 ] || echo >many/$i.mk; echo >$i.mk; done'
	status=0
	cg ws apply "$id" >"$T/out" 2>"$T/said" || status=$?
	[ $status = 3 ] || fail "status $status: $(cat "$T/said")"
	grep -v ' many/' "$T/said" | cut -d: -f2,3 | sort >"$T/lines"
	[ "$(cat "$T/lines")" = ' .: 30 changes not applied
 app/node_modules: 30 changes not applied
 deep/nm: 31 changes not applied
 lib: 30 changes not applied
 some: 31 changes not applied' ] || fail "$how: told: $(cat "$T/said")"
	[ "$(grep -c ' many/.*: not applied: a build tool .*; --allow-executed applies it$' "$T/said")" = 20 ] ||
		fail "$how: told: $(cat "$T/said")"
	[ "$(cd "$W" && find . -type d ! -path './lib/m*' | sort | xargs)" = '. ./lib ./some ./some/empty' ] ||
		fail "$how: made: $(cd "$W" && find . -type d)"
	[ "$(ls -A "$W/lib/m30")" = a.py ] || fail "$how: lib: $(ls -A "$W/lib/m30")"
	cg ws apply --json "$id" >"$T/out" 2>"$T/said"
	[ "$(jq -s 'map(select(.result == "runs_later" and .new.type == "file")) | length' "$T/out")" = 172 ] ||
		fail "$how: --json: $(wc -l <"$T/out")"
	cg ws apply --allow-executed "$id" app >/dev/null || fail "allowed"
	[ -f "$W/app/node_modules/q30/x" ] || fail "$how: not applied though it is allowed"
	discard_all
done
