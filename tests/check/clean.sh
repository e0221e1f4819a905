#!/bin/bash
# clean.sh DIR COMMAND…: runs COMMAND, such as ./quickstart, in a copy of this checkout in clean roots of Debian: this
# machine's release, and the next where the archive offers it. A root has a compiler, apt and nothing else, so what is
# missing is installed by the command, from the network. Once more as a user, who finds the packages there. The roots
# are kept in DIR. Environment: CLEAN_SUITES, CLEAN_SECONDS.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 99
top=$(cd "${top_srcdir:-$here/../..}" && pwd) || exit 99
dir=$1
shift
export LC_ALL=C
failed=0 done=0
if [ "$(id -u)" != 0 ] || ! unshare --mount --pid --fork true 2>/dev/null; then
	echo "SKIP: not root, who makes a clean root"
	exit 77
fi
mkdir -p "$dir" || exit 99
tmp=$(mktemp -d "$dir/try.XXXXXX") || exit 99
trap 'rm -rf --one-file-system "$tmp"' EXIT

(cd "$top" && git ls-files -z | tar --null -T - -cf "$tmp/source.tar") || exit 99

# prepare SUITE ROOT TAR: makes ROOT of TAR, with a user, and a copy of the checkout for each of the two.
prepare()
{
	local user
	mkdir "$2" && tar -C "$2" -xf "$3" && cp /etc/resolv.conf "$2/etc/resolv.conf" || return
	for user in root tester; do
		mkdir "$tmp/given-$1-$user" && tar -C "$tmp/given-$1-$user" -xf "$tmp/source.tar" || return
	done
	timeout -k 5 60 "$here/inside.sh" "$2" "$tmp" useradd -m tester &&
		chown -R --reference "$2/home/tester" "$tmp/given-$1-tester"
}

# try SUITE COMMAND…
try()
{
	local suite=$1 root=$tmp/$1 tar user
	shift
	tar=$("$top/packaging/root.sh" "$suite" "$dir" gcc libc6-dev 2>"$tmp/root.log") || {
		[ $? = 77 ] || failed=1
		echo "$suite: no root: $(cat "$tmp/root.log")"
		return
	}
	prepare "$suite" "$root" "$tar" || {
		echo "FAIL: $suite: the root or the copy of the checkout cannot be made"
		failed=1
		return
	}
	for user in root tester; do
		done=1
		# shellcheck disable=SC2016 # the inner shell's
		if timeout -k 5 "${CLEAN_SECONDS:-1200}" "$here/inside.sh" -n "$root" "$tmp/given-$suite-$user" \
			setpriv --reuid "$user" --regid "$user" --init-groups sh -c '
			HOME=$(getent passwd "$(id -u)" | cut -d: -f6) && export HOME && cd /given && exec "$@"
			' sh "$@" >"$dir/$suite-$user.log" 2>&1; then
			echo "$suite: $* works as $user: $(tail -n 1 "$dir/$suite-$user.log")"
		else
			echo "FAIL: $suite: $* as $user ends with $?; $dir/$suite-$user.log ends so:"
			tail -n 15 "$dir/$suite-$user.log"
			failed=1
		fi
	done
	rm -rf --one-file-system "$root" "$tmp"/given-*
}

# shellcheck source=/dev/null
for suite in ${CLEAN_SUITES:-$(. /etc/os-release && echo "${VERSION_CODENAME-}") trixie}; do
	try "$suite" "$@"
done
[ $failed = 0 ] || exit 1
[ $done = 1 ] || exit 77
