/*
 * sendto, sendmsg and sendmmsg when the policy has a network: judged and performed from a copy of the message, on a duplicate
 * of the socket. Without a network, and on stream sockets in a namespace of the run's own, they are continued.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_SEND_H
#define CALLGATE_SYSCALLS_NET_INET_SEND_H

#include "syscalls/call/call.h"

void inet_sendto(struct call *call);
void inet_sendmsg(struct call *call);
void inet_sendmmsg(struct call *call);

#endif
