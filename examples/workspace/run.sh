#!/bin/sh
# Lets a program change a directory, looks at the changes, and takes those that are wanted.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
id=
trap '[ -z "$id" ] || "$callgate" ws discard "$id"; rm -rf "$results"' EXIT
mkdir "$results/work"
cp refactor.sh "$results/work/"
echo "old_name is called in two places: old_name()" >"$results/work/names.txt"
echo "a helper" >"$results/work/helper.txt"
echo 1 >"$results/work/VERSION"

echo "== what is of note in the program, before it runs?"
"$callgate" inspect "$results/work/refactor.sh" && echo "no alarm"

echo "== it runs, is asked about one file, and the directory stays as it is"
"$callgate" run --cow --json -p policy.json --approve "command:$PWD/answer.sh" -w "$results/work" -- \
	/bin/sh refactor.sh >"$results/json"
id=$(jq -r .workspace.id "$results/json")
grep -c old_name "$results/work/names.txt"
cat "$results/work/VERSION"

echo "== what would it change?"
"$callgate" ws diff "$id" || [ $? = 1 ]
"$callgate" ws diff "$id" --patch names.txt || [ $? = 1 ]

echo "== all of that but what would run later, outside"
"$callgate" ws apply "$id" || [ $? = 3 ]
[ ! -e "$results/work/.git/hooks/pre-commit" ] && echo "not there: .git/hooks/pre-commit"
cat "$results/work/names.txt" "$results/work/lib/helper.txt"
