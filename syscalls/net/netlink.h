/*
 * NETLINK_ROUTE sockets. In runs with RUN_NATIVE_NETLINK they are the kernel's: bind and connect are performed on a
 * duplicate, everything else is native. In other runs a socket of the kernel's would tell the machine's interfaces, so
 * the program gets a stand-in: one end of a pair of unix sockets. The supervisor answers at the other end
 * (netlink-answer.h), and the functions below tell the names and options of a netlink socket. Called by the socket
 * handlers, and by the supervisor's loop when a stand-in has a request; all in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_NETLINK_H
#define CALLGATE_SYSCALLS_NET_NETLINK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "syscalls/call/call.h"
#include "syscalls/net/netlink-answer.h"

#define NETLINK_SOCKETS_MAX 64u /* stand-ins at a time, else ENFILE; each costs a descriptor and holds at most 0.2 MB */

struct netlink;

/* Called for runs without RUN_NATIVE_NETLINK. 0 or -errno. The caller owns the result. */
int netlink_create(struct netlink **ret_netlink);
void netlink_free(struct netlink *netlink);

/* Becomes readable when a stand-in has a request, which netlink_serve_standins() answers. Borrowed. */
int netlink_get_epoll_fd(const struct netlink *netlink);
void netlink_serve_standins(struct netlink *netlink, const struct sandbox *sandbox);

/* The addresses that stand-ins tell, borrowed. To be called only if sandbox->netlink is not NULL. */
const struct netlink_facts *netlink_get_facts(const struct sandbox *sandbox);

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
