/* Every system call that takes one path, with every shape of path. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "tests/cases/diff.h"

/* Arguments that are only known when the case runs. */
#define A_PATH 0x7e570001L
#define A_BUF 0x7e570002L     /* 4096 zeroed bytes */
#define A_NEW 0x7e570003L     /* a name that is free */
#define A_INOTIFY 0x7e570004L /* an inotify descriptor */
#define A_FILE 0x7e570005L    /* an existing file's name */

#define CWD AT_FDCWD
#define NOFOLLOW AT_SYMLINK_NOFOLLOW
#define BAD_FLAG 0x40000000L

enum shown { SHOW_RET, SHOW_FD, SHOW_STAT, SHOW_STATX, SHOW_TEXT, SHOW_QUIET };

struct op {
	const char *name;
	long nr;
	long arg[6];
	enum shown shown;
	bool mutates;
};

static const struct utimbuf times_s = {.actime = 900000000, .modtime = 910000000};
static const struct timeval times_us[2] = {{900000000, 1}, {910000000, 2}};
static const struct timeval times_bad[2] = {{900000000, 1000000}, {910000000, 2}};
static const struct timespec times_ns[2] = {{900000000, 1}, {910000000, 2}};
static const struct timespec times_omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
static const struct timespec times_now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
static const struct timespec times_wrong[2] = {{0, 1000000000}, {0, 0}};

