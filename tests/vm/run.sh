#!/bin/bash
# Boots a kernel in QEMU, with systemd and the callgate that was built, and runs live tests there.
#
#     tests/vm/run.sh KERNEL [TEST…]        such as: tests/vm/run.sh 6.1 doctor/doctor.sh
#     tests/vm/run.sh KERNEL -c COMMAND…    lines for root's shell instead
#
# KERNEL is 5.10, 6.1, 6.12, 6.1-arm64 or so, ubuntu-5.15, ubuntu-6.8 or the .deb file of a kernel (kernel.sh). The
# TEST "unit" is all unit tests, "unit/FOLDER" or "unit/FOLDER/test_NAME" some of them. For an architecture that is
# not this machine's, callgate is compiled first (build.sh). Kernel and root file system (image.sh) are kept (VM_DIR).
# Without a TEST, those of VM_TESTS. Each runs in the surroundings VM_SURROUNDINGS: "root", "user" (an ordinary user),
# "delegated" (a user with a control group from systemd), "scope" (a user in a delegated scope), "service" (that of
# examples/confined). There is no network.
# Output: a line for each test, and what callgate says of the machine, as inside.sh writes them. The file VM_OUTPUT has
# the same.
# Exit status: 0 all passed or were skipped, 1 not all, 77 something is not installed.
#
# Environment: see common.sh; VM_SECONDS (hard limit), VM_TEST_SECONDS (of one test), VM_CPUS, VM_MEMORY (MiB),
# VM_KERNEL_OPTIONS (of the command line), VM_PREPARE (what root's shell does before the tests), QEMU (words),
# VM_ACCEL (kvm or tcg: without asking).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/common.sh
. "$here/common.sh"
[ $# -gt 0 ] || usage "$0"
kernel=$1
shift
case $kernel in
[0-9]*-amd64 | [0-9]*-arm64) VM_ARCH=${kernel##*-} kernel=${kernel%-*} ;;
esac
commands=() tests=${VM_TESTS-doctor/doctor.sh supervisor/judge-changes.sh syscalls/errnos.sh}
if [ "${1:-}" = -c ]; then
	shift
	commands=("$@") tests=
elif [ $# -gt 0 ]; then
	tests=$*
fi
surroundings=${VM_SURROUNDINGS:-root user delegated}
[ -z "${commands[*]}" ] || surroundings=
case $VM_ARCH in
amd64) emulator=qemu-system-x86_64 console=ttyS0 machine="-machine q35" ;;
arm64) emulator=qemu-system-aarch64 console=ttyAMA0 machine="-machine virt,gic-version=max" ;;
*) die "no machine of architecture $VM_ARCH is known" ;;
esac
emulated_cpu=max
[ "$VM_ARCH" != arm64 ] || emulated_cpu+=,pauth-impdef=on # that of the specification takes most of the time
read -ra qemu <<<"${QEMU:-$emulator} $machine"
need_tools "${qemu[0]}" mke2fs
find_busybox
[ -x "$build/callgate" ] || skip "$build/callgate is not built"

name=$(basename "$kernel" .deb)
kernel_dir=$kept/kernels/$name-$VM_ARCH
mkdir -p "$kept"
work=$(mktemp -d "$kept/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$here/kernel.sh" "$kernel" "$kernel_dir" || exit
image=$("$here/image.sh" "$kept") || exit
if is_foreign; then
	build=$("$here/build.sh" "$kept") || exit
fi
release=$(cat "$kernel_dir/release")

# The disk with the tests, and that with the modules.
mkdir "$work/disk"
GOARCH=$VM_ARCH top_srcdir=$source top_builddir=$build "$source/tests/live/core.sh" copy "$work/disk/tree"
cp "$build/bench-micro" "$work/disk/tree/built/"
case " $tests ${commands[*]} " in
*unit*)
	find "$build/tests/unit" -name 'test_*' -type f -perm -u=x -printf '%P\0' |
		tar -C "$build/tests/unit" --null -T - -cf - >"$work/unit.tar"
	mkdir "$work/disk/tree/built/tests/unit"
	tar -C "$work/disk/tree/built/tests/unit" --no-same-owner -xf "$work/unit.tar"
	;;
