#include "syscalls/net/unix-sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"

#define SOCKETS_DIRECTORY "sockets"      /* in the scratch directory: where sockets of the run are really bound */
#define SOCKETS_FIRST_PRUNE_AT_COUNT 16u /* number of bound names at which those of closed sockets are removed */
#define SUN_PATH_OFFSET offsetof(struct sockaddr_un, sun_path)

/*
 * A bound name must be one component in the scratch directory, and getsockname(2) returns it. So each '/' is stored as
 * a byte that UTF-8 does not use. Each NUL of an abstract name, which begins with one, is stored as another such byte.
 * If a name contains these bytes itself, getsockname(2) returns it with slashes or NULs, which misleads only the
 * program that has chosen the name.
 */
#define SLASH_REPLACEMENT '\xff'
#define NUL_REPLACEMENT '\xfe' /* stands for the first byte of an abstract name, in the name of its file */

/* A unix socket of the run that is bound to a name. */
struct bound_socket {
	/* the socket file in the view; kept open, so that its inode number is not reused. -1: an abstract name */
	int socket_file_fd;
	int pin_fd; /* O_PATH descriptor of the inode that the socket is bound to */
	dev_t dev;  /* of the socket file */
	ino_t ino;
	ino_t socket_ino; /* inode number of the socket itself, as fstat(2) tells it */
	int type;   /* SOCK_*: sockets of different types can have the same abstract name */
	size_t name_len;
	char name[SOCKETS_NAME_BYTES_MAX]; /* the abstract name, which begins with NUL */
};

/* The names that the run's unix sockets are bound to. */
struct sockets {
	int scratch_fd; /* borrowed */
	int dir_fd;     /* -1: the directory is not made yet */
	bool has_own_netns;        /* abstract names are native, in the run's network namespace */
	bool has_names_to_restore; /* some socket has another name in the kernel than for the program */
	size_t count;              /* used entries of bound[] */
	size_t prune_at_count;     /* number of names at which those of closed sockets are removed */
	struct bound_socket bound[SOCKETS_BOUND_MAX];
};

int sockets_create(int scratch_fd, bool own_netns, struct sockets **ret_sockets)
{
	struct sockets *sockets = calloc(1, sizeof(*sockets));

	if (!sockets)
		return -ENOMEM;
	sockets->scratch_fd = scratch_fd;
	sockets->dir_fd = -1;
	sockets->has_own_netns = own_netns;
	sockets->prune_at_count = SOCKETS_FIRST_PRUNE_AT_COUNT;
	*ret_sockets = sockets;
	return 0;
}

static void sockets_close_bound(const struct bound_socket *bound)
{
	if (bound->socket_file_fd >= 0)
		(void)close(bound->socket_file_fd);
	(void)close(bound->pin_fd);
}

void sockets_free(struct sockets *sockets)
{
	if (!sockets)
		return;
	for (size_t i = 0; i < sockets->count; i++)
		sockets_close_bound(&sockets->bound[i]);
	cleanup_close(&sockets->dir_fd);
	free(sockets);
}

/* An address by which the inode of pin_fd is reached. */
static struct sockets_address sockets_make_pin_address(int pin_fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(pin_fd);
	struct sockets_address address = {.name = {.sun_family = AF_UNIX}};
	size_t len = strlen(link.path); /* "/proc/self/fd/N": it fits */

	memcpy(address.name.sun_path, link.path, len);
	address.len = (socklen_t)(SUN_PATH_OFFSET + len);
	return address;
}

int sockets_connect(int socket_fd, const struct sockets_address *address)
{
	return connect(socket_fd, (const struct sockaddr *)&address->name, address->len) < 0 ? -errno : 0;
}

bool sockets_inode_has_open_socket(int pin_fd)
{
	/* connect fails with EPROTOTYPE if a socket is bound to the inode (unix_find_bsd), else with ECONNREFUSED. */
	_cleanup_close_ int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct sockets_address address = sockets_make_pin_address(pin_fd);

	return probe < 0 || sockets_connect(probe, &address) != -ECONNREFUSED;
}

bool sockets_has_name(int socket_fd)
{
	struct sockaddr_un own;
	socklen_t len = sizeof(own);

	return getsockname(socket_fd, (struct sockaddr *)&own, &len) == 0 && len > SUN_PATH_OFFSET;
}

bool sockets_names_need_restoring(const struct sockets *sockets)
{
	return sockets->has_names_to_restore;
}

bool sockets_restore_name(struct sockaddr_un *name, socklen_t *len)
{
	bool changed = false, abstract = name->sun_path[0] == NUL_REPLACEMENT;

	if (name->sun_family != AF_UNIX || *len <= SUN_PATH_OFFSET || !name->sun_path[0])
		return false;
	for (size_t i = 0; i < sizeof(name->sun_path); i++)
		if (name->sun_path[i] == SLASH_REPLACEMENT || (abstract && name->sun_path[i] == NUL_REPLACEMENT)) {
			name->sun_path[i] = name->sun_path[i] == NUL_REPLACEMENT ? '\0' : '/';
			changed = true;
		}
	*len -= abstract; /* the length of a path includes its NUL, that of an abstract name does not */
	return changed;
}

