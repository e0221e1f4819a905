#!/bin/bash
# Threat 27: no set-id bits on files, no device nodes.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat setid
made=$(find "$T/w" ! -type d -perm /6000 -o -type c -o -type b)
[ -z "$made" ] || fail "made: $made"
