#!/bin/sh
# CONTRIBUTING.md shows how to add a system call. Its diff applies to this tree, and the result compiles.
set -u

top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 99
build=$(cd "${top_builddir:-$top/build/check}" && pwd) || exit 99
for tool in patch "${CC:-cc}"; do
	command -v "${tool##* }" >/dev/null || {
		echo "SKIP: $tool is not installed"
		exit 77
	}
done
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2016 # of Markdown
sed -n '/^```diff$/,/^```$/p' "$top/CONTRIBUTING.md" | grep -v '^```' >"$tmp/example.diff"
files=$(sed -n 's,^+++ b/,,p' "$tmp/example.diff")
[ -n "$files" ] || {
	echo "FAIL: CONTRIBUTING.md has no diff"
	exit 1
}
for file in $files; do
	mkdir -p "$tmp/${file%/*}" && cp "$top/$file" "$tmp/$file" || exit 1
	chmod u+w "$tmp/$file" # the release archive's may be read-only
done
(cd "$tmp" && patch -s -F 0 -p 1 <example.diff) || {
	echo "FAIL: the diff does not apply: make the change by hand, build, try it, and show its git diff -U1"
	exit 1
}
# Everything that the diff makes from rows, besides the files it changes.
for file in $(echo "$files" | grep '[.]c$') syscalls/table/table.c syscalls/table/handlers.c; do
	[ -e "$tmp/$file" ] || cp "$top/$file" "$tmp/$file"
	# shellcheck disable=SC2086 # a compiler and its flags
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I"$tmp" -I"$top" \
		-include base/banned.h -I"$build" "$tmp/$file" || {
		echo "FAIL: $file does not compile with the diff applied"
		exit 1
	}
done
echo "contributing: the diff applies to $(echo "$files" | wc -l) files and compiles"
