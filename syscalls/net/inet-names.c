#include "syscalls/net/inet-names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#include "base/banned.h"

#define PORTS 65536u
#define TABLES 4u

struct entry {
	uint64_t cookie;               /* 0: none */
	struct inet_address own, peer; /* family 0: as the kernel tells it */
};

struct inet_names {
	struct entry *entry; /* pages that no port is in are never touched */
};

int inet_names_create(struct inet_names **ret_names)
{
	_cleanup_free_ struct inet_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->entry = calloc((size_t)TABLES * PORTS, sizeof(*names->entry));
	if (!names->entry)
		return -ENOMEM;
	*ret_names = steal_pointer(&names);
	return 0;
}

void inet_names_free(struct inet_names *names)
{
	if (!names)
		return;
	free(names->entry);
	free(names);
}

/* Never used again while the machine runs; 0 when the kernel does not tell. */
static uint64_t cookie_of(int socket_fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(socket_fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) < 0 ? 0 : cookie;
}

static struct entry *entry_of(const struct inet_names *names, unsigned table, uint16_t local_port)
{
	return &names->entry[(size_t)(table % TABLES) * PORTS + local_port];
}

void inet_names_set(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
		    const struct inet_address *own, const struct inet_address *peer)
{
	struct entry *entry = entry_of(names, table, local_port);

	*entry = (struct entry){.cookie = cookie_of(socket_fd)};
	if (own)
		entry->own = *own;
	if (own && !own->port)
		entry->own.port = local_port;
	if (peer)
		entry->peer = *peer;
}

const struct inet_address *inet_names_get(const struct inet_names *names, unsigned table, uint16_t local_port,
					  int socket_fd, bool peer)
{
	const struct entry *entry = entry_of(names, table, local_port);
	const struct inet_address *name = peer ? &entry->peer : &entry->own;

	if (!entry->cookie || name->family == AF_UNSPEC || entry->cookie != cookie_of(socket_fd))
		return NULL;
	return name;
}
