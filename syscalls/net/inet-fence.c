#include "syscalls/net/inet-fence.h"

#include <errno.h>
#include <linux/filter.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

/* Most instructions before the ports. Two more follow for each port: the DNS port, and one for each endpoint. */
#define SOCKET_FILTER_HEAD_INSTRUCTIONS_MAX 9u
/* the head, and two per permitted sender address */
#define SOCKET_FILTER_INSTRUCTIONS_MAX (SOCKET_FILTER_HEAD_INSTRUCTIONS_MAX + 2u * (1u + INET_ENDPOINTS_MAX))

_Static_assert(SOCKET_FILTER_INSTRUCTIONS_MAX <= BPF_MAXINSNS, "a filter has room for all endpoints");

/* A classic BPF program for a UDP socket that is being emitted. */
struct socket_filter {
	struct sock_filter code[SOCKET_FILTER_INSTRUCTIONS_MAX];
	unsigned short len;
};

static void socket_filter_emit_instruction(struct socket_filter *filter, uint16_t code, uint8_t unequal, uint32_t k)
{
	filter->code[filter->len++] = (struct sock_filter){.code = code, .jf = unequal, .k = k};
}

static void socket_filter_emit_drop(struct socket_filter *filter)
{
	socket_filter_emit_instruction(filter, BPF_RET | BPF_K, 0, 0);
}

static void socket_filter_emit_accept_if_equal(struct socket_filter *filter, uint32_t value)
{
	socket_filter_emit_instruction(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, value);
	socket_filter_emit_instruction(filter, BPF_RET | BPF_K, 0, UINT32_MAX);
}

/* Drops the datagram unless the BPF accumulator is `value`. */
static void socket_filter_emit_drop_unless_equal(struct socket_filter *filter, uint32_t value)
{
	filter->code[filter->len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
	socket_filter_emit_drop(filter);
}

/* Filters of UDP sockets see the UDP header first: offset 0 is the source port. */
static void socket_filter_build(const struct inet *inet, struct socket_filter *filter)
{
	const uint32_t net = (uint32_t)SKF_NET_OFF;

	filter->len = 0;
	socket_filter_emit_instruction(filter, BPF_LD | BPF_B | BPF_ABS, 0, net);
	socket_filter_emit_instruction(filter, BPF_ALU | BPF_RSH | BPF_K, 0, 4);
	socket_filter_emit_drop_unless_equal(filter,
					     4); /* egress sends from IPv4 addresses, to AF_INET6 sockets as well */
	socket_filter_emit_instruction(filter, BPF_LD | BPF_W | BPF_ABS, 0, net + 12);
	socket_filter_emit_drop_unless_equal(filter, ntohl(inet->options.loopback.s_addr));
	socket_filter_emit_instruction(filter, BPF_LD | BPF_H | BPF_ABS, 0, 0);
	socket_filter_emit_accept_if_equal(filter, inet->options.dns_port);
	for (size_t i = 0; i < inet->endpoint_count; i++)
		socket_filter_emit_accept_if_equal(filter, inet->endpoint[i].at.port);
	socket_filter_emit_drop(filter);
}

static int socket_filter_attach(int socket_fd, struct socket_filter *filter)
{
	const struct sock_fprog program = {.len = filter->len, .filter = filter->code};

	return setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int inet_filter_drop_all(int socket_fd)
{
	struct socket_filter filter = {.len = 0};

	socket_filter_emit_drop(&filter);
	return socket_filter_attach(socket_fd, &filter);
}

int inet_filter_accept_from_endpoints(const struct inet *inet, int socket_fd)
{
	struct socket_filter filter;
	socklen_t len = 0; /* before the call: read no instructions; after it: the number of instructions */

	if (getsockopt(socket_fd, SOL_SOCKET, SO_GET_FILTER, filter.code, &len) < 0)
		return -errno;
	socket_filter_build(inet, &filter);
	/*
	 * A length of 0 means that no filter is attached. Endpoints are only added, never removed, so a filter of the
	 * same length is the same filter.
	 */
	return len == 0 || len == filter.len ? 0 : socket_filter_attach(socket_fd, &filter);
}

int inet_filter_remove(int socket_fd)
{
	const int unused = 0;

	if (setsockopt(socket_fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) == 0 || errno == ENOENT)
		return 0; /* ENOENT: no filter was attached */
	return -errno;
}

static int socket_filter_set_reuseport(int socket_fd, int on)
{
	return setsockopt(socket_fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ? -errno : 0;
}

/*
 * Binds the guard to the socket's port. SO_REUSEPORT is on only meanwhile. It admits sockets of the same user only;
 * with SO_REUSEADDR, sockets of other users could bind the port as well (net/ipv4/udp.c: udp_lib_lport_inuse).
 */
static int socket_filter_bind_port_guard(int guard_fd, int socket_fd, const struct sockaddr_in *name)
{
	int r = socket_filter_set_reuseport(guard_fd, 1), end;

	if (r == 0)
		r = socket_filter_set_reuseport(socket_fd, 1);
	if (r == 0 && bind(guard_fd, (const struct sockaddr *)name, sizeof(*name)) < 0)
		r = -errno;
	end = socket_filter_set_reuseport(socket_fd, 0);
	if (end == 0)
		end = socket_filter_set_reuseport(guard_fd, 0);
	return r < 0 ? r : end;
}

int inet_filter_reserve_port(int socket_fd)
{
	struct sockaddr_in name = {.sin_family = AF_UNSPEC};
	socklen_t len = sizeof(name);
	_cleanup_close_ int guard = -1;
	int r;

	if (getsockname(socket_fd, (struct sockaddr *)&name, &len) < 0)
		return -errno;
	guard = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (guard < 0)
		return -errno;
	name.sin_addr.s_addr = INADDR_ANY;
	r = inet_filter_drop_all(guard);
	if (r == 0)
		r = socket_filter_bind_port_guard(guard, socket_fd, &name);
	return r < 0 ? r : steal_fd(&guard);
}
