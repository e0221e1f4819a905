/* Touched paths against a real directory. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "syscalls/changes.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

static char dir[] = "/tmp/callgate-test-changes-XXXXXX";
static int root = -1;
static struct mount mount;

static void set_up(void)
{
	static char virt[] = "/work", base[] = ".";

	(void)io_remove_tree(AT_FDCWD, dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mount = (struct mount){.virt = virt, .virt_len = 5, .host = dir, .host_len = strlen(dir), .base = base, .fd = root};
}

static void tear_down(void)
{
	(void)close(root);
	(void)io_remove_tree(AT_FDCWD, dir);
}

static struct place *at(const char *name)
{
	static struct place places[2];
	static unsigned turn;
	struct place *place = &places[turn++ % 2];

	memset(place, 0, sizeof(*place));
	place->mount = &mount;
	place->virt_len = (size_t)snprintf(place->virt, sizeof(place->virt), "/work%s%s", *name ? "/" : "", name);
	place->rest = *name ? place->virt + 6 : mount.base;
	return place;
}

static void put(const char *name, const char *text)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_full(fd, text, strlen(text)), 0);
	ck_assert_int_eq(close(fd), 0);
}

static void add_line(void *ctx, const struct change *change)
{
	static const char sign[] = {'+', '~', '-'};
	char *text = ctx;
	size_t len = strlen(text);

	(void)snprintf(text + len, 4096 - len, "%c%s %llu %.4s\n", sign[change->kind], change->path + 6,
		       (unsigned long long)change->size_bytes, change->sha256);
}

static void expect(struct changes *changes, const char *wanted)
{
	char text[4096] = "";

	ck_assert_int_eq(changes_report(changes, NULL, add_line, text), 0);
	ck_assert_str_eq(text, wanted);
	changes_free(changes);
}

START_TEST(test_kinds)
{
	struct changes *changes = changes_create();

	put("kept", "same");
	put("grown", "one");
	put("gone", "bye!!");
	ck_assert_int_eq(changes_touch(changes, at("kept")), 0);
	ck_assert_int_eq(changes_touch(changes, at("grown")), 0);
	ck_assert_int_eq(changes_touch(changes, at("gone")), 0);
	ck_assert_int_eq(changes_touch(changes, at("new")), 0);
	ck_assert_int_eq(changes_touch(changes, at("fleeting")), 0);
	ck_assert_int_eq(changes_touch(changes, at("dir")), 0);
	ck_assert_int_eq(changes_touch(changes, at("link")), 0);
	put("grown", "one two");
	put("new", "hello");
	put("fleeting", "x");
	ck_assert_int_eq(unlinkat(root, "fleeting", 0), 0);
	ck_assert_int_eq(unlinkat(root, "gone", 0), 0);
	ck_assert_int_eq(mkdirat(root, "dir", 0755), 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", root, "link"), 0);
	/* Seen already: the first state counts. */
	ck_assert_int_eq(changes_touch(changes, at("new")), 0);
	ck_assert_uint_eq(changes_unlisted(changes), 0);
	expect(changes, "+dir 0 \n-gone 5 \n~grown 7 8ab6\n+link 0 \n+new 5 2cf2\n");
}
END_TEST

START_TEST(test_removed_and_made_again)
{
	struct changes *changes = changes_create();

	put("file", "old");
	ck_assert_int_eq(changes_touch(changes, at("file")), 0);
	ck_assert_int_eq(unlinkat(root, "file", 0), 0);
	put("file", "new");
	ck_assert_int_eq(fchmodat(root, "file", 0600, 0), 0);
	expect(changes, "~file 3 1150\n");
}
END_TEST

START_TEST(test_directory_renamed)
{
	struct changes *changes = changes_create();

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	ck_assert_int_eq(mkdirat(root, "a/sub", 0755), 0);
	put("a/one", "1");
	put("a/sub/two", "2");
	ck_assert_int_eq(changes_touch_tree(changes, at("a"), at("b")), 0);
	ck_assert_int_eq(renameat(root, "a", root, "b"), 0);
	expect(changes, "-a 0 \n-a/one 1 \n-a/sub 0 \n-a/sub/two 1 \n+b 0 \n+b/one 1 6b86\n+b/sub 0 \n+b/sub/two 1 d473\n");
}
END_TEST

START_TEST(test_directory_not_renamed_after_all)
{
	struct changes *changes = changes_create();

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	put("a/one", "1");
	ck_assert_int_eq(changes_touch_tree(changes, at("a"), at("b")), 0);
	expect(changes, "");
}
END_TEST

START_TEST(test_what_is_not_reported)
{
	static const unsigned flags[] = {MOUNT_SKELETON, MOUNT_PROVIDED, MOUNT_DEVICE, MOUNT_PROC, MOUNT_PRIVATE};
	struct changes *changes = changes_create();
	struct place *place = at("new");

	mount.flags = flags[_i];
	ck_assert_int_eq(changes_touch(changes, place), 0);
	put("new", "x");
	expect(changes, "");
}
END_TEST

START_TEST(test_sparse_file_is_not_hashed)
{
	struct changes *changes = changes_create();
	int fd;

	ck_assert_int_eq(changes_touch(changes, at("big")), 0);
	fd = openat(root, "big", O_WRONLY | O_CREAT, 0644);
	ck_assert_int_eq(ftruncate(fd, (off_t)1 << 40), 0);
	ck_assert_int_eq(close(fd), 0);
	expect(changes, "+big 1099511627776 \n");
}
END_TEST

/* A report that the keeper cannot take in would hide the denials it comes with. */
START_TEST(test_long_names_are_bounded)
{
	struct changes *changes = changes_create();
	unsigned touches = CHANGES_BYTES_MAX / 4000 + 100;
	char name[4001];

	memset(name, 'n', sizeof(name));
	for (unsigned i = 0; i < touches; i++) {
		(void)snprintf(name + 3990, sizeof(name) - 3990, "%08u", i);
		ck_assert_int_eq(changes_touch(changes, at(name)), 0);
	}
	ck_assert_uint_gt(changes_unlisted(changes), 90);
	ck_assert_uint_lt(changes_unlisted(changes), 110);
	changes_free(changes);
}
END_TEST

START_TEST(test_many)
{
	struct changes *changes = changes_create();
	char name[32];

	for (unsigned i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "temporary-%u", i);
		ck_assert_int_eq(changes_touch(changes, at(name)), 0);
		ck_assert_int_eq(changes_touch(changes, at(name)), 0);
	}
	ck_assert_uint_eq(changes_unlisted(changes), 0);
	expect(changes, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("changes");
	TCase *tests = tcase_create("changes");
	int failed;

	if (!mkdtemp(dir))
		return 99;
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_kinds);
	tcase_add_test(tests, test_removed_and_made_again);
	tcase_add_test(tests, test_directory_renamed);
	tcase_add_test(tests, test_directory_not_renamed_after_all);
	tcase_add_loop_test(tests, test_what_is_not_reported, 0, 5);
	tcase_add_test(tests, test_sparse_file_is_not_hashed);
	tcase_add_test(tests, test_long_names_are_bounded);
	tcase_add_test(tests, test_many);
	suite_add_tcase(suite, tests);
	failed = unit_run(suite);
	(void)io_remove_tree(AT_FDCWD, dir);
	return failed;
}
