#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tests/unit/refuse-call.h"
#include "tests/unit/unit.h"

static char where[PATH_MAX];
static int where_fd = -1;

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(where, sizeof(where), "%s/callgate-test-io-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(where));
	where_fd = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(where_fd, 0);
}

static void leave(void)
{
	(void)close(where_fd);
	(void)io_remove_tree(AT_FDCWD, where);
}

static void put(const char *name, const void *bytes, size_t len)
{
	_cleanup_close_ int fd = openat(where_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, bytes, len), 0);
}

START_TEST(test_read_file)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	put("f", "four", 4);
	ck_assert_int_eq(io_read_file(where_fd, "f", 3, &text, &len), -EFBIG);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(io_read_file(where_fd, "f", 4, &text, &len), 0);
	ck_assert_uint_eq(len, 4);
	ck_assert_str_eq(text, "four");
	free(steal_pointer(&text));
	ck_assert_int_eq(io_read_file(where_fd, "none", 4, &text, &len), -ENOENT);
	ck_assert_int_eq(io_read_file(where_fd, ".", 4, &text, &len), -EISDIR);
}
END_TEST

/* Files without a useful st_size: procfs, and a pipe that is written in pieces. */
START_TEST(test_read_unsized)
{
	_cleanup_free_ char *text = NULL, *piece = calloc(1, 30000);
	size_t len = 0;
	int ends[2];

	ck_assert_int_eq(io_read_file(AT_FDCWD, "/proc/self/stat", SIZE_MAX, &text, &len), 0);
	ck_assert_uint_gt(len, 10);
	free(steal_pointer(&text));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(io_write_all(ends[1], piece, 30000), 0);
	(void)close(ends[1]);
	ck_assert_int_eq(io_read_fd(ends[0], 30000, &text, &len), 0);
	ck_assert_uint_eq(len, 30000);
	(void)close(ends[0]);
}
END_TEST

