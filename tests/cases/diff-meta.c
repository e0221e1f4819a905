/* Attributes: modes, owners, times and extended attributes, by path and by descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <linux/fs.h>

#include "tests/cases/diff.h"

static void run_chmod(void)
{
	static const long modes[] = {0, 0777, 0400, 0200, 01777, 0100644, 040755, 01000, 0xffff0000L | 0644};
	static const char *const names[] = {"file", "dir", "lfile", "fifo", "sock", "noacc", "nodir"};

	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			long mode = modes[m] & ~06000L;

			diff_begin("chmod %lo %s", (unsigned long)mode, names[n]);
			if (__SNR_chmod >= 0)
				diff_ret(RAW(__SNR_chmod, P(names[n]), mode));
			diff_end(true);
			diff_begin("fchmodat2-nofollow %lo %s", (unsigned long)mode, names[n]);
			diff_ret(RAW(__SNR_fchmodat2, AT_FDCWD, P(names[n]), mode, AT_SYMLINK_NOFOLLOW));
			diff_end(true);
		}
	}
}

static void run_chown(void)
{
	static const char *const names[] = {"file", "dir", "lfile", "dangling", "missing", "fifo"};
	const long me = geteuid(), mine = getegid();
	const long ids[][2] = {{-1, -1}, {me, -1}, {-1, mine}, {me, mine}};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			diff_begin("chown set%zu %s", i, names[n]);
			if (__SNR_chown >= 0)
				diff_ret(RAW(__SNR_chown, P(names[n]), ids[i][0], ids[i][1]));
			diff_end(true);
			diff_begin("lchown set%zu %s", i, names[n]);
			if (__SNR_lchown >= 0)
				diff_ret(RAW(__SNR_lchown, P(names[n]), ids[i][0], ids[i][1]));
			diff_end(true);
			diff_begin("fchownat-bad set%zu %s", i, names[n]);
			diff_ret(RAW(__SNR_fchownat, AT_FDCWD, P(names[n]), ids[i][0], ids[i][1], 0x40000000));
			diff_end(true);
		}
	}
}

static void run_times(void)
{
	static const struct timespec sets[][2] = {
		{{900000000, 5}, {910000000, 6}},
		{{0, UTIME_NOW}, {910000000, 6}},
		{{900000000, 5}, {0, UTIME_NOW}},
		{{0, UTIME_OMIT}, {910000000, 6}},
		{{900000000, 5}, {0, UTIME_OMIT}},
		{{0, UTIME_NOW}, {0, UTIME_OMIT}},
		{{0, UTIME_NOW}, {0, UTIME_NOW}},
		{{-1, 0}, {910000000, 0}},
		{{0, -1}, {910000000, 0}},
		{{900000000, 999999999}, {910000000, 1000000000}},
		{{77, UTIME_OMIT}, {77, UTIME_OMIT}},
	};
	static const char *const names[] = {"file", "dir", "lfile", "dangling", "ro", "noacc", "missing"};

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			diff_begin("utimensat set%zu %s", s, names[n]);
			diff_ret(RAW(__SNR_utimensat, AT_FDCWD, P(names[n]), P(sets[s]), 0));
			diff_end(true);
			diff_begin("utimensat-nofollow set%zu %s", s, names[n]);
			diff_ret(RAW(__SNR_utimensat, AT_FDCWD, P(names[n]), P(sets[s]), AT_SYMLINK_NOFOLLOW));
			diff_end(true);
		}
	}
	for (int i = 0; i < 4; i++) {
		const void *bad[] = {diff_mem_unmapped(), diff_mem_none(), diff_mem_tail(8), NULL};

		diff_begin("utimensat times-pointer%d", i);
		diff_ret(RAW(__SNR_utimensat, AT_FDCWD, P("file"), P(bad[i]), 0));
		diff_end(true);
		diff_begin("utimensat times-pointer%d missing", i);
		diff_ret(RAW(__SNR_utimensat, AT_FDCWD, P("missing"), P(bad[i]), 0));
		diff_end(true);
		if (__SNR_utime < 0)
			continue;
		diff_begin("utime times-pointer%d", i);
		diff_ret(RAW(__SNR_utime, P("file"), P(bad[i])));
		diff_end(true);
		diff_begin("utimes times-pointer%d", i);
		diff_ret(RAW(__SNR_utimes, P("file"), P(bad[i])));
		diff_end(true);
	}
}

static void run_xattr_values(void)
{
	static char big[70000];
	static const struct {
		const char *name, *attr;
		const void *value;
		long size, flags;
	} sets[] = {
		{"empty-value", "user.e", "", 0, 0},
		{"null-value", "user.e", NULL, 0, 0},
		{"null-sized", "user.e", NULL, 4, 0},
		{"4k", "user.k", big, 3000, 0},
		{"too-big", "user.k", big, 65537, 0},
		{"huge", "user.k", big, 1L << 40, 0},
		{"bad-flags", "user.k", "v", 1, 8},
		{"both-flags", "user.k", "v", 1, XATTR_CREATE | XATTR_REPLACE},
		{"no-namespace", "plain", "v", 1, 0},
		{"empty-name", "", "v", 1, 0},
		{"prefix-only", "user.", "v", 1, 0},
		{"unknown-namespace", "other.x", "v", 1, 0},
		{"security", "security.callgate", "v", 1, 0},
		{"trusted", "trusted.callgate", "v", 1, 0},
		{"system", "system.callgate", "v", 1, 0},
		{"binary", "user.\x01\xff", "\x00\x01\x02", 3, 0},
	};
	static const char *const names[] = {"file", "dir", "lfile", "fifo", "ro", "missing"};

	memset(big, 'b', sizeof(big));
	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			diff_begin("setxattr %s %s", sets[s].name, names[n]);
			diff_ret(RAW(__SNR_setxattr, P(names[n]), P(sets[s].attr), P(sets[s].value), sets[s].size,
				     sets[s].flags));
			diff_ret(RAW(__SNR_lsetxattr, P(names[n]), P(sets[s].attr), P(sets[s].value), sets[s].size,
				     sets[s].flags));
			diff_end(true);
		}
	}
}

static void run_xattr_names(void)
{
	static const long calls[] = {__SNR_getxattr, __SNR_lgetxattr, __SNR_setxattr, __SNR_removexattr};
	static char name[400], out[64];
	const char *bad[] = {NULL, diff_mem_unmapped(), diff_mem_none(), "", name, "user.straddle", "user.absent"};

	memset(name, 'n', sizeof(name) - 1);
	memcpy(name, "user.", 5);
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
			diff_begin("xattr-name call%zu bad%zu", c, b);
			diff_ret(RAW(calls[c], P("file"), P(bad[b]), P(out), sizeof(out), 0));
			diff_ret(RAW(calls[c], P("missing"), P(bad[b]), P(out), sizeof(out), 0));
			diff_end(true);
		}
	}
	for (size_t len = 254; len <= 257; len++) {
		diff_begin("xattr-name-length %zu", len);
		memset(name, 'n', sizeof(name));
		memcpy(name, "user.", 5);
		name[len] = '\0';
		diff_ret(RAW(__SNR_setxattr, P("file"), P(name), P("v"), 1, 0));
		diff_ret(RAW(__SNR_removexattr, P("file"), P(name)));
		diff_end(true);
	}
}

struct xattr_args {
	uint64_t value;
	uint32_t size, flags;
};

static void run_xattrat(void)
{
	static char out[64];
	struct xattr_args set = {(uint64_t)P("new"), 3, 0}, get = {(uint64_t)P(out), sizeof(out), 0};
	static const long flags[] = {0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, 0x40000000};
	static const char *const names[] = {"file", "lfile", "missing", ""};

	for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			diff_begin("xattrat flags%zu '%s'", f, names[n]);
			diff_ret(RAW(__SNR_setxattrat, AT_FDCWD, P(names[n]), flags[f], P("user.at"), P(&set),
				     sizeof(set)));
			diff_ret(RAW(__SNR_getxattrat, AT_FDCWD, P(names[n]), flags[f], P("user.at"), P(&get),
				     sizeof(get)));
			/*
			 * with an empty path these two, unlike the others, refuse AT_FDCWD: no program can rely on that
			 */
			if (*names[n] || flags[f] != AT_EMPTY_PATH) {
				diff_ret(RAW(__SNR_listxattrat, AT_FDCWD, P(names[n]), flags[f], P(out), sizeof(out)));
				diff_ret(RAW(__SNR_removexattrat, AT_FDCWD, P(names[n]), flags[f], P("user.one")));
			}
			diff_end(true);
		}
	}
	for (long size = 0; size < 40; size += 8) {
		diff_begin("setxattrat struct size %ld", size);
		diff_ret(
			RAW(__SNR_setxattrat, AT_FDCWD, P("file"), 0, P("user.at"), P(&set), size == 32 ? 4097 : size));
		diff_end(true);
	}
}

