#!/bin/sh
# root.sh SUITE CACHE [PACKAGE…]: prints the name of a tar archive in CACHE with a minimal Debian root and these
# packages. It is made by mmdebstrap when CACHE has none, which takes the archive of packages; later ones need none.
# Environment: DEBIAN_ARCHITECTURE, by default this machine's; DEBIAN_MIRROR; MMDEBSTRAP_OPTIONS (words).
set -eu

suite=$1
cache=$2
shift 2
command -v mmdebstrap >/dev/null || {
	echo "SKIP: mmdebstrap is not installed" >&2
	exit 77
}
packages=$(printf '%s\n' "$@" | LC_ALL=C sort -u | paste -sd, -)
architecture=${DEBIAN_ARCHITECTURE:-$(dpkg --print-architecture)}
tar=$cache/root-$suite-$architecture-$(echo "$packages" | sha256sum | cut -c 1-12).tar
if [ ! -s "$tar" ]; then
	mkdir -p "$cache"
	# shellcheck disable=SC2086 # words, and none or one
	mmdebstrap ${MMDEBSTRAP_OPTIONS-} --variant=minbase --format=tar --quiet "--architectures=$architecture" \
		${packages:+"--include=$packages"} "$suite" "$tar.new" \
		"${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$tar.log" 2>&1 </dev/null || {
		rm -f "$tar.new"
		if grep -q 'Could not resolve\|Unable to connect\|Could not connect\|no Release file' "$tar.log"; then
			echo "SKIP: no archive of packages for $suite can be reached" >&2
			exit 77
		fi
		tail -n 5 "$tar.log" >&2
		exit 1
	}
	mv "$tar.new" "$tar"
fi
echo "$tar"
