#include "syscalls/net/netlink-answer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/icmpv6.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#define LOOPBACK_INDEX 1
#define LOOPBACK_MTU 65536u
#define LOOPBACK_QUEUE_LENGTH 1000u
#define LIFETIME_FOREVER 0xffffffffu /* of an address: it never expires */
#define ROUTE_METRIC_KERNEL 256u /* IP6_RT_PRIO_ADDRCONF, IP6_RT_PRIO_USER */
#define ROUTE_METRIC_STATIC 1024u /* IP6_RT_PRIO_USER: of routes that were added by a user */
#define IFA_PROTO_KERNEL_LO 1 /* IFAPROT_KERNEL_LO, Linux 5.18 */

/* ---- writing ---- */

/* Writes the answer to one netlink request. */
struct answer_writer {
	unsigned char *out; /* NETLINK_ANSWER_BYTES_MAX bytes; all answers fit */
	size_t len;
	size_t message_offset; /* offset of the message that is being written */
	struct nlmsghdr request; /* header of the message that is answered */
	uint32_t port;           /* nl_pid of the stand-in, to which the messages go */
	unsigned short flags; /* flags of each message */
};

static void answer_write_bytes(struct answer_writer *writer, const void *from, size_t len)
{
	size_t padded = NLMSG_ALIGN(len);

	if (padded > NETLINK_ANSWER_BYTES_MAX - writer->len)
		return;
	memset(writer->out + writer->len, 0, padded);
	memcpy(writer->out + writer->len, from, len);
	writer->len += padded;
}

static void answer_begin_message(struct answer_writer *writer, unsigned type, const void *body, size_t len)
{
	struct nlmsghdr head = {.nlmsg_type = (unsigned short)type,
				.nlmsg_flags = writer->flags,
				.nlmsg_seq = writer->request.nlmsg_seq,
				.nlmsg_pid = writer->port};

	writer->message_offset = writer->len;
	answer_write_bytes(writer, &head, sizeof(head));
	answer_write_bytes(writer, body, len);
}

static void answer_end_message(struct answer_writer *writer)
{
	uint32_t len = (uint32_t)(writer->len - writer->message_offset);

	memcpy(writer->out + writer->message_offset, &len, sizeof(len)); /* nlmsg_len comes first */
}

static void answer_add_attribute(struct answer_writer *writer, unsigned type, const void *value, size_t len)
{
	struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = (unsigned short)type};

	answer_write_bytes(writer, &head, sizeof(head));
	answer_write_bytes(writer, value, len);
}

static void answer_add_u8(struct answer_writer *writer, unsigned type, uint8_t value)
{
	answer_add_attribute(writer, type, &value, sizeof(value));
}

static void answer_add_u32(struct answer_writer *writer, unsigned type, uint32_t value)
{
	answer_add_attribute(writer, type, &value, sizeof(value));
}

static void answer_add_text(struct answer_writer *writer, unsigned type, const char *text)
{
	answer_add_attribute(writer, type, text, strlen(text) + 1);
}

static void answer_write_done(struct answer_writer *writer)
{
	const int status = 0;

	answer_begin_message(writer, NLMSG_DONE, &status, sizeof(status));
	answer_end_message(writer);
}

/* Writes an acknowledgement (0) or an error (-errno), without a copy of the refused message after its header. */
static void answer_write_error(struct answer_writer *writer, int error)
{
	struct nlmsgerr body = {.error = error, .msg = writer->request};

	writer->flags = NLM_F_CAPPED;
	answer_begin_message(writer, NLMSG_ERROR, &body, sizeof(body));
	answer_end_message(writer);
}

/* ---- links ---- */

