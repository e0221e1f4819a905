/*
 * Socket filters (SO_ATTACH_FILTER) that keep other processes of the host from sending to UDP sockets of a run without
 * a network namespace. Any send binds an unbound socket to every address, even one that fails without a peer
 * (net/ipv4/af_inet.c: inet_autobind), and write(2), splice(2) and sendfile(2) send as well. So the filter is attached
 * before the target has the socket. The target cannot remove it: the filter of system calls refuses SO_DETACH_FILTER.
 * The only state is the socket's.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_FENCE_H
#define CALLGATE_SYSCALLS_NET_INET_FENCE_H

struct inet;

/* Drops everything. 0 or -errno, as inet_fence_admit_endpoints and inet_fence_admit_all. */
int inet_fence_drop_all(int socket_fd);
/*
 * Admits the run's DNS and its UDP endpoints so far, by their addresses and ports. Called when the target sends to one.
 */
int inet_fence_admit_endpoints(const struct inet *inet, int socket_fd);
/* Admits everything: the socket is bound to a port that the policy grants. */
int inet_fence_admit_all(int socket_fd);

/*
 * Reserves the port of a bound IPv4 UDP socket at every other address: a socket at another address could send with this
 * one's source address (IP_PKTINFO). The socket must not have SO_REUSEADDR or SO_REUSEPORT. Returns a descriptor that
 * reserves the port and drops all datagrams, owned by the caller; or -errno. -EADDRINUSE: the port is taken already.
 */
int inet_fence_reserve_port(int socket_fd);

#endif
