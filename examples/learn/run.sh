#!/bin/sh
# Learns what a program needs, asks the policy about a secret, adds what another input needs, and learns from a file.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
cp -r work "$results/work"
echo 'TOKEN=secret' >"$results/work/.env" # beside what the program uses
echo 'fruit.txt' >"$results/plain"
echo 'fruit.txt sorted' >"$results/sorted"

echo "== what the program needs"
"$callgate" learn -o "$results/learnt.json" -w "$results/work" --input "$results/plain" -- \
	/usr/bin/python3 words.py
cat "$results/learnt.json"

echo "== what it does not"
for path in "$results/work/.env" /etc/shadow /usr/bin/sort:x; do
	"$callgate" why -p "$results/learnt.json" -w "$results/work" --open "$path" | head -n 1
done

echo "== with another input, added to an earlier policy"
"$callgate" learn -o "$results/more.json" --merge policy.json -w "$results/work" \
	--input "$results/plain" --input "$results/sorted" -- /usr/bin/python3 words.py
"$callgate" policy diff "$results/learnt.json" "$results/more.json" -w "$results/work" || [ $? = 1 ]
"$callgate" run -q -i -p "$results/more.json" -w "$results/work" -- /usr/bin/python3 words.py <"$results/sorted"

echo "== by its file alone"
"$callgate" learn -o "$results/static.json" --static /usr/bin/sort
"$callgate" run -q -p "$results/static.json" -w "$results/work" -- /usr/bin/sort words.py | head -n 1