/* Linux 6.17 and later; before, both sides say ENOSYS. */
struct file_attr_arg {
	uint64_t xflags;
	uint32_t extsize, nextents, projid, cowextsize;
	uint64_t more[4];
};

static void run_file_attr(void)
{
	static const long flags[] = {0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, 0x40000000};
	static const long sizes[] = {0, 8, 23, 24, 32, 56, 5000};
	static const char *const names[] = {"file", "dir", "lfile", "dangling", "missing", "fifo", "ro", ""};
	static struct {
		struct file_attr_arg attr;
		char pad[8192];
	} room;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			diff_begin("file_attr '%s' flags%zu", names[n], f);
			memset(&room, 0, sizeof(room));
			diff_ret(RAW(__SNR_file_getattr, AT_FDCWD, P(names[n]), P(&room), 24, flags[f]));
			diff_say(" %llx %u", (unsigned long long)room.attr.xflags, room.attr.projid);
			diff_ret(RAW(__SNR_file_setattr, AT_FDCWD, P(names[n]), P(&room), 24, flags[f]));
			diff_end(true);
		}
	}
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		diff_begin("file_attr size %ld", sizes[s]);
		memset(&room, 0, sizeof(room));
		diff_ret(RAW(__SNR_file_getattr, AT_FDCWD, P("file"), P(&room), sizes[s], 0));
		diff_ret(RAW(__SNR_file_setattr, AT_FDCWD, P("file"), P(&room), sizes[s], 0));
		room.attr.more[1] = 1;
		diff_ret(RAW(__SNR_file_setattr, AT_FDCWD, P("file"), P(&room), sizes[s], 0));
		diff_end(true);
	}
	for (int i = 0; i < 4; i++) {
		const void *bad[] = {NULL, diff_mem_unmapped(), diff_mem_readonly(), diff_mem_tail(20)};

		diff_begin("file_attr pointer%d", i);
		diff_ret(RAW(__SNR_file_getattr, AT_FDCWD, P("file"), P(bad[i]), 24, 0));
		if (i != 2) /* 'r' everywhere: unknown flags */
			diff_ret(RAW(__SNR_file_setattr, AT_FDCWD, P("file"), P(bad[i]), 24, 0));
		diff_end(true);
	}
	diff_begin("file_setattr unknown xflags");
	memset(&room, 0, sizeof(room));
	room.attr.xflags = 1ULL << 40;
	diff_ret(RAW(__SNR_file_setattr, AT_FDCWD, P("file"), P(&room), 24, 0));
	diff_end(true);
}

