#!/bin/bash
# Runs a command, as root, in a user namespace in which programs of VM_ARCH run too, emulated by qemu-user-static.
# Nothing outside the namespace changes: since Linux 6.7 each has its own binfmt_misc.
#
#     tests/vm/foreign.sh COMMAND…
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/common.sh
. "$here/common.sh"
[ $# -gt 0 ] || usage "$0"
case $VM_ARCH in
amd64) emulator=qemu-x86_64-static machine='\x3e' ;;
arm64) emulator=qemu-aarch64-static machine='\xb7' ;;
*) die "no machine of architecture $VM_ARCH is known" ;;
esac
need_tools "$emulator" unshare

# An ELF file of 64 bits, little-endian, executable or position-independent, for that machine. O, C, F: opened by the
# kernel, credentials from the program, emulator opened now, because a chroot has none.
zeros=$(printf '\\x00%.0s' 1 2 3 4 5 6 7 8 9)
FOREIGN=":foreign:M::\\x7fELF\\x02\\x01\\x01$zeros\\x02\\x00$machine\\x00:\
\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:\
$(command -v "$emulator"):OCF"
export FOREIGN

# The parent maps the identities, when the namespace is there: all of them, each to itself.
exec 4>&1 # of the command, whose own is the parent's pipe
# shellcheck disable=SC2016 # expanded by the inner shell
coproc child { exec unshare --user --mount bash -c '
	exec 3>&1 1>&4 4>&-
	echo entered >&3
	read -r _ || exit 1
	exec 3>&- </dev/null
	folder=/proc/sys/fs/binfmt_misc
	mount -t binfmt_misc binfmt_misc "$folder" 2>/dev/null && echo "$FOREIGN" >"$folder/register" || {
		echo "SKIP: a user namespace has no binfmt_misc of its own here (since Linux 6.7)" >&2
		exit 77
	}
	unset FOREIGN
	exec "$@"' foreign "$@"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$child_PID
if read -r _ <&"${child[0]}"; then
	for map in uid_map gid_map; do
		echo '0 0 4294967295' >"/proc/$pid/$map"
	done
	echo mapped >&"${child[1]}"
else
	skip "no user namespace can be made"
fi
wait "$pid"
