/*
 * Stand-ins for NETLINK_ROUTE sockets, of runs without RUN_NATIVE_NETLINK: the program gets one end of a pair of
 * unix sockets. The supervisor keeps the other end, and answers there (netlink-answer.h). Called by netlink.c, which
 * performs the calls on such sockets, and by the supervisor's loop when a stand-in has a request; all in the
 * supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_NETLINK_STANDINS_H
#define CALLGATE_SYSCALLS_NET_NETLINK_STANDINS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "syscalls/call/call.h"
#include "syscalls/net/netlink-answer.h"

#define NETLINK_SOCKETS_MAX 64u /* stand-ins at a time, else ENFILE; each costs a descriptor and holds at most 0.2 MB */

struct netlink;
struct standin;

/* Called for runs without RUN_NATIVE_NETLINK. 0 or -errno. The caller owns the result. */
int netlink_create(struct netlink **ret_netlink);
void netlink_free(struct netlink *netlink);

/* Becomes readable when a stand-in has a request, which netlink_serve_standins() answers. Borrowed. */
int netlink_get_epoll_fd(const struct netlink *netlink);
void netlink_serve_standins(struct netlink *netlink, const struct sandbox *sandbox);

/* The addresses that stand-ins tell, borrowed. To be called only if sandbox->netlink is not NULL. */
const struct netlink_facts *netlink_get_facts(const struct sandbox *sandbox);

/*
 * Makes a stand-in. type: of socket(2), of which SOCK_NONBLOCK counts. Returns the program's end, owned by the caller,
 * or -errno.
 */
int netlink_make_standin_socket(struct netlink *netlink, int type);

/*
 * The stand-in to which a thread's descriptor refers, borrowed; NULL: none, or `netlink` is NULL. It is found by its
 * inode, without a duplicate. Another thread may replace the descriptor, so the caller must do only what is harmless on
 * any socket.
 */
struct standin *netlink_find_standin(struct netlink *netlink, pid_t tid, int fd);

/*
 * Binds a stand-in to a port (nl_pid) for `process`. Port 0: keeps the one it has, or chooses one as the kernel does.
 * 0, -EINVAL: it has another port; or -EADDRINUSE.
 */
int standin_bind(const struct netlink *netlink, struct standin *standin, uint32_t port, pid_t process);

/* The port (nl_pid); 0: not chosen yet. */
uint32_t standin_get_port(const struct standin *standin);

/*
 * Answers what was sent before, then a request of `process` that never goes through the socket. The program can receive
 * the answer when this returns. If it has closed its end, the stand-in is freed.
 */
void standin_answer_at_once(const struct sandbox *sandbox, struct standin *standin, pid_t process,
			    const unsigned char *request, size_t len);

#endif
