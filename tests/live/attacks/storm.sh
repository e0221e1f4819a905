#!/bin/bash
# A timer that fires without end on a thread that is stepped through a call: the supervisor does not wait for it.
. "$(dirname "$0")/../lib.sh"
hostile cases-attack storm
exit 0
