#!/bin/sh
# image.sh PACKAGES VERSION: builds the image callgate:VERSION from the packages in a directory, without a network
# when the root it is built on is in the cache (PACKAGES/cache). $BUILDAH: buildah with options, e.g. for its storage.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
packages=$1
version=$2
buildah=${BUILDAH:-buildah}
command -v "${buildah%% *}" >/dev/null || {
	echo "SKIP: buildah is not installed"
	exit 77
}
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
needs=$(dpkg-deb -f "$packages"/callgate_*.deb Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/[ ,]\+/ /g')
# shellcheck disable=SC2086 # a list of packages
root=$("$here/root.sh" "$suite" "$packages/cache" $needs python3 ca-certificates)

# The root becomes an image that the Containerfile is told as its base.
base=$($buildah from scratch)
trap '$buildah rm "$base" >/dev/null' EXIT
$buildah add -q "$base" "$root" / >/dev/null
$buildah commit -q "$base" "localhost/callgate-base:$version" >/dev/null
# The context has the package alone: what else lies there is not sent to it.
context=$(mktemp -d)
trap '$buildah rm "$base" >/dev/null; rm -rf "$context"' EXIT
cp "$packages"/callgate_*.deb "$context"
$buildah bud --isolation "${BUILDAH_ISOLATION:-chroot}" --pull-never -q \
	--build-arg "BASE=localhost/callgate-base:$version" -f "$here/Containerfile" -t "callgate:$version" "$context" \
	>/dev/null
echo "callgate:$version"
