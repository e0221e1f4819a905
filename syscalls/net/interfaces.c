#include "syscalls/net/interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>

#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/netlink-standins.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/terms.h"

#define LOOPBACK_INDEX 1
#define LOOPBACK_MTU 65536
#define LOOPBACK_QUEUE_LENGTH 1000
#define LOOPBACK_ADDRESSES_MAX 2u /* 127.0.0.1 and the run's own address */

static struct sockaddr interfaces_make_sockaddr(struct in_addr address)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = address};
	struct sockaddr out;

	memcpy(&out, &in, sizeof(out));
	return out;
}

static struct sockaddr interfaces_make_sockaddr_of_host(uint32_t address)
{
	return interfaces_make_sockaddr((struct in_addr){.s_addr = htonl(address)});
}

/* Answers SIOCGIFCONF: lists the loopback interface once for each of its IPv4 addresses. 0 or -errno. */
static int interfaces_list_addresses(struct call *call)
{
	const struct netlink_facts *facts = netlink_get_facts(call->sandbox);
	struct ifreq entry[LOOPBACK_ADDRESSES_MAX] = {{.ifr_name = "lo"}, {.ifr_name = "lo"}};
	size_t size = (facts->has_network ? 2 : 1) * sizeof(entry[0]);
	struct ifconf list;
	int r = decode_struct(call, 2, &list, sizeof(list));

	if (r < 0)
		return r;
	entry[0].ifr_addr = interfaces_make_sockaddr_of_host(INADDR_LOOPBACK);
	entry[1].ifr_addr = interfaces_make_sockaddr(facts->own_v4);
	if (list.ifc_buf) {
		if (list.ifc_len < 0)
			return -EINVAL;
		if (size > (size_t)list.ifc_len)
			size = (size_t)list.ifc_len / sizeof(entry[0]) * sizeof(entry[0]);
		r = size ? decode_write_output(call, (uint64_t)(uintptr_t)list.ifc_buf, entry, size) : 0;
	}
	list.ifc_len = (int)size;
	return r < 0 ? r : decode_write_output(call, call->arg[2], &list, sizeof(list));
}

/* Answers a request about the interface "lo". 0 or -errno. */
static int interfaces_answer_loopback(unsigned request, struct ifreq *about)
{
	switch (request) {
	case SIOCGIFINDEX:
		about->ifr_ifindex = LOOPBACK_INDEX;
		return 0;
	case SIOCGIFFLAGS:
		about->ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
		return 0;
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
		about->ifr_addr = interfaces_make_sockaddr_of_host(INADDR_LOOPBACK);
		return 0;
	case SIOCGIFBRDADDR:
		about->ifr_addr = interfaces_make_sockaddr_of_host(INADDR_ANY);
		return 0;
	case SIOCGIFNETMASK:
		about->ifr_addr = interfaces_make_sockaddr_of_host(0xff000000);
		return 0;
	case SIOCGIFHWADDR:
		about->ifr_hwaddr = (struct sockaddr){.sa_family = ARPHRD_LOOPBACK};
		return 0;
	case SIOCGIFMETRIC:
		about->ifr_metric = 0;
		return 0;
	case SIOCGIFMTU:
		about->ifr_mtu = LOOPBACK_MTU;
		return 0;
	case SIOCGIFTXQLEN:
		about->ifr_qlen = LOOPBACK_QUEUE_LENGTH;
		return 0;
	case SIOCGIFMAP:
		memset(&about->ifr_map, 0, sizeof(about->ifr_map));
		return 0;
	default:
		return -ENOTTY;
	}
}

/* Whether an address of an alias, as "lo:1", is asked for; "lo" has none. For other requests "lo:1" becomes "lo". */
static bool interfaces_is_alias_address(struct ifreq *about, unsigned request)
{
	char *colon = strchr(about->ifr_name, ':');

	if (!colon || strncmp(about->ifr_name, "lo:", 3) != 0)
		return false;
	if (request == SIOCGIFADDR || request == SIOCGIFDSTADDR || request == SIOCGIFBRDADDR ||
	    request == SIOCGIFNETMASK)
		return true;
	*colon = '\0';
	return false;
}

/* Answers a SIOCGIF* ioctl(2) about the loopback interface. 0 or -errno. */
static int interfaces_answer_request(struct call *call, unsigned request)
{
	struct ifreq about;
	int r = decode_struct(call, 2, &about, sizeof(about));

	if (r < 0)
		return r;
	about.ifr_name[IFNAMSIZ - 1] = '\0';
	if (request == SIOCGIFNAME) {
		r = about.ifr_ifindex == LOOPBACK_INDEX ? 0 : -ENODEV;
		memcpy(about.ifr_name, "lo", sizeof("lo"));
	} else if (interfaces_is_alias_address(&about, request)) {
		r = -EADDRNOTAVAIL;
	} else {
		r = strcmp(about.ifr_name, "lo") == 0 ? interfaces_answer_loopback(request, &about) : -ENODEV;
	}
	return r < 0 ? r : decode_write_output(call, call->arg[2], &about, sizeof(about));
}

bool interfaces_perform_ioctl(struct call *call)
{
	unsigned request = call_get_uint(call, 1);

	if (!call->sandbox->netlink || !table_terms_match(allow_ioctl_interfaces, call->arg) ||
	    net_check_fd_is_socket(call) < 0)
		return false;
	target_allow_without_rule(call);
	call_return_result(call, request == SIOCGIFCONF ? interfaces_list_addresses(call)
			   : interfaces_answer_request(call, request));
	return true;
}
