#!/bin/bash
# Threat 13: int 0x80, x32, programs of 32-bit Arm, and 64-bit numbers with high bits.
. "$(dirname "$0")/../lib.sh"
program=$T/arm
if [ "$(uname -m)" = aarch64 ]; then
	"$CASES/cases-threat" arches "$program" || die "no program of 32-bit Arm can be made"
	# Natively it runs, where the processor has that state.
	mkdir "$T/native"
	(cd "$T/native" && "$program")
	[ -e "$T/native/by-arm" ] || echo "this processor runs no program of 32-bit Arm"
	CG_OPTIONS=(-x "$program")
fi
hostile cases-threat arches "$program"
[ -z "$(ls "$T/w")" ] || fail "made: $(ls "$T/w")"