/* Whether the socket was closed or its file unlinked. */
static bool bound_socket_is_gone(const struct bound_socket *bound)
{
	struct stat node;

	if (bound->socket_file_fd >= 0 && (fstat(bound->socket_file_fd, &node) < 0 || node.st_nlink == 0))
		return true;
	return !sockets_inode_has_open_socket(bound->pin_fd);
}

int sockets_make_room(struct sockets *sockets)
{
	size_t kept = 0;

	if (sockets->count < sockets->prune_at_count)
		return 0;
	for (size_t i = 0; i < sockets->count; i++) {
		const struct bound_socket *bound = &sockets->bound[i];

		if (bound_socket_is_gone(bound))
			sockets_close_bound(bound);
		else
			sockets->bound[kept++] = *bound;
	}
	sockets->count = kept;
	sockets->prune_at_count = kept < SOCKETS_FIRST_PRUNE_AT_COUNT / 2 ? SOCKETS_FIRST_PRUNE_AT_COUNT : kept * 2;
	if (sockets->prune_at_count > SOCKETS_BOUND_MAX)
		sockets->prune_at_count = SOCKETS_BOUND_MAX;
	return kept < SOCKETS_BOUND_MAX ? 0 : -ENOSPC;
}

static int sockets_open_directory(struct sockets *sockets)
{
	if (sockets->dir_fd >= 0)
		return 0;
	if (mkdirat(sockets->scratch_fd, SOCKETS_DIRECTORY, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* mkdirat used the target's umask, which is set while its call is performed. */
	if (fchmodat(sockets->scratch_fd, SOCKETS_DIRECTORY, 0700, 0) < 0)
		return -errno;
	sockets->dir_fd = openat(sockets->scratch_fd, SOCKETS_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return sockets->dir_fd < 0 ? -errno : 0;
}

/*
 * Turns a name into one component for the scratch directory. text: a path, or an abstract name, which begins with NUL.
 */
static struct sockets_address sockets_encode_name(const char *text, size_t len)
{
	struct sockets_address address = {.name = {.sun_family = AF_UNIX}, .len = (socklen_t)(SUN_PATH_OFFSET + len)};

	for (size_t i = 0; i < len; i++)
		address.name.sun_path[i] = text[i] == '/' ? SLASH_REPLACEMENT : text[i] ? text[i] : NUL_REPLACEMENT;
	return address;
}

/* Binds in the scratch directory. Returns an O_PATH descriptor of the bound inode, owned by the caller, or -errno. */
static int sockets_bind_in_scratch(struct sockets *sockets, int socket_fd, const char *text, size_t len)
{
	const struct sockets_address address = sockets_encode_name(text, len);
	char name[sizeof(address.name.sun_path) + 1] = "";
	_cleanup_close_ int pin = -1;
	int error = sockets_open_directory(sockets);

	if (error < 0)
		return error;
	memcpy(name, address.name.sun_path, sizeof(address.name.sun_path));
	/* The bound name must be one component, so it is relative. The supervisor uses no other relative paths. */
	if (fchdir(sockets->dir_fd) < 0 || bind(socket_fd, (const struct sockaddr *)&address.name, address.len) < 0)
		return -errno;
	/* connect(2) checks the permissions of the socket file in the view, not of this inode. */
	if (fchmodat(sockets->dir_fd, name, 0600, 0) < 0)
		error = errno;
	pin = openat(sockets->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (pin < 0)
		error = errno;
	if (unlinkat(sockets->dir_fd, name, 0) < 0)
		error = errno;
	return error ? -error : steal_fd(&pin);
}

int sockets_bind_file(struct sockets *sockets, int socket_fd, int node_fd, const char *text)
{
	_cleanup_close_ int node = node_fd;
	struct bound_socket *bound = &sockets->bound[sockets->count];
	struct stat st;
	int pin;

	if (sockets->count >= SOCKETS_BOUND_MAX)
		return -ENOSPC;
	if (fstat(node, &st) < 0)
		return -errno;
	pin = sockets_bind_in_scratch(sockets, socket_fd, text, strnlen(text, SOCKETS_NAME_BYTES_MAX));
	if (pin < 0)
		return pin;
	*bound = (struct bound_socket){.socket_file_fd = steal_fd(&node),
				       .pin_fd = pin,
				       .dev = st.st_dev,
				       .ino = st.st_ino,
				       .socket_ino = net_get_inode(socket_fd)};
	sockets->count++;
	sockets->has_names_to_restore |= strchr(text, '/') != NULL;
	return 0;
}

/*
 * Makes the address of a bound socket, as sockets_find_path() returns it. Duplicates pin_fd, because the list may close
 * its own while a thread waits.
 */
static int bound_socket_get_address(const struct bound_socket *bound, struct sockets_address *ret_address)
{
	int pin = fcntl(bound->pin_fd, F_DUPFD_CLOEXEC, 0);

	if (pin < 0)
		return -EAGAIN;
	*ret_address = sockets_make_pin_address(pin);
	ret_address->ino = bound->socket_ino;
	return pin;
}

int sockets_find_path(const struct sockets *sockets, const struct stat *node, struct sockets_address *ret_address)
{
	/* Newest first: a file that was replaced during its bind(2) may be listed twice. */
	for (size_t i = sockets->count; i-- > 0;) {
		const struct bound_socket *bound = &sockets->bound[i];

		if (bound->socket_file_fd >= 0 && bound->dev == node->st_dev && bound->ino == node->st_ino)
			return bound_socket_get_address(bound, ret_address);
	}
	return -ENOENT;
}

/* ---- abstract names in runs that share the host's network namespace ---- */

/* The index of the socket with an abstract name; sockets->count: there is none. */
static size_t sockets_find_name(const struct sockets *sockets, const char *name, size_t len, int type)
{
	size_t i = 0;

	for (; i < sockets->count; i++) {
		const struct bound_socket *bound = &sockets->bound[i];

		if (bound->socket_file_fd < 0 && bound->type == type && bound->name_len == len &&
		    memcmp(bound->name, name, len) == 0)
			break;
	}
	return i;
}

/* Whether an open socket of the type has the name. A closed socket is forgotten, because its name is free. */
static bool sockets_name_is_used(struct sockets *sockets, const char *name, size_t len, int type)
{
	size_t i = sockets_find_name(sockets, name, len, type);

	if (i == sockets->count)
		return false;
	if (!bound_socket_is_gone(&sockets->bound[i]))
		return true;
	sockets_close_bound(&sockets->bound[i]);
	sockets->count--;
	memmove(&sockets->bound[i], &sockets->bound[i + 1], (sockets->count - i) * sizeof(*sockets->bound));
	return false;
}

/* Binds a socket in the scratch directory, and notes the name that the program gave. 0 or -errno. */
static int sockets_bind_and_register_name(struct sockets *sockets, int socket_fd, const char *name, size_t len,
					  int type)
{
	struct bound_socket *bound;
	int pin = sockets_make_room(sockets);

	if (pin == 0)
		pin = sockets_bind_in_scratch(sockets, socket_fd, name, len);
	if (pin < 0)
		return pin;
	bound = &sockets->bound[sockets->count++];
	*bound = (struct bound_socket){.socket_file_fd = -1, .pin_fd = pin, .socket_ino = net_get_inode(socket_fd),
				       .type = type, .name_len = len};
	memcpy(bound->name, name, len);
	sockets->has_names_to_restore = true;
	return 0;
}

/*
 * Binds to a free abstract name as unix_autobind() does: NUL and five hexadecimal digits, tried from a random number
 * on.
 */
static int sockets_bind_to_unused_name(struct sockets *sockets, int socket_fd, int type)
{
	unsigned number;
	char name[8];

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -EAGAIN;
	do
		(void)snprintf(name, sizeof(name), "%c%05x", '\0', number++ & 0xfffff); /* always fits */
	while (sockets_name_is_used(sockets, name, 6, type)); /* SOCKETS_BOUND_MAX times at most */
	return sockets_bind_and_register_name(sockets, socket_fd, name, 6, type);
}

/* ---- abstract names ---- */

int sockets_bind_abstract(struct sockets *sockets, int socket_fd, const struct sockets_address *address)
{
	const size_t len = address->len - SUN_PATH_OFFSET;
	int type;

	if (sockets->has_own_netns)
		return bind(socket_fd, (const struct sockaddr *)&address->name, address->len) < 0 ? -errno : 0;
	type = net_get_option(socket_fd, SOL_SOCKET, SO_TYPE);
	if (type < 0)
		return -errno;
	if (sockets_has_name(socket_fd))
		return len ? -EINVAL : 0;
	if (!len)
		return sockets_bind_to_unused_name(sockets, socket_fd, type);
	if (sockets_name_is_used(sockets, address->name.sun_path, len, type))
		return -EADDRINUSE;
	return sockets_bind_and_register_name(sockets, socket_fd, address->name.sun_path, len, type);
}

int sockets_find_abstract(const struct sockets *sockets, int socket_fd, struct sockets_address *address,
			  int *ret_pin_fd)
{
	size_t i;

	*ret_pin_fd = -1;
	if (sockets->has_own_netns)
		return 0;
	i = sockets_find_name(sockets, address->name.sun_path, address->len - SUN_PATH_OFFSET,
			      net_get_option(socket_fd, SOL_SOCKET, SO_TYPE));
	if (i == sockets->count)
		return -ECONNREFUSED;
	*ret_pin_fd = bound_socket_get_address(&sockets->bound[i], address);
	return *ret_pin_fd < 0 ? *ret_pin_fd : 0;
}

bool sockets_name_is_of_run_only(const struct sockets *sockets, const struct sockaddr_un *name)
{
	return name->sun_path[0] || sockets->has_own_netns;
}
