#!/bin/bash
# git: init, add, commit, branch, merge, conflict, rebase, stash, gc, clone, archive, log; hooks and attributes.
. "$(dirname "$0")/../lib.sh"
need git
live_env+=(GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c
	"GIT_AUTHOR_DATE=2025-01-01T00:00:00Z" "GIT_COMMITTER_DATE=2025-01-01T00:00:00Z" GIT_CONFIG_NOSYSTEM=1)
# the index and the packs' index of times hold inode numbers and times
TREE_SKIP='\.git/index$|/index$|\.git/worktrees'
prepare()
{
	cp -r "$SRC/base" "$1/src"
	cat >"$1/session.sh" <<'EOF'
set -e
git init -q -b main repo && cd repo
git config gc.auto 0; git config core.fsync none; git config pack.threads 1 # what several pack depends on who is first
cp -r ../src . && git add . && git commit -q -m first
git checkout -q -b side && echo side >side.txt && git add side.txt && git commit -q -m side
git checkout -q main && echo main >main.txt && git add -A && git commit -q -m main
git merge -q --no-edit side && git log --oneline --graph --all
echo a >conflict && git add conflict && git commit -q -m a
git checkout -q -b other HEAD~1 && echo b >conflict && git add conflict && git commit -q -m b
git merge main || git status --short
git merge --abort
git rebase main >/dev/null 2>&1 ||
	{ echo c >conflict; git add conflict; GIT_EDITOR=true git rebase --continue >/dev/null; }
git mv src/path.h src/renamed.h && git rm -q src/text.h && ln -s src link && git add link && git commit -q -m moves
echo dirty >>side.txt && git stash -q && git stash pop -q && git diff --stat && git checkout -q side.txt
git tag -a v1 -m v1 && git describe
printf '#!/bin/sh\necho hook ran\n' >.git/hooks/post-commit && chmod +x .git/hooks/post-commit
git commit -q --allow-empty -m hooked
git gc -q --prune=now && git fsck --strict 2>&1
git count-objects -v
cd .. && git clone -q repo copy && git clone -q --bare repo bare.git &&
	git clone -q --no-hardlinks file://$PWD/repo third
cd copy && git log --format=%H | head -n 3 && git ls-files -s | sha256sum && git archive --format=tar v1 | sha256sum
echo more >more && git add more && git commit -q -m more && git push -q origin HEAD:refs/heads/pushed
cd ../repo && git log --oneline pushed -1 && git worktree add -q ../tree pushed && ls ../tree | head -n 3
git blame -s src/buf.h | head -n 3; git grep -n include -- src | wc -l
EOF
}
same git bash session.sh