esac
cp "$here/inside.sh" "$work/disk/"
{
	printf '%s=%q\n' surroundings "$surroundings" tests "$tests" test_seconds "${VM_TEST_SECONDS:-600}" \
		prepare "${VM_PREPARE:-}"
	printf 'commands=('
	[ ${#commands[@]} = 0 ] || printf '%q ' "${commands[@]}"
	echo ')'
} >"$work/disk/plan"
disk() # FILE FOLDER SPARE-MB
{
	mke2fs -q -t ext4 -O '^has_journal' -E root_owner=0:0 -d "$2" "$1" "$(($(du -sm "$2" | cut -f1) + $3))M" >&2
}
disk "$work/tests.ext4" "$work/disk" 64
disk "$work/modules.ext4" "$kernel_dir/modules" 16

# The first root finds the disks: Debian's kernels have their drivers as modules.
first=$work/first
mkdir -p "$first"/{bin,dev,proc,root,lib/modules/"$release"}
cp "$image.busybox" "$first/bin/busybox"
(cd "$kernel_dir/modules/$release" && find . \( -path '*/drivers/virtio/*' -o -name 'virtio_blk.ko*' \
	-o -path '*/fs/ext4/*' -o -path '*/fs/jbd2/*' -o -name 'mbcache.ko*' -o -name 'crc16.ko*' \
	-o -name '*crc32c*.ko*' -o -name 'modules.*' \) \
	-print0 | tar --null -T - -cf -) | tar -C "$first/lib/modules/$release" -xf -
cat >"$first/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in virtio_pci virtio_mmio virtio_blk ext4; do
	$b modprobe $module 2>/dev/null
done
case "$($b cat /proc/cmdline)" in
*vm.probe*)
	echo "vm: probed" >/dev/console
	$b poweroff -f
	;;
esac
$b mount -t ext4 /dev/vda /root
$b mount -t ext4 -o ro /dev/vdb /root/usr/lib/modules
$b mount -t ext4 -o ro /dev/vdc /root/vm
$b umount /proc
exec $b switch_root /root /sbin/init
INIT
chmod +x "$first/init"
(cd "$first" && find . | "$busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initramfs"

# no_timer_check: where processors are emulated, and busy, a kernel may find no tick in the moment in which it looks.
boot() # ACCELERATOR SECONDS OPTIONS-OF-THE-KERNEL DISKS…
{
	local accel=$1 seconds=$2 options=$3 cpu=host
	shift 3
	[ "$accel" = kvm ] || cpu=$emulated_cpu
	timeout -k 5 "$seconds" "${qemu[@]}" -accel "$accel" -cpu "$cpu" -smp "${VM_CPUS:-2}" -m "${VM_MEMORY:-2048}" \
		-display none -nodefaults -nic none -serial stdio -no-reboot -kernel "$kernel_dir/vmlinuz" \
		-initrd "$work/initramfs" -append "console=$console quiet panic=-1 no_timer_check $options" "$@" \
		</dev/null 2>&1 |
		sed -u 's/\r//g; s/\x1b[^a-zA-Z]*[a-zA-Z]//g'
}

# Whether KVM works is seen by booting: nested, it may hang.
accelerator()
{
	if [ -n "${VM_ACCEL:-}" ]; then
		echo "$VM_ACCEL"
	elif [ -w /dev/kvm ] && [ "$VM_ARCH" = "$(dpkg --print-architecture)" ] &&
		boot kvm 20 vm.probe | grep -q '^vm: probed'; then
		echo kvm
	else
		echo tcg,thread=multi
	fi
}

drives=()
for file in "$image" "$work/modules.ext4" "$work/tests.ext4"; do
	drives+=(-drive "file=$file,if=virtio,format=raw,snapshot=on")
done
seconds=${VM_SECONDS:-1800}
output=${VM_OUTPUT:-$kept/output}
# The processors may be emulated, and busy with other things.
boot "$(accelerator)" "$seconds" "systemd.unit=vm.target systemd.mask=serial-getty@$console.service \
systemd.show_status=false systemd.default_timeout_start_sec=900 ${VM_KERNEL_OPTIONS-}" "${drives[@]}" |
	tee "$output" | sed -u -n '/^vm: kernel/,$p' || true
grep -q '^vm: end$' "$output" || {
	echo "FAIL: not all was run within $seconds s; the end of $output:"
	tail -n 20 "$output"
	exit 1
}
! grep -qE '^vm: (FAIL|status [1-9])' "$output"
