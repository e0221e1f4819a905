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
# What is queued in the kernel's is in no control group: with a limit of memory there are none, but few stand-ins.
CG_OPTIONS=(-m 500M)
for LIVE_WITHOUT in "" cgroups; do
	hostile cases-threat netlink "$outsider"
	got=$(cg run --profile extended -m 500M -- "$PYTHON" -c "
import socket
kept = []
try:
    while len(kept) < 200:
        kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
except OSError as e:
    print(len(kept), e.strerror)" 2>&1)
	[ "$got" = "64 Too many open files in system" ] || fail "sockets where memory is limited: $got"
done
