/* inotify: watches set by name report an event whether the program or the supervisor performs the call. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static void say_events(int fd)
{
	char buf[8192] __attribute__((aligned(8)));
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	while (poll(&ready, 1, 20) == 1) {
		ssize_t len = read(fd, buf, sizeof(buf));

		for (ssize_t at = 0; at < len;) {
			struct inotify_event e;

			memcpy(&e, buf + at, sizeof(e));
			diff_say(" w%d:%x:%s", e.wd, e.mask, e.len ? buf + at + sizeof(e) : "");
			at += (ssize_t)sizeof(e) + e.len;
		}
	}
}

static void do_make(void)
{
	(void)close(open("dir/new", O_WRONLY | O_CREAT, 0600)); /* the events tell */
}

static void do_mkdir(void)
{
	diff_ret(mkdir("dir/newdir", 0700) < 0 ? -errno : 0);
}

static void do_rename(void)
{
	diff_ret(rename("dir/sub", "dir/bus") < 0 ? -errno : 0);
}

static void do_move_out(void)
{
	diff_ret(rename("dir/sub", "bus") < 0 ? -errno : 0);
}

static void do_move_in(void)
{
	diff_ret(rename("file", "dir/file") < 0 ? -errno : 0);
}

static void do_unlink(void)
{
	diff_ret(unlink("dir/sub") < 0 ? -errno : 0);
}

static void do_chmod(void)
{
	diff_ret(chmod("dir/sub", 0600) < 0 ? -errno : 0);
}

static void do_write(void)
{
	int fd = open("dir/sub", O_WRONLY);

	diff_ret(write(fd, "x", 1));
	(void)close(fd); /* the events tell */
}

static void do_link(void)
{
	diff_ret(link("dir/sub", "dir/also") < 0 ? -errno : 0);
}

static void do_symlink(void)
{
	diff_ret(symlink("sub", "dir/sym") < 0 ? -errno : 0);
}

static void do_truncate(void)
{
	diff_ret(truncate("dir/sub", 0) < 0 ? -errno : 0);
}

static void do_mkfifo(void)
{
	diff_ret(mkfifo("dir/fifo", 0600) < 0 ? -errno : 0);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{"create", do_make},	 {"mkdir", do_mkdir},	{"rename", do_rename},	   {"move-out", do_move_out},
	{"move-in", do_move_in}, {"unlink", do_unlink}, {"chmod", do_chmod},	   {"write", do_write},
	{"link", do_link},	 {"symlink", do_symlink}, {"truncate", do_truncate}, {"mkfifo", do_mkfifo},
};

void diff_group_watch(void)
{
	const uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE;

	for (size_t a = 0; a < sizeof(acts) / sizeof(acts[0]); a++) {
		int fd;

		diff_begin("inotify %s", acts[a].name);
		fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		diff_ret(inotify_add_watch(fd, "dir", mask) < 0 ? -errno : 0);
		diff_ret(inotify_add_watch(fd, "dir/sub", mask & ~(uint32_t)IN_ATTRIB) < 0 ? -errno : 0);
		acts[a].act();
		say_events(fd);
		(void)close(fd); /* the case is over */
		diff_end(true);
	}
	static const uint32_t odd[] = {0, 0xffffffff, IN_MASK_ADD | IN_MODIFY, IN_MASK_CREATE | IN_MODIFY,
				       IN_MASK_ADD | IN_MASK_CREATE | IN_MODIFY, IN_ONESHOT | IN_MODIFY, 1u << 20};

	for (size_t m = 0; m < sizeof(odd) / sizeof(odd[0]); m++) {
		int fd;
		long ret;

		diff_begin("inotify-mask %x", odd[m]);
		fd = inotify_init1(IN_CLOEXEC);
		ret = RAW(__SNR_inotify_add_watch, fd, P("dir"), odd[m]);
		diff_ret(ret);
		diff_ret(RAW(__SNR_inotify_add_watch, fd, P("dir"), odd[m]));
		diff_ret(RAW(__SNR_inotify_rm_watch, fd, ret));
		(void)close(fd);
		diff_end(false);
	}
	diff_begin("inotify-bad-descriptor");
	diff_ret(RAW(__SNR_inotify_add_watch, -1, P("dir"), IN_MODIFY));
	diff_ret(RAW(__SNR_inotify_add_watch, 0, P("dir"), IN_MODIFY));
	diff_end(false);
}
