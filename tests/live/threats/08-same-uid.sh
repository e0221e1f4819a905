#!/bin/bash
# Threat 8: signals, limits, priorities, memory of processes of the same user outside.
. "$(dirname "$0")/../lib.sh"
sleep 600 & canary=$!
cat "/proc/$canary/limits" "/proc/$$/limits" >"$T/before"
# What tracing others ends with: as of a process that does not exist. EPERM, whatever the pid is, where neither Landlock
# nor a pid namespace bounds tracing.
absent=EPERM
if layer landlock || layer pidns; then
	absent=ESRCH
fi
hostile cases-threat others "$absent" "$canary" "$$"
LIVE_WITHOUT=namespaces,landlock hostile cases-threat others EPERM "$canary" "$$"
cat "/proc/$canary/limits" "/proc/$$/limits" >"$T/after"
cmp -s "$T/before" "$T/after" || fail "limits changed"
[ "$(ps -o ni= -p "$canary" | tr -d ' ')" = "$(ps -o ni= -p $$ | tr -d ' ')" ] || fail "the canary's priority changed"
kill -0 "$canary" || fail "the canary is dead"
[ "$(taskset -p "$canary" | sed 's/.*: //')" = "$(taskset -p $$ | sed 's/.*: //')" ] || fail "the canary's CPUs changed"
kill "$canary"
