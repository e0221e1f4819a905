#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/scratch.h"
#include "tests/unit/unit.h"

static char where[PATH_MAX];
static char base[PATH_MAX + 32];
static struct policy_error error;

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(where, sizeof(where), "%s/callgate-test-scratch-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(where));
	ck_assert_int_eq(setenv("TMPDIR", where, 1), 0);
	(void)snprintf(base, sizeof(base), "%s/callgate-%u", where, geteuid());
}

static void leave(void)
{
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, where), 0);
}

static int entries(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	int count = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		count++;
	return count - 2;
}

START_TEST(test_life)
{
	struct scratch scratch;
	struct stat st;

	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	ck_assert_uint_eq(strlen(scratch.id), SCRATCH_ID_SIZE - 1);
	ck_assert_int_eq(fstat(scratch.fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(fstatat(scratch.fd, "tmp", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 01777);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
}
END_TEST

START_TEST(test_sweep)
{
	struct scratch living, next;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct scratch dead;

		_exit(scratch_create(&dead, &error) == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(entries(base), 1);
	ck_assert_int_eq(scratch_create(&living, &error), 0);
	ck_assert_int_eq(entries(base), 1); /* the dead run's directory is gone */
	ck_assert_int_eq(scratch_create(&next, &error), 0);
	ck_assert_int_eq(entries(base), 2); /* the live run's is not */
	ck_assert_int_eq(scratch_remove_run(&next), 0);
	ck_assert_int_eq(scratch_remove_run(&living), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
}
END_TEST

/* TMPDIR cannot be listed and another user has the usual name: the next run still finds what a killed run left. */
START_TEST(test_sweep_unlisted)
{
	struct scratch killed, scratch;
	bool root = geteuid() == 0;

	ck_assert_int_eq(chmod(where, root ? 0733 : 0300), 0);
	if (root)
		ck_assert_int_eq(seteuid(65534), 0);
	(void)snprintf(base, sizeof(base), "%s/callgate-%u", where, geteuid());
	ck_assert_int_eq(mkdir(base, 0700), 0);
	ck_assert_int_eq(chmod(base, 0777), 0);
	ck_assert_ptr_null(opendir(where));
	ck_assert_int_eq(scratch_create(&killed, &error), 0);
	ck_assert_ptr_nonnull(killed.base_name_notice);
	(void)close(killed.fd); /* as when its process ends */
	ck_assert_int_eq(entries(killed.base_path), 1);
	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	ck_assert_str_eq(scratch.base_path, killed.base_path);
	ck_assert_int_eq(entries(killed.base_path), 1);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(killed.base_path, F_OK), -1);
	free(killed.path);
	free(killed.base_path);
	free(killed.base_name_notice);
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(where, 0700), 0);
}
END_TEST

/* Runs of another version, which uses another kind of lock. */
START_TEST(test_sweep_others)
{
	char other[PATH_MAX + 64];
	struct scratch scratch;

	ck_assert_int_eq(mkdir(base, 0700), 0);
	(void)snprintf(other, sizeof(other), "%s/0123456789abcdef", base);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
}
END_TEST

/* scratch_remove_empty_dirs() removes empty directories, but nothing that the program left. */
START_TEST(test_remove_early)
{
	struct scratch scratch;
	int fd;

	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	ck_assert_int_eq(mkdirat(scratch.fd, "provided", 0700), 0);
	fd = openat(scratch.fd, "provided/1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	fd = openat(scratch.fd, "tmp/kept", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	scratch_remove_empty_dirs(&scratch, false);
	ck_assert_int_eq(faccessat(scratch.fd, "shm", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(scratch.fd, "provided", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(scratch.fd, "tmp/kept", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(scratch.fd, "work", F_OK, 0), 0);
	scratch_remove_empty_dirs(&scratch, true);
	ck_assert_int_eq(faccessat(scratch.fd, "work", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(scratch.fd, "tmp/kept", F_OK, 0), 0);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	scratch_remove_empty_dirs(&scratch, true);
	ck_assert_int_eq(access(base, F_OK), -1);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
}
END_TEST

static void begin(struct scratch *ret_scratch)
{
	ck_assert_int_eq(scratch_begin_run(ret_scratch, &error), 0);
	ck_assert_int_eq(scratch_make_dirs(ret_scratch), 0);
	ret_scratch->may_be_reused_after_run = true;
}

static bool is_left(void)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/spare", base);
	return access(path, F_OK) == 0;
}

/* An unchanged directory is left to the next run. */
START_TEST(test_reuse)
{
	struct scratch first, second;
	struct stat before, after;

	begin(&first);
	scratch_make_dir_if_missing(&first, "var-tmp");
	ck_assert_int_eq(fstatat(first.fd, "tmp", &before, 0), 0);
	scratch_remove_empty_dirs(&first, false);
	ck_assert(!is_left());
	scratch_remove_empty_dirs(&first, true);
	ck_assert(is_left());
	begin(&second); /* while the first still has its descriptors */
	ck_assert(!is_left());
	ck_assert_int_eq(scratch_remove_run(&first), 0);
	ck_assert_int_eq(fstatat(second.fd, "tmp", &after, 0), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_eq(faccessat(second.fd, "var-tmp", F_OK, 0), 0);
	begin(&first);
	ck_assert_int_eq(scratch_remove_run(&second), 0);
	ck_assert(is_left());
	ck_assert_int_eq(scratch_remove_run(&first), 0); /* one exists already: removed */
	ck_assert_int_eq(entries(base), 1);
}
END_TEST

/* What the view makes for a workdir in /tmp and a file there. */
static void make_entries(struct scratch *scratch)
{
	scratch_remember_view_entry(scratch, "tmp", "some/where/work");
	scratch_remember_view_entry(scratch, "tmp", "some/file");
	scratch_remember_view_entry(scratch, "tmp", "absent");
	ck_assert_int_eq(mkdirat(scratch->fd, "tmp/some", 0755), 0);
	ck_assert_int_eq(mkdirat(scratch->fd, "tmp/some/where", 0755), 0);
	ck_assert_int_eq(mkdirat(scratch->fd, "tmp/some/where/work", 0755), 0);
	ck_assert_int_eq(mknodat(scratch->fd, "tmp/some/file", S_IFREG | 0444, 0), 0);
}

/* A directory with entries of the view is left without them, and does not tell when they were made. */
START_TEST(test_reuse_with_entries)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct scratch first, second;
	struct stat before, after;

	begin(&first);
	make_entries(&first);
	ck_assert_int_eq(fstatat(first.fd, "tmp", &before, 0), 0);
	ck_assert_int_eq(utimensat(first.fd, "tmp", old, 0), 0);
	scratch_remove_empty_dirs(&first, true);
	ck_assert(!is_left());
	ck_assert_int_eq(scratch_remove_run(&first), 0);
	ck_assert(is_left());
	begin(&second);
	ck_assert_int_eq(fstatat(second.fd, "tmp", &after, 0), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_ge(after.st_mtime, before.st_mtime);
	ck_assert_int_eq(faccessat(second.fd, "tmp/some", F_OK, 0), -1);
	ck_assert_int_eq(scratch_remove_run(&second), 0);
}
END_TEST

static void leave_file(const struct scratch *scratch)
{
	ck_assert_int_eq(mknodat(scratch->fd, "tmp/some/other", S_IFREG | 0600, 0), 0);
}

static void set_mode(const struct scratch *scratch)
{
	ck_assert_int_eq(fchmodat(scratch->fd, "tmp", 0755, 0), 0);
}

static void (*const changes_beside_entries[])(const struct scratch *) = {leave_file, set_mode};

START_TEST(test_no_reuse_beside_entries)
{
	struct scratch scratch;

	begin(&scratch);
	make_entries(&scratch);
	changes_beside_entries[_i](&scratch);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
}
END_TEST

/* A program has moved a part of an entry's path away and made a link in its place, which is not followed. */
START_TEST(test_link_in_place_of_entry)
{
	char outside[PATH_MAX + 16], below[PATH_MAX + 32];
	struct scratch scratch;

	(void)snprintf(outside, sizeof(outside), "%s/outside", where);
	(void)snprintf(below, sizeof(below), "%s/work", outside);
	ck_assert_int_eq(mkdir(outside, 0700), 0);
	ck_assert_int_eq(mkdir(below, 0700), 0);
	begin(&scratch);
	make_entries(&scratch);
	ck_assert_int_eq(unlinkat(scratch.fd, "tmp/some/where/work", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(scratch.fd, "tmp/some/where", AT_REMOVEDIR), 0);
	ck_assert_int_eq(symlinkat(outside, scratch.fd, "tmp/some/where"), 0);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert(is_left());
	ck_assert_int_eq(access(below, F_OK), 0);
}
END_TEST

static void write_in(const struct scratch *scratch)
{
	ck_assert_int_eq(mknodat(scratch->fd, "shm/file", S_IFREG | 0600, 0), 0);
}

/* Changes that leave no trace in the listing at the end. */
static void write_and_remove(const struct scratch *scratch)
{
	ck_assert_int_eq(usleep(20000), 0); /* a tick of ctime's clock */
	ck_assert_int_eq(mkdirat(scratch->fd, "tmp/directory", 0700), 0);
	ck_assert_int_eq(unlinkat(scratch->fd, "tmp/directory", AT_REMOVEDIR), 0);
}

static void change_mode(const struct scratch *scratch)
{
	ck_assert_int_eq(fchmodat(scratch->fd, "tmp", 0700, 0), 0);
}

static void add_another(const struct scratch *scratch)
{
	ck_assert_int_eq(mkdirat(scratch->fd, "view", 0700), 0);
}

static void swap(const struct scratch *scratch)
{
	ck_assert_int_eq(renameat(scratch->fd, "tmp", scratch->fd, "aside"), 0);
	ck_assert_int_eq(renameat(scratch->fd, "shm", scratch->fd, "tmp"), 0);
	ck_assert_int_eq(renameat(scratch->fd, "aside", scratch->fd, "shm"), 0);
}

/* A directory that no run left in this state is not reused. */
START_TEST(test_no_reuse_of_changed)
{
	static const char *const changed[] = {"", "/tmp", "/shm/x", "/other"}; /* two have another mode, two are new */
	char name[PATH_MAX + 64];
	struct scratch scratch;
	struct stat st;

	begin(&scratch);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	(void)snprintf(name, sizeof(name), "%s/spare%s", base, changed[_i]);
	ck_assert_int_eq(_i < 2 ? chmod(name, 0755) : mkdir(name, 0700), 0);
	begin(&scratch);
	ck_assert(!is_left());
	ck_assert_int_eq(fstat(scratch.fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(faccessat(scratch.fd, "other", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(scratch.fd, "shm/x", F_OK, 0), -1);
	ck_assert_int_eq(fstatat(scratch.fd, "tmp", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 01777);
	scratch.may_be_reused_after_run = false;
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
}
END_TEST

static void (*const touches[])(const struct scratch *) = {write_in, write_and_remove, change_mode, add_another, swap};

START_TEST(test_touched)
{
	struct scratch scratch;

	begin(&scratch);
	if (_i & 1) { /* one that was reused */
		ck_assert_int_eq(scratch_remove_run(&scratch), 0);
		ck_assert(is_left());
		begin(&scratch);
	}
	touches[_i / 4](&scratch);
	if (_i & 2)
		scratch_remove_empty_dirs(&scratch, true);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(base, F_OK), -1);
}
END_TEST

START_TEST(test_keep)
{
	struct scratch scratch;
	_cleanup_free_ char *path = NULL;
	int fd;

	ck_assert_int_eq(scratch_create(&scratch, &error), 0);
	fd = openat(scratch.fd, "raw", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	path = scratch_move_file_to_results(&scratch, "raw");
	ck_assert_ptr_nonnull(path);
	ck_assert_int_eq(scratch_remove_run(&scratch), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

static void squat_link(void)
{
	ck_assert_int_eq(symlink("/", base), 0);
}

static void squat_dangling(void)
{
	ck_assert_int_eq(symlink("nowhere", base), 0);
}

static void squat_file(void)
{
	ck_assert_int_eq(mknod(base, S_IFREG | 0600, 0), 0);
}

static void squat_open(void)
{
	ck_assert_int_eq(mkdir(base, 0700), 0);
	ck_assert_int_eq(chmod(base, 0770), 0);
}

static void (*const squats[])(void) = {squat_link, squat_dangling, squat_file, squat_open};

/* When another user has made the directory or a symbolic link of its name, all runs use the same other name. */
START_TEST(test_foreign_base)
{
	char others[PATH_MAX + 64], kept[PATH_MAX + 64];
	struct scratch first, second;
	pid_t pid;

	squats[_i]();
	(void)snprintf(others, sizeof(others), "%s-AAAAAA", base); /* made by another user: open to all */
	ck_assert_int_eq(mkdir(others, 0700), 0);
	ck_assert_int_eq(chmod(others, 0777), 0);
	(void)snprintf(others, sizeof(others), "%s-AAAAAB", base);
	ck_assert_int_eq(symlink("/", others), 0);
	begin(&first);
	ck_assert_ptr_nonnull(first.base_name_notice);
	ck_assert_ptr_nonnull(strstr(first.base_name_notice, base));
	ck_assert_ptr_nonnull(strstr(first.base_name_notice, first.base_path));
	ck_assert_uint_eq(strlen(first.base_path), strlen(base) + 7);
	ck_assert_int_eq(scratch_create(&second, &error), 0);
	ck_assert_str_eq(first.base_path, second.base_path);
	(void)snprintf(kept, sizeof(kept), "%s", first.base_path);
	ck_assert_int_eq(scratch_remove_run(&second), 0);
	ck_assert_int_eq(access(kept, F_OK), 0);
	ck_assert_int_eq(scratch_remove_run(&first), 0);
	ck_assert_int_eq(entries(kept), 1); /* its directories are left to the next run */
	pid = fork();
	if (pid == 0)
		_exit(scratch_create(&first, &error) == 0 ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(entries(kept), 2);
	begin(&second);
	ck_assert_str_eq(second.base_path, kept);
	ck_assert_int_eq(entries(kept), 2); /* the reusable one is taken */
	scratch_remove_old_files(&second);
	ck_assert_int_eq(entries(kept), 1); /* and the dead run's is gone */
	second.may_be_reused_after_run = false;
	ck_assert_int_eq(scratch_remove_run(&second), 0);
	ck_assert_int_eq(access(kept, F_OK), -1);
}
END_TEST

START_TEST(test_no_tmpdir)
{
	struct scratch scratch;
	int created;

	ck_assert_int_eq(setenv("TMPDIR", "/nonexistent/callgate", 1), 0);
	created = scratch_create(&scratch, &error);
	ck_assert_int_lt(created, 0);
	ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/callgate"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scratch");
	TCase *tcase = tcase_create("scratch");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, enter, leave);
	tcase_add_test(tcase, test_life);
	tcase_add_test(tcase, test_sweep);
	tcase_add_test(tcase, test_sweep_unlisted);
	tcase_add_test(tcase, test_sweep_others);
	tcase_add_test(tcase, test_remove_early);
	tcase_add_test(tcase, test_reuse);
	tcase_add_test(tcase, test_reuse_with_entries);
	tcase_add_loop_test(tcase, test_no_reuse_beside_entries, 0, 2);
	tcase_add_test(tcase, test_link_in_place_of_entry);
	tcase_add_loop_test(tcase, test_no_reuse_of_changed, 0, 4);
	tcase_add_loop_test(tcase, test_touched, 0, 4 * (int)(sizeof(touches) / sizeof(touches[0])));
	tcase_add_test(tcase, test_keep);
	tcase_add_loop_test(tcase, test_foreign_base, 0, (int)(sizeof(squats) / sizeof(squats[0])));
	tcase_add_test(tcase, test_no_tmpdir);
	return unit_run(suite);
}
