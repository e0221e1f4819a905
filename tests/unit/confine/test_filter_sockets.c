/* What the filter says of sockets of runs with a network, written by hand. Threats 34, 41. */
#include <check.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/unit/confine/filter-rig.h"

#define NET_MPTCP 262

START_TEST(internet_sockets_by_hand)
{
	static const struct attempt inet[] = {
		{"socket", {AF_INET, SOCK_STREAM, 0}, true},
		{"socket", {AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP}, true},
		{"socket", {AF_INET | HIGH, SOCK_STREAM | HIGH, IPPROTO_TCP | HIGH}, true},
		{"socket", {AF_INET, SOCK_STREAM, NET_MPTCP}, false},
		{"socket", {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, false},
		{"socket", {AF_INET, SOCK_STREAM, IPPROTO_UDP}, false},
		{"socket", {AF_INET, SOCK_STREAM | 0x100, 0}, false},
		{"socket", {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, false},
		{"socket", {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE}, false},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6}, false},
		{"socket", {AF_INET, SOCK_RAW, IPPROTO_TCP}, false},
		{"socket", {AF_INET, SOCK_SEQPACKET, 0}, false},
		{"socket", {AF_PACKET, SOCK_DGRAM, 0}, false},
		{"socket", {AF_NETLINK, SOCK_DGRAM, 0}, false},
		{"socket", {AF_UNIX, SOCK_DGRAM, 0}, false},
		{"socket", {AF_UNIX, SOCK_STREAM, 0}, true},
		{"socketpair", {AF_INET, SOCK_STREAM, 0}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_NODELAY}, true},
		{"setsockopt", {0, IPPROTO_TCP, TCP_FASTOPEN}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_FASTOPEN_CONNECT}, false},
		{"setsockopt", {0, IPPROTO_TCP | HIGH, TCP_FASTOPEN_CONNECT | HIGH}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_REPAIR}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_ULP}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_CONGESTION}, false},
		{"setsockopt", {0, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */}, false},
		{"setsockopt", {0, IPPROTO_IP, 51 /* IP_LOCAL_PORT_RANGE */}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_MARK}, false},
		{"setsockopt", {0, SOL_SOCKET, 83}, false}, /* SO_PASSRIGHTS */
		{"setsockopt", {0, SOL_SOCKET, SO_ATTACH_FILTER}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_TRANSPARENT}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_FREEBIND}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_OPTIONS}, false},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_ADDRFORM}, false},
		{"getsockopt", {0, SOL_SOCKET, SO_ERROR}, true},
		{"getsockopt", {0, IPPROTO_TCP, TCP_INFO}, true},
		{"sendto", {0, 0, 0, 0, 0}, true},
		{"sendto", {0, 0, 0, MSG_FASTOPEN, 0}, false},
		{"sendto", {0, 0, 0, 0, 1}, false},
		{"connect", {0, 0, 0}, false},
		{"bind", {0, 0, 0}, false},
		{"listen", {0, 0}, false},
	};

	filter_rig_try(inet, sizeof(inet) / sizeof(inet[0]));
}
END_TEST

START_TEST(datagrams_by_hand)
{
	static const struct attempt datagrams[] = {
		{"socket", {AF_INET, SOCK_DGRAM, 0}, true},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, true},
		{"sendmsg", {0, 0, 0}, false},
		{"sendmmsg", {0, 0, 0, 0}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEPORT}, true}, /* alone on its loopback */
		{"setsockopt", {0, SOL_SOCKET, SO_BINDTODEVICE}, true},
		{"setsockopt", {0, IPPROTO_IP, IP_ADD_MEMBERSHIP}, true},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEADDR}, true},
		{"setsockopt", {0, IPPROTO_IP, IP_RECVERR}, true},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_RECVERR}, true},
	};

	filter_rig_try(datagrams, sizeof(datagrams) / sizeof(datagrams[0]));
}
END_TEST

/* On a shared loopback. Where sendmsg is native, no socket exists for which a destination address matters. */
START_TEST(routes_by_hand)
{
	static const struct attempt queries[] = {
		{"socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}, true},
		{"socket", {AF_NETLINK | HIGH, SOCK_DGRAM | HIGH, NETLINK_ROUTE | HIGH}, true},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK}, false},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG}, false},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT}, false},
		{"socket", {AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE}, false},
		{"socket", {AF_NETLINK, SOCK_RAW | 0x100, NETLINK_ROUTE}, false},
		{"socketpair", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_EXT_ACK}, true},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_RX_RING}, false},
		{"getsockopt", {0, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS}, true},
		{"ioctl", {0, SIOCGIFCONF}, true},
		{"ioctl", {0, SIOCSIFFLAGS}, false},
		{"ioctl", {0, SIOCSIFADDR}, false},
		{"ioctl", {0, SIOCETHTOOL}, false},
		{"ioctl", {0, SIOCGSKNS}, false},
		{"sendto", {3, 4096, 20, 0, 0, 0}, true},
	};

	filter_rig_try(queries, sizeof(queries) / sizeof(queries[0]));
}
END_TEST

