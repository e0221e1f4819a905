#!/bin/bash
# Threat 13: programs of 32 bits (i386, 32-bit Arm), their numbers (int 0x80), x32, and 64-bit numbers with high bits.
. "$(dirname "$0")/../lib.sh"
need jq
program=$T/foreign
"$CASES/cases-threat" arches "$program" || die "no program of 32 bits can be made"
mkdir "$T/native"
(cd "$T/native" && "$program")
# callgate refuses it by its header, before the kernel sees it. So that is tried in any case.
[ -e "$T/native/by-foreign" ] || echo "natively, this kernel or processor runs no program of 32 bits either"
CG_OPTIONS=(-x "$program")
hostile cases-threat arches "$program"
[ -z "$(ls "$T/w")" ] || fail "made: $(ls "$T/w")"
reason=$(jq -r --arg path "$program" 'select(.path == $path and .verdict == "deny") | .reason' "$T/audit")
[ "$reason" = foreign_binary ] || fail "the exec's denial has the reason '$reason'"
