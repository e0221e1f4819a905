/*
 * fstat as C libraries make it. For each DIR PATH of the arguments it prints the results of newfstatat and statx with
 * AT_EMPTY_PATH and the descriptor of DIR ("-": 0), and of a plain stat without that flag. One line for each:
 *
 *   NEWFSTATAT STATX PLAIN DIR PATH      "INODE:MODE", or an errno
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void show_error(void)
{
	printf("%s ", strerrorname_np(errno));
}

static void show_newfstatat(int dirfd, const char *path, int flags)
{
	struct stat status;

	if (syscall(SYS_newfstatat, dirfd, path, &status, flags) < 0)
		show_error();
	else
		printf("%llu:%o ", (unsigned long long)status.st_ino, status.st_mode);
}

static void show_statx(int dirfd, const char *path, int flags)
{
	struct statx status;

	if (syscall(SYS_statx, dirfd, path, flags, STATX_BASIC_STATS, &status) < 0)
		show_error();
	else
		printf("%llu:%o ", (unsigned long long)status.stx_ino, status.stx_mode);
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		int dirfd = strcmp(argv[i], "-") == 0 ? 0 : open(argv[i], O_RDONLY | O_CLOEXEC);

		show_newfstatat(dirfd, argv[i + 1], AT_EMPTY_PATH);
		show_statx(dirfd, argv[i + 1], AT_EMPTY_PATH);
		/* The one flag more makes it a call that is judged. */
		show_newfstatat(dirfd, argv[i + 1], AT_EMPTY_PATH | AT_NO_AUTOMOUNT);
		printf("%s %s\n", argv[i], argv[i + 1]);
		if (dirfd > 0)
			(void)close(dirfd);
	}
	return 0;
}
