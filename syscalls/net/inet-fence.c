#include "syscalls/net/inet-fence.h"

#include <errno.h>
#include <linux/filter.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

/* Most instructions before the ports. Two more follow for each port: the DNS port, and one for each endpoint. */
#define FENCE_HEAD_INSTRUCTIONS_MAX 9u
#define FENCE_MAX (FENCE_HEAD_INSTRUCTIONS_MAX + 2u * (1u + INET_ENDPOINTS_MAX))

_Static_assert(FENCE_MAX <= BPF_MAXINSNS, "a filter has room for all endpoints");

struct fence {
	struct sock_filter code[FENCE_MAX];
	unsigned short len;
};

static void fence_emit_instruction(struct fence *fence, uint16_t code, uint8_t unequal, uint32_t k)
{
	fence->code[fence->len++] = (struct sock_filter){.code = code, .jf = unequal, .k = k};
}

static void fence_emit_drop(struct fence *fence)
{
	fence_emit_instruction(fence, BPF_RET | BPF_K, 0, 0);
}

static void fence_emit_accept_if(struct fence *fence, uint32_t value)
{
	fence_emit_instruction(fence, BPF_JMP | BPF_JEQ | BPF_K, 1, value);
	fence_emit_instruction(fence, BPF_RET | BPF_K, 0, UINT32_MAX);
}

/* Drops the datagram unless the BPF accumulator is `value`. */
static void fence_emit_drop_unless_equal(struct fence *fence, uint32_t value)
{
	fence->code[fence->len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
	fence_emit_drop(fence);
}

/* Filters of UDP sockets see the UDP header first: offset 0 is the source port. */
static void fence_build_filter(const struct inet *inet, struct fence *fence)
{
	const uint32_t net = (uint32_t)SKF_NET_OFF;

	fence->len = 0;
	fence_emit_instruction(fence, BPF_LD | BPF_B | BPF_ABS, 0, net);
	fence_emit_instruction(fence, BPF_ALU | BPF_RSH | BPF_K, 0, 4);
	fence_emit_drop_unless_equal(fence, 4); /* egress sends from IPv4 addresses, to AF_INET6 sockets as well */
	fence_emit_instruction(fence, BPF_LD | BPF_W | BPF_ABS, 0, net + 12);
	fence_emit_drop_unless_equal(fence, ntohl(inet->options.loopback.s_addr));
	fence_emit_instruction(fence, BPF_LD | BPF_H | BPF_ABS, 0, 0);
	fence_emit_accept_if(fence, inet->options.dns_port);
	for (size_t i = 0; i < inet->endpoint_count; i++)
		fence_emit_accept_if(fence, inet->endpoint[i].at.port);
	fence_emit_drop(fence);
}

static int fence_attach_filter(int socket_fd, struct fence *fence)
{
	const struct sock_fprog program = {.len = fence->len, .filter = fence->code};

	return setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int inet_fence_drop_all(int socket_fd)
{
	struct fence fence = {.len = 0};

	fence_emit_drop(&fence);
	return fence_attach_filter(socket_fd, &fence);
}

int inet_fence_accept_from_endpoints(const struct inet *inet, int socket_fd)
{
	struct fence fence;
	socklen_t len = 0; /* before the call: read no instructions; after it: the number of instructions */

	if (getsockopt(socket_fd, SOL_SOCKET, SO_GET_FILTER, fence.code, &len) < 0)
		return -errno;
	fence_build_filter(inet, &fence);
	/*
	 * A length of 0 means that no filter is attached. Endpoints are only added, never removed, so a filter of the
	 * same length is the same filter.
	 */
	return len == 0 || len == fence.len ? 0 : fence_attach_filter(socket_fd, &fence);
}

int inet_fence_remove_filter(int socket_fd)
{
	const int unused = 0;

	if (setsockopt(socket_fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) == 0 || errno == ENOENT)
		return 0; /* ENOENT: no filter was attached */
	return -errno;
}

static int fence_set_reuseport(int socket_fd, int on)
{
	return setsockopt(socket_fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ? -errno : 0;
}

/*
 * Binds the guard to the socket's port. SO_REUSEPORT is on only meanwhile. It admits sockets of the same user only;
 * with SO_REUSEADDR, sockets of other users could bind the port as well (net/ipv4/udp.c: udp_lib_lport_inuse).
 */
static int fence_bind_port_guard(int guard_fd, int socket_fd, const struct sockaddr_in *name)
{
	int r = fence_set_reuseport(guard_fd, 1), end;

	if (r == 0)
		r = fence_set_reuseport(socket_fd, 1);
	if (r == 0 && bind(guard_fd, (const struct sockaddr *)name, sizeof(*name)) < 0)
		r = -errno;
	end = fence_set_reuseport(socket_fd, 0);
	if (end == 0)
		end = fence_set_reuseport(guard_fd, 0);
	return r < 0 ? r : end;
}

int inet_fence_reserve_port(int socket_fd)
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
	r = inet_fence_drop_all(guard);
	if (r == 0)
		r = fence_bind_port_guard(guard, socket_fd, &name);
	return r < 0 ? r : steal_fd(&guard);
}
