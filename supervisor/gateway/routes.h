/* Makes foreign addresses local in the run's own network namespace. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_ROUTES_H
#define CALLGATE_SUPERVISOR_GATEWAY_ROUTES_H

#include "policy/network/net.h"

/*
 * "ip route add local RANGE dev lo" for the policy's pool and for the addresses in its UDP rules, and "ip address add
 * OWN dev lo" for the run's own address in the pool. Needs CAP_NET_ADMIN
 * over the network namespace. IPv6 is skipped where the kernel has none. 0 or -errno.
 */
int egress_routes_add(const struct policy *policy);

#endif
