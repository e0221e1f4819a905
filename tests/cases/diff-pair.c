/* Calls with two paths: every old name with every new one. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT (1 << 2)
#endif

static const struct diff_shape names[] = {
	{"file", SHAPE_TEXT, "file", 0},
	{"hard", SHAPE_TEXT, "hard", 0},
	{"hard-twin", SHAPE_TEXT, "deep/file", 0},
	{"missing", SHAPE_TEXT, "missing", 0},
	{"missing-slash", SHAPE_TEXT, "missing/", 0},
	{"dir", SHAPE_TEXT, "dir", 0},
	{"dir-slash", SHAPE_TEXT, "dir/", 0},
	{"emptydir", SHAPE_TEXT, "emptydir", 0},
	{"dir-below", SHAPE_TEXT, "dir/below", 0},
	{"dir-sub", SHAPE_TEXT, "dir/sub", 0},
	{"dir-dot", SHAPE_TEXT, "dir/.", 0},
	{"up", SHAPE_TEXT, "dir/..", 0},
	{"link-file", SHAPE_TEXT, "lfile", 0},
	{"link-dir", SHAPE_TEXT, "ldir", 0},
	{"link-dir-slash", SHAPE_TEXT, "ldir/", 0},
	{"link-dir-sub", SHAPE_TEXT, "ldir/sub", 0},
	{"dangling", SHAPE_TEXT, "dangling", 0},
	{"loop", SHAPE_TEXT, "loop", 0},
	{"readonly-dir", SHAPE_TEXT, "rodir/x", 0},
	{"absolute", SHAPE_ABS, "ro", 0},
	{"empty", SHAPE_TEXT, "", 0},
	{"unmapped", SHAPE_UNMAPPED, NULL, 0},
	{"straddle", SHAPE_STRADDLE, "empty", 0},
	{"name-256", SHAPE_NAME, NULL, 256},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static const struct op {
	const char *name;
	long nr;
	long flags;
} ops[] = {
	{"rename", __SNR_rename, 0},
	{"renameat", __SNR_renameat, 0},
	{"renameat2-noreplace", __SNR_renameat2, RENAME_NOREPLACE},
	{"renameat2-exchange", __SNR_renameat2, RENAME_EXCHANGE},
	{"link", __SNR_link, 0},
	{"linkat-follow", __SNR_linkat, AT_SYMLINK_FOLLOW},
	{"symlink", __SNR_symlink, 0},
};

static void run(const struct op *op, const struct diff_shape *old, const struct diff_shape *new)
{
	const char *from, *to;
	long ret;

	diff_begin("%s %s %s", op->name, old->name, new->name);
	from = diff_shape_pointer(old, 0);
	to = diff_shape_pointer(new, 1);
	if (op->nr == __SNR_rename || op->nr == __SNR_link || op->nr == __SNR_symlink)
		ret = RAW(op->nr, P(from), P(to));
	else
		ret = RAW(op->nr, AT_FDCWD, P(from), AT_FDCWD, P(to), op->flags);
	diff_ret(ret);
	diff_end(true);
}

static void run_flags(void)
{
	static const long flags[] = {
		RENAME_NOREPLACE | RENAME_EXCHANGE, RENAME_WHITEOUT | RENAME_EXCHANGE, 8, 0x100, -1,
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		diff_begin("renameat2-flags-%lx", (unsigned long)flags[i]);
		diff_ret(RAW(__SNR_renameat2, AT_FDCWD, P("file"), AT_FDCWD, P("empty"), flags[i]));
		diff_end(true);
		diff_begin("linkat-flags-%lx", (unsigned long)flags[i]);
		diff_ret(RAW(__SNR_linkat, AT_FDCWD, P("file"), AT_FDCWD, P("brand-new"), flags[i]));
		diff_end(true);
	}
}

/* A descriptor gets a name: O_TMPFILE by AT_EMPTY_PATH and by /proc/self/fd. */
static void run_tmpfile(void)
{
	char proc[64];

	for (int excl = 0; excl < 2; excl++) {
		int fd;

		diff_begin("linkat-tmpfile-proc excl=%d", excl);
		fd = open("dir", O_TMPFILE | O_RDWR | (excl ? O_EXCL : 0), 0640);
		if (fd < 0 || write(fd, "tmp", 3) != 3)
			diff_say(" no tmpfile");
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		diff_ret(RAW(__SNR_linkat, AT_FDCWD, P(proc), AT_FDCWD, P("named"), AT_SYMLINK_FOLLOW));
		(void)close(fd); /* the case is over */
		diff_end(true);
		diff_begin("linkat-tmpfile-nofollow excl=%d", excl);
		fd = open("dir", O_TMPFILE | O_RDWR | (excl ? O_EXCL : 0), 0640);
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		diff_ret(RAW(__SNR_linkat, AT_FDCWD, P(proc), AT_FDCWD, P("named"), 0));
		(void)close(fd);
		diff_end(true);
	}
}

void diff_group_pair(void)
{
	for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		if (ops[o].nr < 0)
			continue;
		for (size_t i = 0; i < NAMES; i++)
			for (size_t j = 0; j < NAMES; j++)
				if (diff_in_part(o + i + j))
					run(&ops[o], &names[i], &names[j]);
	}
	run_flags();
	run_tmpfile();
}
