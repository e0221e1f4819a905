/* What the filter says of calls that only read, written by hand, and what they cost. */
#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tests/unit/confine/bpf-run.h"
#include "tests/unit/confine/filter-rig.h"

/* fstat by newfstatat: a descriptor with AT_EMPTY_PATH; int arguments by their low words. */
START_TEST(fstat_by_hand)
{
	static const struct attempt looks[] = {
		{"newfstatat", {3, 4096, 4096, 0x1000}, true},
		{"newfstatat", {3, 0, 4096, 0x1000}, true},
		{"newfstatat", {0, 4096, 4096, 0x1000}, true},
		{"newfstatat", {3 | HIGH, 4096, 4096, 0x1000 | HIGH}, true},
		{"newfstatat", {(uint32_t)AT_FDCWD, 4096, 4096, 0x1000}, false},
		{"newfstatat", {(uint64_t)AT_FDCWD, 4096, 4096, 0x1000}, false},
		{"newfstatat", {3, 4096, 4096, 0}, false},
		{"newfstatat", {3, 4096, 4096, HIGH}, false},
		{"newfstatat", {3, 4096, 4096, 0x1100}, false},
		{"newfstatat", {3, 4096, 4096, 0x1800}, false},
		{"newfstatat", {3, 4096, 4096, 0x100}, false},
		{"statx", {3, 4096, 0x1000, 0xfff, 4096}, true},
		{"statx", {(uint64_t)AT_FDCWD, 4096, 0x1000, 0xfff, 4096}, false},
		{"statx", {3, 4096, 0x1100, 0xfff, 4096}, false},
		{"statx", {3, 4096, 0, 0xfff, 4096}, false},
		{"stat", {4096, 4096}, false},
		{"faccessat2", {3, 4096, 0, 0x1000}, false},
	};

	filter_rig_try(looks, sizeof(looks) / sizeof(looks[0]));
}
END_TEST

#define TMPFILE_BIT 020000000u
/* Bounds of BPF instructions; now 17 and 13 on x86-64. */
#define STEPS_OF_OPEN 20u
#define STEPS_OF_STAT 16u

/* Calls that only read, where the kernel decides about them. */
static const struct attempt reads[] = {
	{"open", {4096, O_RDONLY}, true},
	{"open", {4096, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME}, true},
	{"open", {4096, O_RDONLY | HIGH}, true}, /* the kernel reads the low word only */
	{"open", {4096, O_WRONLY}, false},
	{"open", {4096, O_RDWR}, false},
	{"open", {4096, O_ACCMODE}, false},
	{"open", {4096, O_WRONLY | HIGH}, false},
	{"open", {4096, O_RDONLY | O_CREAT}, false},
	{"open", {4096, O_RDONLY | O_TRUNC}, false},
	{"open", {4096, O_RDONLY | O_CREAT | O_EXCL | HIGH}, false},
	{"open", {4096, O_RDONLY | TMPFILE_BIT}, false},
	{"open", {4096, O_RDONLY | TMPFILE_BIT | O_DIRECTORY}, false},
	{"openat", {(uint32_t)AT_FDCWD, 4096, O_RDONLY | O_CLOEXEC}, true},
	{"openat", {3, 4096, O_RDONLY | O_DIRECTORY | O_NONBLOCK}, true},
	{"openat", {3, 4096, O_RDONLY | HIGH}, true},
	{"openat", {3, 4096, O_WRONLY | O_APPEND}, false},
	{"openat", {3, 4096, O_RDWR}, false},
	{"openat", {3, 4096, O_RDONLY | O_CREAT}, false},
	{"openat", {3, 4096, O_RDONLY | O_TRUNC}, false},
	{"openat", {3, 4096, O_TMPFILE | O_RDONLY}, false},
	{"openat", {O_RDONLY, O_RDONLY, O_WRONLY}, false},
	{"openat2", {3, 4096, 4096, 24}, false},
	{"creat", {4096, 0}, false},
	{"stat", {4096, 4096}, true},
	{"lstat", {4096, 4096}, true},
	{"newfstatat", {(uint64_t)AT_FDCWD, 4096, 4096, 0}, true},
	{"newfstatat", {3, 4096, 4096, 0x1000}, true},
	{"statx", {(uint64_t)AT_FDCWD, 4096, AT_SYMLINK_NOFOLLOW, 0xfff, 4096}, true},
	{"access", {4096, F_OK}, true},
	{"access", {4096, R_OK}, true},
	{"access", {4096, W_OK}, false},
	{"access", {4096, R_OK | X_OK}, false},
	{"access", {4096, X_OK | HIGH}, false},
	{"faccessat", {3, 4096, R_OK}, true},
	{"faccessat", {3, 4096, R_OK | W_OK}, false},
	{"faccessat2", {3, 4096, F_OK, AT_EACCESS}, true},
	{"faccessat2", {3, 4096, X_OK, AT_EACCESS}, false},
	{"readlink", {4096, 4096, 100}, true},
	{"readlinkat", {3, 4096, 4096, 100}, true},
	{"getcwd", {4096, 100}, true},
	{"statfs", {4096, 4096}, true},
	{"getxattr", {4096, 4096, 4096, 100}, true},
	{"lgetxattr", {4096, 4096, 4096, 100}, true},
	{"getxattrat", {3, 4096, 0, 4096, 4096, 16}, true},
	{"listxattr", {4096, 4096, 100}, true},
	{"llistxattr", {4096, 4096, 100}, true},
	{"listxattrat", {3, 4096, 0, 4096, 100}, true},
	{"file_getattr", {3, 4096, 4096, 24, 0}, true},
	/* What changes, starts, or is told later. */
	{"file_setattr", {3, 4096, 4096, 24, 0}, false},
	{"setxattr", {4096, 4096, 4096, 1, 0}, false},
	{"removexattr", {4096, 4096}, false},
	{"truncate", {4096, 0}, false},
	{"chmod", {4096, 0644}, false},
	{"fchmod", {3, 0644}, false},
	{"utimensat", {3, 0, 0, 0}, false},
	{"mkdir", {4096, 0755}, false},
	{"unlink", {4096}, false},
	{"rename", {4096, 4096}, false},
	{"linkat", {3, 4096, 3, 4096, 0}, false},
	{"symlink", {4096, 4096}, false},
	{"chdir", {4096}, false},
	{"execve", {4096, 0, 0}, false},
	{"inotify_add_watch", {3, 4096, 1}, false},
	{"connect", {3, 4096, 16}, false},
};

