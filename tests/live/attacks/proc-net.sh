#!/bin/bash
# /proc/net and the tables of mounts tell nothing of the machine: no socket of a process outside, no other interface,
# no mount and no device of the host's.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir -p "$T/w"
start_canary
hex=$(printf ':%04X' "$tcp")
grep -qi "$hex" /proc/net/tcp || die "the canary's port is not in /proc/net/tcp"
device=$(awk '$2 == "/" && $1 ~ /^\/dev/ { print $1; exit }' /proc/mounts)
secrets=("$hex" "$abstract" "$T/w/stream" lowerdir=)
judged proc && secrets+=("$device") # mountinfo names it
# Interfaces and sources of mounts of this machine.
read -ra more <<<"$(awk -F: 'NR > 2 && $1 !~ /^ *lo$/ { print $1 ":" }' /proc/net/dev | xargs)"
secrets+=("${more[@]}")
for secret in "${secrets[@]}"; do
	[ ${#secret} -ge 4 ] && kept+=("$secret")
done
for LIVE_WITHOUT in "" netns pidns namespaces; do
	hostile cases-threat procnet "${kept[@]}"
done
met_nobody
