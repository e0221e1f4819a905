#!/bin/sh
# cross.sh: checks every source for aarch64, so that the code does not depend on x86_64's sizes and names. Sources that
# only aarch64 has are compiled; of the others, whose optimised code the host's compiler warns of, the compiler stops
# before it makes code. The libraries' headers are the host's; the compiler sees only those that do not depend on the
# architecture.
set -u

cd "${top_srcdir:-$(dirname "$0")/../..}" || exit 99
builddir=${top_builddir:-build/check}
cc=aarch64-linux-gnu-gcc

command -v "$cc" >/dev/null || {
	echo "SKIP: $cc is not installed (package: gcc-aarch64-linux-gnu)"
	exit 77
}
echo '#include <stdio.h>' | "$cc" -E - >/dev/null 2>&1 || {
	echo "SKIP: $cc has no C library headers (package: libc6-dev-arm64-cross)"
	exit 77
}

out=$builddir/cross
include=$out/include
rm -rf "$out"
mkdir -p "$include" || exit 99
multiarch=$(gcc -print-multiarch)
for header in seccomp.h seccomp-syscalls.h jansson.h jansson_config.h nettle openssl nghttp2 idn2.h \
	libpsl.h gelf.h libelf.h gmp.h microhttpd.h \
	elfutils; do
	# OpenSSL's are in two places; what configuration.h says holds for every 64-bit Linux.
	for root in "/usr/include/$multiarch" /usr/include; do
		[ -e "$root/$header" ] || continue
		cp -rL --no-clobber "$root/$header" "$include/"
	done
done

# shellcheck disable=SC2016 # expanded by the inner shell
tests/check/product.sh sources |
	out=$out cc=$cc builddir=$builddir xargs -P "$(nproc)" -n 8 sh -c '
	for file in "$@"; do
		mkdir -p "$out/${file%/*}"
		case $file in
		*-aarch64.c) set -- -O1 -c -o "$out/${file%.c}.o" ;;
		*) set -- -fsyntax-only ;;
		esac
		"$cc" -std=gnu17 -D_GNU_SOURCE -DPKGDATADIR="\"/usr/share/callgate\"" \
			-DPKGLIBDIR="\"/usr/lib/callgate\"" -include base/banned.h -I. -I"$builddir" \
			-idirafter "$out/include" \
			-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
			-Wvla -Wcast-qual -Wundef -Wformat=2 -Wimplicit-fallthrough -Wswitch-enum \
			-Werror "$@" "$file" || failed=1
	done
	exit "${failed:-0}"' compile
status=$?
[ "$(find "$out" -name '*.o' | wc -l)" -ge 3 ] || {
	echo "no object for aarch64"
	status=1
}
exit "$status"
