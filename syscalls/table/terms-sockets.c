/* The registers with which the filter allows socket calls. terms.c has the other calls. */
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "syscalls/table/terms.h"

#define SOCKET_TYPE_MASK 0xf /* SOCK_TYPE_MASK of include/linux/net.h; higher bits are SOCK_CLOEXEC and SOCK_NONBLOCK */

/* Stream and seqpacket sockets. Datagram sockets are left out, because an unconnected one can send to any address. */
#define UNIX_SOCKET_OF_TYPE(type) TERM_OF_TWO(IS(0, AF_UNIX), COMPARE_MASKED(1, SOCKET_TYPE_MASK, (type)))

const struct row_term allow_socket[] = {UNIX_SOCKET_OF_TYPE(SOCK_STREAM), UNIX_SOCKET_OF_TYPE(SOCK_SEQPACKET), END};
const struct row_term allow_socketpair[] = {UNIX_SOCKET_OF_TYPE(SOCK_STREAM), UNIX_SOCKET_OF_TYPE(SOCK_SEQPACKET), END};
const struct row_term allow_socket_datagram[] = {UNIX_SOCKET_OF_TYPE(SOCK_DGRAM), END}; /* socketpair(2), too */

/*
 * Only TCP and UDP. A socket that is neither bound nor connected grants nothing; inet-fence.h has an exception. Of the
 * flags in the type argument, only the two known flags are allowed.
 */
#define SOCKET_TYPE_BITS (~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
#define TERM_INET_SOCKET(family, type, protocol) \
	TERM_OF_THREE(IS(0, family), COMPARE_MASKED(1, SOCKET_TYPE_BITS, (type)), IS(2, protocol))

const struct row_term allow_socket_tcp[] = {
	TERM_INET_SOCKET(AF_INET, SOCK_STREAM, 0), TERM_INET_SOCKET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	TERM_INET_SOCKET(AF_INET6, SOCK_STREAM, 0), TERM_INET_SOCKET(AF_INET6, SOCK_STREAM, IPPROTO_TCP), END,
};

const struct row_term allow_socket_udp[] = {
	TERM_INET_SOCKET(AF_INET, SOCK_DGRAM, 0), TERM_INET_SOCKET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	TERM_INET_SOCKET(AF_INET6, SOCK_DGRAM, 0), TERM_INET_SOCKET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), END,
};

const struct row_term allow_sendto[] = {TERM_OF_TWO(COMPARE_WHOLE_REGISTER(4, 0), NONE(3, MSG_FASTOPEN)), END};
/*
 * Sends without an address, except possible requests of musl's getifaddrs(3), which does not wait for the answer: 20
 * bytes without flags. No term says "not 20", so all lengths whose five low bits are those of 20 are notified.
 */
#define SEND_WITH_LENGTH_BITS(mask, value) \
	TERM_OF_THREE(COMPARE_WHOLE_REGISTER(4, 0), NONE(3, MSG_FASTOPEN), COMPARE_MASKED(2, mask, value))
#define SEND_WITH_FLAG(flag) TERM_OF_TWO(COMPARE_WHOLE_REGISTER(4, 0), COMPARE_MASKED(3, MSG_FASTOPEN | (flag), (flag)))
const struct row_term allow_sendto_other[] = {
	SEND_WITH_LENGTH_BITS(1, 1),
	SEND_WITH_LENGTH_BITS(2, 2),
	SEND_WITH_LENGTH_BITS(4, 0),
	SEND_WITH_LENGTH_BITS(8, 8),
	SEND_WITH_LENGTH_BITS(16, 0),
	SEND_WITH_FLAG(MSG_NOSIGNAL),
	SEND_WITH_FLAG(MSG_DONTWAIT),
	END,
};

const struct row_term allow_sendmsg[] = {ONE(NONE(2, MSG_FASTOPEN)), END};
const struct row_term allow_sendmmsg[] = {ONE(NONE(3, MSG_FASTOPEN)), END};

#define OPTION(name) TERM_OF_TWO(IS(1, SOL_SOCKET), IS(2, name))

