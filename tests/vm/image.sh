#!/bin/bash
# Makes the root file system of the virtual machines from Debian packages: FILE (ext4) and FILE.busybox (a static one)
# in DIR. Prints FILE, whose name has the release and a hash of the list of packages: another list makes another FILE,
# and those of before are removed.
#
#     tests/vm/image.sh DIR
#
# systemd is its first process, "tester" its ordinary user. VM_SUITE is the release, by default that of this machine,
# because the programs that were built here run there. VM_PACKAGES: further packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/common.sh
. "$here/common.sh"
[ $# = 1 ] || usage "$0"
dir=$1
exec 3>&1 >&2 # the output is the name alone
suite=${VM_SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}

# The packages of the libraries that the built programs are linked with, and unit tests besides.
libraries=$(ldd "$build/callgate-egress" "$build/callgate-agents" | grep -o '/[^ ]*\.so[^ ]*' | sort -u |
	while read -r library; do
		dpkg -S "$library" "$(readlink -f "$library")" "/usr$library" 2>/dev/null | cut -d: -f1 | head -n 1
	done)
packages="systemd systemd-sysv dbus kmod busybox-static python3 git jq strace sqlite3 procps iproute2 util-linux curl
	ca-certificates openssl xz-utils file tar perl apparmor libseccomp2 libsubunit0
	$libraries ${VM_PACKAGES-}"
# shellcheck disable=SC2086 # a list of packages
hash=$(printf '%s\n' $packages | LC_ALL=C sort -u | sha256sum | cut -c 1-12)
file=$dir/root-$suite-$VM_ARCH-$hash.ext4
if [ -e "$file" ]; then
	echo "$file" >&3
	exit 0
fi
need_tools mke2fs
[ "$(id -u)" = 0 ] || skip "only root makes the image of a virtual machine"

foreign=()
if is_foreign; then
	foreign=("$here/foreign.sh") # which runs the packages' scripts
	export MMDEBSTRAP_OPTIONS="--mode=unshare --skip=check/qemu"
fi
mkdir -p "$dir"
tree=$(mktemp -d "$file.tree.XXXXXX")
trap 'rm -rf "$tree" "$file.new"' EXIT
# shellcheck disable=SC2086 # a list of packages
archive=$(DEBIAN_ARCHITECTURE=$VM_ARCH DEBIAN_MIRROR=$VM_MIRROR "${foreign[@]}" "$source/packaging/root.sh" "$suite" \
	"$dir" $packages) || exit
tar -C "$tree" -xf "$archive"
rm -rf "$archive" "$tree"/usr/share/{doc,man,locale}/*
useradd --prefix "$tree" --create-home --shell /bin/bash tester
cat >"$tree/etc/systemd/system/vm-tests.service" <<'UNIT'
[Unit]
Description=Runs the plan of tests/vm/run.sh
[Service]
Type=oneshot
ExecStart=/bin/bash /vm/inside.sh
ExecStopPost=/usr/bin/systemctl --force --force poweroff
StandardOutput=null
StandardError=null
TimeoutStartSec=infinity
UNIT
cat >"$tree/etc/systemd/system/vm.target" <<'UNIT'
[Unit]
Description=The tests, and nothing else
Requires=basic.target
Wants=vm-tests.service
After=basic.target
AllowIsolate=yes
UNIT
echo '/dev/vda / ext4 defaults 0 0' >"$tree/etc/fstab"
echo vm >"$tree/etc/hostname"
mkdir -p "$tree/vm" "$tree/usr/lib/modules"
size_mb=$(($(du -sm "$tree" | cut -f1) + 1500))
mke2fs -q -t ext4 -O '^has_journal' -d "$tree" "$file.new" "${size_mb}M"
cp "$tree/bin/busybox" "$file.busybox"
mv "$file.new" "$file"
for old in "$dir/root-$VM_ARCH.ext4" "$dir"/root-*-"$VM_ARCH"-*.ext4; do
	[ "$old" = "$file" ] || rm -f "$old" "$old.busybox"
done
echo "$file" >&3
