#include "egress/conn/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/conn/sockaddr.h"

enum net_lifted_refusals address_get_lifted_refusals(const struct net_rule *rule, bool named)
{
	if (!rule || !rule->allows_private_addresses)
		return NET_LIFT_NONE;
	return named ? NET_LIFT_PRIVATE_AND_LOOPBACK : NET_LIFT_PRIVATE;
}

/* Copies an address without its port. An IPv4-mapped address becomes IPv4, as the kernel routes it by IPv4's tables. */
static void address_unmap_ipv4(const struct sockaddr *from, struct sockaddr_storage *ret)
{
	const uint8_t *bytes = sockaddr_get_bytes(from);
	bool v4 = from->sa_family == AF_INET;

	if (!v4 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes)) {
		v4 = true;
		bytes += 12;
	}
	sockaddr_set_address(ret, v4 ? AF_INET : AF_INET6, bytes);
}

/* Whether bind(2) accepts the address, as it does for addresses of this machine on any interface. True if not known. */
static bool address_can_bind(const struct sockaddr_storage *address)
{
	_cleanup_close_ int fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno != EAFNOSUPPORT; /* without this address family connect(2) cannot work either */
	return !bind(fd, (const struct sockaddr *)(const void *)address, sizeof(*address)) || errno != EADDRNOTAVAIL;
}

/* Whether bind(2) accepts any address of the family, because net.ipv4.ip_nonlocal_bind or IPv6's is set. */
static bool address_family_can_bind_any(int family)
{
	static const uint8_t v4[4] = {240, 0, 0, 1};    /* 240.0.0.1: reserved, never local */
	static const uint8_t v6[16] = {1, [15] = 1};    /* 100::1: RFC 6666, discard prefix */
	struct sockaddr_storage foreign;

	sockaddr_set_address(&foreign, family, family == AF_INET ? v4 : v6);
	return address_can_bind(&foreign);
}

/*
 * Asks the routing table, without sending a packet, whether the address belongs to this machine. For such an address
 * the kernel chooses the address itself as source, or the loopback device, whose MTU is larger than any other's.
 */
static bool address_is_local_by_routing_table(const struct sockaddr_storage *address)
{
	_cleanup_close_ int fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage to = *address, own = {0}, own_plain;
	socklen_t own_len = sizeof(own), mtu_len = sizeof(int);
	int mtu = 0, level = address->ss_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	sockaddr_set_port(&to, 9);
	if (fd < 0)
		return errno != EAFNOSUPPORT;
	if (connect(fd, (const struct sockaddr *)(const void *)&to, sizeof(to)) < 0)
		return false; /* no route: connect(2) to the address cannot work */
	if (getsockname(fd, (struct sockaddr *)(void *)&own, &own_len) < 0 ||
	    getsockopt(fd, level, level == IPPROTO_IP ? IP_MTU : IPV6_MTU, &mtu, &mtu_len) < 0)
		return true;
	address_unmap_ipv4((const struct sockaddr *)(const void *)&own, &own_plain);
	return mtu >= 65535 || memcmp(&own_plain, address, sizeof(own_plain)) == 0;
}

bool address_is_local(const struct sockaddr *address)
{
	struct sockaddr_storage bare;

	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return true;
	address_unmap_ipv4(address, &bare);
	return address_can_bind(&bare) &&
	       (!address_family_can_bind_any(bare.ss_family) || address_is_local_by_routing_table(&bare));
}

const char *address_get_refusal_reason(const struct policy *policy, const struct sockaddr *address, unsigned port,
				   enum net_lifted_refusals lift)
{
	const char *reason = net_address_get_refusal_reason(address, lift);

	if (!reason && lift == NET_LIFT_NONE && address_is_local(address))
		reason = "local";
	if (!reason) {
		const struct net_verdict verdict = policy_net_judge_address(policy, address, port);

		reason = verdict.is_allowed ? NULL : verdict.reason;
	}
	return reason;
}

/* Appends an address that was not dialled, with the reason, if there is room. */
static void address_append_dropped(char *dropped, size_t cap, const struct sockaddr *address, const char *reason)
{
	char text[NET_ADDRESS_TEXT_SIZE], one[NET_ADDRESS_TEXT_SIZE + 64];
	size_t len = strlen(dropped);
	int more;

	net_address_format(address, text);
	more = snprintf(one, sizeof(one), "%s%s %s", len ? ", " : "", text, reason);
	if (more > 0 && (size_t)more < sizeof(one) && len + (size_t)more < cap)
		memcpy(dropped + len, one, (size_t)more + 1);
}

size_t address_filter_list(const struct policy *policy, struct sockaddr_storage *list, size_t count, unsigned port,
		      enum net_lifted_refusals lift, char *dropped, size_t cap)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sockaddr *address = (const struct sockaddr *)(const void *)&list[i];
		const char *reason = address_get_refusal_reason(policy, address, port, lift);

		if (reason)
			address_append_dropped(dropped, cap, address, reason);
		else
			list[kept++] = list[i];
	}
	return kept;
}
