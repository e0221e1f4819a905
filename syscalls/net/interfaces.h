/*
 * SIOCGIF* requests (netdevice(7)) in runs without RUN_NATIVE_NETLINK, which must not see the machine's interfaces.
 * Only the loopback interface is shown, with the addresses that stand-ins for NETLINK_ROUTE tell. Called by sys_ioctl.
 */
#ifndef CALLGATE_SYSCALLS_NET_INTERFACES_H
#define CALLGATE_SYSCALLS_NET_INTERFACES_H

#include "syscalls/call/call.h"

/* Answers a SIOCGIF* request. False: it is another request, or the kernel answers it. */
bool interfaces_perform_ioctl(struct call *call);

#endif
