/* Every *at call with every kind of directory descriptor: good, bad, a file, O_PATH, of a deleted directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define A_FD 0x7e570001L
#define A_PATH 0x7e570002L
#define A_BUF 0x7e570003L

static const struct timespec times[2] = {{900000000, 1}, {910000000, 2}};
static const struct timeval times_us[2] = {{900000000, 1}, {910000000, 2}};
static const uint64_t how_read[3] = {O_RDONLY, 0, 0};
static const uint64_t how_beneath[3] = {O_PATH, 0, 0x08};

static const struct op {
	const char *name;
	long nr;
	long arg[6];
	bool fd;
	bool mutates;
} ops[] = {
	{"openat-r", __SNR_openat, {A_FD, A_PATH, O_RDONLY}, true, true},
	{"openat-creat", __SNR_openat, {A_FD, A_PATH, O_WRONLY | O_CREAT, 0644}, true, true},
	{"openat-tmpfile", __SNR_openat, {A_FD, A_PATH, O_WRONLY | O_TMPFILE, 0644}, true, true},
	{"openat2", __SNR_openat2, {A_FD, A_PATH, P(how_read), sizeof(how_read)}, true, true},
	{"openat2-beneath", __SNR_openat2, {A_FD, A_PATH, P(how_beneath), sizeof(how_beneath)}, true, false},
	{"newfstatat", __SNR_newfstatat, {A_FD, A_PATH, A_BUF, 0}, false, false},
	{"newfstatat-empty", __SNR_newfstatat, {A_FD, A_PATH, A_BUF, AT_EMPTY_PATH}, false, false},
	{"newfstatat-null-empty", __SNR_newfstatat, {A_FD, 0, A_BUF, AT_EMPTY_PATH}, false, false},
	{"statx-empty", __SNR_statx, {A_FD, A_PATH, AT_EMPTY_PATH, 0x1, A_BUF}, false, false},
	{"faccessat", __SNR_faccessat, {A_FD, A_PATH, R_OK}, false, false},
	{"faccessat2-empty", __SNR_faccessat2, {A_FD, A_PATH, W_OK, AT_EMPTY_PATH}, false, false},
	{"readlinkat", __SNR_readlinkat, {A_FD, A_PATH, A_BUF, 100}, false, false},
	{"mkdirat", __SNR_mkdirat, {A_FD, A_PATH, 0700}, false, true},
	{"unlinkat", __SNR_unlinkat, {A_FD, A_PATH, 0}, false, true},
	{"rmdirat", __SNR_unlinkat, {A_FD, A_PATH, AT_REMOVEDIR}, false, true},
	{"fchmodat", __SNR_fchmodat, {A_FD, A_PATH, 0700}, false, true},
	{"fchmodat2-empty", __SNR_fchmodat2, {A_FD, A_PATH, 0701, AT_EMPTY_PATH}, false, true},
	{"fchownat-empty", __SNR_fchownat, {A_FD, A_PATH, -1, -1, AT_EMPTY_PATH}, false, true},
	{"fchownat", __SNR_fchownat, {A_FD, A_PATH, -1, -1, AT_SYMLINK_NOFOLLOW}, false, true},
	{"utimensat", __SNR_utimensat, {A_FD, A_PATH, P(times), 0}, false, true},
	{"utimensat-null-path", __SNR_utimensat, {A_FD, 0, P(times), 0}, false, true},
	{"utimensat-empty", __SNR_utimensat, {A_FD, A_PATH, P(times), AT_EMPTY_PATH}, false, true},
	{"futimesat", __SNR_futimesat, {A_FD, A_PATH, P(times_us)}, false, true},
	{"futimesat-null-path", __SNR_futimesat, {A_FD, 0, P(times_us)}, false, true},
	{"mknodat", __SNR_mknodat, {A_FD, A_PATH, S_IFIFO | 0600, 0}, false, true},
	{"symlinkat", __SNR_symlinkat, {P("x"), A_FD, A_PATH}, false, true},
	{"linkat-old", __SNR_linkat, {A_FD, A_PATH, AT_FDCWD, P("brand-new"), 0}, false, true},
	{"linkat-old-empty", __SNR_linkat, {A_FD, A_PATH, AT_FDCWD, P("brand-new"), AT_EMPTY_PATH}, false, true},
	{"linkat-new", __SNR_linkat, {AT_FDCWD, P("hard"), A_FD, A_PATH, 0}, false, true},
	{"renameat-old", __SNR_renameat, {A_FD, A_PATH, AT_FDCWD, P("brand-new")}, false, true},
	{"renameat2-new", __SNR_renameat2, {AT_FDCWD, P("hard"), A_FD, A_PATH, 0}, false, true},
	{"setxattrat-absent-size", __SNR_setxattrat, {A_FD, A_PATH, 0, P("user.a"), 0, 0}, false, true},
	{"listxattrat", __SNR_listxattrat, {A_FD, A_PATH, 0, A_BUF, 256}, false, false},
	{"listxattrat-empty", __SNR_listxattrat, {A_FD, A_PATH, AT_EMPTY_PATH, A_BUF, 256}, false, false},
	{"removexattrat", __SNR_removexattrat, {A_FD, A_PATH, 0, P("user.one")}, false, true},
	{"chdir-by-fd", __SNR_fchdir, {A_FD}, false, false},
	{"fchmod", __SNR_fchmod, {A_FD, 0750}, false, true},
	{"fchown", __SNR_fchown, {A_FD, -1, -1}, false, true},
	{"fstat", __SNR_fstat, {A_FD, A_BUF}, false, false},
	{"fstatfs-ret", __SNR_fstatfs, {A_FD, A_BUF}, false, false},
	{"fsetxattr", __SNR_fsetxattr, {A_FD, P("user.f"), P("v"), 1, 0}, false, true},
	{"fgetxattr", __SNR_fgetxattr, {A_FD, P("user.one"), A_BUF, 64}, false, false},
	{"flistxattr", __SNR_flistxattr, {A_FD, A_BUF, 256}, false, false},
	{"fremovexattr", __SNR_fremovexattr, {A_FD, P("user.one")}, false, true},
	{"ftruncate", __SNR_ftruncate, {A_FD, 2}, false, true},
	{"openat-file-as-dir-dot", __SNR_openat, {A_FD, P("."), O_RDONLY | O_DIRECTORY}, true, false},
};

enum { KIND_MAX = 14 };
static const char *const kinds[KIND_MAX] = {
	"cwd",        "dir",        "dir-opath",   "minus-one",    "not-open", "file",        "file-rw",
	"file-opath", "link-opath", "deleted-dir", "deleted-file", "pipe",     "renamed-dir", "noaccess-dir",
};

/* A second descriptor to close in *ret_other (the pipe's far end). */
static int make_fd(int kind, int *ret_other)
{
	int pipes[2], fd;

	*ret_other = -1;
	switch (kind) {
	case 0:
		return AT_FDCWD;
	case 1:
		return open("dir", O_RDONLY | O_DIRECTORY);
	case 2:
		return open("dir", O_PATH);
	case 3:
		return -1;
	case 4:
		return 200;
	case 5:
		return open("file", O_RDONLY);
	case 6:
		return open("file", O_RDWR);
	case 7:
		return open("file", O_PATH);
	case 8:
		return open("lfile", O_PATH | O_NOFOLLOW);
	case 9:
		fd = open("emptydir", O_RDONLY | O_DIRECTORY);
		if (rmdir("emptydir") < 0)
			diff_die("rmdir emptydir");
		return fd;
	case 10:
		fd = open("empty", O_RDWR);
		if (unlink("empty") < 0)
			diff_die("unlink empty");
		return fd;
	case 11:
		if (pipe(pipes) < 0)
			diff_die("pipe");
		*ret_other = pipes[1];
		return pipes[0];
	case 12:
		fd = open("dir", O_RDONLY | O_DIRECTORY);
		if (rename("dir", "deep/moved") < 0)
			diff_die("rename dir");
		return fd;
	default:
		return open("nodir", O_PATH);
	}
}

