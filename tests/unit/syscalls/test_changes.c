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
#include "syscalls/account/result/changes.h"
#include "tests/unit/unit.h"
#include "view/private.h"

static char dir[] = "/tmp/callgate-test-changes-XXXXXX";
static int root = -1;
static struct view view; /* without placeholders */
static struct mount mount;

static void set_up(void)
{
	static char virt[] = "/work", base[] = ".";

	(void)io_remove_tree(AT_FDCWD, dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mount = (struct mount){.view = &view,
			       .virt = virt,
			       .virt_len = 5,
			       .host_path = dir,
			       .host_path_len = strlen(dir),
			       .path_below_fd = base,
			       .fd = root,
			       .uncovered_fd = -1};
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
	place->path_below_mount_fd = *name ? place->virt + 6 : mount.path_below_fd;
	return place;
}

static void put(const char *name, const char *text)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
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
	ck_assert_int_eq(changes_add_touched_place(changes, at("kept")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("grown")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("gone")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("new")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("fleeting")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("dir")), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("link")), 0);
	put("grown", "one two");
	put("new", "hello");
	put("fleeting", "x");
	ck_assert_int_eq(unlinkat(root, "fleeting", 0), 0);
	ck_assert_int_eq(unlinkat(root, "gone", 0), 0);
	ck_assert_int_eq(mkdirat(root, "dir", 0755), 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", root, "link"), 0);
	/* Seen already: the first state counts. */
	ck_assert_int_eq(changes_add_touched_place(changes, at("new")), 0);
	ck_assert_uint_eq(changes_get_unlisted_count(changes), 0);
	expect(changes, "+dir 0 \n-gone 5 \n~grown 7 8ab6\n+link 0 \n+new 5 2cf2\n");
}
END_TEST

START_TEST(test_removed_and_made_again)
{
	struct changes *changes = changes_create();

	put("file", "old");
	ck_assert_int_eq(changes_add_touched_place(changes, at("file")), 0);
	ck_assert_int_eq(unlinkat(root, "file", 0), 0);
	put("file", "new");
	ck_assert_int_eq(fchmodat(root, "file", 0600, 0), 0);
	expect(changes, "~file 3 1150\n");
}
END_TEST

