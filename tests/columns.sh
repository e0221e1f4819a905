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
	# shellcheck disable=SC2046 # a list of words
	find $(top_srcdir=. tests/check/product.sh folders) tests bench examples doc packaging python \
		-path tests/fuzz/corpus -prune -o -type f -print | sort
}

# limit FILE: sets most, the columns that its lines may have. False: it is not written by people, or holds data.
limit()
{
	local start=
	most=120
	case ${1##*/} in
	*.c | *.h | *.def | *.sh | *.py | *.mk | *.am | *.ac) ;;
	*.md) most=100 ;;
	*.*) false ;;
	*)
		IFS= read -r -n 2 start 2>/dev/null <"$1"
		[ "$start" = '#!' ]
		;;
	esac
}

command -v perl >/dev/null || {
	echo "SKIP: perl is not installed"
	exit 77
}
if [ $# -eq 0 ]; then
	mapfile -t all < <(files)
	set -- "${all[@]}"
fi
code=() pages=()
for file; do
	limit "$file" || continue
	[ $most = 100 ] && pages+=("$file") || code+=("$file")
done

# too_long COLUMNS ROWS FILE…: prints the lines that are longer, but for those that match ROWS.
too_long()
{
	[ $# -gt 2 ] || return 0
	# shellcheck disable=SC2016 # Perl's
	perl -CSD -e '
		($most, $rows) = splice(@ARGV, 0, 2);
		while (<>) {
			chomp;
			1 while s/\t+/" " x (length($&) * 8 - length($`) % 8)/e;
			print "$ARGV:$.: more than $most columns\n" if length > $most && !/$rows/;
			close ARGV if eof;
		}' "$@"
}

said=$(too_long 120 '^\b$' "${code[@]}" && too_long 100 '^\|' "${pages[@]}") || exit 99
[ -n "$said" ] || exit 0
echo "$said"
echo "FAIL: break these lines"
exit 1
