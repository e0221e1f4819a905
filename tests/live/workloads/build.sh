#!/bin/bash
# configure, gcc, ar and make build parts of callgate itself: two libraries and a program, of fifty of its files. Every
# object and the program are identical to a native build. The other five hundred files ask for nothing else.
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
# shellcheck disable=SC2016 # the inner shell's
same build bash -c \
	'parts="callgate-files libcallgate_base.a libcallgate_audit.a"
	cd b && ../configure -q CFLAGS=-O0 && make -s -j2 V=1 $parts && echo "{}" | ./callgate-files &&
	ar t libcallgate_base.a && make -q $parts; echo $?'