START_TEST(reads_by_hand)
{
	static const struct attempt paths[] = {
		{"open", {4096, O_PATH | O_DIRECTORY}, true},
		{"open",
		 {4096, O_PATH | O_CREAT | O_RDWR},
		 true}, /* the kernel drops all that FLAGS_VALID_WITH_O_PATH lacks */
		{"openat", {3, 4096, O_PATH | O_NOFOLLOW | HIGH}, true},
	};

	filter_rig_try(reads, sizeof(reads) / sizeof(reads[0]));
	filter_rig_try(paths, sizeof(paths) / sizeof(paths[0]));
}
END_TEST

START_TEST(limited_reads_by_hand)
{
	static const struct attempt paths[] = {
		{"open", {4096, O_PATH | O_DIRECTORY}, false},
		{"openat", {3, 4096, O_PATH}, false},
	};

	filter_rig_try(reads, sizeof(reads) / sizeof(reads[0]));
	filter_rig_try(paths, sizeof(paths) / sizeof(paths[0]));
}
END_TEST

/* The number of instructions that the filter runs for a call which it must allow. */
static unsigned count_steps(const char *name, const uint64_t arg[6])
{
	struct seccomp_data data = {.arch = arch_get_audit_arch(), .nr = row_named(name)->nr};
	unsigned steps;

	memcpy(data.args, arg, sizeof(data.args));
	ck_assert_uint_eq(bpf_run(&filter_rig.program, &data, &steps), NATIVELY);
	return steps;
}

/*
 * What a native open and stat cost beside the call itself. Linux caches that statx is always allowed, so that its
 * instructions are run in other kernels only.
 */
START_TEST(native_reads_take_few_steps)
{
	static const uint64_t open[6] = {(uint64_t)AT_FDCWD, 4096, O_CLOEXEC}, stat[6] = {(uint64_t)AT_FDCWD, 4096};
	unsigned opened = count_steps("openat", open), asked = count_steps("statx", stat);

	ck_assert_msg(opened <= STEPS_OF_OPEN && asked <= STEPS_OF_STAT, "openat: %u steps, statx: %u", opened, asked);
	ck_assert(!filter_may_notify(filter_rig.traits, row_named("statx")->nr));
}
END_TEST

/* Without the trait all of them are judged. */
START_TEST(reads_are_judged)
{
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		struct attempt judged = reads[i];

		judged.native = false;
		filter_rig_try(&judged, 1);
	}
}
END_TEST

static void build(void)
{
	filter_rig_build(0);
}

static void build_fstat(void)
{
	filter_rig_build(RUN_NATIVE_FSTAT);
}

static void build_reads(void)
{
	filter_rig_build(RUN_KERNEL_READS | RUN_NATIVE_FSTAT);
}

static void build_limited_reads(void)
{
	filter_rig_build(RUN_KERNEL_READS | RUN_LIMITS_DISK);
}

int main(void)
{
	Suite *suite = suite_create("filter reads");
	TCase *tcase = tcase_create("filter");
	TCase *looks = tcase_create("fstat");
	TCase *kernel = tcase_create("kernel reads");
	TCase *limited = tcase_create("kernel reads, disk is limited");

	tcase_set_timeout(tcase, 120); /* for a busy machine */
	tcase_add_checked_fixture(tcase, build, filter_rig_drop);
	tcase_add_test(tcase, reads_are_judged);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(looks, 120);
	tcase_add_checked_fixture(looks, build_fstat, filter_rig_drop);
	tcase_add_test(looks, fstat_by_hand);
	suite_add_tcase(suite, looks);
	tcase_set_timeout(kernel, 120);
	tcase_add_checked_fixture(kernel, build_reads, filter_rig_drop);
	tcase_add_test(kernel, reads_by_hand);
	tcase_add_test(kernel, native_reads_take_few_steps);
	suite_add_tcase(suite, kernel);
	tcase_set_timeout(limited, 120);
	tcase_add_checked_fixture(limited, build_limited_reads, filter_rig_drop);
	tcase_add_test(limited, limited_reads_by_hand);
	suite_add_tcase(suite, limited);
	return unit_run(suite);
}
