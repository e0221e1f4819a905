#include "syscalls/net/unix-sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/resolve.h"

#define SOCKETS_DIRECTORY "sockets"
#define SOCKETS_PRUNE_MIN 16u

/*
 * A bound name must be one component in the scratch directory, and getsockname(2) returns it. So each '/' is stored as
 * a byte that UTF-8 does not use. If a name contains the byte itself, getsockname(2) returns it with slashes, which
 * misleads only the program that has chosen the name.
 */
#define SLASH_REPLACEMENT '\xff'

struct bound_socket {
	int node_fd; /* the socket file in the view; kept open, so that its inode number is not reused */
	int pin_fd;  /* O_PATH descriptor of the inode that the socket is bound to */
	dev_t dev;
	ino_t ino;
};

struct sockets {
	int scratch_fd; /* borrowed */
	int dir_fd;     /* -1: the directory is not made yet */
	bool renamed;
	size_t count;
	size_t prune_at;
	struct bound_socket bound[SOCKETS_MAX];
};

int sockets_create(int scratch_fd, struct sockets **ret_sockets)
{
	struct sockets *sockets = calloc(1, sizeof(*sockets));

	if (!sockets)
		return -ENOMEM;
	sockets->scratch_fd = scratch_fd;
	sockets->dir_fd = -1;
	sockets->prune_at = SOCKETS_PRUNE_MIN;
	*ret_sockets = sockets;
	return 0;
}

static void sockets_close_bound(const struct bound_socket *bound)
{
	(void)close(bound->node_fd);
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

/* Makes an address from a path that fits: sun_path of another address, or "/proc/self/fd/N". Returns its length. */
static socklen_t sockets_make_address(struct sockaddr_un *address, const char *text)
{
	size_t len = strnlen(text, sizeof(address->sun_path));

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, text, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

int sockets_connect(int socket_fd, int pin_fd)
{
	struct sockaddr_un address;
	socklen_t len = sockets_make_address(&address, file_link(pin_fd).path);

	return connect(socket_fd, (const struct sockaddr *)&address, len) < 0 ? -errno : 0;
}

bool sockets_is_open(int pin_fd)
{
	/* connect fails with EPROTOTYPE if a socket is bound to the inode (unix_find_bsd), else with ECONNREFUSED. */
	_cleanup_close_ int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return probe < 0 || sockets_connect(probe, pin_fd) != -ECONNREFUSED;
}

bool sockets_have_renamed(const struct sockets *sockets)
{
	return sockets->renamed;
}

bool sockets_restore_name(struct sockaddr_un *address, socklen_t len)
{
	bool changed = false;

	if (address->sun_family != AF_UNIX || len <= offsetof(struct sockaddr_un, sun_path) || !address->sun_path[0])
		return false;
	for (size_t i = 0; i < sizeof(address->sun_path); i++)
		if (address->sun_path[i] == SLASH_REPLACEMENT) {
			address->sun_path[i] = '/';
			changed = true;
		}
	return changed;
}

int sockets_make_room(struct sockets *sockets)
{
	size_t kept = 0;

	if (sockets->count < sockets->prune_at)
		return 0;
	for (size_t i = 0; i < sockets->count; i++) {
		struct bound_socket *bound = &sockets->bound[i];
		struct stat node;

		if (fstat(bound->node_fd, &node) < 0 || node.st_nlink == 0 || !sockets_is_open(bound->pin_fd))
			sockets_close_bound(bound);
		else
			sockets->bound[kept++] = *bound;
	}
	sockets->count = kept;
	sockets->prune_at = kept < SOCKETS_PRUNE_MIN / 2 ? SOCKETS_PRUNE_MIN : kept * 2;
	if (sockets->prune_at > SOCKETS_MAX)
		sockets->prune_at = SOCKETS_MAX;
	return kept < SOCKETS_MAX ? 0 : -ENOSPC;
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

/* Binds in the scratch directory. Returns an O_PATH descriptor of the bound inode, owned by the caller, or -errno. */
static int sockets_bind_in_scratch(struct sockets *sockets, int socket_fd, const char *text)
{
	struct sockaddr_un address;
	socklen_t len = sockets_make_address(&address, text);
	char name[sizeof(address.sun_path) + 1] = "";
	_cleanup_close_ int pin = -1;
	int error = sockets_open_directory(sockets);

	if (error < 0)
		return error;
	for (size_t i = 0; i < sizeof(address.sun_path); i++)
		if (address.sun_path[i] == '/')
			address.sun_path[i] = SLASH_REPLACEMENT;
	memcpy(name, address.sun_path, sizeof(address.sun_path));
	/* The bound name must be one component, so it is relative. The supervisor uses no other relative paths. */
	if (fchdir(sockets->dir_fd) < 0 || bind(socket_fd, (const struct sockaddr *)&address, len) < 0)
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

int sockets_bind(struct sockets *sockets, int socket_fd, int node_fd, const char *text)
{
	_cleanup_close_ int node = node_fd;
	struct bound_socket *bound = &sockets->bound[sockets->count];
	struct stat st;
	int pin;

	if (sockets->count >= SOCKETS_MAX)
		return -ENOSPC;
	if (fstat(node, &st) < 0)
		return -errno;
	pin = sockets_bind_in_scratch(sockets, socket_fd, text);
	if (pin < 0)
		return pin;
	*bound = (struct bound_socket){.node_fd = steal_fd(&node), .pin_fd = pin, .dev = st.st_dev, .ino = st.st_ino};
	sockets->count++;
	sockets->renamed |= strchr(text, '/') != NULL;
	return 0;
}

int sockets_find_bound_inode(const struct sockets *sockets, const struct stat *node)
{
	/* Newest first: a file that was replaced during its bind(2) may be listed twice. */
	for (size_t i = sockets->count; i-- > 0;)
		if (sockets->bound[i].dev == node->st_dev && sockets->bound[i].ino == node->st_ino)
			return sockets->bound[i].pin_fd;
	return -ENOENT;
}
