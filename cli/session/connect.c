/* Finds sessions by their sockets, and exchanges messages with them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "cli/session/session.h"
#include "keeper/scratch.h"

#define SESSION_ANSWER_BYTES_MAX (1u << 20)

int session_open_directory(void)
{
	struct policy_error error = {""};
	int fd = scratch_open_directory_of_runs(&error);

	if (fd < 0)
		cli_print_error("session", "%s", error.text[0] ? error.text : strerror(-fd));
	return fd < 0 ? -1 : fd;
}

int session_connect_at(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	/* Through the descriptor: the whole path may be longer than an address can be. */
	if (snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Finds the one socket whose name begins so. Owned by the caller; NULL with *ret_count, which is not 1. */
static char *session_find_name(int dir_fd, const char *id, size_t *ret_count)
{
	_cleanup_free_ char *prefix = cli_format(SESSION_SOCKET_PREFIX "%s", id), *found = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	const struct dirent *entry;

	*ret_count = 0;
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		(void)close(fd);
	if (dir)
		rewinddir(dir); /* the descriptor shares its position with dir_fd */
	while (dir && prefix && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && ++*ret_count == 1)
			found = strdup(entry->d_name);
	return *ret_count == 1 ? steal_pointer(&found) : NULL;
}

int session_connect(const char *id)
{
	_cleanup_close_ int dir_fd = session_open_directory();
	_cleanup_free_ char *name = NULL;
	size_t count = 0;
	int fd;

	if (dir_fd < 0)
		return -1;
	name = session_find_name(dir_fd, id, &count);
	fd = name ? session_connect_at(dir_fd, name) : -ENOENT;
	if (fd >= 0)
		return fd;
	if (count > 1)
		cli_print_error("session", "%s: %zu sessions begin so; write more of its id", id, count);
	else
		cli_print_error("session", "%s: no such session%s; see callgate session list", id,
				count == 1 ? " any more" : "");
	return -1;
}

int session_send(int socket_fd, json_t *message, const int fd[3])
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	return text ? fdpass_send(socket_fd, text, strlen(text), fd, fd ? 3 : 0, 0) : -ENOMEM;
}

json_t *session_receive(int socket_fd)
{
	_cleanup_free_ char *text = malloc(SESSION_ANSWER_BYTES_MAX);
	ssize_t got = text ? recv(socket_fd, text, SESSION_ANSWER_BYTES_MAX, 0) : -1;

	return got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;
}
