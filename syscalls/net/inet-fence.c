#include "syscalls/net/inet-fence.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

#include "base/banned.h"

/* Loads before the ports, and two instructions a port: the DNS' and those of the endpoints. */
#define HEAD_MAX 9u
#define FENCE_MAX (HEAD_MAX + 2u * (1u + INET_ENDPOINTS_MAX))

_Static_assert(FENCE_MAX <= BPF_MAXINSNS, "a filter has room for all endpoints");

struct fence {
	struct sock_filter code[FENCE_MAX];
	unsigned short len;
};

static void add(struct fence *fence, uint16_t code, uint8_t unequal, uint32_t k)
{
	fence->code[fence->len++] = (struct sock_filter){.code = code, .jf = unequal, .k = k};
}

static void drop(struct fence *fence)
{
	add(fence, BPF_RET | BPF_K, 0, 0);
}

static void accept_if(struct fence *fence, uint32_t value)
{
	add(fence, BPF_JMP | BPF_JEQ | BPF_K, 1, value);
	add(fence, BPF_RET | BPF_K, 0, UINT32_MAX);
}

/* Drops what is not `value`. */
static void demand(struct fence *fence, uint32_t value)
{
	fence->code[fence->len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
	drop(fence);
}

/* The data of a UDP socket's filter begin with the UDP header: its first field is the source port. */
static void build(const struct inet *inet, struct fence *fence)
{
	const uint32_t net = (uint32_t)SKF_NET_OFF;

	fence->len = 0;
	add(fence, BPF_LD | BPF_B | BPF_ABS, 0, net);
	add(fence, BPF_ALU | BPF_RSH | BPF_K, 0, 4);
	demand(fence, 4); /* what is ours is at addresses of IPv4, to sockets of IPv6 too */
	add(fence, BPF_LD | BPF_W | BPF_ABS, 0, net + 12);
	demand(fence, ntohl(inet->options.loopback.s_addr));
	add(fence, BPF_LD | BPF_H | BPF_ABS, 0, 0);
	accept_if(fence, inet->options.dns_port);
	for (size_t i = 0; i < inet->endpoints; i++)
		accept_if(fence, inet->endpoint[i].at.port);
	drop(fence);
}

static int attach(int socket_fd, struct fence *fence)
{
	const struct sock_fprog program = {.len = fence->len, .filter = fence->code};

	return setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int inet_fence_close(int socket_fd)
{
	struct fence fence = {.len = 0};

	drop(&fence);
	return attach(socket_fd, &fence);
}

int inet_fence_admit(const struct inet *inet, int socket_fd)
{
	struct fence fence;
	socklen_t len = 0; /* in: none are wanted; out: how many instructions there are, which fence.code has room for */

	if (getsockopt(socket_fd, SOL_SOCKET, SO_GET_FILTER, fence.code, &len) < 0)
		return -errno;
	build(inet, &fence);
	/* None: it is open. Endpoints are only ever added, so as many are the same. */
	return len == 0 || len == fence.len ? 0 : attach(socket_fd, &fence);
}

int inet_fence_open(int socket_fd)
{
	const int unused = 0;

	/* ENOENT: it is open already */
	return setsockopt(socket_fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- sources ---- */

static int share(int socket_fd, int on)
{
	return setsockopt(socket_fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ? -errno : 0;
}

/*
 * The two share the port for as long as the second is bound. Only sockets of one user can (net/ipv4/udp.c:
 * udp_lib_lport_inuse), so nobody gets in between, as with SO_REUSEADDR somebody might.
 */
static int bind_beside(int guard_fd, int socket_fd, const struct sockaddr_in *name)
{
	int r = share(guard_fd, 1), end;

	if (r == 0)
		r = share(socket_fd, 1);
	if (r == 0 && bind(guard_fd, (const struct sockaddr *)name, sizeof(*name)) < 0)
		r = -errno;
	end = share(socket_fd, 0);
	if (end == 0)
		end = share(guard_fd, 0);
	return r < 0 ? r : end;
}

int inet_fence_guard(int socket_fd)
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
	r = inet_fence_close(guard);
	if (r == 0)
		r = bind_beside(guard, socket_fd, &name);
	return r < 0 ? r : steal_fd(&guard);
}
