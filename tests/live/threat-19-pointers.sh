#!/bin/bash
# Threat 19: odd pointers and lengths give the errno of the kernel: see also diff-path.sh.
. "$(dirname "$0")/lib.sh"
CG_OPTIONS=(-x "$CASES/cases-diff")
same pointers bash -c "'$CASES/cases-diff' . path | grep -E ' (null|unmapped|prot-none|kernel-address|straddle|at-end|unterminated|name-25[56]|path-409[56]|empty):'"