START_TEST(test_copy)
{
	_cleanup_close_ int from = -1, to = -1, generated = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = malloc(200000), *text = NULL;
	uint64_t copied = 0;
	size_t len = 0;

	memset(bytes, 'x', 200000);
	put("from", bytes, 200000);
	from = openat(where_fd, "from", O_RDONLY | O_CLOEXEC);
	to = openat(where_fd, "to", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ck_assert_int_eq(io_copy_bytes(from, to, 70000, &copied), 0);
	ck_assert_uint_eq(copied, 70000);
	ck_assert_int_eq(io_copy_bytes(from, to, UINT64_MAX, &copied), 0);
	ck_assert_uint_eq(copied, 130000);
	ck_assert_int_eq(io_read_file(where_fd, "to", 1 << 20, &text, &len), 0);
	ck_assert_uint_eq(len, 200000);
	ck_assert_mem_eq(text, bytes, len);
	ck_assert_int_eq(io_copy_bytes(generated, to, UINT64_MAX, &copied), 0);
	ck_assert_uint_gt(copied, 10);
	ck_assert_int_eq(io_copy_bytes(-1, to, 1, &copied), -EBADF);
}
END_TEST

START_TEST(test_remove_small)
{
	ck_assert_int_eq(io_remove_tree(where_fd, "absent"), 0);
	put("file", "x", 1);
	ck_assert_int_eq(io_remove_tree(where_fd, "file"), 0);
	ck_assert_int_eq(faccessat(where_fd, "file", F_OK, 0), -1);
	ck_assert_int_eq(mkdirat(where_fd, "empty", 0), 0);
	ck_assert_int_eq(io_remove_tree(where_fd, "empty"), 0);
	ck_assert_int_eq(faccessat(where_fd, "empty", F_OK, 0), -1);
}
END_TEST

/* The targets of symbolic links are not removed. */
START_TEST(test_remove_links)
{
	put("kept", "x", 1);
	ck_assert_int_eq(mkdirat(where_fd, "kept-dir", 0700), 0);
	put("kept-dir/in", "x", 1);
	ck_assert_int_eq(mkdirat(where_fd, "tree", 0700), 0);
	ck_assert_int_eq(symlinkat("../kept", where_fd, "tree/file"), 0);
	ck_assert_int_eq(symlinkat("../kept-dir", where_fd, "tree/dir"), 0);
	ck_assert_int_eq(symlinkat("kept-dir", where_fd, "link"), 0);
	ck_assert_int_eq(io_remove_tree(where_fd, "tree"), 0);
	ck_assert_int_eq(io_remove_tree(where_fd, "link"), 0);
	ck_assert_int_eq(faccessat(where_fd, "kept", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(where_fd, "kept-dir/in", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(where_fd, "tree", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	ck_assert_int_eq(faccessat(where_fd, "link", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}
END_TEST

/* Directories whose mode denies access to their owner. */
START_TEST(test_remove_locked)
{
	ck_assert_int_eq(mkdirat(where_fd, "tree", 0700), 0);
	ck_assert_int_eq(mkdirat(where_fd, "tree/a", 0700), 0);
	ck_assert_int_eq(mkdirat(where_fd, "tree/a/b", 0700), 0);
	ck_assert_int_eq(mkdirat(where_fd, "tree/a/b/c", 0700), 0);
	put("tree/a/b/c/f", "x", 1);
	put("tree/0", "a name that the removal itself would make", 1);
	ck_assert_int_eq(fchmodat(where_fd, "tree/a/b/c", 0, 0), 0);
	ck_assert_int_eq(fchmodat(where_fd, "tree/a/b", 0, 0), 0);
	ck_assert_int_eq(fchmodat(where_fd, "tree/a", 0500, 0), 0);
	ck_assert_int_eq(fchmodat(where_fd, "tree", 0, 0), 0);
	ck_assert_int_eq(io_remove_tree(where_fd, "tree"), 0);
	ck_assert_int_eq(faccessat(where_fd, "tree", F_OK, 0), -1);
}
END_TEST

/* Deeper than RLIMIT_NOFILE (1024), PATH_MAX (4096) and recursion allow. */
START_TEST(test_remove_deep)
{
	_cleanup_close_ int fd = -1;
	int below;

	ck_assert_int_eq(mkdirat(where_fd, "tree", 0700), 0);
	fd = openat(where_fd, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int depth = 0; depth < 6000; depth++) {
		ck_assert_int_eq(mkdirat(fd, "d", 0700), 0);
		below = openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(below, 0);
		(void)close(fd);
		fd = below;
	}
	ck_assert_int_eq(io_remove_tree(where_fd, "tree"), 0);
	ck_assert_int_eq(faccessat(where_fd, "tree", F_OK, 0), -1);
}
END_TEST

START_TEST(test_remove_wide)
{
	char name[32];

	ck_assert_int_eq(mkdirat(where_fd, "tree", 0700), 0);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "tree/%d", i % 300);
		(void)mkdirat(where_fd, name, 0700);
		(void)snprintf(name, sizeof(name), "tree/%d/%d", i % 300, i);
		put(name, "", 0);
	}
	ck_assert_int_eq(io_remove_tree(where_fd, "tree"), 0);
	ck_assert_int_eq(faccessat(where_fd, "tree", F_OK, 0), -1);
}
END_TEST

/* Nothing but a regular file is opened: the writer of a FIFO goes on waiting for a reader. */
START_TEST(test_open_regular)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	put("file", "text", 4);
	ck_assert_int_eq(symlinkat("file", where_fd, "link"), 0);
	ck_assert_int_eq(mkfifoat(where_fd, "fifo", 0600), 0);
	(void)snprintf(path, sizeof(path), "%.4000s/link", where);
	fd = io_open_regular(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(io_open_regular(where), -EINVAL);
	ck_assert_int_eq(io_open_regular("/dev/null"), -EINVAL);
	(void)snprintf(path, sizeof(path), "%.4000s/fifo", where);
	ck_assert_int_eq(io_open_regular(path), -EINVAL);
	(void)snprintf(path, sizeof(path), "%.4000s/none", where);
	ck_assert_int_eq(io_open_regular(path), -ENOENT);
}
END_TEST

START_TEST(test_read_entries)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int error = -EINVAL, seen = 0;

	put("..f", "", 0);
	put(".g", "", 0);
	dir = io_take_dir_stream(io_open_dir(where_fd, "."));
	ck_assert_ptr_nonnull(dir);
	while ((entry = io_read_entry(dir, &error))) {
		ck_assert_int_eq(error, 0);
		seen += strcmp(entry->d_name, "..f") == 0 ? 1 : strcmp(entry->d_name, ".g") == 0 ? 2 : 4;
	}
	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(seen, 3);
}
END_TEST

/* A directory that cannot be read is not an empty one. */
START_TEST(test_read_entries_fails)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(where_fd, "."));
	int error = 0;

	ck_assert_ptr_nonnull(dir);
	ck_assert_int_eq(mkdirat(where_fd, "d", 0700), 0);
	ck_assert_int_eq(mkdirat(where_fd, "d/e", 0700), 0);
	refuse_call(SYS_getdents64, EIO);
	ck_assert_ptr_null(io_read_entry(dir, &error));
	ck_assert_int_eq(error, -EIO);
	ck_assert_int_eq(io_remove_tree(where_fd, "d"), -EIO);
	ck_assert_int_eq(unlinkat(where_fd, "d/e", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(where_fd, "d", AT_REMOVEDIR), 0);
}
END_TEST

/* A write lease keeps who opens the file waiting, for 45 seconds or until its holder gives it up. */
START_TEST(test_open_leased)
{
	_cleanup_close_ int leased = -1;
	char path[PATH_MAX];
	int fd;

	put("file", "text", 4);
	(void)snprintf(path, sizeof(path), "%.4000s/file", where);
	leased = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(leased, 0);
	ck_assert_ptr_ne(signal(SIGIO, SIG_IGN), SIG_ERR);
	if (fcntl(leased, F_SETLEASE, F_WRLCK) < 0)
		return; /* some file systems have none */
	ck_assert_int_eq(io_open_regular(path), -EWOULDBLOCK);
	ck_assert_int_eq(fcntl(leased, F_SETLEASE, F_UNLCK), 0);
	fd = io_open_regular(path);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("io");
	TCase *tcase = tcase_create("io");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, enter, leave);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_read_file);
	tcase_add_test(tcase, test_read_unsized);
	tcase_add_test(tcase, test_copy);
	tcase_add_test(tcase, test_remove_small);
	tcase_add_test(tcase, test_remove_links);
	tcase_add_test(tcase, test_remove_locked);
	tcase_add_test(tcase, test_remove_deep);
	tcase_add_test(tcase, test_remove_wide);
	tcase_add_test(tcase, test_open_regular);
	tcase_add_test(tcase, test_read_entries);
	tcase_add_test(tcase, test_read_entries_fails);
	tcase_add_test(tcase, test_open_leased);
	return unit_run(suite);
}