static void answer_write_link(struct answer_writer *writer)
{
	const struct ifinfomsg body = {.ifi_family = AF_UNSPEC,
				       .ifi_type = ARPHRD_LOOPBACK,
				       .ifi_index = LOOPBACK_INDEX,
				       .ifi_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING | IFF_LOWER_UP};
	const unsigned char none[6] = {0};
	const struct rtnl_link_stats64 counts64 = {0};
	const struct rtnl_link_stats counts = {0};
	const struct rtnl_link_ifmap map = {0};

	answer_begin_message(writer, RTM_NEWLINK, &body, sizeof(body));
	answer_add_text(writer, IFLA_IFNAME, "lo");
	answer_add_u32(writer, IFLA_TXQLEN, LOOPBACK_QUEUE_LENGTH);
	answer_add_u8(writer, IFLA_OPERSTATE, IF_OPER_UNKNOWN);
	answer_add_u8(writer, IFLA_LINKMODE, 0);
	answer_add_u32(writer, IFLA_MTU, LOOPBACK_MTU);
	answer_add_u32(writer, IFLA_MIN_MTU, 0);
	answer_add_u32(writer, IFLA_MAX_MTU, 0);
	answer_add_u32(writer, IFLA_GROUP, 0);
	answer_add_u32(writer, IFLA_PROMISCUITY, 0);
	answer_add_u32(writer, IFLA_NUM_TX_QUEUES, 1);
	answer_add_u32(writer, IFLA_NUM_RX_QUEUES, 1);
	answer_add_u8(writer, IFLA_CARRIER, 1);
	answer_add_text(writer, IFLA_QDISC, "noqueue");
	answer_add_u32(writer, IFLA_CARRIER_CHANGES, 0);
	answer_add_attribute(writer, IFLA_MAP, &map, sizeof(map));
	answer_add_attribute(writer, IFLA_ADDRESS, none, sizeof(none));
	answer_add_attribute(writer, IFLA_BROADCAST, none, sizeof(none));
	answer_add_attribute(writer, IFLA_STATS64, &counts64, sizeof(counts64));
	answer_add_attribute(writer, IFLA_STATS, &counts, sizeof(counts));
	answer_end_message(writer);
}

/* Finds the first attribute of this type, after `fixed` bytes of the body. NULL: no such attribute. */
static const void *answer_find_attribute(const unsigned char *body, size_t len, size_t fixed, unsigned type,
					 size_t *ret_len)
{
	size_t at = NLMSG_ALIGN(fixed);
	struct rtattr head;

	while (len >= sizeof(head) && at <= len - sizeof(head)) {
		memcpy(&head, body + at, sizeof(head));
		if (head.rta_len < sizeof(head) || head.rta_len > len - at)
			return NULL;
		if ((head.rta_type & NLA_TYPE_MASK) == type) {
			*ret_len = head.rta_len - sizeof(head);
			return body + at + sizeof(head);
		}
		at += RTA_ALIGN(head.rta_len);
	}
	return NULL;
}

static void netlink_answer_getlink(struct answer_writer *writer, const unsigned char *body, size_t len)
{
	struct ifinfomsg asked;
	const char *name;
	size_t name_len = 0;

	if (writer->flags & NLM_F_MULTI) {
		answer_write_link(writer);
		answer_write_done(writer);
		return;
	}
	if (len < sizeof(asked)) {
		answer_write_error(writer, -EINVAL);
		return;
	}
	memcpy(&asked, body, sizeof(asked));
	name = answer_find_attribute(body, len, sizeof(asked), IFLA_IFNAME, &name_len);
	if (!name)
		name = answer_find_attribute(body, len, sizeof(asked), IFLA_ALT_IFNAME, &name_len);
	if (asked.ifi_index == LOOPBACK_INDEX)
		answer_write_link(writer);
	else if (asked.ifi_index == 0 && name && strnlen(name, name_len) == 2 && memcmp(name, "lo", 2) == 0)
		answer_write_link(writer);
	else
		answer_write_error(writer, asked.ifi_index || name ? -ENODEV : -EINVAL);
}

/* ---- addresses ---- */

