#!/bin/sh
# No two source files call each other, directly or through others: files that do are one module, and are merged or
# divided differently. A file calls another one when its object file has an undefined symbol that the other one defines.
set -u

top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
cd "${top_builddir:-.}" || exit 99
command -v nm >/dev/null || { echo "circles: skipped: nm is missing"; exit 77; }

# Circles that are still there, each ended by a semicolon. None may be added; one that is gone must be removed here.
allowed='
'

export top_srcdir
folders=$("$top_srcdir/tests/check/product.sh" folders) || exit 99
# shellcheck disable=SC2086 # a list of words
objects=$(find $folders -name '*.o' 2>/dev/null | LC_ALL=C sort |
	while read -r object; do
		# An object file of a source that was removed or renamed may be left.
		if [ -f "$top_srcdir/${object%.o}.c" ]; then echo "$object"; fi
	done)
[ -n "$objects" ] || { echo "circles: skipped: nothing was compiled in $PWD"; exit 77; }

# shellcheck disable=SC2086 # names without blanks
nm -A -g $objects 2>/dev/null | LC_ALL=C awk -v allowed="$allowed" '
	function smaller(a, b) { return a < b ? a : b }

	# Tarjan: the files of one circle lie together on the stack when its first file is left.
	function visit(file,    i, other, count, part) {
		order[file] = low[file] = ++visited
		stack[++top] = file
		on_stack[file] = 1
		count = split(calls[file], part, " ")
		for (i = 1; i <= count; i++) {
			other = part[i]
			if (!(other in order)) {
				visit(other)
				low[file] = smaller(low[file], low[other])
			} else if (on_stack[other]) {
				low[file] = smaller(low[file], order[other])
			}
		}
		if (low[file] == order[file]) leave(file)
	}
	function leave(first,    file, count, member) {
		do {
			file = stack[top--]
			on_stack[file] = 0
			member[++count] = file
		} while (file != first)
		if (count > 1) report(member, count)
	}
	function sort(member, count,    i, j, file) {
		for (i = 2; i <= count; i++) {
			file = member[i]
			for (j = i - 1; j > 0 && member[j] > file; j--) member[j + 1] = member[j]
			member[j + 1] = file
		}
	}
	# A circle is allowed when one entry of the list has all of its files.
	function is_allowed(member, count,    i, entry) {
		entry = entry_of[member[1]]
		for (i = 2; i <= count; i++)
			if (entry_of[member[i]] != entry) entry = 0
		if (entry) met[entry] = 1
		return entry
	}
	function report(member, count,    i, line) {
		circles++
		if (is_allowed(member, count)) return
		sort(member, count)
		for (i = 1; i <= count; i++) line = line (i > 1 ? " " : "") member[i]
		print "circles: these files call each other: " line
		failed = 1
	}

	{
		file = $1
		sub(/:.*/, "", file)
		sub(/[.]o$/, ".c", file)
		if (!(file in seen)) files[++found] = file
		seen[file] = 1
		symbol = $NF
		if ($(NF - 1) == "U") used[file] = used[file] " " symbol
		else if ($(NF - 1) ~ /^[A-Za-z]$/) defined[symbol] = defined[symbol] " " file
	}
	END {
		entries = split(allowed, entry, ";") - 1
		for (e = 1; e <= entries; e++) {
			count = split(entry[e], member, " ")
			for (i = 1; i <= count; i++) entry_of[member[i] ".c"] = e
		}
		for (f = 1; f <= found; f++) {
			count = split(used[files[f]], symbol_of, " ")
			for (i = 1; i <= count; i++) {
				owners = split(defined[symbol_of[i]], owner, " ")
				for (j = 1; j <= owners; j++)
					if (owner[j] != files[f]) calls[files[f]] = calls[files[f]] " " owner[j]
			}
		}
		for (f = 1; f <= found; f++)
			if (!(files[f] in order)) visit(files[f])
		for (e = 1; e <= entries; e++)
			if (!met[e]) {
				gsub(/[[:space:]]+/, " ", entry[e])
				print "circles: this circle is gone; remove it from the list in tests/circles.sh:" \
					entry[e]
				failed = 1
			}
		if (found <= 10) {
			print "circles: only " found + 0 " object files found"
			failed = 1
		}
		if (!failed) print "circles: " found " files, " circles + 0 " circles, all of them still allowed"
		exit failed
	}
'
