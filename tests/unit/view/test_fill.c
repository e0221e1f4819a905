/* Files of a copy that get their content later: what is recorded of them, and what a process that was killed leaves. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/unit.h"
#include "tests/unit/view/fill-rig.h"
#include "view/copy/leftover.h"

static void check_is_placeholder(const char *name, off_t size)
{
	const struct stat st = status(name);

	ck_assert_ptr_nonnull(find(name));
	ck_assert_int_eq(st.st_blocks, 0);
	ck_assert_int_eq(st.st_size, size);
	ck_assert_int_eq(st.st_mtim.tv_sec, OLD_SEC);
}

START_TEST(filled)
{
	struct fill_record record;

	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
	ck_assert_ptr_null(find("f"));
	record = read_record("f");
	ck_assert_uint_eq(record.state, FILL_DONE);
	ck_assert_int_eq(record.kept.sec, status("f").st_ctim.tv_sec);
	ck_assert_int_eq(record.kept.nsec, status("f").st_ctim.tv_nsec);
	check_is_placeholder("small", 5);
	reopen();
	ck_assert_ptr_null(find("f"));
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	check_has("small", "small", 5, 0644);
	ck_assert_int_eq(read_record("small").kept.sec, 0);
}
END_TEST

/* A process was killed: the file has a part of something, a later time, and may be written. */
START_TEST(killed)
{
	const struct stat st = status("f");
	const struct fill_record begun = {.inode = st.st_ino,
					  .state = FILL_BEGUN,
					  .mode = st.st_mode,
					  .mtime = {st.st_mtim.tv_sec, st.st_mtim.tv_nsec},
					  .atime = {st.st_atim.tv_sec, st.st_atim.tv_nsec}};
	int fd = openat(layer_fd, FILLS_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun)), 0);
	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun) / 2), 0); /* of another file, not wholly written */
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0644, 0), 0);
	fd = openat(copy_fd, "f", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "half", 4, CONTENT_BYTES + 1000), 4);
	(void)close(fd);
	reopen();
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
	/* Whether the program had changed its attributes before is not known. */
	ck_assert_int_eq(read_record("f").kept.sec, 0);
	reopen();
	ck_assert_ptr_null(find("f"));
	ck_assert_int_eq(fill("small", 0), 0); /* takes the place of the other record */
	ck_assert_uint_eq(read_record("small").state, FILL_DONE);
}
END_TEST

START_TEST(changed_outside)
{
	int fd;

	write_base("f", "other", 5, 0444);
	write_base("small", content, sizeof(content), 0644);
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), -ESTALE);
	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", "other", 5, 0444);
	ck_assert_int_eq(fill("small", 0), 0);
	check_has("small", content, sizeof(content), 0644);
	fd = openat(layer_fd, FILLS_NAME, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 2 * (off_t)sizeof(struct fill_record));
	(void)close(fd);
}
END_TEST

/* Filling has failed when all was written: of a small file, no block may stay that would pass for its content. */
START_TEST(changed_while_read)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	int fd = openat(copy_fd, "small", O_WRONLY | O_CLOEXEC), source;

	write_base("small", "other", 5, 0644);
	source = openat(base_fd, "small", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fills_fill_from(fills, find("small"), fd, source, FILL_AS_COPIED, NULL), -ESTALE);
	(void)close(source);
	check_is_placeholder("small", 5);
	reopen();
	check_is_placeholder("small", 5);
	/* As where the file system does not free it. */
	ck_assert_int_eq(pwrite(fd, "\0\0\0\0", 5, 0), 5);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fill("small", 0), 0);
	check_has("small", "other", 5, 0644);
}
END_TEST

static bool answer_no(void *ctx)
{
	(*(int *)ctx)++;
	return false;
}

/* Filling was ended from outside: the file is a placeholder as before, and can be filled. */
START_TEST(ended)
{
	int asked = 0, fd = openat(copy_fd, "f", O_PATH | O_CLOEXEC);
	int source = openat(base_fd, "f", O_RDONLY | O_CLOEXEC);
	const struct io_go_on never = {answer_no, &asked};

	ck_assert_int_eq(fills_fill_from(fills, find("f"), fd, source, 0, &never), -ECANCELED);
	ck_assert_int_eq(asked, 1);
	(void)close(source);
	(void)close(fd);
	check_is_placeholder("f", CONTENT_BYTES);
	reopen();
	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, CONTENT_BYTES, 0444);
}
END_TEST

