#!/bin/sh
# supervisor/call-order.ld names functions that are there, and where the linker heeded it they lie side by side.
set -eu

cd "${top_srcdir:-.}"
order=supervisor/call-order.ld
program=${top_builddir:-.}/callgate

names=$(sed -n 's/^ *\*(\(.*\))$/\1/p' "$order" | tr ' ' '\n' | sed 's/^\.text\.//; s/\..*//' | sort -u)
[ "$(echo "$names" | wc -l)" -gt 50 ] || {
	echo "call-order: too few names found in $order"
	exit 1
}
bad=0
for name in $names; do
	grep -rqE "(^|[^a-z0-9_])$name\(" --include='*.c' --include='*.h' base policy audit view syscalls confine supervisor ||
		{ echo "call-order: there is no $name" && bad=1; }
done
[ "$bad" = 0 ] || exit 1

skip()
{
	echo "SKIP: $*"
	exit 77
}

[ -x "$program" ] || skip "callgate is not built"
for tool in objdump nm; do
	command -v "$tool" >/dev/null || skip "$tool is not installed (package: binutils)"
done
section=$(objdump -h "$program" | awk '$2 == ".text.call" { print $4, $3 }')
[ -n "$section" ] || {
	grep -q '^ORDER_LDFLAGS = .*call-order' "${top_builddir:-.}/Makefile" && echo "call-order: $program has no .text.call" && exit 1
	skip "the linker does not know such scripts"
}
start=$((0x${section% *}))
end=$((start + 0x${section#* }))
for name in dispatch_notification decode_call view_locate policy_decide call_record kernel_call; do
	at=$(nm "$program" | awk -v name="$name" '$3 == name { print $1 }')
	[ -n "$at" ] || skip "$program is stripped"
	{ [ $((0x$at)) -ge "$start" ] && [ $((0x$at)) -lt "$end" ]; } || {
		echo "call-order: $name lies elsewhere"
		exit 1
	}
done
