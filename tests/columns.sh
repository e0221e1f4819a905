#!/bin/bash
# Lines of code and comments have at most 120 columns, with tabs of 8; lines of Markdown have at most 100, but for rows
# of tables, which cannot be broken.
# columns.sh [FILE…]: looks at these files only.
set -u

export LC_ALL=C.UTF-8 # counts characters, not bytes
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99

# Source files, whether from git or from a release archive, without what a build adds.
files()
{
	printf '%s\n' Makefile.am autogen.sh check configure.ac quickstart ./*.md
	find base policy audit egress view syscalls confine supervisor keeper doctor cli tests bench examples doc \
		-path tests/fuzz/corpus -prune -o -type f -print | sort
}

# limit FILE: sets most, the columns that its lines may have. False: it is not written by people, or holds data.
limit()
{
	most=120 rows='^$'
	case ${1##*/} in
	*.c | *.h | *.def | *.sh | *.py | *.mk | *.am | *.ac) ;;
	*.md) most=100 rows='^[0-9]*:\|' ;;
	*.*) false ;;
	*) [[ $(head -c 2 "$1" | tr -d '\0') = '#!' ]] ;;
	esac
}

if [ $# -eq 0 ]; then
	mapfile -t all < <(files)
	set -- "${all[@]}"
fi
failed=0
for file; do
	limit "$file" || continue
	expand -t 8 "$file" | grep -nE "^.{$((most + 1))}" | grep -vE "$rows" |
		sed "s|^\([0-9]*\):.*|$file:\1: more than $most columns|" |
		grep . && failed=1
done
[ $failed = 0 ] || echo "FAIL: break these lines"
exit $failed
