/* Adds local routes by rtnetlink(7): one request and one answer each. */
#include "supervisor/gateway/provide.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "egress/conn/pool.h"

/* the kernel's LOOPBACK_IFINDEX: lo is the first interface of every network namespace */
#define LOOPBACK_INTERFACE_INDEX 1u

/* An RTM_NEWROUTE message for a local route. */
struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr device;
	uint32_t index; /* interface index of the device */
	struct rtattr to;
	unsigned char address[sizeof(struct in6_addr)]; /* for IPv4 only its first four bytes are sent */
};
_Static_assert(offsetof(struct route_request, device) == NLMSG_LENGTH(sizeof(struct rtmsg)),
	       "attributes follow at once");

/* Sends a request with NLM_F_ACK, so the answer is an error message, in which 0 means success. */
static int routes_send_netlink_request(int fd, const struct nlmsghdr *request)
{
	union {
		struct nlmsghdr head; /* aligns the bytes */
		char bytes[512];
	} answer;
	struct nlmsgerr *error = NLMSG_DATA(&answer.head);
	ssize_t got;

	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	got = recv(fd, &answer, sizeof(answer), 0);
	if (got < 0)
		return -errno;
	if ((size_t)got < NLMSG_LENGTH(sizeof(*error)) || answer.head.nlmsg_type != NLMSG_ERROR || error->error > 0)
		return -EPROTO;
	return error->error == -EEXIST ? 0 : error->error;
}

/* Makes the addresses local to the run's loopback interface, so that datagrams for them reach egress' sockets. */
static int routes_add_local_route(int fd, int family, const void *address, unsigned bits)
{
	const unsigned short len = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	struct route_request request = {
		.head = {.nlmsg_len = (uint32_t)offsetof(struct route_request, address) + len,
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.route = {.rtm_family = (unsigned char)family, .rtm_dst_len = (unsigned char)bits,
			  .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_HOST,
			  .rtm_type = RTN_LOCAL},
		.device = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
		.index = LOOPBACK_INTERFACE_INDEX,
		.to = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = RTA_DST},
	};

	memcpy(request.address, address, len);
	return routes_send_netlink_request(fd, &request.head);
}

/* Ignores errors of a kernel without IPv6, or with IPv6 disabled for lo: the program cannot use it either. */
static int routes_ignore_missing_v6(int error)
{
	return error == -EOPNOTSUPP || error == -EAFNOSUPPORT || error == -EACCES || error == -EPERM || error == -ENODEV
		       ? 0
		       : error;
}

/* As routes_add_local_route(); a kernel without IPv6 is no error. */
static int routes_add_local_v6_route(int fd, const struct in6_addr *address, unsigned bits)
{
	return routes_ignore_missing_v6(routes_add_local_route(fd, AF_INET6, address, bits));
}

static int routes_add_address(int fd, int family, const void *address, unsigned bits)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg name;
		struct rtattr attribute;
		struct in6_addr address;
	} request = {
		.head = {.nlmsg_type = RTM_NEWADDR,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.name = {.ifa_family = (unsigned char)family,
			 .ifa_prefixlen = (unsigned char)bits,
			 .ifa_scope = RT_SCOPE_UNIVERSE,
			 .ifa_index = LOOPBACK_INTERFACE_INDEX},
		.attribute = {.rta_type = IFA_LOCAL, .rta_len = (unsigned short)RTA_LENGTH(bits / 8)},
	};

	memcpy(&request.address, address, bits / 8);
	request.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(request.name)) + RTA_LENGTH(bits / 8));
	return routes_send_netlink_request(fd, &request.head);
}

/*
 * Adds the run's own address to lo as well. getaddrinfo(3) with AI_ADDRCONFIG returns only addresses of a family in
 * which the machine has an address besides the loopback's.
 */
static int routes_add_own_addresses(int fd, struct net_pool_ranges pool)
{
	int error;

	pool_convert_to_run_address((unsigned char *)&pool.v4, sizeof(pool.v4), pool.v4_bits);
	pool_convert_to_run_address((unsigned char *)&pool.v6, sizeof(pool.v6), pool.v6_bits);
	error = routes_add_address(fd, AF_INET, &pool.v4, 32);
	return error < 0 ? error : routes_ignore_missing_v6(routes_add_address(fd, AF_INET6, &pool.v6, 128));
}

/* Makes a UDP address that a rule names local to the run. */
static int routes_add_addresses_of_rule(int fd, const struct net_rule *rule)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (!rule->is_address || rule->proto != NET_UDP)
		return 0;
	if (inet_pton(AF_INET, rule->host, &v4) == 1)
		return routes_add_local_route(fd, AF_INET, &v4, 32);
	return inet_pton(AF_INET6, rule->host, &v6) == 1 ? routes_add_local_v6_route(fd, &v6, 128) : 0;
}

int egress_routes_add(const struct policy *policy)
{
	const struct net_pool_ranges pool = policy_net_get_pool(policy);
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	size_t count;
	const struct net_rule *rule = policy_net_get_rules(policy, &count);
	int error;

	if (fd < 0)
		return -errno;
	error = routes_add_local_route(fd, AF_INET, &pool.v4, pool.v4_bits);
	if (error == 0)
		error = routes_add_local_v6_route(fd, &pool.v6, pool.v6_bits);
	if (error == 0)
		error = routes_add_own_addresses(fd, pool);
	for (size_t i = 0; i < count && error == 0; i++)
		error = routes_add_addresses_of_rule(fd, &rule[i]);
	return error;
}