static size_t answer_get_address_len(int family)
{
	return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

static void answer_write_address(struct answer_writer *writer, int family, const void *address, unsigned bits,
				 unsigned scope)
{
	const struct ifaddrmsg body = {.ifa_family = (unsigned char)family,
				       .ifa_prefixlen = (unsigned char)bits,
				       .ifa_flags = IFA_F_PERMANENT,
				       .ifa_scope = (unsigned char)scope,
				       .ifa_index = LOOPBACK_INDEX};
	const struct ifa_cacheinfo age = {.ifa_prefered = LIFETIME_FOREVER, .ifa_valid = LIFETIME_FOREVER};

	answer_begin_message(writer, RTM_NEWADDR, &body, sizeof(body));
	answer_add_attribute(writer, IFA_ADDRESS, address, answer_get_address_len(family));
	if (family == AF_INET) {
		answer_add_attribute(writer, IFA_LOCAL, address, answer_get_address_len(family));
		answer_add_text(writer, IFA_LABEL, "lo");
	}
	if (scope == RT_SCOPE_HOST)
		answer_add_u8(writer, IFA_PROTO, IFA_PROTO_KERNEL_LO);
	answer_add_u32(writer, IFA_FLAGS, IFA_F_PERMANENT);
	answer_add_attribute(writer, IFA_CACHEINFO, &age, sizeof(age));
	answer_end_message(writer);
}

static void netlink_answer_getaddr(struct answer_writer *writer, const struct netlink_facts *facts, int family)
{
	const struct in_addr lo = {.s_addr = htonl(INADDR_LOOPBACK)};

	/* the kernel answers an IPv6 request for one address, but no known tool makes such a request */
	if (!(writer->flags & NLM_F_MULTI)) {
		answer_write_error(writer, -EOPNOTSUPP);
		return;
	}
	if (family == AF_UNSPEC || family == AF_INET) {
		answer_write_address(writer, AF_INET, &lo, 8, RT_SCOPE_HOST);
		if (facts->has_network)
			answer_write_address(writer, AF_INET, &facts->own_v4, 32, RT_SCOPE_UNIVERSE);
	}
	if (family == AF_UNSPEC || family == AF_INET6) {
		if (facts->has_network) /* the kernel lists wider scopes first */
			answer_write_address(writer, AF_INET6, &facts->own_v6, 128, RT_SCOPE_UNIVERSE);
		answer_write_address(writer, AF_INET6, &in6addr_loopback, 128, RT_SCOPE_HOST);
	}
	answer_write_done(writer);
}

/* ---- routes ---- */

/* A route of the run, as an answer tells it. */
struct route {
	const void *to;
	unsigned bits, table, type, protocol, scope;
	const void *source; /* NULL: no preferred source address */
	uint32_t metric; /* only of IPv6 routes */
	unsigned flags;  /* RTM_F_* */
	uid_t user; /* only with RTM_F_CLONED: the user who asks for the route */
};

static void answer_write_route(struct answer_writer *writer, int family, const struct route *route)
{
	const struct rtmsg body = {.rtm_family = (unsigned char)family,
				   .rtm_dst_len = (unsigned char)route->bits,
				   .rtm_table = (unsigned char)route->table,
				   .rtm_protocol = (unsigned char)route->protocol,
				   .rtm_scope = (unsigned char)route->scope,
				   .rtm_type = (unsigned char)route->type,
				   .rtm_flags = route->flags};

	answer_begin_message(writer, RTM_NEWROUTE, &body, sizeof(body));
	answer_add_u32(writer, RTA_TABLE, route->table);
	answer_add_attribute(writer, RTA_DST, route->to, answer_get_address_len(family));
	if (family == AF_INET6)
		answer_add_u32(writer, RTA_PRIORITY, route->metric);
	if (route->source)
		answer_add_attribute(writer, RTA_PREFSRC, route->source, answer_get_address_len(family));
	answer_add_u32(writer, RTA_OIF, LOOPBACK_INDEX);
	if (family == AF_INET6)
		answer_add_u8(writer, RTA_PREF, ICMPV6_ROUTER_PREF_MEDIUM);
	if (route->flags & RTM_F_CLONED)
		answer_add_u32(writer, RTA_UID, route->user);
	answer_end_message(writer);
}

/* A route to one of the run's own addresses, like those that the kernel makes for each address of an interface. */
static struct route answer_make_local_route(const void *to, unsigned bits, const void *source)
{
	return (struct route){.to = to, .bits = bits, .table = RT_TABLE_LOCAL, .type = RTN_LOCAL,
			      .protocol = RTPROT_KERNEL, .scope = RT_SCOPE_HOST, .source = source};
}

static void answer_write_routes_v4(struct answer_writer *writer, const struct netlink_facts *facts)
{
	const struct in_addr lo = {.s_addr = htonl(INADDR_LOOPBACK)}, net = {.s_addr = htonl(0x7f000000)};
	const struct in_addr all = {.s_addr = htonl(0x7fffffff)};
	struct route route = answer_make_local_route(&net, 8, &lo);

	answer_write_route(writer, AF_INET, &route);
	route = answer_make_local_route(&lo, 32, &lo);
	answer_write_route(writer, AF_INET, &route);
	route = answer_make_local_route(&all, 32, &lo);
	route.type = RTN_BROADCAST;
	route.scope = RT_SCOPE_LINK;
	answer_write_route(writer, AF_INET, &route);
	if (!facts->has_network)
		return;
	route = answer_make_local_route(&facts->pool_v4, facts->pool_v4_bits, NULL);
	route.protocol = RTPROT_STATIC;
	answer_write_route(writer, AF_INET, &route);
	route = answer_make_local_route(&facts->own_v4, 32, &facts->own_v4);
	answer_write_route(writer, AF_INET, &route);
}

/* Writes an IPv6 route, which has no scope. */
static void answer_write_route_v6(struct answer_writer *writer, const void *to, unsigned bits, unsigned table,
				  uint32_t metric)
{
	struct route route = answer_make_local_route(to, bits, NULL);

	route.scope = RT_SCOPE_UNIVERSE;
	route.table = table;
	route.metric = metric;
	if (table == RT_TABLE_MAIN)
		route.type = RTN_UNICAST;
	if (metric == ROUTE_METRIC_STATIC)
		route.protocol = RTPROT_STATIC;
	answer_write_route(writer, AF_INET6, &route);
}

static void answer_write_routes_v6(struct answer_writer *writer, const struct netlink_facts *facts)
{
	if (facts->has_network)
		answer_write_route_v6(writer, &facts->own_v6, 128, RT_TABLE_MAIN, ROUTE_METRIC_KERNEL);
	answer_write_route_v6(writer, &in6addr_loopback, 128, RT_TABLE_LOCAL, 0);
	if (!facts->has_network)
		return;
	answer_write_route_v6(writer, &facts->own_v6, 128, RT_TABLE_LOCAL, 0);
	answer_write_route_v6(writer, &facts->pool_v6, facts->pool_v6_bits, RT_TABLE_LOCAL, ROUTE_METRIC_STATIC);
}

/* Whether the first `bits` bits of both addresses are equal. */
static bool answer_has_prefix(const void *address, const void *prefix, unsigned bits)
{
	const unsigned char *a = address, *b = prefix;
	unsigned bytes = bits / 8, rest = bits % 8;

	return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* Whether the address is one of the run's own or of the pool. */
static bool answer_address_is_routed_to_run(const struct netlink_facts *facts, int family, const void *to)
{
	const struct in_addr net = {.s_addr = htonl(0x7f000000)};

	if (family == AF_INET)
		return answer_has_prefix(to, &net, 8) ||
		       (facts->has_network && (answer_has_prefix(to, &facts->own_v4, 32) ||
					       answer_has_prefix(to, &facts->pool_v4, facts->pool_v4_bits)));
	return answer_has_prefix(to, &in6addr_loopback, 128) ||
	       (facts->has_network && (answer_has_prefix(to, &facts->own_v6, 128) ||
				       answer_has_prefix(to, &facts->pool_v6, facts->pool_v6_bits)));
}

/* Answers "ip route get": which route a packet to RTA_DST would take. */
static void netlink_answer_route_lookup(struct answer_writer *writer, const struct netlink_facts *facts,
					const unsigned char *body, size_t len)
{
	size_t to_len = 0;
	const void *to = len < sizeof(struct rtmsg) ? NULL : answer_find_attribute(body, len, sizeof(struct rtmsg),
										   RTA_DST, &to_len);
	int family = len < sizeof(struct rtmsg) ? AF_UNSPEC : body[0];
	struct route route;

	if (family != AF_INET && family != AF_INET6) {
		answer_write_error(writer, -EOPNOTSUPP);
		return;
	}
	if (!to || to_len != answer_get_address_len(family)) {
		answer_write_error(writer, -EINVAL);
		return;
	}
	if (!answer_address_is_routed_to_run(facts, family, to)) {
		answer_write_error(writer, -ENETUNREACH);
		return;
	}
	route = answer_make_local_route(to, family == AF_INET ? 32 : 128, to);
	route.table = RT_TABLE_MAIN; /* the kernel's answer to requests without RTM_F_LOOKUP_TABLE */
	route.protocol = family == AF_INET ? RTPROT_UNSPEC : RTPROT_KERNEL;
	route.scope = RT_SCOPE_UNIVERSE;
	route.user = facts->user;
	route.flags = family == AF_INET ? RTM_F_CLONED | 0x80000000 /* RTCF_LOCAL */ : 0;
	answer_write_route(writer, family, &route);
}

static void netlink_answer_getroute(struct answer_writer *writer, const struct netlink_facts *facts,
				    const unsigned char *body, size_t len)
{
	int family = len ? body[0] : AF_UNSPEC;

	if (!(writer->flags & NLM_F_MULTI)) {
		netlink_answer_route_lookup(writer, facts, body, len);
		return;
	}
	if (family == AF_UNSPEC || family == AF_INET)
		answer_write_routes_v4(writer, facts);
	if (family == AF_UNSPEC || family == AF_INET6)
		answer_write_routes_v6(writer, facts);
	answer_write_done(writer);
}

/* ---- requests ---- */

/*
 * Answers one message, as rtnetlink_rcv_msg() in net/core/rtnetlink.c does. The two low bits of a type tell its kind; 2
 * is a query.
 */
static void netlink_answer_message(struct answer_writer *writer, const struct netlink_facts *facts,
				   const unsigned char *body, size_t len)
{
	unsigned type = writer->request.nlmsg_type;
	int family = len ? body[0] : AF_UNSPEC;
	bool dump = (writer->request.nlmsg_flags & NLM_F_DUMP) != 0;

	if (type < RTM_BASE || len < sizeof(struct rtgenmsg)) {
		if (writer->request.nlmsg_flags & NLM_F_ACK)
			answer_write_error(writer, 0);
		return;
	}
	if ((type - RTM_BASE) % 4 != 2) {
		answer_write_error(writer, type > RTM_MAX ? -EOPNOTSUPP : -EPERM);
		return;
	}
	writer->flags = dump ? NLM_F_MULTI : 0;
	if (type == RTM_GETLINK)
		netlink_answer_getlink(writer, body, len);
	else if (type == RTM_GETADDR)
		netlink_answer_getaddr(writer, facts, family);
	else if (type == RTM_GETROUTE)
		netlink_answer_getroute(writer, facts, body, len);
	else
		answer_write_error(writer, -EOPNOTSUPP);
	if (!dump && writer->request.nlmsg_flags & NLM_F_ACK && writer->flags != NLM_F_CAPPED)
		answer_write_error(writer, 0);
}

/* Checks and acknowledges the message as netlink_rcv_skb() in net/netlink/af_netlink.c does. */
size_t netlink_answer_request(const struct netlink_facts *facts, uint32_t port, const void *request, size_t len,
			      unsigned char answer[static NETLINK_ANSWER_BYTES_MAX], size_t *ret_used)
{
	struct answer_writer writer = {.out = answer, .port = port};
	size_t message;

	*ret_used = 0;
	if (len < sizeof(writer.request))
		return 0;
	memcpy(&writer.request, request, sizeof(writer.request));
	message = writer.request.nlmsg_len;
	if (message < sizeof(writer.request) || message > len)
		return 0;
	*ret_used = NLMSG_ALIGN(message) < len ? NLMSG_ALIGN(message) : len;
	if (writer.request.nlmsg_flags & NLM_F_REQUEST && writer.request.nlmsg_type >= NLMSG_MIN_TYPE)
		netlink_answer_message(&writer, facts, (const unsigned char *)request + NLMSG_HDRLEN,
				       message - NLMSG_HDRLEN);
	else if (writer.request.nlmsg_flags & NLM_F_ACK)
		answer_write_error(&writer, 0);
	return writer.len;
}