static const struct diff_shape paths[] = {
	{"sub", SHAPE_TEXT, "sub", 0},	     {"missing", SHAPE_TEXT, "missing", 0},
	{"up-file", SHAPE_TEXT, "../file", 0}, {"dot", SHAPE_TEXT, ".", 0},
	{"up", SHAPE_TEXT, "..", 0},	     {"absolute", SHAPE_ABS, "file", 0},
	{"empty", SHAPE_TEXT, "", 0},	     {"null", SHAPE_NULL, NULL, 0},
	{"unmapped", SHAPE_UNMAPPED, NULL, 0}, {"name-256", SHAPE_NAME, NULL, 256},
};

static bool takes_path(const struct op *op)
{
	for (int i = 0; i < 6; i++)
		if (op->arg[i] == A_PATH)
			return true;
	return false;
}

static bool named(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

/*
 * A deleted directory has no name by which it, "." or ".." could be judged: see diff-deviations.txt.
 */
static bool deviates(const struct op *op, const char *kind, const char *shape)
{
	static const char *const by_fd[] = {"fchmod",
					    "fchown",
					    "fsetxattr",
					    "fgetxattr",
					    "flistxattr",
					    "fremovexattr",
					    "ftruncate",
					    "utimensat-null-path",
					    "futimesat-null-path",
					    "listxattrat-empty",
					    NULL};
	static const char *const nameless[] = {"fchmodat2-empty", "fchownat-empty", "utimensat-empty",
					       "openat-file-as-dir-dot", NULL};
	static const char *const by_null[] = {"utimensat", "futimesat", NULL};
	static const char *const upwards[] = {"dot", "up", "up-file", NULL};

	/* Linux 6.13 to date takes AT_FDCWD for a descriptor in some of these and not in others */
	if (!strcmp(kind, "cwd"))
		return named(op->name, by_fd);
	if (!strcmp(kind, "noaccess-dir"))
		return named(shape, upwards) || !strcmp(shape, "name-256");
	return !strcmp(kind, "deleted-dir") &&
	       (named(shape, upwards) || named(op->name, by_fd) || named(op->name, nameless) ||
		(named(op->name, by_null) && !strcmp(shape, "null")));
}

static void run(const struct op *op, int kind, const struct diff_shape *shape)
{
	static unsigned char buf[4096];
	const char *path = shape ? diff_shape_pointer(shape, 0) : NULL;
	long arg[6], ret;
	int fd, other;

	diff_begin("%s %s %s", op->name, kinds[kind], shape ? shape->name : "-");
	fd = make_fd(kind, &other);
	memset(buf, 0, sizeof(buf));
	for (int i = 0; i < 6; i++) {
		long a = op->arg[i];

		arg[i] = a == A_FD ? fd : a == A_PATH ? P(path) : a == A_BUF ? P(buf) : a;
	}
	ret = diff_sys(op->nr, arg);
	if (op->fd)
		diff_fd(ret);
	else
		diff_ret(ret);
	if (op->nr == __SNR_newfstatat && ret == 0) {
		struct stat st;

		memcpy(&st, buf, sizeof(st));
		diff_say(" %06o n%lu", (unsigned)st.st_mode, (unsigned long)st.st_nlink);
	}
	if (op->nr == __SNR_readlinkat && ret > 0)
		diff_say(" %.*s", (int)ret, (const char *)buf);
	if (op->nr == __SNR_fchdir && ret == 0) {
		diff_say(" file:");
		diff_ret(access("sub", F_OK) < 0 ? -errno : 0);
		if (chdir(diff_base) < 0 || chdir("c") < 0)
			diff_die("chdir back");
	}
	if (fd >= 0 && fd != 200)
		(void)close(fd); /* the case is over */
	if (other >= 0)
		(void)close(other);
	diff_end(op->mutates || kind == 9 || kind == 10 || kind == 12);
}

void diff_group_dirfd(void)
{
	for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		for (int k = 0; k < KIND_MAX && ops[o].nr >= 0; k++) {
			if (!takes_path(&ops[o])) {
				if (!deviates(&ops[o], kinds[k], "-"))
					run(&ops[o], k, NULL);
				continue;
			}
			for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
				bool leaves = k == 0 && paths[p].text && !strncmp(paths[p].text, "..", 2);

				if (diff_in_part(o + (size_t)k + p) && !leaves &&
				    !deviates(&ops[o], kinds[k], paths[p].name))
					run(&ops[o], k, &paths[p]);
			}
		}
	}
}
