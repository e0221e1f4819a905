#!/bin/bash
# The CPU time limit covers all processes together, living and reaped, with control groups and with sampling.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../bomb.sh"
METER=cpu # read by bomb.sh
need jq

measure()
{
	local kind
	for kind in "spin 4" "relay 1000" "relay-ignored 1000" "relay-quick 10000"; do
		# shellcheck disable=SC2086 # two words
		bomb $kind --cpu 400ms
		is '.status == "limit" and .exit_code == 124' "$1 $kind"
		is '.limits.cpu | .hit and .limit == 400 and .used >= 400 and .used < 1500' "$1 $kind"
		# Also of what no sample can see: the wall clock, on a busy machine.
		is '.limits.wall.used < 15000' "$1 $kind"
	done
	bomb serial 20 --cpu 20s
	is '.status == "ok" and (.limits.cpu | .hit == false and .used < 5000)' "$1 serial"
	# A signal of its own making is no limit.
	bomb xcpu 1 --cpu 20s
	is '.status == "failed" and (.limits.cpu.hit | not)' "$1 xcpu"
}

if layer cgroups; then measure "as it comes"; fi
LIVE_WITHOUT=cgroups
measure "sampled"
LIVE_WITHOUT=cgroups,namespaces
if layer pidns; then measure "sampled, without namespaces"; fi
