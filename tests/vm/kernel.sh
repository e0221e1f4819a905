#!/bin/bash
# Fetches a kernel of Debian and makes of it what run.sh boots: DIR/vmlinuz, DIR/release, DIR/modules (all of them).
#
#     tests/vm/kernel.sh KERNEL DIR
#
# KERNEL is 5.10, 6.1, 6.12 (the newest package of that name in the archive), or a kernel's .deb file.
# VM_ARCH: amd64 or arm64. apt verifies what is fetched by the archive's keys. What is in DIR already stays.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/common.sh
. "$here/common.sh"
[ $# = 2 ] || usage "$0"
kernel=$1 dir=$2
[ ! -e "$dir/release" ] || exit 0
need_tools dpkg-deb apt-get
find_busybox
rm -rf "$dir"
mkdir -p "$dir"

# fetch SUITE PACKAGE-OF-A-KERNEL: its file, by an apt that knows this suite alone and installs nothing.
fetch()
{
	local suite=$1 meta=$2 keys=/usr/share/keyrings/debian-archive-keyring.gpg apt package
	apt=$dir/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	{
		echo "deb [signed-by=$keys] $VM_MIRROR $suite main"
		echo "deb [signed-by=$keys] $VM_MIRROR-security $suite-security main"
	} >"$apt/sources.list"
	local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$apt/lists" -o Dir::State::Status=/dev/null -o "Dir::Cache=$apt"
		-o "APT::Architecture=$VM_ARCH" -o "APT::Architectures=$VM_ARCH" -o Acquire::Languages=none
		-o "APT::Sandbox::User=$(id -un)")
	apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >&2 || {
		rm -rf "$dir"
		skip "no archive of packages for $suite can be reached"
	}
	package=$(apt-cache "${options[@]}" depends --important "$meta" |
		sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
	[ -n "$package" ] || die "$suite has no $meta for $VM_ARCH"
	(cd "$dir" && apt-get "${options[@]}" download "$package" >&2)
	rm -rf "$apt"
	file=$(echo "$dir"/linux-image-*.deb)
}

case $kernel in
5.10) fetch bullseye "linux-image-cloud-$VM_ARCH" ;;
6.1) fetch bookworm "linux-image-cloud-$VM_ARCH" ;;
6.12) fetch trixie "linux-image-cloud-$VM_ARCH" ;;
*.deb) file=$kernel ;;
*) die "no kernel is named '$kernel'; there are 5.10, 6.1, 6.12 and .deb files" ;;
esac
[ -r "$file" ] || die "there is no file $file"
dpkg-deb -x "$file" "$dir/package"
release=$(basename "$dir"/package/boot/vmlinuz-*)
release=${release#vmlinuz-}
mv "$dir/package/boot/vmlinuz-$release" "$dir/vmlinuz"
mkdir "$dir/modules"
for modules in "$dir"/package/{,usr/}lib/modules/"$release"; do # in Debian 13 below usr
	[ ! -d "$modules" ] || mv "$modules" "$dir/modules/"
done
rm -rf "$dir/package" "$dir"/linux-image-*.deb
# depmod looks for lib/modules below its base.
mkdir "$dir/lib"
ln -s ../modules "$dir/lib/modules"
"$busybox" depmod -b "$dir" "$release"
rm -r "${dir:?}/lib"
echo "$release" >"$dir/release"