/* The same metadata through descriptors opened in every way. */
static void run_by_descriptor(void)
{
	static const struct timespec times[2] = {{900000000, 5}, {910000000, 6}};
	static const long flags[] = {O_RDONLY, O_RDWR, O_PATH, O_RDONLY | O_DIRECTORY, O_PATH | O_NOFOLLOW};
	static const char *const names[] = {"file", "dir", "ro", "lfile"};

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			int fd, attr = 0;

			diff_begin("by-fd %s flags%zu", names[n], f);
			fd = open(names[n], (int)flags[f]);
			diff_ret(fd < 0 ? -errno : fd);
			diff_ret(RAW(__SNR_fchmod, fd, 0604));
			diff_ret(RAW(__SNR_fchown, fd, -1, -1));
			diff_ret(RAW(__SNR_utimensat, fd, 0, P(times), 0));
			diff_ret(RAW(__SNR_fsetxattr, fd, P("user.fd"), P("1"), 1, 0));
			diff_ret(RAW(__SNR_fremovexattr, fd, P("user.one")));
			diff_ret(RAW(__SNR_ftruncate, fd, 1));
			diff_ret(RAW(__SNR_fallocate, fd, 0, 0, 10));
			diff_ret(RAW(__SNR_fsync, fd));
			diff_ret(ioctl(fd, FIONREAD, &attr) < 0 ? -errno : attr);
			if (fd >= 0)
				(void)close(fd); /* the case is over */
			diff_end(true);
		}
	}
}

static void run_truncate(void)
{
	static const long sizes[] = {0, 1, 6, 7, 100, -1, (long)(1ULL << 63)};
	static const char *const names[] = {"file", "ro", "dir", "fifo", "sock", "lfile", "dangling", "noacc"};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			diff_begin("truncate %ld %s", sizes[s], names[n]);
			diff_ret(RAW(__SNR_truncate, P(names[n]), sizes[s]));
			diff_end(true);
		}
	}
}

static void run_access(void)
{
	static const char *const names[] = {"file",  "ro",    "noacc",    "dir",    "rodir",
					    "nodir", "lfile", "dangling", "rodir/x"};

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (long mode = -1; mode <= 8; mode++) {
			diff_begin("access %s %ld", names[n], mode);
			diff_ret(RAW(__SNR_faccessat, AT_FDCWD, P(names[n]), mode));
			diff_ret(RAW(__SNR_faccessat2, AT_FDCWD, P(names[n]), mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW));
			diff_end(false);
		}
	}
}

static void run_statx(void)
{
	static const long masks[] = {0, 1, 2, 0x7ff, 0xfff, 0x1000, 0x2000, 0x7fffffff};
	static const long flags[] = {0, 0x2000, 0x4000, 0x6000, 0x1000, AT_SYMLINK_NOFOLLOW, AT_SYMLINK_FOLLOW};
	static struct statx stx;

	for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++) {
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			diff_begin("statx mask%lx flags%lx", (unsigned long)masks[m], (unsigned long)flags[f]);
			memset(&stx, 0, sizeof(stx));
			diff_ret(RAW(__SNR_statx, AT_FDCWD, P("lfile"), flags[f], masks[m], P(&stx)));
			diff_say(" %x %o %u %llu", stx.stx_mask, (unsigned)stx.stx_mode, stx.stx_nlink,
				 (unsigned long long)stx.stx_size);
			diff_end(false);
		}
	}
}

void diff_group_meta(void)
{
	run_chmod();
	run_chown();
	run_times();
	run_xattr_values();
	run_xattr_names();
	run_xattrat();
	run_file_attr();
	run_by_descriptor();
	run_truncate();
	run_access();
	run_statx();
}
