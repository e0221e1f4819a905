#!/bin/bash
# Compiles callgate and its test programs for VM_ARCH with a cross compiler, in the build tree, against the packages of
# that architecture, which are unpacked in DIR and installed nowhere. Prints the folder that has them.
#
#     tests/vm/build.sh DIR
#
# VM_CC is the compiler (words). The release is that of this machine, as for image.sh.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/common.sh
. "$here/common.sh"
# shellcheck source=tests/check/common.sh
. "$source/tests/check/common.sh"
[ $# = 1 ] || usage "$0"
dir=$1
top=$source me=${0##*/} # for these functions
exec 3>&1 >&2 # the output is the name alone
case $VM_ARCH in
amd64) triplet=x86_64-linux-gnu ;;
arm64) triplet=aarch64-linux-gnu ;;
*) die "no compiler for $VM_ARCH is known" ;;
esac
cc=${VM_CC:-$triplet-gcc}
need_tools "${cc##* }" make pkg-config mmdebstrap
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# Libraries to link with: of the packages to build with, those that are no programs.
packages=check
for package in $BUILD_PACKAGES; do
	case $package in
	*=*) ;;
	*) packages+=,$package ;;
	esac
done
hash=$(echo "$packages" | sha256sum | cut -c 1-12)
sysroot=$dir/sysroot-$suite-$VM_ARCH-$hash
if [ ! -d "$sysroot" ]; then
	mkdir -p "$dir"
	rm -rf "$sysroot.new"
	mmdebstrap --variant=extract --format=directory --quiet "--architectures=$VM_ARCH" "--include=$packages" \
		"$suite" "$sysroot.new" "$VM_MIRROR" >"$sysroot.log" 2>&1 </dev/null || {
		tail -n 5 "$sysroot.log"
		skip "the libraries of $suite for $VM_ARCH cannot be had"
	}
	mv "$sysroot.new" "$sysroot"
fi

built=$build/tests/vm/$VM_ARCH
mkdir -p "$built"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_PATH=""
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$triplet/pkgconfig:$sysroot/usr/share/pkgconfig
{
	(cd "$source" && bootstrap) && configure_in "$built" --enable-werror "--build=$(gcc -dumpmachine)" \
		"--host=$triplet" "CC=$cc --sysroot=$sysroot" &&
		make -C "$built" -j "$(nproc)" all &&
		make -C "$built" -j "$(nproc)" check TESTS=
} >"$built/make.log" 2>&1 </dev/null || {
	tail -n 20 "$built/make.log"
	die "callgate cannot be compiled for $VM_ARCH; see $built/make.log"
}
echo "$built" >&3
