/*
 * SIOCGIF* (netdevice(7)) in runs without RUN_ROUTES, where the machine's interfaces are not the run's to see: the
 * loopback interface, with what a stand-in for NETLINK_ROUTE tells of it. Called by sys_ioctl.
 */
#ifndef CALLGATE_SYSCALLS_NET_INTERFACES_H
#define CALLGATE_SYSCALLS_NET_INTERFACES_H

#include "syscalls/call/call.h"

/* False: another request, or one that the kernel answers. */
bool interfaces_ioctl(struct call *call);

#endif
