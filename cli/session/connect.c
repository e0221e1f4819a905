/* Finds sessions by their sockets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/session/session.h"
#include "keeper/session-client.h"

int session_open_directories(struct scratch_bases *ret_bases)
{
	struct policy_error error = {""};

	if (scratch_open_bases(ret_bases, &error) == 0)
		return 0;
	cli_print_error("session", "%s", error.text);
	return -1;
}

/* Session sockets whose names begin with a prefix. */
struct session_search {
	char *name;   /* of the first one, owned */
	int dir_fd;   /* where that is, borrowed */
	size_t count; /* how many there are */
};

/* Searches one directory. */
static void session_search_directory(struct session_search *search, int dir_fd, const char *prefix)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(dir_fd, "."));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || ++search->count > 1)
			continue;
		search->name = strdup(entry->d_name);
		search->dir_fd = dir_fd;
	}
}

/* Connects to the only session that was found. A descriptor or -errno; -ENOENT: there is none, or several. */
static int session_connect_found(const struct session_search *search)
{
	if (search->count != 1)
		return -ENOENT;
	return search->name ? session_client_connect(search->dir_fd, search->name, 0) : -ENOMEM;
}

int session_connect(const char *id, char **ret_name, int *ret_dir_fd)
{
	_cleanup_free_ char *prefix = cli_format(SESSION_SOCKET_PREFIX "%s", id);
	_cleanup_scratch_bases_ struct scratch_bases bases = {.count = 0};
	struct session_search search = {.dir_fd = -1};
	int fd, dir_fd;

	if (session_open_directories(&bases) < 0)
		return -1;
	for (size_t i = 0; prefix && i < bases.count; i++)
		session_search_directory(&search, bases.fd[i], prefix);
	fd = session_connect_found(&search);
	dir_fd = fd < 0 ? -1 : fcntl(search.dir_fd, F_DUPFD_CLOEXEC, 3);
	if (dir_fd >= 0) {
		*ret_name = search.name;
		*ret_dir_fd = dir_fd;
		return fd;
	}
	cleanup_close(&fd);
	free(search.name);
	if (search.count > 1)
		cli_print_error("session", "%s: %zu sessions begin so; write more of its id", id, search.count);
	else
		cli_print_error("session", "%s: no such session%s; see callgate session list", id,
				search.count == 1 ? " any more" : "");
	return -1;
}
