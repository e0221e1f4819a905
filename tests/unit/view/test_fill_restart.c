/* Files of a copy that get their content later: what is found of them after the machine has crashed. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/unit.h"
#include "tests/unit/view/fill-rig.h"

/* As after a crash of the machine: the copy was made before it was started. */
static void restart(void)
{
	rewrite(COPY_PLACEHOLDERS_NAME, offsetof(struct copy_placeholders_head, boot_id), "other", sizeof("other"));
	reopen();
}

/* Changes a file as the program does, without a record. size: -1: as large as it is; hole: it has no content. */
static void change(const char *name, off_t size, bool hole)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC + 1, 2}};
	struct stat st = status(name);
	int fd;

	ck_assert_int_eq(fchmodat(copy_fd, name, st.st_mode | 0200, 0), 0);
	fd = openat(copy_fd, name, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	memset(got, 'n', sizeof(got));
	if (!hole)
		ck_assert_int_eq(io_write_all(fd, got, (size_t)(size < 0 ? st.st_size : size)), 0);
	ck_assert_int_eq(ftruncate(fd, size < 0 ? st.st_size : size), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, name, st.st_mode & 07777, 0), 0);
}

static void remove_records(void)
{
	ck_assert_int_eq(unlinkat(layer_fd, FILLS_NAME, 0), 0);
	restart();
}

/* The machine has crashed: what the program has written and synced is there, but not the record of the content. */
START_TEST(crashed_without_record)
{
	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	remove_records();
	ck_assert_ptr_null(find("f"));
	/* Filled, and not changed. */
	ck_assert_ptr_null(find("small"));
	change("f", 10, false);
	ck_assert_ptr_null(find("f"));
	change("f", 0, false);
	ck_assert_ptr_null(find("f"));
	/* Its blocks are not there: they may never be shown. */
	change("f", CONTENT_BYTES, true);
	ck_assert_ptr_nonnull(find("f"));
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	change("f", CONTENT_BYTES * 2, true);
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), -EUCLEAN);
}
END_TEST

/* A part of the content came to the disk, and the time, but not the record. */
START_TEST(crashed_before_content)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	int fd;

	ck_assert_int_eq(fill("small", 0), 0); /* so that there is the file of records */
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0600, 0), 0);
	fd = openat(copy_fd, "f", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(io_write_all(fd, "part", 4), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0444, 0), 0);
	remove_records();
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), 0);
	check_has("f", content, sizeof(content), 0444);
}
END_TEST

/* Sets the time in the record of a file at which it was filled. */
static void record_kept(const char *name, struct timespec kept)
{
	struct fill_record record = read_record(name);
	struct fill_record *all = NULL;
	size_t count = 0, at = 0;

	ck_assert_int_eq(fills_read_records(layer_fd, &all, &count), 0);
	while (all[at].inode != record.inode)
		at++;
	free(all);
	record.kept = (struct copy_time){kept.tv_sec, kept.tv_nsec};
	rewrite(FILLS_NAME, at * sizeof(record), &record, sizeof(record));
}

/* The record came to the disk, but not what it tells. */
START_TEST(crashed_with_record)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	struct timespec later;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	ck_assert_int_eq(fill("small", 0), 0);
	change("f", -1, true);
	change("small", -1, true);
	ck_assert_int_eq(utimensat(copy_fd, "small", times, 0), 0);
	ck_assert_ptr_null(find("f")); /* without a crash, the program has made the hole */
	later = status("small").st_ctim;
	later.tv_sec++;
	record_kept("small", later);
	restart();
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	ck_assert_int_eq(fill("small", FILL_AS_COPIED), 0);
	check_has("small", "small", 5, 0644);
	change("small", 3, false);
	ck_assert_ptr_null(find("small"));
}
END_TEST

/* The program has written to files, left holes in them, and has set their former times, as `rsync --inplace -t`. */
START_TEST(restarted_with_former_time)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};

	ck_assert_int_eq(fill("f", 0), 0);
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	change("f", -1, true);
	change("small", -1, true);
	ck_assert_int_eq(utimensat(copy_fd, "f", times, 0), 0);
	ck_assert_int_eq(utimensat(copy_fd, "small", times, 0), 0);
	restart();
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	ck_assert_int_eq(fill("small", 0), -EUCLEAN);
}
END_TEST

