/* Finds sessions by their sockets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/session/session.h"
#include "keeper/scratch.h"
#include "keeper/session-client.h"

int session_open_directory(void)
{
	struct policy_error error = {""};
	int fd = scratch_open_directory_of_runs(&error);

	if (fd < 0)
		cli_print_error("session", "%s", error.text[0] ? error.text : strerror(-fd));
	return fd < 0 ? -1 : fd;
}

/*
 * Finds the only session socket whose name begins with `id`. Returns its name, owned by the caller; NULL if there is
 * not exactly one: *ret_count tells how many there are.
 */
static char *session_find_socket_name(int dir_fd, const char *id, size_t *ret_count)
{
	_cleanup_free_ char *prefix = text_format(SESSION_SOCKET_PREFIX "%s", id), *found = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	const struct dirent *entry;

	*ret_count = 0;
	dir = io_take_dir_stream(fd);
	if (dir)
		rewinddir(dir); /* an earlier search may have moved the file position, which dir_fd shares */
	while (dir && prefix && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && ++*ret_count == 1)
			found = strdup(entry->d_name);
	return *ret_count == 1 ? steal_pointer(&found) : NULL;
}

int session_connect(int dir_fd, const char *id, char **ret_name)
{
	_cleanup_free_ char *name = NULL;
	size_t count = 0;
	int fd;

	name = session_find_socket_name(dir_fd, id, &count);
	fd = name ? session_client_connect(dir_fd, name, 0) : -ENOENT;
	if (fd >= 0) {
		*ret_name = steal_pointer(&name);
		return fd;
	}
	if (count > 1)
		cli_print_error("session", "%s: %zu sessions begin so; write more of its id", id, count);
	else
		cli_print_error("session", "%s: no such session%s; see callgate session list", id,
				count == 1 ? " any more" : "");
	return -1;
}
