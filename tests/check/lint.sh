#!/bin/sh
# lint.sh STEP: one static check of the tree. Exit 0 clean, 77 with a reason when the tool is missing.
set -u

cd "${top_srcdir:-$(dirname "$0")/../..}" || exit 99
builddir=${top_builddir:-build/check}
sources=$(tests/check/product.sh sources) || exit 99
jobs=$(nproc)
# shellcheck disable=SC2089 # the compiler shall see the quotes
defines="-D_GNU_SOURCE -DPKGDATADIR=\"/usr/share/callgate\" -DPKGLIBDIR=\"/usr/lib/callgate\" -I. -I$builddir"

need()
{
	command -v "$1" >/dev/null || {
		echo "SKIP: $1 is not installed"
		exit 77
	}
}

# needs_version TOOL VERSION: each version has further checks, so the tree is held to those of one.
needs_version()
{
	need "$1"
	"$1" --version | grep -qF "$2" || {
		echo "SKIP: $1 is another version than Debian 12's, which the tree is held to ($2)"
		exit 77
	}
}

# Everything in the tree that people wrote.
all_files()
{
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files
	else
		find . \( -name build -o -name autom4te.cache -o -name build-aux -o -name configure \) -prune -o \
			-type f -printf '%P\n'
	fi
}

scripts()
{
	all_files | while read -r file; do
		[ -f "$file" ] || continue
		case $file in
		*.bash-completion) echo "$file" ;;
		*) head -n 1 "$file" | LC_ALL=C grep -aq '^#!.*[/ ]\(ba\|da\)\?sh\b' && echo "$file" ;;
		esac
	done
}

# Outlines of the libraries in tests/live/ (outline.awk), where shellcheck finds them before the libraries: for scripts
# beside those in the directory that it prints, and above it for scripts of the folders there.
outlines()
{
	mkdir -p "$1/folder" && for library in tests/live/*.sh; do
		head -n 1 "$library" | grep -q '^# shellcheck shell=' || continue
		awk -f tests/check/outline.awk "$library" >"$1/${library##*/}" &&
			cp "$1/${library##*/}" "$1/folder/" || exit 99
	done
	echo "$1/folder"
}

case ${1-} in
shellcheck)
	need shellcheck
	made=$(mktemp -d) || exit 99
	trap 'rm -rf "$made"' EXIT
	scripts | xargs -P "$jobs" -n 8 shellcheck -x -P "$(outlines "$made"):SCRIPTDIR"
	;;
codespell)
	need codespell
	all_files | grep -v '\.\(png\|csv\)$\|^tests/fuzz/corpus' |
		xargs codespell --ignore-words=tests/check/codespell.ignore
	;;
cppcheck)
	needs_version cppcheck 'Cppcheck 2.10'
	# resourceLeak and memleak know nothing of cleanup attributes (base/cleanup.h); ASan and the analyser look for
	# leaks.
	# shellcheck disable=SC2086,SC2090 # lists of words
	cppcheck --quiet --std=c11 --library=posix,gnu --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=resourceLeak --suppress=memleak \
		--suppress=fgetpwentCalled --suppress=fgetgrentCalled --suppress=getgrnamCalled \
		--suppress=getpwnamCalled --suppress=getpwuidCalled --suppress=leakReturnValNotUsed \
		--suppress=readdirCalled --error-exitcode=1 -j "$jobs" -D__x86_64__ $defines $sources
	;;
clang-tidy)
	needs_version clang-tidy 'version 14.'
	# Nearly all of the time is the analyser's, which gives up a function after 225000 states by itself. With this
	# limit it takes an eighth.
	analyser='-Xclang -analyzer-config -Xclang max-nodes=12000'
	# The largest first, so that the last ones are short. A process each: of a second file clang-tidy 14 takes
	# functions for others, whose names were where its own are in memory ("va_list is leaked" where there is none).
	# shellcheck disable=SC2011,SC2012,SC2016,SC2086 # names without blanks; the inner shell expands; word lists
	ls -S $sources | xargs -P "$jobs" -n 1 sh -c 'defines=$1; shift
		clang-tidy --quiet "$@" -- -std=gnu17 -Wall -Wextra \
			-include base/banned.h $defines 2>/dev/null' sh "$defines $analyser"
	;;
man)
	need mandoc
	set -- doc/*.[1-9]
	[ -e "$1" ] || {
		echo "SKIP: no man pages"
		exit 77
	}
	mandoc -T lint -W warning "$@"
	;;
*)
	echo "usage: lint.sh shellcheck|codespell|cppcheck|clang-tidy|man" >&2
	exit 99
	;;
esac
