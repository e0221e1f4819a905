#!/bin/sh
# Holds the include rules of the project: a folder includes only from folders to its left, <> includes come first and
# sorted, "base/banned.h" is the last include of every .c file, headers have guards, and no file but the syscall table
# lists system call numbers. Every source is in its folder's local.mk.
set -u

cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
order="base policy audit egress syscalls supervisor cli"
failed=0

complain()
{
	echo "layering: $*" >&2
	failed=1
}

# The folders that a folder may include from: those before it and itself.
allowed_for()
{
	for folder in $order; do
		echo "$folder"
		[ "$folder" = "$1" ] && return
	done
}

folder_includes()
{
	sed -n 's|^#[[:space:]]*include[[:space:]]*"\([^"]*\)".*|\1|p' "$1"
}

check_folders()
{
	folder=${1%%/*}
	allowed=$(allowed_for "$folder")
	folder_includes "$1" | while read -r header; do
		case $header in
		config.h) ;;
		*/*)
			echo "$allowed" | grep -qx "${header%%/*}" ||
				echo "$1: includes \"$header\"; $folder may include only from: $(echo "$allowed" | xargs)"
			[ -f "$header" ] || echo "$1: \"$header\" does not exist"
			;;
		*) echo "$1: \"$header\" must be named from the root of the tree" ;;
		esac
	done
}

# <> before "" (a file's own header may come first), each block of <> lines in C order. A file may say "not sorted:" and why, where the kernel's headers
# need an order of their own.
check_order()
{
	LC_ALL=C awk '
		/^#[[:space:]]*include[[:space:]]*</ {
			if (quoted) print FILENAME ": <> includes come before \"\" includes: " $0
			if (!free && last != "" && $0 < last) print FILENAME ": includes are not sorted: " $0
			last = $0
			includes++
			next
		}
		/^#[[:space:]]*include[[:space:]]*"/ { quoted = includes++ > 0 }
		/not sorted:/ { free = 1 }
		{ last = "" }
	' "$1"
}

check_banned()
{
	last=$(folder_includes "$1" | grep -v '[.]def$' | tail -n 1)
	[ "$last" = base/banned.h ] || echo "$1: the last include must be \"base/banned.h\""
}

check_guard()
{
	guard=CALLGATE_$(echo "$1" | tr 'a-z/.-' 'A-Z___')
	grep -q "^#ifndef $guard\$" "$1" || grep -q 'included many times' "$1" ||
		echo "$1: no include guard named $guard"
}

# A number of a system call outside the table is a second list in the making. The __NR_ macros are for callgate's own
# raw system calls, which libc does not wrap; three in one file is a list.
check_numbers()
{
	case $1 in
	syscalls/table* | syscalls/arch* | syscalls/*.def) return ;;
	esac
	count=$(grep -c 'SCMP_SYS(\|^[[:space:]]*case[[:space:]]\{1,\}\(__NR_\|SYS_\)' "$1")
	[ "$count" -le 2 ] || echo "$1: $count system call numbers; the syscall table is the one list"
}

# A file that no local.mk lists is missing from the release archive; a header is not missed until then.
check_listed()
{
	grep -q "$(echo "$1" | sed 's/[.]/[.]/g')\([^a-z]\|\$\)" "${1%%/*}/local.mk" ||
		echo "$1: is not listed in ${1%%/*}/local.mk"
}

found=0
for folder in $order; do
	for file in "$folder"/*.[ch]; do
		[ -f "$file" ] || continue
		found=$((found + 1))
		problems=$(
			check_folders "$file"
			check_order "$file"
			check_numbers "$file"
			check_listed "$file"
			case $file in
			base/banned.h) ;;
			*.c) check_banned "$file" ;;
			*.h) check_guard "$file" ;;
			esac
		)
		[ -z "$problems" ] || complain "$problems"
	done
done
[ "$found" -gt 10 ] || complain "only $found sources found in $(pwd)"
[ "$failed" = 0 ] && echo "layering: $found files keep to the include rules"
exit "$failed"
