#!/bin/sh
# Holds the include rules of the project: a folder includes only from folders to its left, <> includes come first and
# sorted, the Makefile includes base/banned.h in every .c file, headers have guards, and no file but the syscall table
# lists system call numbers. Every source is in its folder's local.mk, a folder has at most 45 of them, and one file
# responds to notifications. A folder's README has at most 20 lines; files that Markdown and comments name exist.
set -u

cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
set -- base policy audit egress view replay syscalls confine approval supervisor workspace keeper doctor agents cli

# shellcheck disable=SC2046 # names without blanks
LC_ALL=C awk -v order="$*" '
	function complain(text) {
		print "layering: " text
		failed = 1
	}
	function escaped(text) {
		gsub(/[.]/, "[.]", text)
		return text
	}

	# What the rules say of a whole file, when the next one begins.
	function end_of(file,    guard) {
		if (file == "" || file ~ /[.]def$/) return
		if (numbers > 2 && file !~ /^syscalls\/(table|arch)\//)
			complain(file ": " numbers " system call numbers; the syscall table is the one list")
		if (makefile[folder] !~ escaped(file) "([^a-z]|$)")
			complain(file ": is not listed in " folder "/local.mk")
		guard = toupper(file)
		gsub(/[^A-Z0-9_]/, "_", guard)
		if (file ~ /[.]h$/ && file != "base/banned.h" && !guards["CALLGATE_" guard] && !many)
			complain(file ": no include guard named CALLGATE_" guard)
		found++
	}
	function begin(file,    room) {
		end_of(now)
		room = file
		sub(/\/[^\/]*$/, "", room)
		if (++files_in[room] == 46)
			complain(room ": more than 45 sources; a folder is for one component")
		now = file
		begun++
		folder = file
		sub(/\/.*/, "", folder)
		split("", guards)
		last = ""
		numbers = quoted = includes = free = many = 0
	}

	# The place of a file of syscalls/account/ in the order of its folders; 0 for other files.
	function account_place(file,    part) {
		split(file, part, "/")
		return part[1] == "syscalls" && part[2] == "account" ? index("result limits workspace", part[3]) : 0
	}

	# A file may include only from folders before its own in the order, and its own.
	function check_header(header,    from) {
		if (header == "config.h") return
		if (header !~ /\//) {
			complain(now ": \"" header "\" must be named from the root of the tree")
			return
		}
		from = header
		sub(/\/.*/, "", from)
		if (!(from in place) || place[from] > place[folder])
			complain(now ": includes \"" header "\"; " folder " may include only from: " allowed[folder])
		if (account_place(header) > account_place(now) && account_place(now))
			complain(now ": includes \"" header "\"; syscalls/README.md has the order of account/")
		if (!(header in exists))
			complain(now ": \"" header "\" does not exist")
	}

	BEGIN {
		count = split(order, name, " ")
		for (i = 1; i <= count; i++) {
			place[name[i]] = i
			list = list (i > 1 ? " " : "") name[i]
			allowed[name[i]] = list
			while ((getline line <(name[i] "/local.mk")) > 0)
				makefile[name[i]] = makefile[name[i]] line "\n"
		}
		for (i = 1; i < ARGC; i++)
			exists[ARGV[i]]
	}
	FNR == 1 { begin(FILENAME) }
	now ~ /[.]def$/ { next }
	# <> before "" (the header of the file itself may come first), each block of <> lines in C order.
	# A file may say "not sorted:" and why, where headers of the kernel need an order of their own.
	/^#[[:space:]]*include[[:space:]]*</ {
		if (quoted) complain(now ": <> includes come before \"\" includes: " $0)
		if (!free && last != "" && $0 < last) complain(now ": includes are not sorted: " $0)
		last = $0
		includes++
		next
	}
	{ last = "" }
	/^#[[:space:]]*include[[:space:]]*"/ {
		quoted = includes++ > 0
		header = $0
		sub(/^[^"]*"/, "", header)
		sub(/".*/, "", header)
		check_header(header)
	}
	/^#ifndef CALLGATE_[A-Z0-9_]*$/ { guards[$2] = 1 }
	# One file responds to notifications. It also lets calls continue, after it asked the row whether that is
	# allowed.
	/SECCOMP_USER_NOTIF_FLAG_CONTINUE|SECCOMP_IOCTL_NOTIF_(SEND|ADDFD)/ && $0 !~ /^ [*] / &&
			now !~ /^supervisor\/answer[.]c$|^syscalls\/table\/terms-self[.]c$/ {
		complain(now ": only supervisor/answer.c responds to notifications")
	}
	/not sorted:/ { free = 1 }
	/included many times/ { many = 1 }
	# A number of a system call outside the table is a second list in the making. The __NR_ macros are for the raw
	# system calls that libc does not wrap; three in one file is a list.
	/SCMP_SYS[(]|^[[:space:]]*case[[:space:]]+(__NR_|SYS_)/ { numbers++ }
	END {
		end_of(now)
		if (begun != ARGC - 1) complain(ARGC - 1 - begun " empty files")
		if (found <= 10) complain("only " found + 0 " sources found")
		if (!failed) print "layering: " found " files keep to the include rules"
		exit failed
	}
' $(find "$@" -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort)
status=$?

# shellcheck disable=SC2046 # names without blanks
LC_ALL=C awk '
	function complain(text) {
		print "layering: " text
		failed = 1
	}
	# Names with an extension of ours, or below one of our folders, that are no pattern.
	function is_file(name) {
		return name ~ /^[a-z][A-Za-z0-9_.\/-]*$/ &&
			(name ~ /[.](c|h|def|sh|py|mk|md|svg)$/ ||
			(name ~ /\// && substr(name, 1, index(name, "/") - 1) in folders))
	}
	# A document may leave out the folders before a name.
	function exists(name,    path) {
		sub(/\/$/, "", name)
		if (name in paths) return 1
		for (path in paths)
			if (substr(path, length(path) - length(name)) == "/" name) return 1
		return 0
	}
	function check_names(line,    count, part, i) {
		count = split(line, part, "`")
		for (i = 2; i < count; i += 2)
			if (is_file(part[i]) && !exists(part[i]))
				complain(FILENAME ":" FNR ": " part[i] " does not exist")
	}

	BEGIN {
		while (("find '"$*"' tests bench doc examples packaging *.md" | getline path) > 0) {
			paths[path]
			sub(/\/.*/, "", path)
			folders[path]
		}
	}
	FNR == 1 { code = 0 }
	{
		if (FNR == 21 && FILENAME ~ /^[a-z].*\/README[.]md$/) complain(FILENAME ": more than 20 lines")
		if (/^```/) code = !code
		if (!code && !/^    /) check_names($0)
		found++
	}
	END {
		if (found <= 100) complain("only " found + 0 " lines of Markdown found")
		exit failed
	}
' $(find "$@" tests bench doc examples packaging ./*.md -name '*.md' | LC_ALL=C sort) || status=1
# Names of files without a folder, or below one of our folders, in comments. Names below a folder of the kernel's
# sources or of a library are not looked up.
# shellcheck disable=SC2046 # names without blanks
LC_ALL=C awk '
	function check_names(text, name) {
		while (match(text, /[A-Za-z0-9_<*.\/-]+[.](c|h|def|sh|py|mk)([^A-Za-z0-9_(*.]|$)/)) {
			name = substr(text, RSTART, RLENGTH)
			text = substr(text, RSTART + RLENGTH)
			sub(/[^A-Za-z0-9_]$/, "", name)
			if (name !~ /^[a-z][a-z0-9_\/.-]*$/ || name in ends || name in foreign) continue
			if (name !~ /\// || substr(name, 1, index(name, "/") - 1) in folders) {
				print "layering: " FILENAME ":" FNR ": " name " does not exist"
				failed = 1
			}
		}
	}
	BEGIN {
		foreign["monitor.c"] # of OpenSSH
		foreign["a.b.c"] # a host
		while (("find '"$*"' tests bench examples -type f" | getline path) > 0) {
			first = path
			sub(/\/.*/, "", first)
			folders[first]
			for (ends[path]; sub(/^[^\/]*\//, "", path); ends[path]);
		}
	}
	FNR == 1 { within = 0 }
	{
		line = $0
		for (;;) {
			if (!within) {
				gsub(/"([^"\\]|\\.)*"/, "", line)
				if (!(at = index(line, "/*"))) break
				line = substr(line, at + 2)
				within = 1
			}
			at = index(line, "*/")
			check_names(at ? substr(line, 1, at - 1) : line)
			if (!at) break
			line = substr(line, at + 2)
			within = 0
		}
	}
	END { exit failed }
' $(find "$@" tests bench examples -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort) || status=1
while read -r test; do
	[ -x "$test" ] || { echo "layering: $test: make cannot run it: chmod +x"; status=1; }
done <<END
$(sed -n '/^LIVE_TESTS = /,/[^\\]$/p' tests/live/local.mk | grep -o 'tests/live/[a-z0-9/-]*[.]sh')
END
if ! grep -q -e '-include .*/base/banned[.]h' Makefile.am; then
	echo "layering: Makefile.am must include base/banned.h in every .c file"
	status=1
fi
exit $status