const struct row_term allow_getsockopt[] = {
	OPTION(SO_ERROR), OPTION(SO_TYPE), OPTION(SO_DOMAIN), OPTION(SO_PROTOCOL), OPTION(SO_ACCEPTCONN),
	OPTION(SO_SNDBUF), OPTION(SO_RCVBUF), OPTION(SO_PASSCRED), OPTION(SO_RCVTIMEO),
	OPTION(SO_SNDTIMEO), OPTION(SO_LINGER), OPTION(SO_KEEPALIVE), OPTION(SO_REUSEADDR), OPTION(SO_RCVLOWAT),
	OPTION(SO_PEEK_OFF),
	OPTION(SO_PEERGROUPS), /* groups of the peer, which is of the run, and has the same groups */
	/* Values that were set, or defaults. They tell nothing about other processes. */
	OPTION(SO_DEBUG), OPTION(SO_DONTROUTE), OPTION(SO_NO_CHECK), OPTION(SO_PRIORITY), OPTION(SO_MARK),
	OPTION(SO_BINDTODEVICE), OPTION(SO_TIMESTAMP), OPTION(SO_TIMESTAMPNS), OPTION(SO_TIMESTAMPING),
	OPTION(SO_RXQ_OVFL), OPTION(SO_SELECT_ERR_QUEUE), OPTION(SO_INCOMING_CPU), OPTION(SO_ZEROCOPY),
	OPTION(SO_MEMINFO), END,
};

/* Native unless memory is sampled, because no process's statistics contain a socket's buffers. */
const struct row_term allow_setsockopt_buffers[] = {OPTION(SO_SNDBUF), OPTION(SO_RCVBUF), END};

const struct row_term allow_setsockopt[] = {
	OPTION(SO_RCVTIMEO), OPTION(SO_SNDTIMEO), OPTION(SO_LINGER), OPTION(SO_KEEPALIVE), OPTION(SO_RCVLOWAT),
	OPTION(SO_PEEK_OFF),
	/* Adds control data to received messages: the time, and how many datagrams were dropped. */
	OPTION(SO_TIMESTAMP), OPTION(SO_TIMESTAMPNS), OPTION(SO_RXQ_OVFL),
	OPTION(SO_SELECT_ERR_QUEUE), /* changes which events poll(2) reports */
	OPTION(SO_PRIORITY), /* above 6 needs CAP_NET_ADMIN; orders packets that leave by a device with queues */
	END,
};

/* Native unless the run has RUN_HAS_UNIX_DATAGRAMS: see setsockopt.c. */
const struct row_term allow_setsockopt_credentials[] = {OPTION(SO_PASSCRED), END};

/* If the policy has a network: options of the program's own connections. */
#define AT(level, name) TERM_OF_TWO(IS(1, level), IS(2, name))

const struct row_term allow_getsockopt_inet[] = {
	OPTION(SO_BROADCAST), OPTION(SO_OOBINLINE), OPTION(SO_SNDLOWAT), OPTION(SO_REUSEPORT), OPTION(SO_COOKIE),
	AT(IPPROTO_TCP, TCP_NODELAY), AT(IPPROTO_TCP, TCP_MAXSEG), AT(IPPROTO_TCP, TCP_CORK),
	AT(IPPROTO_TCP, TCP_KEEPIDLE), AT(IPPROTO_TCP, TCP_KEEPINTVL), AT(IPPROTO_TCP, TCP_KEEPCNT),
	AT(IPPROTO_TCP, TCP_SYNCNT), AT(IPPROTO_TCP, TCP_LINGER2), AT(IPPROTO_TCP, TCP_DEFER_ACCEPT),
	AT(IPPROTO_TCP, TCP_WINDOW_CLAMP), AT(IPPROTO_TCP, TCP_INFO), AT(IPPROTO_TCP, TCP_QUICKACK),
	AT(IPPROTO_TCP, TCP_CONGESTION), AT(IPPROTO_TCP, TCP_USER_TIMEOUT), AT(IPPROTO_TCP, TCP_NOTSENT_LOWAT),
	/* About the program's own connections, whose other end is egress or the run. */
	AT(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS), AT(IPPROTO_TCP, TCP_THIN_DUPACK), AT(IPPROTO_TCP, TCP_FASTOPEN),
	AT(IPPROTO_TCP, TCP_FASTOPEN_CONNECT), AT(IPPROTO_TCP, TCP_TIMESTAMP), AT(IPPROTO_TCP, TCP_CC_INFO),
	AT(IPPROTO_TCP, TCP_ULP), AT(IPPROTO_TCP, TCP_SAVE_SYN), AT(IPPROTO_TCP, TCP_INQ), AT(IPPROTO_IP, IP_TOS),
	AT(IPPROTO_IP, IP_TTL), AT(IPPROTO_IP, IP_RECVTOS), AT(IPPROTO_IP, IP_RECVTTL), AT(IPPROTO_IP, IP_MINTTL),
	AT(IPPROTO_IP, IP_RECVORIGDSTADDR), AT(IPPROTO_IP, IP_FREEBIND), AT(IPPROTO_IP, IP_TRANSPARENT),
	AT(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), AT(IPPROTO_IP, IP_MULTICAST_IF), AT(IPPROTO_IP, IP_MULTICAST_TTL),
	AT(IPPROTO_IP, IP_MULTICAST_LOOP), AT(IPPROTO_IP, IP_MULTICAST_ALL), AT(IPPROTO_IP, IP_UNICAST_IF),
	AT(IPPROTO_IPV6, IPV6_RECVTCLASS), AT(IPPROTO_IPV6, IPV6_RECVHOPLIMIT), AT(IPPROTO_IPV6, IPV6_MULTICAST_IF),
	AT(IPPROTO_IPV6, IPV6_MULTICAST_HOPS), AT(IPPROTO_IPV6, IPV6_MULTICAST_LOOP),
	AT(IPPROTO_IPV6, IPV6_MULTICAST_ALL), AT(IPPROTO_IPV6, IPV6_DONTFRAG), AT(IPPROTO_IP, IP_MTU),
	AT(IPPROTO_IP, IP_MTU_DISCOVER), AT(IPPROTO_IP, IP_RECVERR), AT(IPPROTO_IP, IP_PKTINFO),
	AT(IPPROTO_IP, IP_OPTIONS), /* always empty, because setting it is denied */
	AT(IPPROTO_IPV6, IPV6_V6ONLY), AT(IPPROTO_IPV6, IPV6_TCLASS), AT(IPPROTO_IPV6, IPV6_UNICAST_HOPS),
	AT(IPPROTO_IPV6, IPV6_MTU), AT(IPPROTO_IPV6, IPV6_MTU_DISCOVER), AT(IPPROTO_IPV6, IPV6_RECVERR),
	AT(IPPROTO_IPV6, IPV6_RECVPKTINFO), END,
};