/* A placeholder that was emptied has its content; not so if another file was, or if its record is not known. */
START_TEST(emptied)
{
	int fd = openat(copy_fd, "small", O_RDWR | O_CLOEXEC), other = openat(layer_fd, "o", O_RDWR | O_CREAT, 0600);
	struct fill_file *file = find("small");

	ck_assert(fills_may_empty(fills, file));
	fills_note_emptied(fills, file, other);
	fills_note_emptied(fills, file, fd);
	check_is_placeholder("small", 5);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	fills_note_emptied(fills, file, fd);
	ck_assert_ptr_null(find("small"));
	ck_assert_uint_eq(read_record("small").state, FILL_DONE);
	(void)close(other);
	(void)close(fd);
	ck_assert_int_eq(unlinkat(layer_fd, FILLS_NAME, 0), 0);
	ck_assert_int_eq(mkdirat(layer_fd, FILLS_NAME, 0700), 0);
	(void)fills_reload(fills);
	ck_assert(!fills_may_empty(fills, find("f")));
}
END_TEST

START_TEST(gone)
{
	ck_assert_int_eq(unlinkat(base_fd, "f", 0), 0);
	ck_assert_int_eq(unlinkat(base_fd, "small", 0), 0);
	ck_assert_int_eq(mkdirat(base_fd, "small", 0700), 0);
	ck_assert_int_eq(fill("f", 0), -ESTALE);
	ck_assert_int_eq(fill("small", 0), -ESTALE);
	check_is_placeholder("f", CONTENT_BYTES);
	check_is_placeholder("small", 5);
	ck_assert_int_lt(faccessat(layer_fd, FILLS_NAME, F_OK, 0), 0);
}
END_TEST