/* As the handler of rename(2) does. */
static int move(struct changes *changes, const char *from, const char *to, unsigned flags)
{
	struct stat one, other = {0};
	struct place *was = at(from), *will = at(to);

	if (fstatat(root, from, &one, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	(void)fstatat(root, to, &other, AT_SYMLINK_NOFOLLOW);
	ck_assert_int_eq(changes_add_touched_place(changes, was), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, will), 0);
	if (renameat2(root, from, root, to, flags) < 0)
		return -1;
	changes_note_rename(changes, was, will, S_ISDIR(one.st_mode),
			    flags & RENAME_EXCHANGE && S_ISDIR(other.st_mode));
	return 0;
}

START_TEST(test_directory_renamed)
{
	struct changes *changes = changes_create();

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	ck_assert_int_eq(mkdirat(root, "a/sub", 0755), 0);
	put("a/one", "1");
	put("a/sub/two", "2");
	ck_assert_int_eq(move(changes, "a", "b", 0), 0);
	expect(changes,
	       "-a 0 \n-a/one 1 \n-a/sub 0 \n-a/sub/two 1 \n+b 0 \n+b/one 1 6b86\n+b/sub 0 \n+b/sub/two 1 d473\n");
}
END_TEST

START_TEST(test_directory_not_renamed_after_all)
{
	struct changes *changes = changes_create();

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	put("a/one", "1");
	ck_assert_int_eq(move(changes, "a", "a/below", 0), -1);
	expect(changes, "");
}
END_TEST

START_TEST(test_directory_renamed_and_back)
{
	struct changes *changes = changes_create();

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	put("a/one", "1");
	put("a/two", "2");
	ck_assert_int_eq(move(changes, "a", "b", 0), 0);
	ck_assert_int_eq(changes_add_touched_place(changes, at("b/two")), 0);
	put("b/two", "other");
	ck_assert_int_eq(move(changes, "b", "a", 0), 0);
	expect(changes, "~a/two 5 d929\n");
}
END_TEST

static void make(struct changes *changes, const char *name)
{
	ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	ck_assert_int_eq(mkdirat(root, name, 0755), 0);
}

static void make_file(struct changes *changes, const char *name)
{
	ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	put(name, "1");
}

static void drop(struct changes *changes, const char *name)
{
	ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	ck_assert_int_eq(unlinkat(root, name, AT_REMOVEDIR), 0);
}

/* Another directory gets the name under which a removed one is remembered: a new a/d/x is not taken for a moved one. */
START_TEST(test_name_of_a_removed_one)
{
	struct changes *changes = changes_create();
	int held; /* no other file has its inode number */

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	held = openat(root, "a", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(root, "n", 0755), 0);
	put("n/x", "1");
	ck_assert_int_eq(move(changes, "a", "b", 0), 0);
	drop(changes, "b");
	make(changes, "b");
	ck_assert_int_eq(move(changes, "n", "b/d", 0), 0);
	make(changes, "c");
	ck_assert_int_eq(move(changes, "c", "a", 0), 0);
	make(changes, "a/d");
	make_file(changes, "a/d/x");
	expect(changes, "~a 0 \n+a/d 0 \n+a/d/x 1 6b86\n+b 0 \n+b/d 0 \n+b/d/x 1 6b86\n-n 0 \n-n/x 1 \n");
	(void)close(held);
}
END_TEST

START_TEST(test_name_below_a_replaced_one)
{
	struct changes *changes = changes_create();
	int held; /* no other file has its inode number */

	ck_assert_int_eq(mkdirat(root, "a", 0755), 0);
	held = openat(root, "a", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(root, "c", 0755), 0);
	ck_assert_int_eq(mkdirat(root, "c/d", 0755), 0);
	put("c/d/x", "1");
	make(changes, "b");
	ck_assert_int_eq(move(changes, "a", "b/d", 0), 0);
	drop(changes, "b/d");
	drop(changes, "b");
	ck_assert_int_eq(move(changes, "c", "b", 0), 0);
	make(changes, "a");
	make_file(changes, "a/x");
	expect(changes, "~a 0 \n+a/x 1 6b86\n+b 0 \n+b/d 0 \n+b/d/x 1 6b86\n-c 0 \n-c/d 0 \n-c/d/x 1 \n");
	(void)close(held);
}
END_TEST

/* More than are remembered: they are listed in between. */
START_TEST(test_many_directories_renamed)
{
	struct changes *changes = changes_create();
	char text[4096] = "", from[16], to[16];

	for (unsigned i = 0; i < 2500; i++) {
		(void)snprintf(from, sizeof(from), "new%u", i);
		(void)snprintf(to, sizeof(to), "d%u", i);
		ck_assert_int_eq(changes_add_touched_place(changes, at(from)), 0);
		ck_assert_int_eq(mkdirat(root, from, 0755), 0);
		ck_assert_int_eq(move(changes, from, to, 0), 0);
		ck_assert_int_eq(changes_add_touched_place(changes, at(to)), 0);
		ck_assert_int_eq(unlinkat(root, to, AT_REMOVEDIR), 0);
	}
	ck_assert_uint_eq(changes_get_unlisted_count(changes), 0);
	ck_assert_int_eq(changes_report(changes, NULL, add_line, text), 0);
	ck_assert_str_eq(text, "");
	changes_free(changes);
}
END_TEST

/* ---- any order of calls, against what was and is there ---- */

#define RANDOM_NAMES (3 + 9 + 27) /* a, b and c, three deep */

struct seen {
	bool exists;
	struct stat status;
};

static uint32_t seed;

static unsigned below(unsigned count)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % count;
}

static const char *name_of(unsigned number, char out[8])
{
	static const char letter[] = "abc";

	if (number < 3)
		(void)snprintf(out, 8, "%c", letter[number]);
	else if (number < 12)
		(void)snprintf(out, 8, "%c/%c", letter[(number - 3) / 3], letter[number % 3]);
	else
		(void)snprintf(out, 8, "%c/%c/%c", letter[(number - 12) / 9], letter[(number - 12) / 3 % 3],
			       letter[number % 3]);
	return out;
}

