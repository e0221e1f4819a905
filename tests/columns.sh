#!/bin/bash
# Lines of code and comments have at most 120 columns; a tab ends at a multiple of 8. tests/layering.sh holds Markdown to 100.
# With file names as arguments it looks at those instead of the whole tree.
set -euo pipefail

most=120
export LC_ALL=C.UTF-8 # columns are characters, not bytes
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
builddir=$(cd "${top_builddir:-.}" && pwd)

# Every file that people wrote; an unpacked archive has no list of them, and may be built in itself.
files()
{
	git ls-files 2>/dev/null ||
		find . \( -path ./build -o -path ./build-aux -o -path ./autom4te.cache -o -path "$builddir" \) -prune -o \
			-type f -printf '%P\n'
}

is_code()
{
	case $1 in
	config.h | aclocal.m4) return 1 ;;
	*.c | *.h | *.def | *.sh | *.py | *.mk | *.am | *.ac) return 0 ;;
	*.*) return 1 ;;
	esac
	[[ $(head -c 2 "$1" | tr -d '\0') = '#!' ]]
}

cd "$top"
[ $# -gt 0 ] || mapfile -t all < <(files)
failed=0
for file in "${@:-${all[@]}}"; do
	[ -f "$file" ] && is_code "$file" || continue
	expand -t 8 "$file" | grep -nE "^.{$((most + 1))}" | sed "s|^\([0-9]*\):|$file:\1: more than $most columns: |" &&
		failed=1
done
exit $failed
