/* The names of sockets as the target knows them, where they differ from the kernel's: see inet-private.h. */
#include "syscalls/net/inet-private.h"

#define INET_NAMES_ENTRIES_PER_TABLE 65536u /* one for each local port */
#define INET_NAMES_TABLE_COUNT 4u           /* TCP and UDP, each at both loopback addresses of the run */

/* The addresses that one socket is told in place of the kernel's. */
struct inet_names_entry {
	uint64_t socket_cookie;               /* 0: the entry is empty */
	struct inet_address own, peer; /* family AF_UNSPEC: the kernel's name is right */
};

/* What getsockname(2) and getpeername(2) tell of sockets that were led to egress. */
struct inet_names {
	/* the second index is the local port, so that pages of unused ports are never touched */
	struct inet_names_entry entry[INET_NAMES_TABLE_COUNT][INET_NAMES_ENTRIES_PER_TABLE];
};

struct inet_names *inet_names_create(void)
{
	return calloc(1, sizeof(struct inet_names));
}

/* Reads SO_COOKIE, which is never reused while the machine runs. 0: the kernel does not tell the cookie. */
static uint64_t names_get_socket_cookie(int socket_fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(socket_fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) < 0 ? 0 : cookie;
}

void inet_names_set_entry(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
			  const struct inet_address *own, const struct inet_address *peer)
{
	struct inet_names_entry *entry = &names->entry[table % INET_NAMES_TABLE_COUNT][local_port];

	*entry = (struct inet_names_entry){.socket_cookie = names_get_socket_cookie(socket_fd)};
	if (own)
		entry->own = *own;
	if (own && !own->port)
		entry->own.port = local_port;
	if (peer)
		entry->peer = *peer;
}

const struct inet_address *inet_names_find_name_of_socket(const struct inet_names *names, unsigned table,
							  uint16_t local_port, int socket_fd, bool peer)
{
	const struct inet_names_entry *entry = &names->entry[table % INET_NAMES_TABLE_COUNT][local_port];
	const struct inet_address *name = peer ? &entry->peer : &entry->own;

	if (!entry->socket_cookie || name->family == AF_UNSPEC ||
	    entry->socket_cookie != names_get_socket_cookie(socket_fd))
		return NULL;
	return name;
}

/* Ports are counted separately for TCP and UDP, and for each of the run's two loopback addresses. */
static unsigned names_choose_table(const struct inet *inet, const struct inet_kind *kind,
				   const struct inet_address *bound)
{
	bool second = bound->family == AF_INET && bound->v4.s_addr == inet->loopback_of_v6_sockets.s_addr &&
		      !inet->options.has_own_netns;

	return (kind->is_stream ? 0u : 2u) + (second ? 1u : 0u);
}

void inet_names_set_of_socket(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
			      const struct inet_address *peer)
{
	struct inet_address bound = {.family = AF_UNSPEC};

	if (inet_read_bound(socket, &bound) == 0 && bound.port)
		inet_names_set_entry(inet->names, names_choose_table(inet, &socket->kind, &bound), bound.port,
				     socket->fd, own, peer);
}

/*
 * Translates a name that has no entry. The run's loopback becomes 127.0.0.1 or ::1. A synthetic address in the run's
 * namespace, as a source of datagrams, becomes the run's own synthetic address.
 */
static bool inet_translate_name_without_entry(const struct inet *inet, bool peer, struct inet_address *told)
{
	struct sockaddr_storage storage;
	uint16_t port = told->port;

	(void)inet_write_sockaddr(told->family, told, &storage);
	if (inet->options.has_own_netns) {
		if (peer || !pool_holds_address(inet->options.pool, (const struct sockaddr *)&storage))
			return false;
		*told = inet_get_pool_address(inet, told->family);
	} else if (told->family == AF_INET && told->v4.s_addr == inet->options.loopback.s_addr) {
		told->v4.s_addr = htonl(INADDR_LOOPBACK);
	} else if (told->family == AF_INET && told->v4.s_addr == inet->loopback_of_v6_sockets.s_addr) {
		*told = (struct inet_address){.family = AF_INET6, .v6 = in6addr_loopback};
	} else {
		return false;
	}
	told->port = port;
	return true;
}

bool inet_translate_name_for_target(const struct inet *inet, int socket_fd, bool peer, struct sockaddr_storage *address,
			 socklen_t *len)
{
	struct inet_socket socket = {.fd = socket_fd};
	struct inet_address told = {.family = AF_UNSPEC}, bound = told;
	const struct inet_address *name;

	if (!inet_read_socket_kind(socket_fd, &socket.kind) || inet_read_bound(&socket, &bound) < 0 ||
	    !inet_read_socket_name(address, &told))
		return false;
	name = inet_names_find_name_of_socket(inet->names, names_choose_table(inet, &socket.kind, &bound), bound.port,
					      socket_fd, peer);
	if (name)
		told = *name;
	else if (!inet_translate_name_without_entry(inet, peer, &told))
		return false;
	if (socket.kind.domain == AF_INET && told.family != AF_INET)
		return false;
	*len = inet_write_sockaddr(socket.kind.domain, &told, address);
	return true;
}