static void look(struct seen seen[RANDOM_NAMES])
{
	char name[8];

	for (unsigned i = 0; i < RANDOM_NAMES; i++)
		seen[i].exists = fstatat(root, name_of(i, name), &seen[i].status, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool differs(const struct stat *was, const struct stat *is)
{
	return was->st_ino != is->st_ino || was->st_mode != is->st_mode ||
	       (!S_ISDIR(is->st_mode) &&
		(was->st_size != is->st_size || memcmp(&was->st_mtim, &is->st_mtim, sizeof(is->st_mtim)) ||
		 memcmp(&was->st_ctim, &is->st_ctim, sizeof(is->st_ctim))));
}

static void random_act(struct changes *changes)
{
	char name[8], other[8];
	unsigned act = below(10);

	(void)name_of(below(RANDOM_NAMES), name);
	(void)name_of(below(RANDOM_NAMES), other);
	if (act >= 4) {
		(void)move(changes, name, other, act >= 8 ? RENAME_EXCHANGE : 0);
		return;
	}
	ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	if (act == 0)
		(void)mkdirat(root, name, 0755);
	else if (act == 1)
		(void)unlinkat(root, name, 0);
	else if (act == 2)
		(void)unlinkat(root, name, AT_REMOVEDIR);
	else if (act == 3) {
		int fd = openat(root, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0644);

		if (fd >= 0) {
			ck_assert_int_eq(write(fd, "x", 1), 1);
			(void)close(fd);
		}
	}
}

static void add_name(void *ctx, const struct change *change)
{
	char *text = ctx;

	/* what was moved may be deeper than the names that are compared */
	if (strlen(change->path + 6) <= strlen("a/b/c"))
		(void)snprintf(text + strlen(text), 1024 - strlen(text), "%c%s ", "+~-"[change->kind],
			       change -> path + 6);
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one + 1, *(const char *const *)other + 1);
}

/* What a comparison of both states says, in the report's order. */
static void expected(const struct seen was[RANDOM_NAMES], const struct seen is[RANDOM_NAMES], char *text)
{
	char line[RANDOM_NAMES][16], *sorted[RANDOM_NAMES], name[8];
	size_t lines = 0;

	for (unsigned i = 0; i < RANDOM_NAMES; i++) {
		char sign = !was[i].exists ? '+' : !is[i].exists ? '-' : '~';

		if ((!was[i].exists && !is[i].exists) ||
		    (was[i].exists && is[i].exists && !differs(&was[i].status, &is[i].status)))
			continue;
		(void)snprintf(line[lines], sizeof(line[lines]), "%c%s", sign, name_of(i, name));
		sorted[lines] = line[lines];
		lines++;
	}
	qsort(sorted, lines, sizeof(*sorted), by_name);
	for (size_t i = 0; i < lines; i++)
		(void)snprintf(text + strlen(text), 1024 - strlen(text), "%s ", sorted[i]);
}

START_TEST(test_any_order)
{
	for (unsigned turn = 0; turn < 3000; turn++) {
		struct changes *changes = changes_create(), *outside = changes_create();
		struct seen was[RANDOM_NAMES], is[RANDOM_NAMES];
		char text[1024] = "", wanted[1024] = "";

		seed = turn + 1;
		tear_down();
		set_up();
		for (unsigned i = below(60); i > 0; i--)
			random_act(outside);
		look(was);
		for (unsigned i = 1 + below(80); i > 0; i--)
			random_act(changes);
		look(is);
		expected(was, is, wanted);
		ck_assert_int_eq(changes_report(changes, NULL, add_name, text), 0);
		ck_assert_msg(strcmp(text, wanted) == 0, "turn %u: reported %s, is %s", turn, text, wanted);
		ck_assert_uint_eq(changes_get_unlisted_count(changes), 0);
		changes_free(changes);
		changes_free(outside);
	}
}
END_TEST

START_TEST(test_what_is_not_reported)
{
	static const unsigned flags[] = {MOUNT_SKELETON, MOUNT_PROVIDED, MOUNT_DEVICE, MOUNT_PROC, MOUNT_PRIVATE};
	struct changes *changes = changes_create();
	struct place *place = at("new");

	mount.flags = flags[_i];
	ck_assert_int_eq(changes_add_touched_place(changes, place), 0);
	put("new", "x");
	expect(changes, "");
}
END_TEST

START_TEST(test_sparse_file_is_not_hashed)
{
	struct changes *changes = changes_create();
	int fd;

	ck_assert_int_eq(changes_add_touched_place(changes, at("big")), 0);
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
	unsigned touches = CHANGES_PATHS_BYTES_MAX / 4000 + 100;
	char name[4001];

	memset(name, 'n', sizeof(name));
	for (unsigned i = 0; i < touches; i++) {
		(void)snprintf(name + 3990, sizeof(name) - 3990, "%08u", i);
		ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	}
	ck_assert_uint_gt(changes_get_unlisted_count(changes), 90);
	ck_assert_uint_lt(changes_get_unlisted_count(changes), 110);
	changes_free(changes);
}
END_TEST

START_TEST(test_many)
{
	struct changes *changes = changes_create();
	char name[32];

	for (unsigned i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "temporary-%u", i);
		ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
		ck_assert_int_eq(changes_add_touched_place(changes, at(name)), 0);
	}
	ck_assert_uint_eq(changes_get_unlisted_count(changes), 0);
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
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_kinds);
	tcase_add_test(tests, test_removed_and_made_again);
	tcase_add_test(tests, test_directory_renamed);
	tcase_add_test(tests, test_directory_not_renamed_after_all);
	tcase_add_test(tests, test_directory_renamed_and_back);
	tcase_add_test(tests, test_name_of_a_removed_one);
	tcase_add_test(tests, test_name_below_a_replaced_one);
	tcase_add_test(tests, test_many_directories_renamed);
	tcase_add_test(tests, test_any_order);
	tcase_add_loop_test(tests, test_what_is_not_reported, 0, 5);
	tcase_add_test(tests, test_sparse_file_is_not_hashed);
	tcase_add_test(tests, test_long_names_are_bounded);
	tcase_add_test(tests, test_many);
	suite_add_tcase(suite, tests);
	failed = unit_run(suite);
	(void)io_remove_tree(AT_FDCWD, dir);
	return failed;
}
