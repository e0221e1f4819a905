/* Intended differences from native behaviour. diff-deviations.txt lists them with the reasons. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static void call(const char *name, long ret)
{
	diff_say(" %s", name);
	if (ret >= 0 && ret != 0)
		(void)close((int)ret); /* the number is shown, the descriptor is of no use */
	diff_ret(ret);
}

static void run_setid(long bits, const char *name)
{
	diff_begin("set-id %s", name);
	call("open", RAW(__SNR_openat, AT_FDCWD, P("new"), O_WRONLY | O_CREAT, bits | 0755));
	call("tmpfile", RAW(__SNR_openat, AT_FDCWD, P("dir"), O_WRONLY | O_TMPFILE, bits | 0755));
	call("mkdir", RAW(__SNR_mkdirat, AT_FDCWD, P("newdir"), bits | 0755));
	call("mknod", RAW(__SNR_mknodat, AT_FDCWD, P("node"), S_IFREG | bits | 0755, 0));
	call("fchmodat", RAW(__SNR_fchmodat, AT_FDCWD, P("file"), bits | 0755));
	call("fchmodat2", RAW(__SNR_fchmodat2, AT_FDCWD, P("file"), bits | 0755, AT_SYMLINK_NOFOLLOW));
	diff_end(true);
	diff_begin("set-id %s by descriptor", name);
	int fd = open("file", O_RDWR);

	call("fchmod", RAW(__SNR_fchmod, fd, bits | 0755));
	(void)close(fd);
	diff_end(true);
}

static void run_devices(void)
{
	diff_begin("device nodes");
	call("char", RAW(__SNR_mknodat, AT_FDCWD, P("node"), S_IFCHR | 0666, (long)makedev(1, 3)));
	call("block", RAW(__SNR_mknodat, AT_FDCWD, P("node"), S_IFBLK | 0666, (long)makedev(8, 0)));
	call("whiteout", RAW(__SNR_mknodat, AT_FDCWD, P("node"), S_IFCHR | 0666, 0));
	diff_end(true);
}

static void run_leases(void)
{
	int fd;

	diff_begin("leases and owners");
	fd = open("file", O_RDONLY);
	call("F_SETLEASE", RAW(__SNR_fcntl, fd, F_SETLEASE, F_RDLCK));
	call("F_NOTIFY", RAW(__SNR_fcntl, fd, F_NOTIFY, 1));
	call("F_SETOWN", RAW(__SNR_fcntl, fd, F_SETOWN, getpid()));
	call("F_SETSIG", RAW(__SNR_fcntl, fd, F_SETSIG, 10));
	(void)close(fd); /* the case is over */
	diff_end(false);
}

static void run_handles(void)
{
	static struct {
		unsigned bytes;
		int type;
		char room[128];
	} handle = {.bytes = 128};
	int mount;

	diff_begin("file handles");
	call("name_to_handle_at", RAW(__SNR_name_to_handle_at, AT_FDCWD, P("file"), P(&handle), P(&mount), 0));
	call("open_by_handle_at", RAW(__SNR_open_by_handle_at, -10002, P(&handle), O_RDONLY));
	diff_end(false);
}

static void run_deleted(void)
{
	int fd;

	diff_begin("deleted directory");
	fd = open("emptydir", O_RDONLY | O_DIRECTORY);
	call("rmdir", RAW(__SNR_unlinkat, AT_FDCWD, P("emptydir"), AT_REMOVEDIR));
	call("dot", RAW(__SNR_openat, fd, P("."), O_RDONLY));
	call("up", RAW(__SNR_openat, fd, P(".."), O_RDONLY));
	call("fchmod", RAW(__SNR_fchmod, fd, 0700));
	call("fchdir", RAW(__SNR_fchdir, fd));
	call("stat", RAW(__SNR_faccessat, AT_FDCWD, P("."), 0));
	call("stat-up", RAW(__SNR_faccessat, AT_FDCWD, P(".."), 0));
	if (chdir(diff_base) < 0 || chdir("c") < 0)
		diff_die("chdir back");
	diff_end(true);
}

static void run_path_descriptors(void)
{
	char proc[64];
	struct stat st;
	int fd;

	diff_begin("/proc/self/fd of a link itself");
	fd = open("lfile", O_PATH | O_NOFOLLOW);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	call("stat", stat(proc, &st) < 0 ? -errno : 0);
	call("open", RAW(__SNR_openat, AT_FDCWD, P(proc), O_RDONLY));
	(void)close(fd); /* the case is over */
	diff_end(false);
	diff_begin("up from an unsearchable directory");
	fd = open("nodir", O_PATH);
	call("up", RAW(__SNR_openat, fd, P(".."), O_RDONLY));
	call("missing", RAW(__SNR_openat, fd, P("missing"), O_RDONLY));
	(void)close(fd);
	diff_end(false);
}

static void run_rest(void)
{
	static char junk[4096];
	int hold;

	diff_begin("missing directories, canonically over-long");
	for (size_t i = 0; i < sizeof(junk) - 1; i++)
		junk[i] = i % 2 ? '/' : 'a';
	call("mkdir", RAW(__SNR_mkdirat, AT_FDCWD, P(junk), 0700));
	diff_end(true);
	diff_begin("F_GETFL of a FIFO opened with O_NOFOLLOW");
	hold = open("fifo", O_RDWR);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("fifo"), O_RDONLY | O_NOFOLLOW));
	(void)close(hold); /* the case is over */
	diff_end(false);
}

void diff_group_deviate(void)
{
	run_setid(04000, "user");
	run_setid(02000, "group");
	run_devices();
	run_leases();
	run_handles();
	run_deleted();
	run_path_descriptors();
	run_rest();
}