/* What cannot be recorded is not done. */
START_TEST(no_records)
{
	const struct stat before = status("f");

	ck_assert_int_eq(mkdirat(layer_fd, FILLS_NAME, 0700), 0);
	ck_assert_int_lt(fill("f", 0), 0);
	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(status("f").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
}
END_TEST

/* The content cannot be written: the file is a placeholder again, and counts as unchanged. */
START_TEST(undone)
{
	struct rlimit limit = {0}, low;
	struct fill_record record;

	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = CONTENT_BYTES / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
	ck_assert_int_lt(fill("f", 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	record = read_record("f");
	ck_assert_uint_ne(record.state, FILL_DONE);
	ck_assert_uint_eq(status("f").st_mode & 07777, 0444);
	if (record.state == FILL_UNDONE) { /* else it could not be made as large again, below the limit */
		check_is_placeholder("f", CONTENT_BYTES);
		ck_assert_int_eq(record.kept.nsec, status("f").st_ctim.tv_nsec);
	}
	reopen();
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
}
END_TEST

/* A newer file with the number of a placeholder is none. */
START_TEST(reused)
{
	struct stat st;
	int fd = openat(copy_fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)close(fd);
	st = status("new");
	ck_assert_ptr_null(fills_find(fills, copy_fd, "new", &st));
	st.st_ino = status("f").st_ino;
	ck_assert_ptr_null(fills_find(fills, copy_fd, "new", &st));
	ck_assert_ptr_nonnull(find("f"));
}
END_TEST

static int open_again(void)
{
	fills_free(fills);
	fills = NULL;
	return fills_open(layer_fd, base_fd, false, &fills);
}

/* The placeholders of a copy of the layer, of another form, or damaged are not read. */
START_TEST(not_those_that_were_made)
{
	struct stat st;

	rewrite(COPY_RECORDS_NAME, 0, "", 0);
	ck_assert_int_eq(open_again(), -EBADMSG);
	/* The same number, by chance, but made later. */
	ck_assert_int_eq(fstatat(layer_fd, COPY_RECORDS_NAME, &st, 0), 0);
	rewrite(COPY_PLACEHOLDERS_NAME, offsetof(struct copy_placeholders_head, records_inode), &st.st_ino,
		sizeof(st.st_ino));
	ck_assert_int_eq(open_again(), -EBADMSG);
}
END_TEST

START_TEST(of_another_form)
{
	const struct copy_placeholder zeros = {0};

	rewrite(COPY_PLACEHOLDERS_NAME, sizeof(struct copy_placeholders_head), &zeros, sizeof(zeros));
	ck_assert_int_eq(open_again(), -EBADMSG);
	rewrite(COPY_PLACEHOLDERS_NAME, 0, "other", 5);
	ck_assert_int_eq(open_again(), -EBADMSG);
	ck_assert_int_eq(unlinkat(layer_fd, COPY_PLACEHOLDERS_NAME, 0), 0);
	ck_assert_int_eq(open_again(), -ENOENT);
}
END_TEST

#define LEFT LEFTOVER_RESTORE_PREFIX "0123456789abcdef"

/* Removes what a note tells. Whether the entry at the path is there afterwards. */
static bool left_stays(const char *path)
{
	ck_assert_int_eq(leftover_note(layer_fd, path), 0);
	ck_assert(leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	return faccessat(copy_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What a process that was killed has left is removed, and nothing to which a link leads. */
START_TEST(left)
{
	ck_assert_int_eq(mkdirat(copy_fd, "d", 0700), 0);
	ck_assert_int_eq(mkdirat(copy_fd, "d/" LEFT, 0700), 0);
	ck_assert_int_eq(mkdirat(copy_fd, "d/" LEFT "/y", 0700), 0);
	ck_assert_int_eq(mkdirat(base_fd, LEFT, 0700), 0);
	ck_assert_int_eq(leftover_note(layer_fd, "earlier, and longer than the other path"), 0);
	ck_assert(!left_stays("d/" LEFT));
	ck_assert(!left_stays("d/" LEFT));
	ck_assert_int_eq(symlinkat("../../base", copy_fd, "e"), 0);
	ck_assert(left_stays("e/" LEFT));
	ck_assert(left_stays("../../base/" LEFT));
	ck_assert(left_stays("/"));
	ck_assert_int_eq(renameat(copy_fd, "small", copy_fd, LEFTOVER_LINK_NAME), 0);
	ck_assert(!left_stays(LEFTOVER_LINK_NAME));
	ck_assert_int_eq(leftover_note(layer_fd, ""), 0);
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
}
END_TEST

/* What has another name is the program's. */
START_TEST(left_by_the_program)
{
	static const char *const names[] = {".callgate-",
					    LEFTOVER_RESTORE_PREFIX,
					    "small",
					    LEFTOVER_LINK_NAME "s",
					    LEFT "0",
					    LEFTOVER_RESTORE_PREFIX "0123456789ABCDEF",
					    LEFTOVER_LINK_NAME "/x"};

	ck_assert_int_eq(mkdirat(copy_fd, LEFTOVER_LINK_NAME, 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)mkdirat(copy_fd, names[i], 0700);
		ck_assert_msg(left_stays(names[i]), "%s", names[i]);
	}
	ck_assert(left_stays("."));
	ck_assert(left_stays(LEFTOVER_LINK_NAME "/.."));
}
END_TEST

/* A note that cannot be written as a whole would be the path of something else. */
START_TEST(left_on_a_full_disk)
{
	struct rlimit before, few = {.rlim_cur = 1};

	ck_assert_int_eq(mkdirat(copy_fd, "d", 0700), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	few.rlim_max = before.rlim_max;
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	ck_assert_int_eq(leftover_note(layer_fd, "d/" LEFT), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert_int_eq(faccessat(copy_fd, "d", F_OK, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fill");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, filled);
	tcase_add_test(tcase, killed);
	tcase_add_test(tcase, changed_outside);
	tcase_add_test(tcase, changed_while_read);
	tcase_add_test(tcase, ended);
	tcase_add_test(tcase, emptied);
	tcase_add_test(tcase, gone);
	tcase_add_test(tcase, no_records);
	tcase_add_test(tcase, undone);
	tcase_add_test(tcase, reused);
	tcase_add_test(tcase, not_those_that_were_made);
	tcase_add_test(tcase, of_another_form);
	tcase_add_test(tcase, left);
	tcase_add_test(tcase, left_by_the_program);
	tcase_add_test(tcase, left_on_a_full_disk);
	return unit_run(suite);
}