/*
 * Left out are above all SO_MARK, IP_TRANSPARENT, IP_FREEBIND and IP_OPTIONS (other routes to the network),
 * IP_BIND_ADDRESS_NO_PORT and IP_LOCAL_PORT_RANGE (egress knows connections by their port), TCP_FASTOPEN and
 * TCP_FASTOPEN_CONNECT (connect without a judged connect(2)), TCP_ULP, TCP_REPAIR, TCP_MD5SIG, IPV6_ADDRFORM (changes
 * the family), SO_ATTACH_*, SO_PASSRIGHTS, SO_PASSPIDFD.
 */
const struct row_term allow_setsockopt_inet[] = {
	OPTION(SO_BROADCAST), /* sending to a broadcast address is denied */
	OPTION(SO_OOBINLINE), OPTION(SO_DONTROUTE), AT(IPPROTO_TCP, TCP_NODELAY), AT(IPPROTO_TCP, TCP_MAXSEG),
	AT(IPPROTO_TCP, TCP_CORK), AT(IPPROTO_TCP, TCP_KEEPIDLE), AT(IPPROTO_TCP, TCP_KEEPINTVL),
	AT(IPPROTO_TCP, TCP_KEEPCNT), AT(IPPROTO_TCP, TCP_SYNCNT), AT(IPPROTO_TCP, TCP_LINGER2),
	AT(IPPROTO_TCP, TCP_DEFER_ACCEPT), AT(IPPROTO_TCP, TCP_WINDOW_CLAMP), AT(IPPROTO_TCP, TCP_QUICKACK),
	AT(IPPROTO_TCP, TCP_USER_TIMEOUT), AT(IPPROTO_TCP, TCP_NOTSENT_LOWAT),
	/* Affect only retransmission and reading of the program's own connections, to egress or within the run. */
	AT(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS), AT(IPPROTO_TCP, TCP_THIN_DUPACK), AT(IPPROTO_TCP, TCP_INQ),
	AT(IPPROTO_IP, IP_TOS), AT(IPPROTO_IP, IP_TTL),
	AT(IPPROTO_IP, IP_MINTTL), /* drops received packets */
	AT(IPPROTO_IP, IP_RECVORIGDSTADDR), AT(IPPROTO_IPV6, IPV6_DONTFRAG), AT(IPPROTO_IP, IP_MTU_DISCOVER),
	AT(IPPROTO_IP, IP_PKTINFO), AT(IPPROTO_IP, IP_RECVTOS), AT(IPPROTO_IP, IP_RECVTTL),
	AT(IPPROTO_IPV6, IPV6_V6ONLY), AT(IPPROTO_IPV6, IPV6_TCLASS), AT(IPPROTO_IPV6, IPV6_UNICAST_HOPS),
	AT(IPPROTO_IPV6, IPV6_MTU_DISCOVER), AT(IPPROTO_IPV6, IPV6_RECVPKTINFO), AT(IPPROTO_IPV6, IPV6_RECVTCLASS),
	AT(IPPROTO_IPV6, IPV6_RECVHOPLIMIT), END,
};

