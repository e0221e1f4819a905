/* A full disk loses no record; file systems without fallocate(2); outcomes that workers store. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "tests/unit/audit/audit-rig.h"

/* Mounts a file system over the test's directory, in a mount namespace of this process. */
static bool mount_here(const char *type, const char *options)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	return mount("none", audit_rig_dir, type, 0, options) == 0;
}

START_TEST(test_full_disk)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_outcome_location slot;
	struct audit *audit;
	uint64_t count = 0;
	char filler[80];
	int r, fd;

	if (!mount_here("tmpfs", "size=512k")) {
		(void)fprintf(stderr, "test_full_disk: skipped, mount(2) is not permitted\n");
		return;
	}
	audit = audit_rig_open();
	while ((r = audit_begin_record(audit, &rec, &slot)) == 0 && count < 10000) {
		audit_end_record(audit, slot, 3, 1);
		count++;
	}
	ck_assert_int_eq(r, -ENOSPC); /* and no SIGBUS */
	ck_assert_uint_gt(count, 1000);
	(void)snprintf(filler, sizeof(filler), "%s/filler", audit_rig_dir);
	fd = open(filler, O_WRONLY | O_CREAT, 0600);
	while (write(fd, filler, sizeof(filler)) > 0) /* until not a byte is free */
		;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), -ENOSPC);
	audit_rig_close(audit); /* the trailer's space was kept */
	ck_assert_uint_eq(audit_rig_check_whole(), count + 2);
	(void)snprintf(filler, sizeof(filler), "%s/second", audit_rig_dir);
	ck_assert_int_eq(audit_open_log(filler, &(struct audit_header){.run_id = "x"}, &audit), -ENOSPC);
	ck_assert_int_eq(access(filler, F_OK), -1); /* it was removed */
	ck_assert_int_eq(close(fd), 0);
	(void)umount2(audit_rig_dir, MNT_DETACH);
}
END_TEST

/* ramfs has no fallocate(2). */
START_TEST(test_without_fallocate)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_outcome_location slot;
	struct audit *audit;

	if (!mount_here("ramfs", NULL)) {
		(void)fprintf(stderr, "test_without_fallocate: skipped, mount(2) is not permitted\n");
		return;
	}
	audit = audit_rig_open();
	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		audit_end_record(audit, slot, -EPROTONOSUPPORT, 1);
	}
	ck_assert(audit->writes_by_pwrite);
	audit_rig_close(audit);
	ck_assert_uint_eq(audit_rig_check_whole(), 1002);
	(void)umount2(audit_rig_dir, MNT_DETACH);
}
END_TEST

enum { WORK = 20000 };

struct work {
	struct audit *audit;
	struct audit_outcome_location slot[WORK];
	unsigned ready;
};

/* As a worker, stores the outcomes of every other record, some after the window has moved on. */
static void *end_records(void *argument)
{
	struct work *work = argument;

	for (unsigned i = 0; i < WORK; i++) {
		while (__atomic_load_n(&work->ready, __ATOMIC_ACQUIRE) <= i)
			;
		if (i % 2 == 0)
			audit_end_record(work->audit, work->slot[i], i, 5);
	}
	return NULL;
}

START_TEST(test_workers)
{
	static struct work work;
	struct audit_reader *reader;
	struct audit_line line;
	pthread_t thread;

	work.audit = audit_rig_open();
	work.audit->writes_by_pwrite = _i;
	work.ready = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_records, &work), 0);
	for (unsigned i = 0; i < WORK; i++) {
		struct audit_record rec = audit_rig_record("/a", 2);

		ck_assert_int_eq(audit_begin_record(work.audit, &rec, &work.slot[i]), 0);
		if (i % 2 == 1)
			audit_end_record(work.audit, work.slot[i], i, 5);
		__atomic_store_n(&work.ready, i + 1, __ATOMIC_RELEASE);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	audit_rig_close(work.audit);
	ck_assert_uint_eq(audit_rig_check_whole(), WORK + 2);
	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	for (unsigned i = 0; i < WORK; i++) {
		ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
		ck_assert_int_eq(json_integer_value(json_object_get(line.json, "ret")), i);
	}
	audit_reader_free(reader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit disk");
	TCase *tests = tcase_create("log");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, test_full_disk);
	tcase_add_test(tests, test_without_fallocate);
	tcase_add_loop_test(tests, test_workers, 0, 2);
	suite_add_tcase(suite, tests);
	return audit_rig_run(suite);
}