static const struct op ops[] = {
	{"open-r", __SNR_open, {A_PATH, O_RDONLY}, SHOW_FD, true},
	{"open-w", __SNR_open, {A_PATH, O_WRONLY}, SHOW_FD, true},
	{"open-creat", __SNR_open, {A_PATH, O_WRONLY | O_CREAT, 0666}, SHOW_FD, true},
	{"openat-r", __SNR_openat, {CWD, A_PATH, O_RDONLY | O_CLOEXEC}, SHOW_FD, true},
	{"openat-rw", __SNR_openat, {CWD, A_PATH, O_RDWR}, SHOW_FD, true},
	{"openat-creat", __SNR_openat, {CWD, A_PATH, O_RDWR | O_CREAT, 0777}, SHOW_FD, true},
	{"openat-excl", __SNR_openat, {CWD, A_PATH, O_RDWR | O_CREAT | O_EXCL, 0640}, SHOW_FD, true},
	{"openat-trunc", __SNR_openat, {CWD, A_PATH, O_WRONLY | O_TRUNC}, SHOW_FD, true},
	{"openat-append", __SNR_openat, {CWD, A_PATH, O_WRONLY | O_APPEND}, SHOW_FD, true},
	{"openat-directory", __SNR_openat, {CWD, A_PATH, O_RDONLY | O_DIRECTORY}, SHOW_FD, true},
	{"openat-nofollow", __SNR_openat, {CWD, A_PATH, O_RDONLY | O_NOFOLLOW}, SHOW_FD, true},
	{"openat-creat-nofollow", __SNR_openat, {CWD, A_PATH, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600}, SHOW_FD, true},
	{"openat-path", __SNR_openat, {CWD, A_PATH, O_PATH}, SHOW_FD, false},
	{"openat-path-nofollow", __SNR_openat, {CWD, A_PATH, O_PATH | O_NOFOLLOW}, SHOW_FD, false},
	{"openat-path-directory", __SNR_openat, {CWD, A_PATH, O_PATH | O_DIRECTORY | O_NOFOLLOW}, SHOW_FD, false},
	{"openat-tmpfile", __SNR_openat, {CWD, A_PATH, O_RDWR | O_TMPFILE, 0600}, SHOW_FD, true},
	{"openat-accmode-3", __SNR_openat, {CWD, A_PATH, 3}, SHOW_FD, true},
	{"creat", __SNR_creat, {A_PATH, 0664}, SHOW_FD, true},
	{"stat", __SNR_stat, {A_PATH, A_BUF}, SHOW_STAT, false},
	{"lstat", __SNR_lstat, {A_PATH, A_BUF}, SHOW_STAT, false},
	{"newfstatat", __SNR_newfstatat, {CWD, A_PATH, A_BUF, 0}, SHOW_STAT, false},
	{"newfstatat-nofollow", __SNR_newfstatat, {CWD, A_PATH, A_BUF, NOFOLLOW}, SHOW_STAT, false},
	{"newfstatat-empty", __SNR_newfstatat, {CWD, A_PATH, A_BUF, AT_EMPTY_PATH}, SHOW_STAT, false},
	{"newfstatat-automount", __SNR_newfstatat, {CWD, A_PATH, A_BUF, AT_NO_AUTOMOUNT}, SHOW_STAT, false},
	{"newfstatat-badflag", __SNR_newfstatat, {CWD, A_PATH, A_BUF, BAD_FLAG}, SHOW_STAT, false},
	{"statx", __SNR_statx, {CWD, A_PATH, 0, 0x7ff, A_BUF}, SHOW_STATX, false},
	{"statx-nofollow", __SNR_statx, {CWD, A_PATH, NOFOLLOW, 0x7ff, A_BUF}, SHOW_STATX, false},
	{"statx-sync", __SNR_statx, {CWD, A_PATH, 0x4000, 0x1, A_BUF}, SHOW_STATX, false},
	{"statx-badflag", __SNR_statx, {CWD, A_PATH, BAD_FLAG, 0x7ff, A_BUF}, SHOW_STATX, false},
	{"statx-badmask", __SNR_statx, {CWD, A_PATH, 0, 0x80000000L, A_BUF}, SHOW_STATX, false},
	{"access-f", __SNR_access, {A_PATH, F_OK}, SHOW_RET, false},
	{"access-r", __SNR_access, {A_PATH, R_OK}, SHOW_RET, false},
	{"access-w", __SNR_access, {A_PATH, W_OK}, SHOW_RET, false},
	{"access-x", __SNR_access, {A_PATH, X_OK}, SHOW_RET, false},
	{"access-bad", __SNR_access, {A_PATH, 8}, SHOW_RET, false},
	{"faccessat", __SNR_faccessat, {CWD, A_PATH, R_OK | W_OK}, SHOW_RET, false},
	{"faccessat2", __SNR_faccessat2, {CWD, A_PATH, R_OK, AT_EACCESS}, SHOW_RET, false},
	{"faccessat2-nofollow", __SNR_faccessat2, {CWD, A_PATH, W_OK, NOFOLLOW}, SHOW_RET, false},
	{"faccessat2-empty", __SNR_faccessat2, {CWD, A_PATH, X_OK, AT_EMPTY_PATH}, SHOW_RET, false},
	{"faccessat2-badflag", __SNR_faccessat2, {CWD, A_PATH, F_OK, BAD_FLAG}, SHOW_RET, false},
	{"readlink", __SNR_readlink, {A_PATH, A_BUF, 4096}, SHOW_TEXT, false},
	{"readlinkat", __SNR_readlinkat, {CWD, A_PATH, A_BUF, 4}, SHOW_TEXT, false},
	{"truncate", __SNR_truncate, {A_PATH, 3}, SHOW_RET, true},
	{"truncate-grow", __SNR_truncate, {A_PATH, 10}, SHOW_RET, true},
	{"truncate-negative", __SNR_truncate, {A_PATH, -1}, SHOW_RET, true},
	{"statfs", __SNR_statfs, {A_PATH, A_BUF}, SHOW_QUIET, false},
	{"mkdir", __SNR_mkdir, {A_PATH, 0777}, SHOW_RET, true},
	{"mkdirat", __SNR_mkdirat, {CWD, A_PATH, 01750}, SHOW_RET, true},
	{"rmdir", __SNR_rmdir, {A_PATH}, SHOW_RET, true},
	{"unlink", __SNR_unlink, {A_PATH}, SHOW_RET, true},
	{"unlinkat", __SNR_unlinkat, {CWD, A_PATH, 0}, SHOW_RET, true},
	{"unlinkat-removedir", __SNR_unlinkat, {CWD, A_PATH, AT_REMOVEDIR}, SHOW_RET, true},
	{"unlinkat-badflag", __SNR_unlinkat, {CWD, A_PATH, BAD_FLAG}, SHOW_RET, true},
	{"chmod", __SNR_chmod, {A_PATH, 0711}, SHOW_RET, true},
	{"fchmodat", __SNR_fchmodat, {CWD, A_PATH, 01700}, SHOW_RET, true},
	{"fchmodat2", __SNR_fchmodat2, {CWD, A_PATH, 0707, 0}, SHOW_RET, true},
	{"fchmodat2-nofollow", __SNR_fchmodat2, {CWD, A_PATH, 0707, NOFOLLOW}, SHOW_RET, true},
	{"fchmodat2-empty", __SNR_fchmodat2, {CWD, A_PATH, 0706, AT_EMPTY_PATH}, SHOW_RET, true},
	{"fchmodat2-badflag", __SNR_fchmodat2, {CWD, A_PATH, 0707, BAD_FLAG}, SHOW_RET, true},
	{"utime", __SNR_utime, {A_PATH, P(&times_s)}, SHOW_RET, true},
	{"utime-null", __SNR_utime, {A_PATH, 0}, SHOW_RET, true},
	{"utimes", __SNR_utimes, {A_PATH, P(times_us)}, SHOW_RET, true},
	{"utimes-bad", __SNR_utimes, {A_PATH, P(times_bad)}, SHOW_RET, true},
	{"futimesat", __SNR_futimesat, {CWD, A_PATH, P(times_us)}, SHOW_RET, true},
	{"utimensat", __SNR_utimensat, {CWD, A_PATH, P(times_ns), 0}, SHOW_RET, true},
	{"utimensat-nofollow", __SNR_utimensat, {CWD, A_PATH, P(times_ns), NOFOLLOW}, SHOW_RET, true},
	{"utimensat-now", __SNR_utimensat, {CWD, A_PATH, P(times_now), 0}, SHOW_RET, true},
	{"utimensat-omit", __SNR_utimensat, {CWD, A_PATH, P(times_omit), 0}, SHOW_RET, true},
	{"utimensat-wrong", __SNR_utimensat, {CWD, A_PATH, P(times_wrong), 0}, SHOW_RET, true},
	{"utimensat-null", __SNR_utimensat, {CWD, A_PATH, 0, 0}, SHOW_RET, true},
	{"utimensat-empty", __SNR_utimensat, {CWD, A_PATH, P(times_ns), AT_EMPTY_PATH}, SHOW_RET, true},
	{"utimensat-badflag", __SNR_utimensat, {CWD, A_PATH, P(times_ns), BAD_FLAG}, SHOW_RET, true},
	{"setxattr", __SNR_setxattr, {A_PATH, P("user.two"), P("22"), 2, 0}, SHOW_RET, true},
	{"setxattr-create", __SNR_setxattr, {A_PATH, P("user.one"), P("9"), 1, XATTR_CREATE}, SHOW_RET, true},
	{"setxattr-replace", __SNR_setxattr, {A_PATH, P("user.one"), P("9"), 1, XATTR_REPLACE}, SHOW_RET, true},
	{"lsetxattr", __SNR_lsetxattr, {A_PATH, P("user.two"), P("22"), 2, 0}, SHOW_RET, true},
	{"getxattr", __SNR_getxattr, {A_PATH, P("user.one"), A_BUF, 64}, SHOW_TEXT, false},
	{"getxattr-size", __SNR_getxattr, {A_PATH, P("user.one"), 0, 0}, SHOW_RET, false},
	{"getxattr-missing", __SNR_getxattr, {A_PATH, P("user.none"), A_BUF, 64}, SHOW_TEXT, false},
	{"lgetxattr", __SNR_lgetxattr, {A_PATH, P("user.one"), A_BUF, 64}, SHOW_TEXT, false},
	{"listxattr", __SNR_listxattr, {A_PATH, A_BUF, 512}, SHOW_TEXT, false},
	{"llistxattr", __SNR_llistxattr, {A_PATH, A_BUF, 512}, SHOW_TEXT, false},
	{"removexattr", __SNR_removexattr, {A_PATH, P("user.one")}, SHOW_RET, true},
	{"lremovexattr", __SNR_lremovexattr, {A_PATH, P("user.none")}, SHOW_RET, true},
	{"mknod-reg", __SNR_mknod, {A_PATH, S_IFREG | 0666, 0}, SHOW_RET, true},
	{"mknodat-fifo", __SNR_mknodat, {CWD, A_PATH, S_IFIFO | 0622, 0}, SHOW_RET, true},
	{"mknodat-sock", __SNR_mknodat, {CWD, A_PATH, S_IFSOCK | 0777, 0}, SHOW_RET, true},
	{"mknodat-untyped", __SNR_mknodat, {CWD, A_PATH, 0600, 0}, SHOW_RET, true},
	{"mknodat-dir", __SNR_mknodat, {CWD, A_PATH, S_IFDIR | 0700, 0}, SHOW_RET, true},
	{"inotify", __SNR_inotify_add_watch, {A_INOTIFY, A_PATH, IN_MODIFY}, SHOW_RET, false},
	{"inotify-onlydir", __SNR_inotify_add_watch, {A_INOTIFY, A_PATH, IN_CREATE | IN_ONLYDIR}, SHOW_RET, false},
	{"inotify-dontfollow",
	 __SNR_inotify_add_watch,
	 {A_INOTIFY, A_PATH, IN_ATTRIB | IN_DONT_FOLLOW},
	 SHOW_RET,
	 false},
	{"symlink-target", __SNR_symlink, {A_PATH, A_NEW}, SHOW_RET, true},
	{"symlink-at", __SNR_symlinkat, {P("file"), CWD, A_PATH}, SHOW_RET, true},
	{"symlink-empty-target", __SNR_symlink, {P(""), A_PATH}, SHOW_RET, true},
	{"link-from", __SNR_link, {A_PATH, A_NEW}, SHOW_RET, true},
	{"link-to", __SNR_link, {A_FILE, A_PATH}, SHOW_RET, true},
	{"linkat-follow", __SNR_linkat, {CWD, A_PATH, CWD, A_NEW, AT_SYMLINK_FOLLOW}, SHOW_RET, true},
	{"linkat-badflag", __SNR_linkat, {CWD, A_PATH, CWD, A_NEW, BAD_FLAG}, SHOW_RET, true},
	{"rename-from", __SNR_rename, {A_PATH, A_NEW}, SHOW_RET, true},
	{"rename-to", __SNR_rename, {A_FILE, A_PATH}, SHOW_RET, true},
	{"rename-dir-to", __SNR_rename, {P("deep/target"), A_PATH}, SHOW_RET, true},
};

