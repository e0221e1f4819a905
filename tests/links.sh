#!/bin/bash
# Links of Markdown pages lead to files and headings that are there, and names of files in them are those of files.
set -u

cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
failed=0

fail()
{
	echo "FAIL: $*" >&2
	failed=1
}

# headings PAGE: what GitHub makes of them, for links: lower case, blanks as "-", no punctuation.
headings()
{
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | tr -cd '[:alnum:]_ \n-' | tr ' ' -
}

# check_link PAGE TARGET
check_link()
{
	local target=${2%%#*}
	target=${target:+$(dirname "$1")/$target}
	[ -e "${target:-$1}" ] || fail "$1: $2 leads to nothing"
	[ "${2##*#}" = "$2" ] || headings "${target:-$1}" | grep -qxF -- "${2##*#}" || fail "$1: no heading for $2"
}

# check_file PAGE NAME: below the tree, beside the page, or one of the live tests, which pages name without tests/live.
check_file()
{
	local dir
	for dir in . "$(dirname "$1")" tests/live; do
		[ ! -e "$dir/$2" ] && [ ! -e "$dir/$2.c" ] || return 0
	done
	fail "$1: there is no file $2"
}

mapfile -t folders < <(top_srcdir=. tests/check/product.sh folders)
folders+=(tests doc examples bench packaging python)
any_folder=$(IFS='|' && echo "${folders[*]}")
pages=0
while IFS= read -r page; do
	pages=$((pages + 1))
	while IFS= read -r target; do
		check_link "$page" "$target"
	done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//' | grep -vE '^(https?|mailto):')
	while IFS= read -r name; do
		check_file "$page" "$name"
	done < <(grep -oE "\`($any_folder)/[[:alnum:]_./-]+\`" "$page" | tr -d '\`')
done < <(find ./*.md "${folders[@]}" -name '*.md' | sort)
[ "$pages" -ge 20 ] || fail "only $pages pages were found"
exit $failed
