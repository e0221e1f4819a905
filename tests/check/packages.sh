#!/bin/bash
# packages.sh DIR: tries the packages that `make deb` has put into DIR. lintian has nothing to say. Installed in a clean
# root of this machine's Debian, and in one of the next Debian with AppArmor 4, they work for root and for a user, and
# are gone when removed; the container image, built offline, runs programs. The roots are kept in DIR/cache.
# A part that cannot be tried here is named; 77 when none can.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 99
top=${top_srcdir:-$here/../..}
packaging=$top/packaging
dir=$1
export LC_ALL=C
failed=0 done=0

fail()
{
	echo "FAIL: $*" >&2
	failed=1
}

skip()
{
	echo "SKIP: $*"
}

have()
{
	command -v "$1" >/dev/null || {
		skip "$1 is not installed"
		return 1
	}
}

tmp=$(mktemp -d) || exit 99
trap 'rm -rf --one-file-system "$tmp"' EXIT
debs=("$dir"/callgate_*.deb "$dir"/python3-callgate_*.deb)
[ -e "${debs[0]}" ] || {
	skip "no packages in $dir: make deb"
	exit 77
}

try_lintian()
{
	have lintian || return
	done=1
	lintian --allow-root --fail-on error,warning --display-level '>=warning' "$dir"/*.changes \
		>"$tmp/lintian" 2>&1 ||
		fail "lintian: $(cat "$tmp/lintian")"
}

# What the packages depend on, without each other.
needs()
{
	local deb
	for deb in "${debs[@]}"; do
		dpkg-deb -f "$deb" Depends | tr ',' '\n' |
			sed 's/([^)]*)//g; s/|.*//; s/:any//; s/ //g'
	done | grep -vx callgate
}

# inside ROOT COMMAND…: without a network, the packages in /given.
inside()
{
	timeout -k 5 300 "$here/inside.sh" "$1" "$dir" "${@:2}"
}

# Everything in a root but logs, and what dpkg, apt and ldconfig keep about every package there was.
listing()
{
	(cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./var/log -o \
		-path ./var/cache/ldconfig -o -path ./var/cache/debconf -o -path ./var/lib/dpkg/status-old -o \
		-path ./var/lib/dpkg/triggers/Lock -o -path ./var/lib/dpkg/lock\* -o -path ./var/cache/apt -o \
		-path ./var/lib/apt/lists \) -prune -o \
		-printf '%p %y %m %U %G %l\n' | sort)
}

# What users do first, as the user that runs it.
cat >"$tmp/use.sh" <<'END'
set -eu
cd "$(mktemp -d)"
callgate --version
callgate doctor >doctor.txt || { cat doctor.txt; exit 1; }
echo 'import os; print(sum(range(10)), os.path.exists("/etc/shadow")); open("new", "w").write("x")' >job.py
mkdir work
mv job.py work
got=$(callgate run --profile python -w "$PWD/work" --audit run.log -- python3 job.py)
[ "$got" = "45 False" ] || { echo "the run printed: $got"; exit 1; }
callgate audit verify run.log
[ -s work/new ]
# The server of the Python package needs callgate-agents, and that callgate-files.
python3 -c '
from callgate import Sandbox
with Sandbox.create() as sandbox:
	sandbox.files.write("fruit", "apple")
	print(sandbox.commands.run("cat fruit").stdout)' >sandbox.txt || { cat sandbox.txt; exit 1; }
[ "$(cat sandbox.txt)" = apple ]
rm -rf "$PWD"
END

# try_apparmor SUITE ROOT: AppArmor takes the profile. A file of the administrator's stays. When there is none, the
# profile is enabled as soon as AppArmor knows its syntax, which a trigger tells.
try_apparmor()
{
	local link=$2/etc/apparmor.d/callgate profile=/usr/share/callgate/apparmor/callgate

	[ "$(readlink "$link")" = $profile ] || fail "$1: AppArmor knows abi 4.0, but the profile is not enabled"
	inside "$2" apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/callgate >"$tmp/parser" 2>&1 ||
		fail "$1: AppArmor does not take the profile: $(cat "$tmp/parser")"
	rm -f "$link"
	echo '# by hand' >"$link"
	trigger "$1" "$2"
	[ "$(cat "$link")" = '# by hand' ] || fail "$1: the administrator's profile was replaced"
	rm -f "$link"
	trigger "$1" "$2"
	[ "$(readlink "$link")" = $profile ] || fail "$1: the profile was not enabled when AppArmor was upgraded"
}

trigger()
{
	inside "$2" sh -c 'dpkg-trigger --by-package=apparmor /etc/apparmor.d/abi/4.0 &&
		dpkg --triggers-only callgate' >"$tmp/trigger" 2>&1 || fail "$1: dpkg-trigger: $(cat "$tmp/trigger")"
}