static void show_stat(const void *buf)
{
	struct stat st;

	memcpy(&st, buf, sizeof(st));
	diff_say(" %06o n%lu %lld b%ld", (unsigned)st.st_mode, (unsigned long)st.st_nlink,
		 S_ISDIR(st.st_mode) ? 0 : (long long)st.st_size, (long)st.st_blksize);
}

static void show_statx(const void *buf)
{
	struct statx stx;

	memcpy(&stx, buf, sizeof(stx));
	diff_say(" mask=%x %06o n%u %llu a%llx", stx.stx_mask, (unsigned)stx.stx_mode, stx.stx_nlink,
		 S_ISDIR(stx.stx_mode) ? 0ULL : (unsigned long long)stx.stx_size,
		 (unsigned long long)stx.stx_attributes_mask);
}

static void show_add_text(const unsigned char *buf, long len)
{
	diff_say(" ");
	for (long i = 0; i < len && i < 600; i++)
		diff_say(buf[i] > 0x20 && buf[i] < 0x7f ? "%c" : "\\x%02x", buf[i]);
}

static void show(const struct op *op, long ret, const unsigned char *buf)
{
	diff_ret(ret);
	if (ret < 0)
		return;
	switch (op->shown) {
	case SHOW_STAT:
		show_stat(buf);
		break;
	case SHOW_STATX:
		show_statx(buf);
		break;
	case SHOW_TEXT:
		show_add_text(buf, ret);
		break;
	case SHOW_RET:
	case SHOW_FD:
	case SHOW_QUIET:
		break;
	}
}

