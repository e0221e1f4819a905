#!/bin/sh
# deb.sh ARCHIVE DIR: makes the source package and the packages of Debian from a release archive, in DIR. The log of
# the build is in DIR/build.log.
set -eu

archive=$1
dir=$2
for tool in dpkg-buildpackage dh; do
	command -v "$tool" >/dev/null || {
		echo "SKIP: $tool is not installed (packages dpkg-dev, debhelper, dh-python)"
		exit 77
	}
done
name=${archive##*/}
name=${name%.tar.xz}
work=$dir/work
rm -rf "$work"
mkdir -p "$work"
rm -f "$dir"/*.deb "$dir"/*.dsc "$dir"/*.changes "$dir"/*.buildinfo "$dir"/*.tar.xz
cp "$archive" "$work/$(echo "$name" | sed 's/-\([^-]*\)$/_\1/').orig.tar.xz"
tar -C "$work" -xf "$archive"
cp -r "$work/$name/packaging/debian" "$work/$name/debian"
# The tests of this tree have been run by ./check, or will be.
options="nocheck parallel=$(nproc) ${DEB_BUILD_OPTIONS-}"
(
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CFLAGS CPPFLAGS LDFLAGS CALLGATE CALLGATE_PROFILES
	cd "$work/$name" && DEB_BUILD_OPTIONS=$options dpkg-buildpackage -us -uc
) >"$dir/build.log" 2>&1 </dev/null || {
	tail -n 25 "$dir/build.log"
	echo "deb.sh: the build failed, see $dir/build.log"
	exit 1
}
find "$work" -maxdepth 1 -type f -exec mv {} "$dir" \;
rm -rf "$work"
ls "$dir"/*.deb
