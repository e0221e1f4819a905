#!/bin/bash
# A timer fires endlessly on a thread in which a system call is injected step by step: the supervisor does not wait for
# it.
. "$(dirname "$0")/../lib.sh"
hostile cases-attack storm
exit 0
