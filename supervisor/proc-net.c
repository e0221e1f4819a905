#include "supervisor/proc-net.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* The kernel pads lines of these files with spaces to a fixed width: so do the texts here. */
#define PROC_NET_PADDED_LINE(text, width) "%-" #width "s\n", text

static char dev[] = "Inter-|   Receive                                                |  Transmit\n"
		    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo "
		    "colls carrier compressed\n"
		    "    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0 "
		    "    0       0          0\n";
static char tcp[256], udp[256], route[256], if_inet6[160];
static char tcp6[] = "  sl  local_address                         remote_address                        st "
		     "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
static char udp6[] = "  sl  local_address                         remote_address                        st "
		     "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n";
static char unix_sockets[] = "Num       RefCount Protocol Flags    Type St Inode Path\n";

static char net_dev[] = "net/dev", net_tcp[] = "net/tcp", net_tcp6[] = "net/tcp6", net_udp[] = "net/udp",
	    net_udp6[] = "net/udp6", net_unix[] = "net/unix", net_route[] = "net/route",
	    net_if_inet6[] = "net/if_inet6";

/* Writes /proc/net/if_inet6 with ::1 and the run's own address. own NULL: ::1 alone. */
static void proc_net_write_addresses(const struct in6_addr *own)
{
	char text[2 * sizeof(*own) + 1] = "";

	for (size_t i = 0; own && i < sizeof(*own); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", own->s6_addr[i]);
	(void)snprintf(if_inet6, sizeof(if_inet6), "%s%s%031d1 01 80 10 80       lo\n", text,
		       own ? " 01 80 00 80       lo\n" : "", 0);
}

const struct view_provided_file *proc_net_get_provided_files(const struct in6_addr *own, size_t *ret_count)
{
	static struct view_provided_file file[] = {{net_dev, dev, 0},   {net_tcp, tcp, 0},   {net_tcp6, tcp6, 0},
					     {net_udp, udp, 0},   {net_udp6, udp6, 0}, {net_unix, unix_sockets, 0},
					     {net_route, route, 0}, {net_if_inet6, if_inet6, 0}};

	(void)snprintf(tcp, sizeof(tcp),
		       PROC_NET_PADDED_LINE(
			       "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
			       "timeout inode",
			       149));
	(void)snprintf(udp, sizeof(udp),
		       PROC_NET_PADDED_LINE(
			       "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
			       "timeout inode ref pointer drops",
			       127));
	(void)snprintf(route, sizeof(route),
		       PROC_NET_PADDED_LINE(
			       "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT",
			       127));
	proc_net_write_addresses(own);
	*ret_count = sizeof(file) / sizeof(file[0]);
	for (size_t i = 0; i < *ret_count; i++)
		file[i].text_len = strlen(file[i].text);
	return file;
}
