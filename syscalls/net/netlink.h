/*
 * NETLINK_ROUTE sockets. In runs with RUN_ROUTES they are the kernel's: bind and connect are performed on a duplicate,
 * everything else is native. In other runs the program gets a stand-in, because a socket of the machine's network
 * namespace would tell its interfaces: one end of a pair of unix sockets, at whose other end the supervisor answers
 * (netlink-answer.h). Names and options of a stand-in are told by the functions below. Called by the socket handlers,
 * and by the supervisor's loop when a stand-in has a request; all in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_NETLINK_H
#define CALLGATE_SYSCALLS_NET_NETLINK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "syscalls/call/call.h"
#include "syscalls/net/netlink-answer.h"

#define NETLINK_SOCKETS_MAX 64u /* at a time; each costs a descriptor and holds at most 0.2 MB. More: ENFILE */

struct netlink;

/* For runs without RUN_ROUTES. 0 or -errno. The result is owned by the caller. */
int netlink_create(struct netlink **ret_netlink);
void netlink_free(struct netlink *netlink);

/* Becomes readable when a stand-in has a request; then netlink_serve() answers. Borrowed. */
int netlink_event_fd(const struct netlink *netlink);
void netlink_serve(struct netlink *netlink, const struct sandbox *sandbox);

/* What is told of the run's network; sandbox->netlink is not NULL. Borrowed. */
const struct netlink_facts *netlink_facts(const struct sandbox *sandbox);

/* socket(AF_NETLINK, SOCK_RAW or SOCK_DGRAM, NETLINK_ROUTE). False: another call, or a socket that the kernel makes. */
bool netlink_socket(struct call *call);
/* bind(2) and connect(2) with an address of AF_NETLINK. */
void netlink_bind(struct call *call, const struct sockaddr_storage *address, int len);
void netlink_connect(struct call *call, const struct sockaddr_storage *address, int len);

/*
 * Whether a notified sendto(2) is native in other runs and is not on a stand-in: then it is continued. Any socket may
 * send to its peer, so it does not matter if another thread replaces the descriptor.
 */
bool netlink_passes_send(struct netlink *netlink, pid_t tid, const struct syscall_row *row, const __u64 *arg);
/* sendto(2) on a stand-in: the answer is there before the call returns. False: another socket. */
bool netlink_send(struct call *call);

/* The name of a stand-in. peer: getpeername(2). False: argument 0 is no stand-in. */
bool netlink_name(const struct call *call, bool peer, struct sockaddr_storage *ret_address, socklen_t *ret_len);
/* Options that a stand-in accepts without effect, buffer sizes among them. False: another option. */
bool netlink_set_option(struct call *call);

#endif