START_TEST(standins_by_hand)
{
	static const struct attempt sends[] = {
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_EXT_ACK}, false},
		{"ioctl", {0, SIOCGIFCONF}, false},
		{"sendto", {3, 4096, 20, 0, 0, 0}, false},
		{"sendto", {3, 4096, 20 + 32, 0, 0, 0}, false},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL, 0, 0}, true},
		{"sendto", {3, 4096, 20, MSG_DONTWAIT, 0, 0}, true},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL | MSG_FASTOPEN, 0, 0}, false},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL, 4096, 16}, false},
		{"sendto", {3, 4096, 0, 0, 0, 0}, true},
		{"sendto", {3, 4096, 19, 0, 0, 0}, true},
		{"sendto", {3, 4096, 21, 0, 0, 0}, true},
		{"sendto", {3, 4096, 4096, 0, 0, 0}, true},
		{"sendto", {3, 4096, 4096, MSG_FASTOPEN, 0, 0}, false},
		{"sendto", {3, 4096, 4096, 0, HIGH, 0}, false},
	};

	filter_rig_try(sends, sizeof(sends) / sizeof(sends[0]));
}
END_TEST

START_TEST(no_datagrams_by_hand)
{
	static const struct attempt streams[] = {
		{"socket", {AF_INET, SOCK_DGRAM, 0}, false},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, false},
		{"sendmsg", {0, 0, 0}, true},
		{"sendmsg", {0, 0, MSG_FASTOPEN}, false},
		{"sendmmsg", {0, 0, 0, MSG_FASTOPEN}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEPORT}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_BINDTODEVICE}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_ADD_MEMBERSHIP}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEADDR}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_RECVERR}, false},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_RECVERR}, false},
		{"shutdown", {0, 0}, false},
	};

	filter_rig_try(streams, sizeof(streams) / sizeof(streams[0]));
}
END_TEST

START_TEST(unix_datagrams_by_hand)
{
	static const struct attempt datagrams[] = {
		{"socket", {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, true},
		{"socket", {AF_UNIX, SOCK_RAW}, false},
		{"socket", {AF_INET, SOCK_DGRAM}, false},
		{"socketpair", {AF_UNIX, SOCK_DGRAM}, true},
		{"sendto", {0, 0, 1, 0, 0}, true},
		{"sendto", {0, 0, 1, 0, 1}, false},
		{"sendmsg", {0, 1, 0}, false},
		{"sendmmsg", {0, 1, 1, 0}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_PASSCRED}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_KEEPALIVE}, true},
	};

	filter_rig_try(datagrams, sizeof(datagrams) / sizeof(datagrams[0]));
}
END_TEST

static void build_inet(void)
{
	filter_rig_build(RUN_HAS_TCP | RUN_HAS_UDP | RUN_JUDGES_MESSAGES);
}

static void build_tcp(void)
{
	filter_rig_build(RUN_HAS_TCP | RUN_SHARED_NETNS);
}

static void build_routes(void)
{
	filter_rig_build(RUN_NATIVE_NETLINK | RUN_SAMPLES_MEMORY | RUN_HAS_TCP);
}

static void build_standins(void)
{
	filter_rig_build(RUN_HAS_STANDIN_SOCKETS);
}

static void build_datagrams(void)
{
	filter_rig_build(RUN_HAS_UNIX_DATAGRAMS | RUN_JUDGES_MESSAGES);
}

int main(void)
{
	Suite *suite = suite_create("filter sockets");
	TCase *inet = tcase_create("inet");
	TCase *tcp = tcase_create("tcp");
	TCase *routes = tcase_create("routes");
	TCase *standins = tcase_create("stand-ins");
	TCase *datagrams = tcase_create("unix datagrams");

	tcase_set_timeout(inet, 120); /* for a busy machine */
	tcase_add_checked_fixture(inet, build_inet, filter_rig_drop);
	tcase_add_test(inet, internet_sockets_by_hand);
	tcase_add_test(inet, datagrams_by_hand);
	suite_add_tcase(suite, inet);
	tcase_set_timeout(tcp, 120);
	tcase_add_checked_fixture(tcp, build_tcp, filter_rig_drop);
	tcase_add_test(tcp, internet_sockets_by_hand);
	tcase_add_test(tcp, no_datagrams_by_hand);
	suite_add_tcase(suite, tcp);
	tcase_set_timeout(routes, 120);
	tcase_add_checked_fixture(routes, build_routes, filter_rig_drop);
	tcase_add_test(routes, routes_by_hand);
	suite_add_tcase(suite, routes);
	tcase_set_timeout(standins, 120);
	tcase_add_checked_fixture(standins, build_standins, filter_rig_drop);
	tcase_add_test(standins, standins_by_hand);
	suite_add_tcase(suite, standins);
	tcase_set_timeout(datagrams, 120);
	tcase_add_checked_fixture(datagrams, build_datagrams, filter_rig_drop);
	tcase_add_test(datagrams, unix_datagrams_by_hand);
	suite_add_tcase(suite, datagrams);
	return unit_run(suite);
}
