/* What a run adds to the disk: files that grow, shrink, lose their names and are open still, on a real file system. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/syscalls/stub-call.h"
#include "syscalls/account/limits/disk.h"
#include "tests/unit/unit.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define LIMIT (8u * MIB)
#define NEVER UINT64_MAX /* everything is due */

static char dir[] = "/var/tmp/test-disk-XXXXXX";
static int dir_fd;
static struct disk *disk;
static volatile uint64_t outside;

/* What the handler before the count was. */
static void succeed(struct call *done)
{
	call_return(done, 0);
}

static void setup(void)
{
	(void)signal(SIGIO, SIG_IGN);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	outside = 0;
	ck_assert_int_eq(disk_create(LIMIT, &outside, -1, &disk), 0);
	sandbox.disk = disk;
	run(succeed, 0, 0, 0, 0);
}

static void teardown(void)
{
	char command[64];

	disk_free(disk);
	(void)close(dir_fd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* A file as the program has it when the supervisor has made it. */
static int make(const char *name, bool watch)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	if (watch)
		ck_assert_int_eq(disk_watch_file(&call, fd, true), 0);
	return fd;
}

static void fill(int fd, size_t bytes)
{
	static char block[64 * KIB];

	memset(block, 'x', sizeof(block));
	for (size_t done = 0; done < bytes; done += sizeof(block))
		ck_assert_int_eq(write(fd, block, sizeof(block)), sizeof(block));
}

static void expect_used(uint64_t least, uint64_t most)
{
	(void)disk_measure_due_files(disk, NEVER);
	ck_assert_uint_ge(disk_get_used_bytes(disk), least);
	ck_assert_uint_le(disk_get_used_bytes(disk), most);
}

static void drop(const char *name)
{
	struct disk_removal removal = disk_begin_removal(&call, 0, dir_fd, name);

	ck_assert_int_eq(unlinkat(dir_fd, name, 0), 0);
	disk_end_removal(&call, &removal);
}

START_TEST(test_growth)
{
	int fd = make("a", true);

	expect_used(0, 64 * KIB);
	fill(fd, MIB);
	expect_used(MIB, MIB + 64 * KIB);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	expect_used(0, 64 * KIB);
	ck_assert_uint_ge(disk_get_peak_bytes(disk), MIB);
	/* nobody can make it grow: nothing to look at */
	fill(fd, MIB);
	(void)close(fd);
	expect_used(MIB, MIB + 64 * KIB);
	expect_used(MIB, MIB + 64 * KIB); /* it had grown at the first look */
	ck_assert_int_eq(disk_get_next_measure_ms(disk, 0), -1);
}
END_TEST

/* What was there before is not the run's, and to remove it is no credit. */
START_TEST(test_base)
{
	int fd = make("old", false), again;

	fill(fd, 2 * MIB);
	(void)fsync(fd);
	ck_assert_int_eq(disk_watch_file(&call, fd, false), 0);
	expect_used(0, 0);
	fill(fd, MIB);
	expect_used(MIB, MIB + 64 * KIB);
	(void)close(fd);
	again = make("new", true);
	fill(again, MIB);
	drop("old");
	expect_used(MIB, MIB + 64 * KIB);
	(void)close(again);
}
END_TEST

START_TEST(test_holes_cost_nothing)
{
	int fd = make("sparse", true);

	ck_assert_int_eq(ftruncate(fd, 1 << 30), 0);
	expect_used(0, 64 * KIB);
	ck_assert(!disk_measure_due_files(disk, NEVER));
	(void)close(fd);
}
END_TEST

/* Without a name it counts while a descriptor, a mapping or a message on its way keeps it; then it is given back. */
START_TEST(test_unlinked)
{
	int fd = make("a", true), reader, pair[2];
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec byte = {(char[]){"x"}, 1};
	struct msghdr message = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	char *map;

	fill(fd, MIB);
	reader = openat(dir_fd, "a", O_RDONLY | O_CLOEXEC);
	drop("a");
	expect_used(MIB, MIB + 64 * KIB);
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	(void)close(reader);
	expect_used(MIB, MIB + 64 * KIB);
	map[0] = 'y';
	ck_assert_int_eq(munmap(map, MIB), 0);
	expect_used(0, 0);

	fd = make("b", true);
	fill(fd, MIB);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	*header =
		(struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	ck_assert_int_eq(sendmsg(pair[0], &message, 0), 1);
	(void)close(fd);
	drop("b");
	expect_used(MIB, MIB + 64 * KIB);
	(void)close(pair[0]);
	(void)close(pair[1]);
	for (int tries = 0; tries < 100 && disk_get_used_bytes(disk) > 0;
	     tries++) { /* the last put of a socket's file is deferred */
		(void)usleep(10000);
		(void)disk_measure_due_files(disk, NEVER);
	}
	expect_used(0, 0);
}
END_TEST

START_TEST(test_mapped_writes_grow)
{
	int fd = make("a", true);
	char *map;

	ck_assert_int_eq(ftruncate(fd, MIB), 0);
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	expect_used(0, 64 * KIB);
	memset(map, 'x', MIB);
	expect_used(MIB, MIB + 64 * KIB);
	(void)munmap(map, MIB);
}
END_TEST

START_TEST(test_second_name_counts_once)
{
	int fd = make("a", true);

	fill(fd, MIB);
	(void)close(fd);
	ck_assert_int_eq(linkat(dir_fd, "a", dir_fd, "b", 0), 0);
	disk_count_new_name(&call, S_IFLNK);
	expect_used(MIB + POLICY_DISK_BYTES_PER_NAME, MIB + 64 * KIB);
	drop("a");
	expect_used(MIB, MIB + 64 * KIB);
	drop("b");
	expect_used(0, 0);
}
END_TEST

START_TEST(test_names)
{
	struct disk_removal removal;

	for (int i = 0; i < 3; i++)
		disk_count_new_name(&call, S_IFDIR);
	ck_assert_uint_eq(disk_get_used_bytes(disk),
			  3 * (POLICY_DISK_BYTES_PER_NAME + POLICY_DISK_BYTES_PER_DIRECTORY));
	call.outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -EEXIST};
	disk_count_new_name(&call, S_IFDIR); /* it failed */
	ck_assert_uint_eq(disk_get_used_bytes(disk),
			  3 * (POLICY_DISK_BYTES_PER_NAME + POLICY_DISK_BYTES_PER_DIRECTORY));
	call.outcome = (struct outcome){.kind = OUTCOME_VALUE};
	ck_assert_int_eq(mkdirat(dir_fd, "d", 0755), 0);
	removal = disk_begin_removal(&call, 0, dir_fd, "d");
	ck_assert_int_eq(unlinkat(dir_fd, "d", AT_REMOVEDIR), 0);
	disk_end_removal(&call, &removal);
	ck_assert_uint_eq(disk_get_used_bytes(disk),
			  2 * (POLICY_DISK_BYTES_PER_NAME + POLICY_DISK_BYTES_PER_DIRECTORY));
	/* rename(2) over another name of the same file removes none */
	(void)close(make("a", true));
	ck_assert_int_eq(linkat(dir_fd, "a", dir_fd, "b", 0), 0);
	removal = disk_begin_removal(&call, 0, dir_fd, "b");
	ck_assert_int_eq(renameat(dir_fd, "a", dir_fd, "b"), 0);
	disk_end_removal(&call, &removal);
	ck_assert_uint_eq(disk_get_used_bytes(disk),
			  2 * (POLICY_DISK_BYTES_PER_NAME + POLICY_DISK_BYTES_PER_DIRECTORY));
}
END_TEST

START_TEST(test_limit)
{
	int fd = make("a", true);

	ck_assert_int_eq(disk_admit_bytes(&call, LIMIT), 0);
	ck_assert_ptr_null(disk_get_end_reason(disk));
	fill(fd, LIMIT / 2);
	ck_assert(!disk_measure_due_files(disk, NEVER));
	fill(fd, LIMIT);
	ck_assert(disk_measure_due_files(disk, NEVER));
	ck_assert_str_eq(disk_get_end_reason(disk), "disk_limit");
	ck_assert_int_eq(disk_admit_bytes(&call, 0), -1);
	expect(OUTCOME_ERROR, -EDQUOT, VERDICT_DENY);
	ck_assert_str_eq(call.decision.reason, "disk_limit");
	(void)close(fd);
}
END_TEST

/* A call that would take more than is left ends the run, too. */
START_TEST(test_admission)
{
	ck_assert_int_eq(disk_admit_bytes(&call, LIMIT + 1), -1);
	expect(OUTCOME_ERROR, -EDQUOT, VERDICT_DENY);
	ck_assert(disk_measure_due_files(disk, 0));
}
END_TEST

START_TEST(test_outside)
{
	outside = LIMIT;
	ck_assert(!disk_measure_due_files(disk, 0));
	outside = LIMIT + 1;
	ck_assert(disk_measure_due_files(disk, 0));
	ck_assert_uint_eq(disk_get_peak_bytes(disk), LIMIT + 1);
}
END_TEST

/* The nearer the limit, the sooner the next look; files that are open but quiet are looked at less often. */
START_TEST(test_pace)
{
	int fd = make("a", true), took_ms;
	uint64_t now, before = io_read_clock_ns();

	(void)disk_measure_due_files(disk, NEVER);
	now = io_read_clock_ns();
	/* Where looking takes long, the pause is a multiple of that. */
	took_ms = (int)((now - before + 999999) / 1000000);
	ck_assert_int_ge(disk_get_next_measure_ms(disk, now), 0);
	ck_assert_int_le(disk_get_next_measure_ms(disk, now), 5 + 100 * took_ms);
	(void)usleep(1100000);
	(void)disk_measure_due_files(disk, NEVER);
	now = io_read_clock_ns();
	ck_assert_int_ge(disk_get_next_measure_ms(disk, now), 4);
	(void)close(fd);
}
END_TEST

/* More files that can grow than descriptors: those that are closed make room, the others are refused. */
START_TEST(test_many)
{
	int fd[64];
	char name[16];

	disk_free(disk);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, 200}), 0);
	ck_assert_int_eq(disk_create(LIMIT, NULL, -1, &disk), 0);
	sandbox.disk = disk;
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		(void)close(make(name, true));
	}
	for (unsigned i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "g%u", i);
		fd[i] = make(name, true);
	}
	for (unsigned i = 0; i < 64; i++)
		(void)close(fd[i]);
	expect_used(0, 64 * KIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("disk");
	TCase *tcase = tcase_create("disk");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_growth);
	tcase_add_test(tcase, test_base);
	tcase_add_test(tcase, test_holes_cost_nothing);
	tcase_add_test(tcase, test_unlinked);
	tcase_add_test(tcase, test_mapped_writes_grow);
	tcase_add_test(tcase, test_second_name_counts_once);
	tcase_add_test(tcase, test_names);
	tcase_add_test(tcase, test_limit);
	tcase_add_test(tcase, test_admission);
	tcase_add_test(tcase, test_outside);
	tcase_add_test(tcase, test_pace);
	tcase_add_test(tcase, test_many);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
