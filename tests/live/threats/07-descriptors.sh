#!/bin/bash
# Threat 7: file descriptors of callgate's caller do not reach the program.
. "$(dirname "$0")/../lib.sh"
echo the-secret >"$T/secret"
# shellcheck disable=SC2094 # only held open
exec 7<>"$T/secret" 9</ 250<"$T/secret"
hostile cases-threat fds
