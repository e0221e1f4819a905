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

/*
 * How many ports the DNS sockets try. The guard is a socket that holds their port at all other addresses. A port that
 * is free on loopback may be in use at one of those.
 */
#define PORT_GUARD_ATTEMPTS_MAX 32

/* Binds any unprivileged port. Without a network namespace, a guard keeps other processes from binding it. */
static int program_sockets_bind_dns_any_port(struct egress_program_sockets *sockets)
{
	int r = -EADDRINUSE;

	for (int i = 0; i < PORT_GUARD_ATTEMPTS_MAX && r == -EADDRINUSE; i++) {
		r = egress_address_bind_udp_and_tcp(sockets->loopback, 0, sockets->dns_fd, &sockets->dns_port);
		if (r < 0 || sockets->has_own_netns)
			return r;
		r = sockets->guard_fd = inet_filter_reserve_port(sockets->dns_fd[0]);
		if (r < 0) {
			close_fd(&sockets->dns_fd[0]);
			close_fd(&sockets->dns_fd[1]);
		}
	}
	return r < 0 ? r : 0;
}

/*
 * Makes the DNS sockets: those bound by the keeper, else port 53, else any port, to which the supervisor redirects
 * queries for port 53.
 */
static int program_sockets_bind_dns(struct egress_process *egress, struct egress_program_sockets *sockets)
{
	int error;

	if (!sockets->has_own_netns && egress->dns_fd[0] >= 0) {
		sockets->dns_fd[0] = steal_fd(&egress->dns_fd[0]);
		sockets->dns_fd[1] = steal_fd(&egress->dns_fd[1]);
		sockets->dns_port = DNS_PORT;
		return 0;
	}
	error = egress_address_bind_udp_and_tcp(sockets->loopback, DNS_PORT, sockets->dns_fd, &sockets->dns_port);
	if (error == -EACCES || error == -EADDRINUSE)
		error = program_sockets_bind_dns_any_port(sockets);
	return error;
}

/*
 * Makes a UDP socket connected to itself: datagrams of other sockets get ECONNREFUSED, and its port cannot be bound
 * again.
 */
static int program_sockets_bind_udp_sink(struct egress_program_sockets *sockets)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = sockets->loopback};

	sockets->udp_sink_fd = egress_address_bind_socket(sockets->loopback, 0, SOCK_DGRAM, &sockets->sink_port);
	if (sockets->udp_sink_fd < 0)
		return sockets->udp_sink_fd;
	name.sin_port = htons(sockets->sink_port);
	return connect(sockets->udp_sink_fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ? -errno : 0;
}

int egress_open_program_sockets(struct egress_process *egress, const struct policy *policy, bool own_netns,
			      struct egress_program_sockets *ret_sockets, const char **ret_step)
{
	struct egress_program_sockets sockets = EGRESS_PROGRAM_SOCKETS_INIT;
	int error = 0;

	sockets.has_own_netns = own_netns;
	sockets.loopback = egress->own_address;
	if (own_netns) {
		*ret_step = "make the pool's addresses local";
		sockets.loopback.s_addr = htonl(INADDR_LOOPBACK);
		error = egress_routes_add(policy);
	}
	if (error == 0) {
		*ret_step = "listen for the program's connections";
		sockets.listener_fd =
			egress_address_bind_socket(sockets.loopback, 0, SOCK_STREAM, &sockets.listener_port);
		error = sockets.listener_fd < 0 ? sockets.listener_fd : 0;
	}
	if (error == 0) {
		*ret_step = "listen for the program's DNS queries";
		error = program_sockets_bind_dns(egress, &sockets);
	}
	if (error == 0) {
		*ret_step = "reserve a UDP port that refuses datagrams";
		error = program_sockets_bind_udp_sink(&sockets);
	}
	*ret_sockets = sockets;
	return error;
}

void egress_predict_program_sockets(struct egress_program_sockets *ret_sockets)
{
	*ret_sockets = (struct egress_program_sockets)EGRESS_PROGRAM_SOCKETS_INIT;
	ret_sockets->has_own_netns = true;
	ret_sockets->loopback.s_addr = htonl(INADDR_LOOPBACK);
	ret_sockets->dns_port = DNS_PORT; /* nothing else listens in a new network namespace */
}

int egress_provide_resolv_conf(struct egress_process *egress, const struct egress_program_sockets *sockets,
			       bool datagrams)
{
	const struct in_addr any = {.s_addr = htonl(INADDR_LOOPBACK)};
	char address[INET_ADDRSTRLEN], text[128];

	(void)inet_ntop(AF_INET, sockets->dns_port == DNS_PORT ? &sockets->loopback : &any, address, sizeof(address));
	(void)snprintf(text, sizeof(text), "nameserver %s\n%s", address, datagrams ? "" : "options use-vc\n");
	return egress_process_add_file(egress, "/etc/resolv.conf", text, strlen(text));
}

int egress_send_program_sockets(const struct egress_process *egress, const struct egress_program_sockets *sockets)
{
	const struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_PROGRAM_SOCKETS};
	const int fds[CONTROL_FDS_MAX] = {sockets->listener_fd, sockets->dns_fd[0], sockets->dns_fd[1]};

	return control_send_message(egress->control_fd, &message, fds, CONTROL_FDS_MAX);
}

void egress_program_sockets_release(struct egress_program_sockets *sockets)
{
	cleanup_close(&sockets->listener_fd);
	cleanup_close(&sockets->dns_fd[0]);
	cleanup_close(&sockets->dns_fd[1]);
	cleanup_close(&sockets->udp_sink_fd);
	cleanup_close(&sockets->guard_fd);
	*sockets = (struct egress_program_sockets)EGRESS_PROGRAM_SOCKETS_INIT;
}
