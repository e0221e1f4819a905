/* Names that refer to the program itself: /proc/self, /dev/fd, /dev/stdin; devices; symbolic links in the root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static void say_link(const char *path)
{
	char buf[4200];
	ssize_t len = readlink(path, buf, sizeof(buf) - 1);

	if (len < 0) {
		diff_ret(-errno);
		return;
	}
	buf[len] = '\0';
	/* numbers that differ from run to run: pipes, anonymous inodes, process ids */
	if (buf[0] != '/' && strchr(buf, '['))
		*strchr(buf, '[') = '\0';
	diff_say(" ->%s", buf);
}

static void run_fd_links(void)
{
	static const struct {
		const char *name;
		const char *path;
		int flags;
	} files[] = {
		{"file", "file", O_RDONLY},
		{"rw", "file", O_RDWR},
		{"dir", "dir", O_RDONLY},
		{"through-link", "ldir/sub", O_RDONLY},
		{"opath", "file", O_PATH},
		{"deep", "ltarget/../file", O_RDONLY},
		{"created", "new", O_RDWR | O_CREAT},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char proc[64], dev[64];
		struct stat st;
		int fd;

		diff_begin("fd-link %s", files[i].name);
		fd = open(files[i].path, files[i].flags, 0600);
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		snprintf(dev, sizeof(dev), "/dev/fd/%d", fd);
		say_link(proc);
		say_link(dev);
		diff_ret(stat(proc, &st) < 0 ? -errno : 0);
		diff_say(" %o", (unsigned)st.st_mode);
		diff_ret(lstat(proc, &st) < 0 ? -errno : 0);
		diff_say(" %o", (unsigned)(st.st_mode & S_IFMT));
		diff_fd(RAW(__SNR_openat, AT_FDCWD, P(dev), O_RDONLY));
		diff_fd(RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDWR));
		diff_fd(RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDONLY | O_NOFOLLOW));
		diff_ret(access(proc, R_OK) < 0 ? -errno : 0);
		diff_ret(truncate(proc, 2) < 0 ? -errno : 0);
		diff_ret(chmod(proc, 0640) < 0 ? -errno : 0);
		(void)close(fd); /* the case is over */
		diff_ret(stat(proc, &st) < 0 ? -errno : 0);
		diff_end(true);
	}
}

static void run_fd_gone(void)
{
	char proc[64];
	int fd, pipes[2];

	diff_begin("fd-link deleted");
	fd = open("file", O_RDWR);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	(void)unlink("file"); /* the line that follows shows it */
	say_link(proc);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDWR));
	(void)close(fd);
	diff_end(true);
	diff_begin("fd-link deleted-below");
	fd = open("dir", O_RDONLY | O_DIRECTORY);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/sub", fd);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDONLY));
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/../file", fd);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDONLY));
	(void)close(fd);
	diff_end(true);
	diff_begin("fd-link pipe");
	if (pipe(pipes) < 0)
		diff_die("pipe");
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", pipes[0]);
	say_link(proc);
	snprintf(proc, sizeof(proc), "/dev/fd/%d", pipes[1]);
	fd = open(proc, O_WRONLY);
	diff_ret(fd < 0 ? -errno : fd);
	diff_ret(write(fd, "x", 1));
	snprintf(proc, sizeof(proc), "/proc/thread-self/fd/%d", pipes[0]);
	diff_ret(open(proc, O_RDONLY) < 0 ? -errno : 0);
	diff_close_all();
	diff_end(false);
}

