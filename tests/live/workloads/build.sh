#!/bin/bash
# gcc and make build callgate itself; every object and the program are identical to a native build.
. "$(dirname "$0")/../lib.sh"
need gcc make
[ -x "$SRC/configure" ] || skip "no configure script: run autogen.sh"
LIVE_TIMEOUT=240
# one copy for both sides: the tree may be edited meanwhile
mkdir -p "$T/tree/tests/unit" "$T/tree/b"
(cd "$SRC" && tar --exclude=./.git --exclude=./build --exclude=autom4te.cache --exclude='./tests/*' -cf - .) |
	tar -C "$T/tree" -xf -
(cd "$SRC" && find tests -name '*.mk' -print0 | tar --null -T - -cf -) | tar -C "$T/tree" -xf -
prepare()
{
	cp -a "$T/tree/." "$1"
}
# logs tell process ids and host facts; dates are nowhere in the objects
TREE_SKIP='config\.log$|config\.status$|confdefs|conf[0-9]|autom4te'
live_env+=(SOURCE_DATE_EPOCH=1700000000)
SAME_STDERR=no
same build bash -c \
	'cd b && ../configure -q CFLAGS=-O0 && make -s -j2 V=1 callgate && ./callgate --version &&
	ar t libcallgate_base.a && make -q callgate; echo $?'