# try_root SUITE [PACKAGE…]: installs, uses and removes the packages in a clean root of this suite.
try_root()
{
	local suite=$1 root=$tmp/root-$1 tar user
	shift
	# shellcheck disable=SC2046 # a list of packages
	tar=$("$packaging/root.sh" "$suite" "$dir/cache" $(needs) python3 ca-certificates "$@" 2>"$tmp/root.log") || {
		[ $? = 77 ] || fail "no root of $suite: $(cat "$tmp/root.log")"
		cat "$tmp/root.log"
		return
	}
	done=1
	mkdir "$root" && tar -C "$root" -xf "$tar" || return
	cp "$tmp/use.sh" "$root/usr/local/bin/use.sh"
	inside "$root" useradd -m tester || fail "$suite: useradd"
	listing "$root" >"$tmp/before"
	inside "$root" apt-get -qy install --no-install-recommends "${debs[@]/#$dir//given}" \
		>"$tmp/install.log" 2>&1 || {
		fail "$suite: apt-get install: $(tail -n 5 "$tmp/install.log")"
		return
	}
	if [ -e "$root/etc/apparmor.d/abi/4.0" ]; then
		try_apparmor "$suite" "$root"
	elif [ -e "$root/etc/apparmor.d/callgate" ]; then
		fail "$suite: a profile that AppArmor there does not know is enabled"
	fi
	for user in root tester; do
		inside "$root" setpriv --reuid "$user" --regid "$user" --clear-groups sh /usr/local/bin/use.sh \
			>"$tmp/use.log" 2>&1 || fail "$suite, as $user: $(tail -n 15 "$tmp/use.log")"
	done
	inside "$root" apt-get -qy purge callgate python3-callgate >"$tmp/purge.log" 2>&1 ||
		fail "$suite: apt-get purge: $(tail -n 5 "$tmp/purge.log")"
	listing "$root" | diff "$tmp/before" - >"$tmp/left" || fail "$suite: after removal: $(head -n 20 "$tmp/left")"
	echo "packages: installed, used and removed in a root of $suite"
}

# The example of a Kubernetes pod, as it is, with the image. tests/live/doctor/confined.sh tries what doctor says there.
play_pod()
{
	command -v catatonit >/dev/null || {
		skip "the pod of examples/confined: catatonit is not installed"
		return
	}
	"$top/tests/live/play-pod.sh" "$tmp" "$top/examples/confined/pod.yaml" podman "${storage[@]}" \
		>"$tmp/pod.log" 2>&1
	[ "$(cat "$tmp/logs" "$tmp/logs.err" 2>&1)" = 45 ] ||
		fail "the pod of examples/confined: $(tail -n 15 "$tmp/pod.log" "$tmp"/logs*)"
}

# Storage of its own, not that of the machine.
try_image()
{
	local storage=(--root "$tmp/storage" --runroot "$tmp/run") version image
	have buildah || return
	version=$(dpkg-deb -f "$dir"/callgate_*.deb Version)
	# Without a network, in which the Containerfile's update would fail.
	image=$(BUILDAH="buildah ${storage[*]}" unshare --net "$packaging/image.sh" "$dir" "${version%-*}" \
		2>"$tmp/image.log") || {
		[ $? = 77 ] || fail "no image: $(tail -n 15 "$tmp/image.log")"
		return
	}
	done=1
	have podman || return
	# The mount namespace is for podman, which takes a cgroup2 mount at "unified" for a layout it cannot use.
	# shellcheck disable=SC2016 # the inner shell's
	in_image()
	{
		timeout -k 5 120 unshare -m sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"' sh \
			podman "${storage[@]}" run --rm --cgroups=disabled --network=none \
			--ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$@" </dev/null
	}
	in_image "$image" --version >"$tmp/start" 2>&1 || {
		skip "podman cannot start a container here: $(tail -n 1 "$tmp/start")"
		return
	}
	in_image "$image" >"$tmp/doctor" 2>&1 || fail "callgate doctor in the image: $(tail -n 15 "$tmp/doctor")"
	# As in the README.
	mkdir "$tmp/in" && echo 'print(6 * 7)' >"$tmp/in/job.py" && chmod 711 "$tmp"
	[ "$(in_image -v "$tmp/in:/in:ro" "$image" run --profile python --input /in/job.py -- python3 job.py \
		2>"$tmp/start")" = 42 ] ||
		fail "a run in the image: $(cat "$tmp/start")"
	play_pod
	echo "packages: $image runs programs"
}

try_lintian
if [ "$(id -u)" != 0 ] || ! unshare --mount --pid --fork true 2>/dev/null; then
	skip "not root, who installs packages in a root"
else
	# shellcheck source=/dev/null
	try_root "$(. /etc/os-release && echo "${VERSION_CODENAME-}")"
	try_root trixie apparmor
	try_image
fi
[ $failed = 0 ] || exit 1
[ $done = 1 ] || exit 77
