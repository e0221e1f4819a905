/*
 * What open(2) does besides resolving a path: flags, modes and umask, descriptor numbers, a full table, O_TMPFILE;
 * openat2's struct.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/cases/diff.h"

struct how {
	uint64_t flags, mode, resolve, extra[8];
};

static void run_modes(void)
{
	static const mode_t modes[] = {0, 0777, 0666, 0644, 0600, 0222, 0111, 01777, 0100644, 0170000};
	static const mode_t umasks[] = {0, 022, 027, 077, 0777};

	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (size_t u = 0; u < sizeof(umasks) / sizeof(umasks[0]); u++) {
			diff_begin("open-mode %o umask %o", modes[m], umasks[u]);
			umask(umasks[u]);
			diff_fd(RAW(__SNR_openat, AT_FDCWD, P("new-file"), O_RDWR | O_CREAT | O_EXCL, modes[m]));
			diff_ret(RAW(__SNR_mkdirat, AT_FDCWD, P("new-dir"), modes[m]));
			diff_ret(RAW(__SNR_mknodat, AT_FDCWD, P("new-fifo"), S_IFIFO | (modes[m] & 01777), 0));
			umask(022);
			diff_end(true);
		}
	}
}

static void run_flags(void)
{
	/* the odd ones that no program sends on purpose, alone and together */
	static const long flags[] = {
		O_SYNC,
		O_DSYNC,
		O_NONBLOCK,
		O_NOATIME,
		O_DIRECT,
		O_ASYNC,
		O_NOCTTY,
		O_CLOEXEC,
		O_LARGEFILE,
		O_RDWR | O_TRUNC | O_APPEND,
		O_TRUNC,
		O_EXCL,
		O_CREAT | O_EXCL | O_TRUNC | O_RDWR,
		O_CREAT | O_DIRECTORY,
		O_RDWR | O_DIRECTORY,
		O_WRONLY | O_PATH,
		O_PATH | O_CREAT,
		O_PATH | O_TRUNC,
		O_PATH | O_CLOEXEC,
		020000000 /* __O_TMPFILE alone */,
		O_TMPFILE,
		O_TMPFILE | O_RDONLY,
		O_TMPFILE | O_CREAT | O_RDWR,
		1L << 30,
		1L << 31,
		(1L << 32) | O_RDONLY,
		3,
		3 | O_CREAT,
		O_ACCMODE | O_TRUNC,
		0x7fffffff,
	};
	static const char *const names[] = {"file", "missing", "dir", "lfile", "dangling", "fifo", "ro"};

	for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			int hold;

			diff_begin("open-flags %lx %s", (unsigned long)flags[f], names[n]);
			hold = open("fifo", O_RDWR | O_CLOEXEC);
			diff_fd(RAW(__SNR_openat, AT_FDCWD, P(names[n]), flags[f], 0644));
			(void)close(hold); /* the case is over */
			diff_end(true);
		}
	}
}

static void run_numbers(void)
{
	int fd[300], count = 0;
	long last;

	diff_begin("open-lowest");
	for (int i = 0; i < 5; i++)
		fd[i] = open("file", O_RDONLY);
	diff_say(" %d %d %d", fd[0], fd[1], fd[4]);
	(void)close(fd[1]);
	(void)close(fd[3]);
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY | O_CLOEXEC));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("file"), O_PATH));
	diff_close_all();
	diff_end(false);
	diff_begin("open-full-table");
	while (count < 300 && (fd[count] = open("file", O_RDONLY)) >= 0)
		count++;
	diff_say(" %d", count);
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("missing"), O_RDONLY));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("missing"), O_WRONLY | O_CREAT, 0600));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("dir"), O_PATH));
	diff_ret(RAW(__SNR_openat, AT_FDCWD, P("empty"), O_WRONLY | O_CREAT | O_EXCL, 0600));
	(void)close(fd[17]);
	last = RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY);
	diff_ret(last);
	diff_close_all();
	/* whether the refused creation left its file is the kernel's own business: it looks for a number first */
	diff_end(true);
}

static void run_two_descriptions(void)
{
	char a[3] = "", b[3] = "";
	int one, two;

	diff_begin("open-own-offset");
	one = open("file", O_RDONLY);
	two = open("file", O_RDONLY);
	diff_ret(read(one, a, 2));
	diff_ret(read(two, b, 2));
	diff_say(" %s %s", a, b);
	(void)close(one);
	(void)close(two); /* the case is over */
	diff_end(false);
	diff_begin("open-append-writes-at-end");
	one = open("file", O_WRONLY | O_APPEND);
	diff_ret(lseek(one, 0, SEEK_SET));
	diff_ret(write(one, "end", 3));
	(void)close(one);
	diff_end(true);
	diff_begin("open-created-readonly-still-writes");
	one = open("locked", O_RDWR | O_CREAT | O_EXCL, 0400);
	diff_ret(write(one, "x", 1));
	diff_ret(open("locked", O_RDWR) < 0 ? -errno : 0);
	(void)close(one);
	diff_end(true);
	diff_begin("open-unlinked");
	one = open("file", O_RDWR);
	diff_ret(unlink("file") < 0 ? -errno : 0);
	diff_ret(write(one, "gone", 4));
	diff_fd(one);
	diff_end(true);
	diff_begin("open-lock-and-lease");
	one = open("file", O_RDWR);
	diff_ret(fcntl(one, F_SETLK, &(struct flock){.l_type = F_WRLCK}) < 0 ? -errno : 0);
	diff_ret(fcntl(one, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}) < 0 ? -errno : 0);
	(void)close(one);
	diff_end(false);
}

