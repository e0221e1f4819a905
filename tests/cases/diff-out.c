/* Calls that write into the program's memory: every kind of buffer, every size that matters. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define A_BUF 0x7e570001L
#define A_SIZE 0x7e570002L

static const struct op {
	const char *name;
	long nr;
	long arg[6];
	size_t size; /* of a fixed output; 0: the size is an argument */
} ops[] = {
	{"stat", __SNR_stat, {P("file"), A_BUF}, sizeof(struct stat)},
	{"lstat", __SNR_lstat, {P("lfile"), A_BUF}, sizeof(struct stat)},
	{"newfstatat", __SNR_newfstatat, {AT_FDCWD, P("file"), A_BUF, 0}, sizeof(struct stat)},
	{"newfstatat-missing", __SNR_newfstatat, {AT_FDCWD, P("missing"), A_BUF, 0}, sizeof(struct stat)},
	{"statx", __SNR_statx, {AT_FDCWD, P("file"), 0, 0x7ff, A_BUF}, sizeof(struct statx)},
	{"statfs", __SNR_statfs, {P("file"), A_BUF}, sizeof(struct statfs)},
	{"readlink", __SNR_readlink, {P("lfile"), A_BUF, A_SIZE}, 0},
	{"readlinkat", __SNR_readlinkat, {AT_FDCWD, P("ltarget"), A_BUF, A_SIZE}, 0},
	{"getxattr", __SNR_getxattr, {P("file"), P("user.one"), A_BUF, A_SIZE}, 0},
	{"lgetxattr", __SNR_lgetxattr, {P("file"), P("user.one"), A_BUF, A_SIZE}, 0},
	{"listxattr", __SNR_listxattr, {P("file"), A_BUF, A_SIZE}, 0},
	{"llistxattr", __SNR_llistxattr, {P("file"), A_BUF, A_SIZE}, 0},
	{"readlink-proc-exe", __SNR_readlink, {P("/proc/self/exe"), A_BUF, A_SIZE}, 0},
	{"readlink-proc-cwd", __SNR_readlink, {P("/proc/self/cwd"), A_BUF, A_SIZE}, 0},
};

static const long sizes[] = {-1, 0, 1, 2, 4, 8, 9, 10, 11, 12, 64, 4096, 1 << 20};

static void one(const struct op *op, const char *kind, char *buf, long size)
{
	long arg[6], ret;

	for (int i = 0; i < 6; i++)
		arg[i] = op->arg[i] == A_BUF ? P(buf) : op->arg[i] == A_SIZE ? size : op->arg[i];
	diff_begin("%s %s %ld", op->name, kind, size);
	ret = diff_sys(op->nr, arg);
	diff_ret(ret);
	diff_end(false);
}

/* What stands behind the returned bytes must be as it was. */
static void guarded(const struct op *op, long size)
{
	static char buf[8192];
	long arg[6], ret;

	for (int i = 0; i < 6; i++)
		arg[i] = op->arg[i] == A_BUF ? P(buf) : op->arg[i] == A_SIZE ? size : op->arg[i];
	diff_begin("%s guarded %ld", op->name, size);
	memset(buf, '#', sizeof(buf));
	ret = diff_sys(op->nr, arg);
	diff_ret(ret);
	if (ret > 0)
		diff_say(" %.*s|%c", (int)ret, buf, buf[ret]);
	else if (!op->size)
		diff_say(" %c", buf[0]);
	else
		diff_say(" %d%c", ret == 0 && buf[op->size - 1] != '#', buf[op->size]);
	diff_end(false);
}

static void buffers(const struct op *op, long size)
{
	size_t need = op->size ? op->size : 16;

	one(op, "null", NULL, size);
	one(op, "unmapped", diff_mem_unmapped(), size);
	one(op, "prot-none", diff_mem_none(), size);
	one(op, "readonly", diff_mem_readonly(), size);
	one(op, "exact", diff_mem_tail(need), size);
	one(op, "one-short", diff_mem_tail(need - 1), size);
	one(op, "four", diff_mem_tail(4), size);
	one(op, "kernel", (char *)(uintptr_t)0xffff800000001000, size);
}

static void run_getcwd(void)
{
	static char buf[8192];
	long len = RAW(__SNR_getcwd, P(buf), sizeof(buf));

	for (long size = 0; size < 4; size++) {
		diff_begin("getcwd %ld", size);
		diff_ret(RAW(__SNR_getcwd, P(buf), size));
		diff_end(false);
	}
	for (long by = -1; by <= 1; by++) {
		diff_begin("getcwd length%+ld", by);
		memset(buf, '#', sizeof(buf));
		diff_ret(RAW(__SNR_getcwd, P(buf), len + by));
		diff_say(" %.200s", buf[0] == '/' ? buf : "#");
		diff_end(false);
	}
	diff_begin("getcwd unmapped");
	diff_ret(RAW(__SNR_getcwd, P(diff_mem_unmapped()), 4096));
	diff_end(false);
	diff_begin("getcwd readonly");
	diff_ret(RAW(__SNR_getcwd, P(diff_mem_readonly()), 4096));
	diff_end(false);
	diff_begin("getcwd null");
	diff_ret(RAW(__SNR_getcwd, 0, 4096));
	diff_end(false);
	diff_begin("getcwd huge");
	diff_ret(RAW(__SNR_getcwd, P(buf), 1L << 40));
	diff_end(false);
}

static void run_getcwd_places(void)
{
	static const char *const dirs[] = {"dir", "ldir", "ltarget", "deep/target/..", "dir//", "emptydir"};
	static char buf[8192];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		for (int by_fd = 0; by_fd < 2; by_fd++) {
			int fd;
			bool gone = !strcmp(dirs[i], "emptydir");

			diff_begin("getcwd-in %s %s", dirs[i], by_fd ? "fchdir" : "chdir");
			fd = open(dirs[i], O_PATH | O_CLOEXEC);
			diff_ret(by_fd ? RAW(__SNR_fchdir, fd) : RAW(__SNR_chdir, P(dirs[i])));
			if (gone && rmdir("../emptydir") < 0)
				diff_die("rmdir ../emptydir");
			memset(buf, 0, sizeof(buf));
			diff_ret(RAW(__SNR_getcwd, P(buf), sizeof(buf)));
			diff_say(" %s", buf);
			memset(buf, 0, sizeof(buf));
			diff_ret(RAW(__SNR_readlink, P("/proc/self/cwd"), P(buf), sizeof(buf)));
			diff_say(" %s", buf);
			if (!gone) { /* a deleted one: diff-deviations.txt */
				diff_ret(access(".", F_OK) < 0 ? -errno : 0);
				diff_ret(access("..", F_OK) < 0 ? -errno : 0);
			}
			(void)close(fd); /* the case is over */
			if (chdir(diff_base) < 0 || chdir("c") < 0)
				diff_die("chdir back");
			diff_end(gone);
		}
	}
}

void diff_group_out(void)
{
	for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		if (ops[o].nr < 0)
			continue;
		if (ops[o].size) {
			buffers(&ops[o], 0);
			guarded(&ops[o], 0);
			continue;
		}
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			guarded(&ops[o], sizes[s] > 4096 ? 4096 : sizes[s]);
		buffers(&ops[o], 4096);
		buffers(&ops[o], 4);
		buffers(&ops[o], 0);
	}
	run_getcwd();
	run_getcwd_places();
}
