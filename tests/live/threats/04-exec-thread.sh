#!/bin/bash
# Threat 4: exec by a thread that is not the leader, a thousand times.
. "$(dirname "$0")/../lib.sh"
CG_OPTIONS=(-x /bin/true -x /usr/bin/true)
hostile cases-threat exec-thread /usr/bin/true "${EXECS:-1000}"
