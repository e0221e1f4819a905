/*
 * Socket filters (SO_ATTACH_FILTER) for UDP sockets of a run without a network namespace. They keep other processes of
 * the host from sending to these sockets. Any send binds an unbound socket to every address, even a send that fails for
 * lack of a destination (net/ipv4/af_inet.c: inet_autobind); write(2), splice(2) and sendfile(2) send as well. So the
 * filter is attached before the target has the socket. The target cannot remove it: the seccomp filter refuses
 * SO_DETACH_FILTER. The module keeps no state of its own.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_FENCE_H
#define CALLGATE_SYSCALLS_NET_INET_FENCE_H

struct inet;

/* Makes the socket drop every datagram that arrives. 0 or -errno. */
int inet_filter_drop_all(int socket_fd);
/*
 * Lets datagrams from the DNS server and from all UDP endpoints made so far reach the socket, by address and port.
 * Called when the target sends to one of them. 0 or -errno.
 */
int inet_filter_accept_from_endpoints(const struct inet *inet, int socket_fd);
/* Removes the filter, because the socket is bound to a port that the policy grants. 0 or -errno. */
int inet_filter_remove(int socket_fd);

/*
 * Reserves the port of a bound IPv4 UDP socket at every other address. Otherwise a socket at another address could send
 * with the source address of this one (IP_PKTINFO). The socket must not have SO_REUSEADDR or SO_REUSEPORT. Returns a
 * descriptor that holds the port and drops all datagrams, owned by the caller; or -errno. -EADDRINUSE: the port is
 * taken.
 */
int inet_filter_reserve_port(int socket_fd);

#endif