const struct row_term allow_setsockopt_alone[] = {
	OPTION(SO_REUSEADDR), AT(IPPROTO_IP, IP_RECVERR), AT(IPPROTO_IPV6, IPV6_RECVERR), END,
};

/*
 * For runs with their own network namespace, whose ports, groups and interfaces are all the run's. An attacker gains
 * nothing but access to the kernel's code for multicast groups.
 */
const struct row_term allow_setsockopt_own[] = {
	OPTION(SO_REUSEPORT), /* shares ports with processes of the run only, like SO_REUSEADDR */
	OPTION(SO_BINDTODEVICE), /* the loopback is the only device */
	AT(IPPROTO_IP, IP_MULTICAST_IF), AT(IPPROTO_IP, IP_MULTICAST_TTL), AT(IPPROTO_IP, IP_MULTICAST_LOOP),
	AT(IPPROTO_IP, IP_MULTICAST_ALL),
	/* At most 20 groups a socket; SO_MEMINFO tells their memory, which optmem_max limits. */
	AT(IPPROTO_IP, IP_ADD_MEMBERSHIP), AT(IPPROTO_IP, IP_DROP_MEMBERSHIP), AT(IPPROTO_IP, MCAST_JOIN_GROUP),
	AT(IPPROTO_IP, MCAST_LEAVE_GROUP), AT(IPPROTO_IPV6, IPV6_MULTICAST_IF), AT(IPPROTO_IPV6, IPV6_MULTICAST_HOPS),
	AT(IPPROTO_IPV6, IPV6_MULTICAST_LOOP), AT(IPPROTO_IPV6, IPV6_MULTICAST_ALL),
	AT(IPPROTO_IPV6, IPV6_JOIN_GROUP), AT(IPPROTO_IPV6, IPV6_LEAVE_GROUP), AT(IPPROTO_IPV6, MCAST_JOIN_GROUP),
	AT(IPPROTO_IPV6, MCAST_LEAVE_GROUP), END,
};

/* ---- route queries, in runs with RUN_NATIVE_NETLINK (netlink.h) ---- */

const struct row_term allow_socket_netlink[] = {
	TERM_INET_SOCKET(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE),
	TERM_INET_SOCKET(AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE),
	END,
};

/* NETLINK_LISTEN_ALL_NSID is left out: it is about other namespaces, and needs CAP_NET_BROADCAST. */
const struct row_term allow_setsockopt_netlink[] = {
	AT(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP),
	AT(SOL_NETLINK, NETLINK_DROP_MEMBERSHIP),
	AT(SOL_NETLINK, NETLINK_PKTINFO),
	AT(SOL_NETLINK, NETLINK_BROADCAST_ERROR),
	AT(SOL_NETLINK, NETLINK_NO_ENOBUFS),
	AT(SOL_NETLINK, NETLINK_CAP_ACK),
	AT(SOL_NETLINK, NETLINK_EXT_ACK),
	AT(SOL_NETLINK, NETLINK_GET_STRICT_CHK),
	END,
};

const struct row_term allow_getsockopt_netlink[] = {
	AT(SOL_NETLINK, NETLINK_PKTINFO),
	AT(SOL_NETLINK, NETLINK_BROADCAST_ERROR),
	AT(SOL_NETLINK, NETLINK_NO_ENOBUFS),
	AT(SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS),
	AT(SOL_NETLINK, NETLINK_CAP_ACK),
	AT(SOL_NETLINK, NETLINK_EXT_ACK),
	AT(SOL_NETLINK, NETLINK_GET_STRICT_CHK),
	END,
};

/* SIOCETHTOOL, which drivers answer, and requests that set something are left out. */
const struct row_term allow_ioctl_interfaces[] = {
	ONE(IS(1, SIOCGIFCONF)),
	ONE(IS(1, SIOCGIFNAME)),
	ONE(IS(1, SIOCGIFINDEX)),
	ONE(IS(1, SIOCGIFFLAGS)),
	ONE(IS(1, SIOCGIFADDR)),
	ONE(IS(1, SIOCGIFDSTADDR)),
	ONE(IS(1, SIOCGIFBRDADDR)),
	ONE(IS(1, SIOCGIFNETMASK)),
	ONE(IS(1, SIOCGIFHWADDR)),
	ONE(IS(1, SIOCGIFMETRIC)),
	ONE(IS(1, SIOCGIFMTU)),
	ONE(IS(1, SIOCGIFTXQLEN)),
	ONE(IS(1, SIOCGIFMAP)),
	END,
};
