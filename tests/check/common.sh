# shellcheck shell=sh disable=SC2034,SC2154 # variables come from and go to the script that sources this
# What ./check and ./quickstart share: packages, and whether this checkout can be built in. Sourced from the root of the
# tree, with $me naming the script in messages.

die()
{
	echo "$me: $*" >&2
	exit 1
}

# The script writes configure and build/ into the checkout; says so once instead of failing somewhere in autoconf.
usable_checkout()
{
	user=$(id -un 2>/dev/null || id -u)
	for place in "$top" "$top"/build "$top"/configure "$top"/aclocal.m4 "$top"/build-aux; do
		[ -e "$place" ] || continue
		[ -w "$place" ] || die "$place cannot be written by $user; use a checkout that $user owns" \
			"(cp -r $top ~/callgate)"
	done
	[ ! -e config.status ] || die "the tree is configured in place, which keeps other build directories from" \
		"working; run 'make distclean' first"
}

# PACKAGE or PACKAGE=COMMAND: the latter is also satisfied by any COMMAND on the path.
have_package()
{
	case $1 in
	*=*) command -v "${1#*=}" >/dev/null && return 0 ;;
	esac
	[ "$(dpkg-query -W -f '${db:Status-Status}' "${1%%=*}" 2>/dev/null)" = installed ]
}

# Installs what is missing as root with apt-get; otherwise names it.
need_packages()
{
	missing=
	command -v dpkg-query >/dev/null || {
		echo "$me: no dpkg here; taking it that these are installed: $(echo "$*" | sed 's/=[^ ]*//g')"
		return 0
	}
	for package; do
		have_package "$package" || missing="$missing ${package%%=*}"
	done
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "packages are missing; as root: apt-get install$missing"
	echo "$me: installing$missing"
	# shellcheck disable=SC2086 # a list of package names
	DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update &&
		apt-get -qy -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"' apt $missing \
		</dev/null >"$log_dir/apt.log" 2>&1 ||
		die "apt-get could not install$missing; see $log_dir/apt.log"
}

BUILD_PACKAGES="gcc=gcc libc6-dev make=make autoconf=autoconf automake=automake pkg-config=pkg-config
	libseccomp-dev libjansson-dev nettle-dev libssl-dev libnghttp2-dev libidn2-dev libpsl-dev libelf-dev
	libunistring-dev libmicrohttpd-dev zlib1g-dev"
# Tools of ./check, and the programs that the tests run inside.
CHECK_PACKAGES="check clang=clang libclang-rt-dev clang-tidy=clang-tidy cppcheck=cppcheck shellcheck=shellcheck
	codespell=codespell
	valgrind=valgrind mandoc=mandoc gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc libc6-dev-arm64-cross xz-utils=xz
	bubblewrap=bwrap runsc=runsc systemd=systemd-analyze catatonit=catatonit
	git=git nodejs=node npm=npm podman=podman rsync=rsync zip=zip unzip=unzip sqlite3=sqlite3 vim=vim perl=perl
	python3-venv python3-pip procps=ps nginx-light=nginx nghttp2-server=nghttpd openssh-server=sshd
	openssh-client=ssh redis-server=redis-server golang-go=go musl-tools=musl-gcc python3-httpx python3-aiohttp
	python3-requests
	python3-grpcio python3-websockets python3-h2 apache2-bin=apache2 lighttpd=lighttpd gunicorn=gunicorn
	dnsmasq-base=dnsmasq acl=setfacl attr=setfattr tcpdump=tcpdump curl=curl wget=wget default-jdk-headless=javac
	slurm-wlm=slurmctld munge=munged
	btrfs-progs=mkfs.btrfs iproute2=ip expect=expect tmux=tmux screen=screen gdb=gdb strace=strace gpg=gpg
	gpg-agent=gpg-agent gojq=gojq less=less patch=patch dbus-daemon=dbus-daemon postgresql
	libnss-wrapper"
# Tools of make deb, make image and make check-packages.
PACKAGING_PACKAGES="dpkg-dev=dpkg-buildpackage debhelper=dh dh-python=dh_python3 lintian=lintian mmdebstrap=mmdebstrap
	buildah=buildah podman=podman catatonit=catatonit"
# Tools of the virtual machine with another kernel. About 60 MB, next to more than 1 GB of the others.
VM_TOOL_PACKAGES="qemu-system-x86=qemu-system-x86_64 mmdebstrap=mmdebstrap busybox-static=busybox e2fsprogs=mke2fs"
# And of that with another processor.
VM_FOREIGN_PACKAGES="qemu-system-arm=qemu-system-aarch64 qemu-user-static=qemu-aarch64-static"
EXAMPLE_PACKAGES="python3 python3-pandas python3-matplotlib jq"

# Makes configure where it is not; later changes of configure.ac are make's to follow.
bootstrap()
{
	for made in configure config.h.in Makefile.in build-aux/compile; do
		[ -e "$made" ] || {
			./autogen.sh
			return
		}
	done
}

# configure_in DIR FLAG...: configures DIR once; later only if the flags or configure changed.
configure_in()
{
	dir=$1
	shift
	mkdir -p "$dir"
	if [ ! -e "$dir/config.status" ] || [ -n "$(find configure -newer "$dir/config.status")" ] ||
		[ "$*" != "$(cat "$dir/flags" 2>/dev/null)" ]; then
		rm -f "$dir/config.status"
		(cd "$dir" && "$top/configure" --quiet "$@") || return 1
		echo "$*" >"$dir/flags"
	fi
}
