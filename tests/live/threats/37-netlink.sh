#!/bin/bash
# Threat 37, the one netlink family that is offered: it changes nothing, tells of no interface, process or namespace of
# the machine, and reaches no other socket. Natively and as a stand-in.
. "$(dirname "$0")/../lib.sh"
need jq
sleep 600 &
outsider=$!
live_kept+=("$outsider")
for LIVE_WITHOUT in "" pidns namespaces; do
	hostile cases-threat netlink "$outsider"
	audit_none '.syscall == "socket" and .verdict == "allow" and .args.protocol != 0'
done
