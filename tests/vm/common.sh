# shellcheck shell=bash disable=SC2034 # its variables are for the scripts that read it
# What the scripts of this folder share. They know from the environment: top_builddir (the build tree), VM_DIR (where
# kernels and images are kept, by default in the build tree), VM_ARCH (amd64 or arm64), VM_MIRROR (Debian's archive).
source=$(dirname "$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")")
build=${top_builddir:-$PWD}
kept=${VM_DIR:-$build/tests/vm}
VM_ARCH=${VM_ARCH:-$(dpkg --print-architecture 2>/dev/null || echo amd64)}
VM_MIRROR=${VM_MIRROR:-http://deb.debian.org/debian}
export VM_ARCH VM_MIRROR

skip()
{
	echo "SKIP: $*"
	exit 77
}

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

# usage SCRIPT: its head says how it is used.
usage()
{
	sed -n '2,/^set/s/^# \?//p' "$1" >&2
	exit 2
}

need_tools()
{
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# is_foreign: whether programs of VM_ARCH are none of this machine's.
is_foreign()
{
	[ "$VM_ARCH" != "$(dpkg --print-architecture 2>/dev/null || echo amd64)" ]
}

# Sets busybox to a static one of this machine's architecture.
find_busybox()
{
	busybox=${BUSYBOX:-$(command -v busybox || true)}
	if [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then
		skip "no static busybox (package busybox-static)"
	fi
}
