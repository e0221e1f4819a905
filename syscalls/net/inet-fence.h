/*
 * Who may send to a UDP socket of a run without a network namespace. The kernel binds one to every address by itself:
 * any send does, even one that fails for want of a peer (net/ipv4/af_inet.c: inet_autobind), and write(2), splice(2)
 * and sendfile(2) are sends as well. So it has a filter before the program has it, which the program cannot take off:
 * no call of its own reaches SO_ATTACH_FILTER or SO_DETACH_FILTER. The state is in the socket alone.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_FENCE_H
#define CALLGATE_SYSCALLS_NET_INET_FENCE_H

struct inet;

/* Nobody. 0 or -errno, as the others. */
int inet_fence_close(int socket_fd);
/*
 * The run's DNS and its endpoints of UDP so far, by the address and ports that nobody else has: once the program has
 * been led to one.
 */
int inet_fence_admit(const struct inet *inet, int socket_fd);
/* Everybody who gets there: it is bound to a port that the policy grants. */
int inet_fence_open(int socket_fd);

/*
 * Keeps everybody else from the port of a bound UDP socket of IPv4, at every address: who has a port at one address can
 * give any other as the source of what he sends (IP_PKTINFO). The socket may not share its port (SO_REUSEADDR,
 * SO_REUSEPORT). A descriptor, the caller's, that holds the port and takes no datagrams; or -errno. -EADDRINUSE:
 * somebody has the port already.
 */
int inet_fence_guard(int socket_fd);

#endif