static void run_setgid_dir(void)
{
	diff_begin("open-in-sticky-dir");
	diff_ret(chmod("dir", 01777) < 0 ? -errno : 0);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("dir/new"), O_RDWR | O_CREAT, 0666));
	diff_end(true);
}

void diff_group_open(void)
{
	run_modes();
	run_flags();
	run_numbers();
	run_two_descriptions();
	run_setgid_dir();
}

static void openat2(const char *name, const char *path, const struct how *how, long size, int dirfd)
{
	int tries = 0;
	long fd;

	diff_begin("openat2 %s %s", name, path);
	/* Natively EAGAIN when anything was renamed or mounted while ".." was resolved; the caller is to try again. */
	do
		fd = RAW(__SNR_openat2, dirfd, P(path), P(how), size);
	while (fd == -EAGAIN && ++tries < 1000);
	diff_fd(fd);
	diff_end(true);
}

static void run_resolve(void)
{
	static const struct {
		const char *name;
		uint64_t bits;
	} resolve[] = {
		{"no-xdev", 0x01},  {"no-magiclinks", 0x02}, {"no-symlinks", 0x04}, {"beneath", 0x08},
		{"in-root", 0x10},  {"cached", 0x20},	     {"both", 0x18},	    {"bad", 0x40},
		{"huge", 1ULL << 40},
	};
	static const char *const paths[] = {
		"file",      "missing", "dir/sub",  "dir/../file",     "..",
		"../c/file", "lfile",   "ldir/sub", "ltarget/../file", "labs",
		"dangling",  "loop",    "/file",    "/dir/sub",        "/../file",
		"file/",     "dir/",    "",         "/proc/self/exe",  "/dev/null",
	};

	for (size_t r = 0; r < sizeof(resolve) / sizeof(resolve[0]); r++) {
		for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
			struct how how = {O_RDONLY, 0, resolve[r].bits, {0}};

			/* RESOLVE_CACHED may say EAGAIN at any time; only its refusal of O_CREAT is certain */
			if (resolve[r].bits == 0x20)
				how.flags = O_WRONLY | O_CREAT;
			openat2(resolve[r].name, paths[p], &how, 24, AT_FDCWD);
			if (resolve[r].bits == 0x08 || resolve[r].bits == 0x10) {
				how.flags = O_PATH | O_NOFOLLOW;
				openat2("nofollow", paths[p], &how, 24, AT_FDCWD);
				how.flags = O_WRONLY | O_CREAT;
				how.mode = 0600;
				if (strcmp(paths[p], "/dev/null") && strcmp(paths[p], "/proc/self/exe"))
					openat2("creat", paths[p], &how, 24, AT_FDCWD);
			}
		}
	}
}

static void run_how(void)
{
	static const struct {
		const char *name;
		struct how how;
		long size;
	} hows[] = {
		{"size-0", {O_RDONLY, 0, 0, {0}}, 0},
		{"size-8", {O_RDONLY, 0, 0, {0}}, 8},
		{"size-23", {O_RDONLY, 0, 0, {0}}, 23},
		{"size-32-zero", {O_RDONLY, 0, 0, {0}}, 32},
		{"size-32-set", {O_RDONLY, 0, 0, {1}}, 32},
		{"size-88-set-far", {O_RDONLY, 0, 0, {0, 0, 0, 0, 0, 0, 0, 1}}, 88},
		{"size-4096", {O_RDONLY, 0, 0, {0}}, 4097},
		{"size-negative", {O_RDONLY, 0, 0, {0}}, -1},
		{"mode-without-creat", {O_RDONLY, 0644, 0, {0}}, 24},
		{"mode-bad", {O_WRONLY | O_CREAT, 0200000, 0, {0}}, 24},
		{"mode-high", {O_WRONLY | O_CREAT, 1ULL << 40, 0, {0}}, 24},
		{"flags-unknown", {1ULL << 30, 0, 0, {0}}, 24},
		{"flags-high", {1ULL << 40, 0, 0, {0}}, 24},
		{"flags-path-rdwr", {O_PATH | O_RDWR, 0, 0, {0}}, 24},
		{"flags-path-creat", {O_PATH | O_CREAT, 0, 0, {0}}, 24},
		{"flags-tmpfile-alone", {020000000, 0, 0, {0}}, 24},
		{"creat-mode", {O_RDWR | O_CREAT, 01666, 0, {0}}, 24},
		{"excl", {O_RDWR | O_CREAT | O_EXCL, 0600, 0, {0}}, 24},
		{"trunc", {O_WRONLY | O_TRUNC, 0, 0, {0}}, 24},
		{"directory-creat", {O_DIRECTORY | O_CREAT, 0600, 0, {0}}, 24},
		{"largefile", {O_LARGEFILE, 0, 0, {0}}, 24},
		{"cloexec", {O_CLOEXEC, 0, 0, {0}}, 24},
		{"tmpfile", {O_TMPFILE | O_RDWR, 0600, 0, {0}}, 24},
	};
	static const char *const paths[] = {"file", "missing", "dir"};

	for (size_t h = 0; h < sizeof(hows) / sizeof(hows[0]); h++) {
		struct {
			struct how how;
			char pad[8192];
		} roomy = {.how = hows[h].how};

		for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++)
			openat2(hows[h].name, paths[p], &roomy.how, hows[h].size, AT_FDCWD);
	}
	openat2("how-null", "file", NULL, 24, AT_FDCWD);
	openat2("how-unmapped", "file", (const struct how *)(const void *)diff_mem_unmapped(), 24, AT_FDCWD);
	openat2("how-short-memory", "file", (const struct how *)(const void *)diff_mem_tail(16), 24, AT_FDCWD);
	openat2("dirfd-bad", "file", &hows[0].how, 24, -5);
}

void diff_group_openat2(void)
{
	run_resolve();
	run_how();
}
