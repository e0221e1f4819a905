#!/bin/bash
# Threat 27: no set-id bits, no device nodes.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat setid
[ -z "$(find "$T/w" -perm /6000 -o -type c -o -type b)" ] ||
	fail "made: $(find "$T/w" -perm /6000 -o -type c -o -type b)"
