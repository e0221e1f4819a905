/*
 * Calls on NETLINK_ROUTE sockets. In runs with RUN_NATIVE_NETLINK they are the kernel's: bind and connect are
 * performed on a duplicate, everything else is native. In other runs a socket of the kernel's would tell the
 * machine's interfaces, so the program gets a stand-in (netlink-standins.h), and the functions below tell the names
 * and options of a netlink socket. Called by the socket handlers, and by dispatch for sends; all in the supervisor
 * thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_NETLINK_H
#define CALLGATE_SYSCALLS_NET_NETLINK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "syscalls/call/call.h"

struct netlink;

/* Makes a stand-in for socket(AF_NETLINK, SOCK_RAW or SOCK_DGRAM, NETLINK_ROUTE). False: the call makes none. */
bool netlink_make_standin(struct call *call);
/* bind(2) and connect(2) with an AF_NETLINK address. */
void netlink_bind(struct call *call, const struct sockaddr_storage *address, int len);
void netlink_connect(struct call *call, const struct sockaddr_storage *address, int len);

/*
 * Whether a notified sendto(2) is continued, because its socket is not a stand-in: only sends on stand-ins need the
 * supervisor. If another thread replaces the descriptor meanwhile, nothing is gained, because any socket may send to
 * its peer.
 */
bool netlink_send_may_continue(struct netlink *netlink, pid_t tid, const struct syscall_row *row, const __u64 *arg);
/* Performs sendto(2) on a stand-in: the answer arrives before the call returns. False: argument 0 is no stand-in. */
bool netlink_send_request(struct call *call);

/* The name that the target knows for a stand-in. peer: getpeername(2). False: argument 0 is no stand-in. */
bool netlink_get_name(const struct call *call, bool peer, struct sockaddr_storage *ret_address, socklen_t *ret_len);
/* Accepts options of a stand-in without effect, for example buffer sizes. False: another socket or option. */
bool netlink_set_option(struct call *call);

#endif