static void run_self(void)
{
	static const char *const links[] = {
		"/proc/self/exe", "/proc/self/cwd", "/proc/thread-self/cwd", "/proc/self/root", "/dev/fd", "/dev/stdin",
		"/dev/stdout", "/dev/stderr", "/proc/self/fd/0", "/proc/self/fd/99",
	};
	char proc[64];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		diff_begin("self-link %s", links[i]);
		say_link(links[i]);
		diff_end(false);
	}
	diff_begin("self-is-me");
	snprintf(proc, sizeof(proc), "/proc/%d/cwd", getpid());
	say_link(proc);
	snprintf(proc, sizeof(proc), "/proc/self/task/%ld/cwd", (long)syscall(__SNR_gettid));
	say_link(proc);
	diff_end(false);
	diff_begin("self-through-cwd");
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("/proc/self/cwd/file"), O_RDONLY));
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("/proc/self/cwd/dir/../lfile"), O_RDONLY));
	diff_end(false);
}

static void run_self_files(void)
{
	static const char *const files[] = {
		"/proc/self/status", "/proc/self/stat", "/proc/self/maps", "/proc/self/comm", "/proc/self/cmdline",
		"/proc/self/limits", "/proc/self/statm", "/proc/nonsense", "/proc/self/nonsense", "/proc/self/",
	};
	char head[33];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;
		ssize_t len;

		diff_begin("self-file %s", files[i]);
		fd = open(files[i], O_RDONLY);
		diff_ret(fd < 0 ? -errno : fd);
		len = read(fd, head, 4);
		diff_ret(len < 0 ? -errno : len);
		if (fd >= 0)
			(void)close(fd); /* the case is over */
		diff_end(false);
	}
	diff_begin("self-comm-write");
	{
		int fd = open("/proc/self/comm", O_RDONLY);
		ssize_t len = read(fd, head, 32);

		head[len > 0 ? len - 1 : 0] = '\0';
		diff_say(" %s", head);
		(void)close(fd);
	}
	diff_end(false);
}

static void run_devices(void)
{
	static const char *const devices[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nonsense", "/dev/null/",
		"/dev/../dev/null", "/dev//./zero",
	};
	static const long flags[] = {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_WRONLY | O_CREAT | O_TRUNC,
				     O_RDWR | O_APPEND, O_PATH, O_RDONLY | O_DIRECTORY};
	char byte = 0;

	for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			struct stat st = {0};
			long fd;

			if (f == 4 && !strcmp(devices[d], "/dev/nonsense"))
				continue; /* would be made natively, by who may */
			diff_begin("device %s %lo", devices[d], (unsigned long)flags[f]);
			fd = RAW(__SNR_openat, AT_FDCWD, P(devices[d]), flags[f], 0600);
			diff_ret(fd);
			if (fd >= 0) {
				ssize_t len = read((int)fd, &byte, 1);

				diff_ret(len < 0 ? -errno : len);
				len = strcmp(devices[d], "/dev/random") ? write((int)fd, "x", 1) : 0;
				diff_ret(len < 0 ? -errno : len);
				diff_ret(fstat((int)fd, &st));
				diff_say(" %o %lx", (unsigned)(st.st_mode & S_IFMT), (unsigned long)st.st_rdev);
				(void)close((int)fd); /* the case is over */
			}
			diff_end(false);
		}
	}
	/* Not a directory, before anybody asks whether there is a terminal. */
	diff_begin("device /dev/tty as a directory");
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("/dev/tty"), O_RDONLY | O_DIRECTORY));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("/dev/tty"), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("/dev/tty"), O_WRONLY | O_DIRECTORY));
	diff_end(false);
}

static void run_listing(void)
{
	static const char *const dirs[] = {".", "dir", "ldir", "deep/target", "emptydir", "/proc/self/fd"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		struct dirent **list;
		int count;

		diff_begin("list %s", dirs[i]);
		count = scandir(dirs[i], &list, NULL, alphasort);
		diff_ret(count < 0 ? -errno : count);
		for (int n = 0; n < count; n++)
			diff_say(" %s/%d", list[n]->d_name, list[n]->d_type);
		diff_end(false);
	}
}

void diff_group_proc(void)
{
	run_fd_links();
	run_fd_gone();
	run_self();
	run_self_files();
	run_devices();
	run_listing();
}
