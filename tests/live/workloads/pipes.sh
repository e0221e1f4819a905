#!/bin/bash
# a|b|c a thousand times: no hang, nothing lost, nothing twice.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
same pipes bash -c 'for ((i = 0; i < ${PIPES:-1000}; i++)); do echo $i | cat | (read -r x; echo "$x"); done |
	sha256sum; echo a | tr a b | tr b c | tr c d'
