#include "base/proc/fdinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int fdinfo_read(pid_t pid, int fd, struct fdinfo *ret_info)
{
	char path[64];

	if (fd < 0)
		return -ESRCH;
	if (pid)
		/* `path` has room for two ints of any value. */
		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	else
		(void)snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	return fdinfo_read_at(AT_FDCWD, path, ret_info);
}

int fdinfo_read_at(int proc_fd, const char *path, struct fdinfo *ret_info)
{
	_cleanup_close_ int file = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	char text[512]; /* the fields read here come before the lines of locks and inotify watches */
	struct fdinfo info = {0};
	const char *at;
	ssize_t len = file < 0 ? -1 : read(file, text, sizeof(text) - 1);

	if (len <= 0)
		return -ESRCH;
	text[len] = '\0';
	at = strstr(text, "\nflags:\t");
	if (!at || sscanf(at, "\nflags:\t%o", &info.open_flags) != 1)
		return -ESRCH;
	at = strstr(text, "\nmnt_id:\t");
	info.has_mount_and_ino = at && sscanf(at, "\nmnt_id:\t%d\nino:\t%lu", &info.mount_id, &info.ino) == 2;
	at = strstr(text, "\ntty-index:\t");
	info.is_pty_master = at && sscanf(at, "\ntty-index:\t%u", &info.pty_number) == 1;
	at = strstr(text, "\nscm_fds: ");
	if (at && sscanf(at, "\nscm_fds: %u", &info.queued_fd_count) != 1)
		return -ESRCH;
	at = strstr(text, "\nPid:\t");
	if (at && sscanf(at, "\nPid:\t%d", &info.pid) != 1)
		return -ESRCH;
	*ret_info = info;
	return 0;
}

bool fdinfo_is_same_file(const struct fdinfo *one, const struct fdinfo *other)
{
	return one->has_mount_and_ino && other->has_mount_and_ino && one->mount_id == other->mount_id &&
	       one->ino == other->ino;
}
