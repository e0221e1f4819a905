#!/bin/bash
# Fetches a kernel of Debian or Ubuntu and makes of it what run.sh boots: DIR/vmlinuz, DIR/release, DIR/modules (all of
# Debian's and of Ubuntu's 5.15; none of Ubuntu's 6.8, which has in the kernel itself what the machines need).
#
#     tests/vm/kernel.sh KERNEL DIR
#
# KERNEL is 5.10, 6.1, 6.12 (the newest package of that name in the archive), ubuntu-5.15 or ubuntu-6.8 (the packages
# with which 22.04 and 24.04 were released), or a kernel's .deb file.
# VM_ARCH: amd64 or arm64; of Ubuntu amd64 alone. VM_UBUNTU_MIRROR: Ubuntu's archive. apt verifies what is fetched from
# Debian by the archive's keys, and Ubuntu's packages must have the checksums below. What is in DIR already stays.
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

# fetch_from_ubuntu SHA256 SOURCE-PACKAGE NAME: the file of that name.
fetch_from_ubuntu()
{
	[ "$VM_ARCH" = amd64 ] || skip "no kernel of Ubuntu is known for $VM_ARCH"
	need_tools curl
	file=$dir/$3
	curl --silent --show-error --fail --location --max-time 600 --output "$file" \
		"${VM_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}/pool/main/l/$2/$3" >&2 || {
		rm -rf "$dir"
		skip "Ubuntu's archive of packages cannot be reached"
	}
	echo "$1  $file" | sha256sum --check --quiet >&2 || {
		rm -rf "$dir"
		die "$3 is not the package that is expected"
	}
}

modules_file=
case $kernel in
ubuntu-5.15)
	fetch_from_ubuntu d0ba4087d9e1d497925b3481d3531fba6c2a852855f8019d73b0b1385aa4da1f linux \
		linux-modules-5.15.0-25-generic_5.15.0-25.25_amd64.deb
	modules_file=$file
	fetch_from_ubuntu ad56f8c442a54d4f5ff2dff010d00321d53e32b543f3a92f3ba4e042d20a71da linux-signed \
		linux-image-5.15.0-25-generic_5.15.0-25.25_amd64.deb
	;;
ubuntu-6.8)
	fetch_from_ubuntu fd2ed023c84163e62c73d3b7b613a9b004bd31e335641c23d42bd249e489fbe6 linux-signed \
		linux-image-6.8.0-31-generic_6.8.0-31.31_amd64.deb
	;;
5.10) fetch bullseye "linux-image-cloud-$VM_ARCH" ;;
6.1) fetch bookworm "linux-image-cloud-$VM_ARCH" ;;
6.12) fetch trixie "linux-image-cloud-$VM_ARCH" ;;
*.deb) file=$kernel ;;
*) die "no kernel is named '$kernel'; there are 5.10, 6.1, 6.12, ubuntu-5.15, ubuntu-6.8 and .deb files" ;;
esac
[ -r "$file" ] || die "there is no file $file"
dpkg-deb -x "$file" "$dir/package"
[ -z "$modules_file" ] || dpkg-deb -x "$modules_file" "$dir/package"
release=$(basename "$dir"/package/boot/vmlinuz-*)
release=${release#vmlinuz-}
mv "$dir/package/boot/vmlinuz-$release" "$dir/vmlinuz"
mkdir -p "$dir/modules/$release"
for modules in "$dir"/package/{,usr/}lib/modules/"$release"; do # in Debian 13 below usr
	[ ! -d "$modules" ] || mv -T "$modules" "$dir/modules/$release"
done
rm -rf "$dir/package" "$dir"/linux-*.deb
# depmod looks for lib/modules below its base.
mkdir "$dir/lib"
ln -s ../modules "$dir/lib/modules"
"$busybox" depmod -b "$dir" "$release"
rm -r "${dir:?}/lib"
echo "$release" >"$dir/release"
