/*
 * Files of /proc/PID/net for runs without a network namespace: they show the loopback interface, and no connections.
 * Called by the supervisor before it builds the view.
 */
#ifndef CALLGATE_SUPERVISOR_PROC_NET_H
#define CALLGATE_SUPERVISOR_PROC_NET_H

#include <netinet/in.h>
#include <stddef.h>

#include "view/prepare.h"
#include "view/view.h"

/* own: the run's own IPv6 address of the pool, or NULL. The returned array is static. */
const struct view_provided_file *proc_net_get_provided_files(const struct in6_addr *own, size_t *ret_count);

#endif
