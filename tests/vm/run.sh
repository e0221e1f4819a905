#!/bin/bash
# Boots a kernel in QEMU, with the callgate that was built, and runs commands there, one after the other.
#
#     tests/vm/run.sh KERNEL [COMMAND…]
#
# KERNEL is an image such as /boot/vmlinuz-6.1.0-56-cloud-amd64 (apt-get download and dpkg -x are enough, nothing has to
# be installed). A command is a line for the shell of the virtual machine; without any, a few runs of callgate follow.
# The root is a tmpfs with busybox, callgate, bench-micro and $VM_PROGRAMS (absolute names) with their libraries; the
# files of $VM_FILES are in its /root. Exit status: 0 all commands succeeded, 1 not all, 77 something is not installed.
#
# Environment: top_builddir, QEMU (words), BUSYBOX, VM_PROGRAMS, VM_FILES (words), VM_SECONDS, VM_KERNEL_OPTIONS.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$(dirname "$here")")
build=${top_builddir:-$PWD}
busybox=${BUSYBOX:-$(command -v busybox || true)}
read -ra qemu <<<"${QEMU:-qemu-system-x86_64}"
read -ra programs <<<"/bin/dash /usr/bin/env /usr/bin/true /usr/bin/taskset /usr/bin/strace ${VM_PROGRAMS-}"
read -ra files <<<"${VM_FILES-}"

skip()
{
	echo "SKIP: $*"
	exit 77
}

if [ $# = 0 ]; then
	sed -n '2,/^set/s/^# \?//p' "$0" >&2
	exit 2
fi
kernel=$1
shift
[ $# -gt 0 ] || set -- "callgate doctor || true" "callgate run -- /usr/bin/true" \
	"callgate run --profile extended -- /bin/sh -c 'cd /usr/bin && echo *'"
[ -r "$kernel" ] || skip "there is no kernel $kernel"
command -v "${qemu[0]}" >/dev/null || skip "${qemu[0]} is not installed (package qemu-system-x86)"
if [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then
	skip "no static busybox (package busybox-static)"
fi
for tool in "$build/callgate" "$build/bench-micro"; do
	[ -x "$tool" ] || skip "$tool is not built"
done

root=$build/tests/vm/root
rm -rf "$root"
mkdir -p "$root"/{bin,dev,etc,home,opt/callgate,proc,root,run,sbin,sys,tmp,usr/bin,var/tmp}

# add FILE…: with the libraries that it needs.
add()
{
	local file library
	for file; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
		for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
			mkdir -p "$root$(dirname "$library")"
			cp -nL "$library" "$root$library"
		done
	done
}

for program in "${programs[@]}"; do
	[ -x "$program" ] || skip "$program is not installed"
	add "$program"
done
cp "$busybox" "$root/bin/busybox"
ln -sf dash "$root/bin/sh"
for tool in callgate callgate-egress bench-micro; do
	add "$build/$tool"
	mv "$root$build/$tool" "$root/opt/callgate"
done
cp -r "$source/policy/profiles" "$root/opt/callgate"
[ ${#files[@]} = 0 ] || cp -r "${files[@]}" "$root/root"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"

# pivot_root(2) does not work on an initramfs, so the root becomes a tmpfs first.
cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox mkdir /new
/bin/busybox mount -t tmpfs -o mode=755 tmpfs /new
for each in /*; do
	[ "$each" = /new ] || /bin/busybox cp -a "$each" /new/
done
exec /bin/busybox switch_root /new /run-commands
END
cat >"$root/run-commands" <<'END'
#!/bin/busybox sh
export PATH=/opt/callgate:/usr/bin:/bin:/sbin HOME=/root CALLGATE_PROFILES=/opt/callgate/profiles
/bin/busybox --install -s /sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
chmod 1777 /tmp /var/tmp
ip link set lo up
cd /root
echo "vm: Linux $(uname -r), $(nproc) CPUs"
for command in /commands/*; do
	/bin/sh "$command"
	echo "vm: status $? of: $(cat "$command")"
done
echo "vm: end"
poweroff -f
END
chmod +x "$root/init" "$root/run-commands"
mkdir "$root/commands"
number=100
for command; do
	echo "$command" >"$root/commands/$number"
	number=$((number + 1))
done
(cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$build/tests/vm/initramfs"

# Without KVM: nested, it may hang.
seconds=${VM_SECONDS:-300}
timeout -k 5 "$seconds" "${qemu[@]}" -accel tcg,thread=multi -cpu max -smp 2 -m 1500 -nographic -nodefaults \
	-serial stdio -no-reboot -kernel "$kernel" -initrd "$build/tests/vm/initramfs" \
	-append "console=ttyS0 quiet panic=-1 ${VM_KERNEL_OPTIONS-}" </dev/null 2>&1 |
	sed -u 's/\r//g; s/\x1b[^a-zA-Z]*[a-zA-Z]//g' | tee "$build/tests/vm/output" || true
grep -q '^vm: end$' "$build/tests/vm/output" || {
	echo "FAIL: not all commands were run within $seconds s"
	exit 1
}
! grep -q '^vm: status [1-9]' "$build/tests/vm/output"
