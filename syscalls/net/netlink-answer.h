/*
 * Answers requests to a stand-in for a NETLINK_ROUTE socket: the loopback interface with the run's addresses, in the
 * form of Linux 6.x. Other requests than queries are refused, as for lack of CAP_NET_ADMIN. Pure functions.
 */
#ifndef CALLGATE_SYSCALLS_NET_NETLINK_ANSWER_H
#define CALLGATE_SYSCALLS_NET_NETLINK_ANSWER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NETLINK_REQUEST_BYTES_MAX 4096u /* bytes; longer requests are truncated */
#define NETLINK_ANSWER_BYTES_MAX 4096u  /* bytes; no answer to one request is longer */

/* What answers tell of the run: its addresses besides 127.0.0.1 and ::1, and its user. */
struct netlink_facts {
	uid_t user;
	bool has_network; /* the policy has a network, and the members below are set */
	struct in_addr own_v4, pool_v4;
	struct in6_addr own_v6, pool_v6;
	unsigned pool_v4_bits, pool_v6_bits;
};

/*
 * Answers the first message of a datagram. port: the socket's, for nlmsg_pid. Returns the length of the answer; 0: no
 * answer. *ret_used: the length of the message; 0: no message follows.
 */
size_t netlink_answer_request(const struct netlink_facts *facts, uint32_t port, const void *request, size_t len,
			      unsigned char answer[static NETLINK_ANSWER_BYTES_MAX], size_t *ret_used);

#endif