/* A file with holes, which had changed outside before it was read, and was not changed by the program. */
START_TEST(restarted_with_hole_of_source)
{
	int fd = openat(base_fd, "small", O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, CONTENT_BYTES), 0);
	(void)close(fd);
	ck_assert_int_eq(fill("small", 0), 0);
	ck_assert_int_ne(status("small").st_mtim.tv_sec, OLD_SEC);
	restart();
	ck_assert_int_eq(fill("small", 0), 0);
	ck_assert_int_eq(status("small").st_size, CONTENT_BYTES);
}
END_TEST

/* Sets or removes a flag of the copy. */
static void set_flag(enum copy_record_flag flag, bool on)
{
	int fd = openat(layer_fd, COPY_RECORDS_NAME, O_RDWR | O_CLOEXEC);
	const off_t at = lseek(fd, 0, SEEK_END) - 1 - (off_t)sizeof(struct copy_record);
	struct copy_record last;

	ck_assert_int_eq(pread(fd, &last, sizeof(last), at), (ssize_t)sizeof(last));
	last.flags = on ? last.flags | flag : last.flags & ~(unsigned)flag;
	ck_assert_int_eq(pwrite(fd, &last, sizeof(last), at), (ssize_t)sizeof(last));
	(void)close(fd);
	reopen();
}

/* Content that the file system compresses takes less room than its size, and is no hole. */
START_TEST(restarted_with_compressed)
{
	struct stat st;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	restart();
	st = status("f");
	st.st_blocks = 1;
	if (status("small").st_blocks == 0) /* a file system with holes */
		ck_assert_ptr_null(fills_find(fills, copy_fd, "f", &st));
	set_flag(COPY_FINDS_HOLES, false);
	ck_assert_ptr_nonnull(fills_find(fills, copy_fd, "f", &st));
	set_flag(COPY_FINDS_HOLES, true);
	ck_assert_ptr_null(fills_find(fills, copy_fd, "f", &st));
}
END_TEST

/* Files that the program has made unreadable for itself are looked at as well. */
START_TEST(restarted_with_unreadable)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {0};
	struct stat st;
	int fd;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0200, 0), 0);
	restart();
	ck_assert_int_eq(syscall(SYS_capset, &head, caps), 0); /* root's */
	ck_assert_int_lt(openat(copy_fd, "f", O_RDONLY | O_CLOEXEC), 0);
	ck_assert_ptr_null(find("f"));
	ck_assert_uint_eq(status("f").st_mode & 07777, 0200);
	fd = openat(copy_fd, "f", O_PATH | O_CLOEXEC);
	st = status("f");
	ck_assert_ptr_null(fills_find(fills, fd, "", &st));
	(void)close(fd);
}
END_TEST

/* In the run itself a hole is what the program has made, also where it cannot be told when the machine was started. */
START_TEST(live_without_boot_id)
{
	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, true);
	restart();
	ck_assert_ptr_nonnull(find("f"));
	fills_free(fills);
	ck_assert_int_eq(fills_open(layer_fd, base_fd, true, &fills), 0);
	ck_assert_ptr_null(find("f"));
}
END_TEST

/* It had been begun when the machine crashed. */
START_TEST(crashed_while_filling)
{
	const struct stat st = status("f");
	const struct fill_record begun = {.inode = st.st_ino,
					  .state = FILL_BEGUN,
					  .mode = st.st_mode,
					  .mtime = {st.st_mtim.tv_sec, st.st_mtim.tv_nsec}};
	int fd = openat(layer_fd, FILLS_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun)), 0);
	(void)close(fd);
	restart();
	change("f", -1, false);
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	change("f", -1, true);
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fill_restart");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, crashed_without_record);
	tcase_add_test(tcase, crashed_before_content);
	tcase_add_test(tcase, crashed_with_record);
	tcase_add_test(tcase, restarted_with_former_time);
	tcase_add_test(tcase, restarted_with_hole_of_source);
	tcase_add_test(tcase, restarted_with_compressed);
	tcase_add_test(tcase, restarted_with_unreadable);
	tcase_add_test(tcase, live_without_boot_id);
	tcase_add_test(tcase, crashed_while_filling);
	return unit_run(suite);
}