static void run(const struct op *op, const struct diff_shape *shape, const char *path)
{
	static unsigned char buf[4096];
	long arg[6], ret;
	int watch = -1, hold = -1;

	diff_begin("%s %s", op->name, shape->name);
	if (op->nr == __SNR_inotify_add_watch)
		watch = inotify_init1(IN_CLOEXEC);
	else if (op->shown == SHOW_FD)
		hold = open("fifo", O_RDWR | O_CLOEXEC); /* no open of the FIFO blocks then */
	memset(buf, 0, sizeof(buf));
	for (int i = 0; i < 6; i++) {
		long a = op->arg[i];

		arg[i] = a == A_PATH ? P(path) : a == A_BUF ? P(buf) : a == A_NEW ? P("brand-new") :
			 a == A_FILE ? P("dir/sub") : a == A_INOTIFY ? watch : a;
	}
	ret = diff_sys(op->nr, arg);
	if (op->shown == SHOW_FD)
		diff_fd(ret);
	else
		show(op, ret, buf);
	if (watch >= 0)
		(void)close(watch); /* the case is over */
	if (hold >= 0)
		(void)close(hold);
	diff_end(op->mutates);
}

/* A blocking open is done again on the pinned object, without O_NOFOLLOW: see diff-deviations.txt. */
static bool deviates(const struct op *op, const struct diff_shape *shape)
{
	return op->nr == __SNR_openat && op->arg[2] & O_NOFOLLOW && !(op->arg[2] & O_PATH) &&
	       !strcmp(shape->name, "fifo");
}

static void run_all(bool (*wanted)(const struct diff_shape *shape))
{
	for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		if (ops[o].nr < 0)
			continue;
		for (size_t s = 0; s < diff_shapes_count; s++)
			if (diff_in_part(o + s) && wanted(&diff_shapes[s]) && !deviates(&ops[o], &diff_shapes[s]))
				run(&ops[o], &diff_shapes[s], diff_shape_pointer(&diff_shapes[s], 0));
	}
}

static bool is_any(const struct diff_shape *shape)
{
	return shape;
}

/* Not a text in the middle of a mapping, or an odd one. */
static bool is_odd(const struct diff_shape *shape)
{
	return shape->kind != SHAPE_ABS && (shape->kind != SHAPE_TEXT || !*shape->text);
}

void diff_group_path(void)
{
	run_all(is_any);
}

void diff_group_pointers(void)
{
	run_all(is_odd);
}
