/* The sockets that the run's processes connect to: in their network namespace, or at a loopback address of the run. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "egress/control.h"
#include "supervisor/gateway/provide.h"
#include "supervisor/gateway/start.h"
#include "syscalls/net/inet-fence.h"

#define PORT_GUARD_ATTEMPTS_MAX 32 /* a port may be in use at another address */

/* Binds any unprivileged port. Without a network namespace, a guard keeps other processes from binding it. */
static int program_side_bind_dns_any_port(struct egress_program_sockets *guest)
{
	int r = -EADDRINUSE;

	for (int i = 0; i < PORT_GUARD_ATTEMPTS_MAX && r == -EADDRINUSE; i++) {
		r = egress_address_bind_udp_and_tcp(guest->loopback, 0, guest->dns_fd, &guest->dns_port);
		if (r < 0 || guest->has_own_netns)
			return r;
		r = guest->guard_fd = inet_filter_reserve_port(guest->dns_fd[0]);
		if (r < 0) {
			close_fd(&guest->dns_fd[0]);
			close_fd(&guest->dns_fd[1]);
		}
	}
	return r < 0 ? r : 0;
}

/*
 * Makes the DNS sockets: those bound by the keeper, else port 53, else any port, to which the supervisor redirects
 * queries for port 53.
 */
static int program_side_bind_dns(struct egress_side *side, struct egress_program_sockets *guest)
{
	int error;

	if (!guest->has_own_netns && side->dns_fd[0] >= 0) {
		guest->dns_fd[0] = steal_fd(&side->dns_fd[0]);
		guest->dns_fd[1] = steal_fd(&side->dns_fd[1]);
		guest->dns_port = DNS_PORT;
		return 0;
	}
	error = egress_address_bind_udp_and_tcp(guest->loopback, DNS_PORT, guest->dns_fd, &guest->dns_port);
	if (error == -EACCES || error == -EADDRINUSE)
		error = program_side_bind_dns_any_port(guest);
	return error;
}

/*
 * Makes a UDP socket connected to itself: datagrams of other sockets get ECONNREFUSED, and its port cannot be bound
 * again.
 */
static int program_side_bind_udp_sink(struct egress_program_sockets *guest)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = guest->loopback};

	guest->sink_fd = egress_address_bind_socket(guest->loopback, 0, SOCK_DGRAM, &guest->sink_port);
	if (guest->sink_fd < 0)
		return guest->sink_fd;
	name.sin_port = htons(guest->sink_port);
	return connect(guest->sink_fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ? -errno : 0;
}

int egress_open_program_sockets(struct egress_side *side, const struct policy *policy, bool own_netns,
			      struct egress_program_sockets *ret_guest, const char **ret_step)
{
	struct egress_program_sockets guest = EGRESS_PROGRAM_SOCKETS_INIT;
	int error = 0;

	guest.has_own_netns = own_netns;
	guest.loopback = side->own_address;
	if (own_netns) {
		*ret_step = "make the pool's addresses local";
		guest.loopback.s_addr = htonl(INADDR_LOOPBACK);
		error = egress_routes_add(policy);
	}
	if (error == 0) {
		*ret_step = "listen for the program's connections";
		guest.listener_fd = egress_address_bind_socket(guest.loopback, 0, SOCK_STREAM, &guest.listener_port);
		error = guest.listener_fd < 0 ? guest.listener_fd : 0;
	}
	if (error == 0) {
		*ret_step = "listen for the program's DNS queries";
		error = program_side_bind_dns(side, &guest);
	}
	if (error == 0) {
		*ret_step = "reserve a UDP port that refuses datagrams";
		error = program_side_bind_udp_sink(&guest);
	}
	*ret_guest = guest;
	return error;
}

void egress_expect_program_sockets(struct egress_program_sockets *ret_guest)
{
	*ret_guest = (struct egress_program_sockets)EGRESS_PROGRAM_SOCKETS_INIT;
	ret_guest->has_own_netns = true;
	ret_guest->loopback.s_addr = htonl(INADDR_LOOPBACK);
	ret_guest->dns_port = DNS_PORT; /* nothing else listens in a new network namespace */
}

int egress_provide_resolv_conf(struct egress_side *side, const struct egress_program_sockets *guest, bool datagrams)
{
	const struct in_addr any = {.s_addr = htonl(INADDR_LOOPBACK)};
	char address[INET_ADDRSTRLEN], text[128];

	(void)inet_ntop(AF_INET, guest->dns_port == DNS_PORT ? &guest->loopback : &any, address, sizeof(address));
	(void)snprintf(text, sizeof(text), "nameserver %s\n%s", address, datagrams ? "" : "options use-vc\n");
	return egress_side_add_file(side, "/etc/resolv.conf", text, strlen(text));
}

int egress_send_program_sockets(const struct egress_side *side, const struct egress_program_sockets *guest)
{
	const struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_PROGRAM_SOCKETS};
	const int fds[CONTROL_FDS_MAX] = {guest->listener_fd, guest->dns_fd[0], guest->dns_fd[1]};

	return control_send_message(side->control_fd, &message, fds, CONTROL_FDS_MAX);
}

void egress_program_side_release(struct egress_program_sockets *guest)
{
	cleanup_close(&guest->listener_fd);
	cleanup_close(&guest->dns_fd[0]);
	cleanup_close(&guest->dns_fd[1]);
	cleanup_close(&guest->sink_fd);
	cleanup_close(&guest->guard_fd);
	*guest = (struct egress_program_sockets)EGRESS_PROGRAM_SOCKETS_INIT;
}
