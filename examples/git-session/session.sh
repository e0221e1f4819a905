#!/bin/sh
# A repository from nothing: two branches that both change the same file, a merge, its history as log.txt.
set -eu
git init -q -b main notes
cd notes

for n in 1 2 3 4 5 6; do
	echo "line $n"
done >notes.txt
git add notes.txt
git commit -q -m 'Begin the notes'

git switch -q -c experiment
sed -i 's/line 1/line 1, tried/' notes.txt
git commit -q -a -m 'Try the first line'

git switch -q main
sed -i 's/line 6/line 6, the last/' notes.txt
git commit -q -a -m 'Name the last line'

git merge -q --no-edit experiment
git tag merged
git fsck --strict --no-progress
git log --graph --format='%s' | sed 's/ *$//' >../log.txt
cat ../log.txt notes.txt
[ -z "$(git status --porcelain)" ] && echo "clean, $(git rev-list --count HEAD) commits"
