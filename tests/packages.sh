#!/bin/bash
# The lists in packaging/ agree with the rest of the tree: every file that is installed is in one package, versions are
# those of configure.ac, the AppArmor profile is for the program that is installed, the packages that a build needs are
# those that ./check installs. tests/check/packages.sh builds, installs and tries the packages.
set -u

top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 99
build=$(cd "${top_builddir:-$top/build/check}" && pwd) || exit 99
debian=$top/packaging/debian
export LC_ALL=C
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

fail()
{
	echo "FAIL: $*" >&2
	failed=1
}

# Files, as the rules of the package have them installed.
make -s -C "$build" install-exec-am install-data-am DESTDIR="$tmp/root" prefix=/usr libdir=/usr/lib \
	pythondir=/usr/lib/python3/dist-packages >"$tmp/make.log" 2>&1 || {
	tail -n 5 "$tmp/make.log"
	fail "make install: see above"
}
find "$tmp/root" ! -type d -printf '%P\n' | sort >"$tmp/installed"
[ "$(wc -l <"$tmp/installed")" -gt 30 ] || fail "only $(wc -l <"$tmp/installed") files are installed"
: >"$tmp/packed"
for list in "$debian"/*.install; do
	while read -r from to; do
		# With a second word it is a file of the tree.
		if [ -n "$to" ]; then
			compgen -G "$top/$from" >/dev/null || fail "${list##*/}: $from does not exist"
		elif ! grep -e "^$from\$" -e "^$from/" "$tmp/installed" >>"$tmp/packed"; then
			fail "${list##*/}: $from is not installed"
		fi
	done <"$list"
done
sort "$tmp/packed" | uniq -d >"$tmp/twice"
sort -u "$tmp/packed" | comm -13 - "$tmp/installed" >"$tmp/left"
[ ! -s "$tmp/twice" ] || fail "in more than one line of packaging/debian/*.install: $(paste -sd' ' "$tmp/twice")"
[ ! -s "$tmp/left" ] || fail "installed, but in no package (packaging/debian/*.install): $(paste -sd' ' "$tmp/left")"
while read -r file; do
	compgen -G "$top/$file" >/dev/null || fail "packaging/debian: $file does not exist"
done < <(cat "$debian/callgate.docs" "$debian/callgate.examples")

# Versions.
version=$(sed -n 's/^AC_INIT(\[callgate\], \[\(.*\)\])$/\1/p' "$top/configure.ac")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "configure.ac: \"$version\" is not MAJOR.MINOR.PATCH"
# has_version FILE SED: what SED finds first in FILE is the version.
has_version()
{
	local found
	found=$(sed -n "$2" "$top/$1" | head -n 1)
	[ "$found" = "$version" ] || fail "$1 has version \"$found\", configure.ac has $version"
}
has_version NEWS 's/^\* \([0-9.]*\).*/\1/p'
has_version packaging/debian/changelog 's/^callgate (\(.*\)-.*/\1/p'
has_version README.md 's/.* callgate:\([0-9.]*\) .*/\1/p'
has_version python/pyproject.toml 's/^version = "\(.*\)"/\1/p'

# The AppArmor profile: its program, and what `callgate doctor` tells machines without the package.
program=$(sed -n 's/^profile callgate \([^ ]*\) flags=(unconfined) {$/\1/p' "$top/packaging/apparmor/callgate")
grep -qx "${program#/}" "$tmp/installed" || fail "packaging/apparmor/callgate is for \"$program\": not installed"
while read -r line; do
	case $line in
	'#'* | '' | 'profile '*) continue ;;
	esac
	grep -qF -- "$line\\n" "$top/cli/doctor/advice.c" || fail "cli/doctor/advice.c does not advise \"$line\""
done <"$top/packaging/apparmor/callgate"

# What a build needs: a compiler, make and the autotools come with debhelper.
sed -n '/^Build-Depends:/,/^$/s/^.* \([a-z][a-z0-9-]*\).*/\1/p' "$debian/control" | sort >"$tmp/depends"
BUILD_PACKAGES=
# shellcheck source=tests/check/common.sh
. "$top/tests/check/common.sh"
for package in $BUILD_PACKAGES; do
	case ${package%%=*} in
	gcc | libc6-dev | make | autoconf | automake) ;;
	*) grep -qx "${package%%=*}" "$tmp/depends" || fail "packaging/debian/control: no Build-Depends: $package" ;;
	esac
done
[ $failed = 0 ] && echo "packages: $(wc -l <"$tmp/installed") files, version $version"
exit $failed
