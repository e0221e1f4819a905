#include "view/copy/acls.h"

#include <errno.h>
#include <linux/limits.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"

static const char *const acls_names[] = {"system.posix_acl_access", "system.posix_acl_default"};

/* Copies one ACL. An entry without one gets none. 0 or -errno. */
static int acls_copy_one(const char *from, const char *to, const char *name)
{
	char value[XATTR_SIZE_MAX];
	const ssize_t len = getxattr(from, name, value, sizeof(value));

	if (len < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return setxattr(to, name, value, (size_t)len, 0) < 0 ? -errno : 0;
}

/* Copies both ACLs. 0 or -errno. */
static int acls_copy_all(int from_fd, int to_fd)
{
	const struct io_proc_fd_path from = io_proc_fd_path(from_fd), to = io_proc_fd_path(to_fd);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(acls_names) / sizeof(acls_names[0]); i++)
		r = acls_copy_one(from.path, to.path, acls_names[i]);
	return r;
}

int acls_copy(int socket_fd, int from_fd, int to_fd)
{
	const int fds[] = {from_fd, to_fd};
	int r, result;

	if (socket_fd < 0)
		return -EINVAL;
	r = fdpass_send(socket_fd, "", 1, fds, 2, 0);
	if (r < 0)
		return r;
	return fdpass_receive(socket_fd, &result, sizeof(result), NULL, 0, 0) == (ssize_t)sizeof(result) ? result
													 : -EPIPE;
}

void acls_serve(int socket_fd)
{
	for (;;) {
		int fds[2], result;
		char byte;
		const ssize_t got = fdpass_receive(socket_fd, &byte, 1, fds, 2, 0);
		_cleanup_close_ int from = got > 0 ? fds[0] : -1, to = got > 0 ? fds[1] : -1;

		if (got <= 0)
			return;
		result = from < 0 || to < 0 ? -EBADF : acls_copy_all(from, to);
		if (fdpass_send(socket_fd, &result, sizeof(result), NULL, 0, 0) < 0)
			return;
	}
}
