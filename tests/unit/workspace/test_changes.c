/* What the layer of a workspace is read as, when a hostile program has written it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/unit.h"
#include "workspace/changes.h"

static char top[64];
static int last_error; /* of unread() */

static void unread(const char *path, int error)
{
	(void)path;
	last_error = error;
}

static void start(void)
{
	(void)snprintf(top, sizeof(top), "/var/tmp/test_changes.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	ck_assert_int_eq(mkdir("base", 0755) | mkdir("0", 0755) | mkdir("0/upper", 0755), 0);
	last_error = 0;
}

static void end(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

static void set_time(const char *path, time_t seconds)
{
	const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert(fputs(text, file) >= 0 && fclose(file) == 0);
	set_time(path, 1000000000);
}

static void directory(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void whiteout(const char *path)
{
	ck_assert_int_eq(mknod(path, S_IFCHR, makedev(0, 0)), 0);
}

/* False: the file system has no such attributes, or this user may not set them. */
static bool attribute(const char *path, const char *name, const char *value)
{
	return lsetxattr(path, name, value, strlen(value), 0) == 0;
}

/* Finds the changes. Each as a letter and the path, in brackets. */
static const char *find(const char *prefix, bool incomplete)
{
	static const char letters[] = "ADMTR";
	static char text[4096];
	struct workspace_changes changes = {.on_unread = unread};
	struct workspace_layer layer = {.base_fd = io_open_dir(AT_FDCWD, "base"),
					.upper_fd = io_open_dir(AT_FDCWD, "0/upper"),
					.prefix = prefix};
	size_t len = 0;

	ck_assert_int_eq(workspace_changes_find(&layer, &changes), 0);
	ck_assert_int_eq(changes.is_incomplete, incomplete);
	text[0] = '\0';
	for (size_t i = 0; i < changes.count && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "[%c %s%s%s %x]", letters[changes.item[i].kind],
					changes.item[i].old_path ? changes.item[i].old_path : "",
					changes.item[i].old_path ? ">" : "", changes.item[i].path,
					changes.item[i].differences);
	workspace_changes_release(&changes);
	workspace_layer_release(&layer);
	return text;
}

#define USER "user.overlay."
#define TRUSTED "trusted.overlay."

START_TEST(test_kinds)
{
	put("base/same", "same");
	put("0/upper/same", "same");
	put("base/changed", "1");
	put("0/upper/changed", "2");
	put("base/mode", "m");
	put("0/upper/mode", "m");
	ck_assert_int_eq(chmod("0/upper/mode", 0755), 0);
	put("base/gone", "");
	whiteout("0/upper/gone");
	whiteout("0/upper/never");
	put("0/upper/new", "");
	ck_assert_int_eq(symlink("a", "base/link") | symlink("b", "0/upper/link"), 0);
	set_time("base/link", 1);
	set_time("0/upper/link", 2);
	ck_assert_int_eq(mkfifo("0/upper/fifo", 0600), 0);
	ck_assert_int_eq(chmod("0/upper", 0700), 0);
	ck_assert_str_eq(find(USER, false), "[M  2][M changed 1][A fifo 0][D gone 0][M link 11][M mode 2][A new 0]");
}
END_TEST

START_TEST(test_renames)
{
	put("base/old", "moved");
	whiteout("0/upper/old");
	put("0/upper/new", "moved");
	put("0/upper/copy", "moved");
	put("base/other", "other");
	whiteout("0/upper/other");
	put("base/empty", "");
	whiteout("0/upper/empty");
	put("0/upper/void", "");
	ck_assert_str_eq(find(USER, false), "[R old>copy 0][D empty 0][A new 0][D other 0][A void 0]");
}
END_TEST

START_TEST(test_opaque)
{
	directory("base/d");
	directory("base/d/below");
	put("base/d/below/x", "x");
	put("base/d/kept", "k");
	directory("0/upper/d");
	put("0/upper/d/kept", "k");
	if (!attribute("0/upper/d", USER "opaque", "y"))
		return;
	ck_assert_str_eq(find(USER, false), "[D d/below 0][D d/below/x 0]");
	/* The program set it: the overlay's own are of the other kind. */
	ck_assert_str_eq(find(TRUSTED, false), "[M d 8]");
	/* So does the overlay name what the program called user.overlay.opaque. */
	ck_assert(attribute("0/upper/d", USER "overlay.opaque", "y"));
	ck_assert_str_eq(find(USER, false), "[M d 8][D d/below 0][D d/below/x 0]");
}
END_TEST

/* overlayfs marks a directory that was made below an opaque one no more. */
START_TEST(test_below_opaque)
{
	directory("base/d");
	directory("base/d/sub");
	directory("base/d/sub/deep");
	put("base/d/sub/deep/hidden", "h");
	put("base/d/sub/hidden", "h");
	directory("0/upper/d");
	directory("0/upper/d/sub");
	directory("0/upper/d/sub/deep");
	ck_assert_str_eq(find(USER, false), "");
	if (attribute("0/upper/d", USER "opaque", "y"))
		ck_assert_str_eq(find(USER, false), "[D d/sub/deep/hidden 0][D d/sub/hidden 0]");
}
END_TEST

START_TEST(test_no_whole_content)
{
	put("base/file", "whole");
	put("0/upper/file", "");
	directory("0/upper/moved");
	if (!attribute("0/upper/file", USER "metacopy", "") || !attribute("0/upper/moved", USER "redirect", "/file"))
		return;
	ck_assert_str_eq(find(USER, true), "");
	ck_assert_int_eq(last_error, -EUCLEAN);
}
END_TEST

START_TEST(test_links_are_not_followed)
{
	directory("base/d");
	put("base/d/x", "x");
	directory("outside");
	put("outside/secret", "s");
	ck_assert_int_eq(symlink("../../outside", "0/upper/d") | symlink("../outside", "base/l"), 0);
	directory("0/upper/l");
	put("0/upper/l/secret", "s");
	ck_assert_str_eq(find(USER, false), "[T d 0][D d/x 0][T l 0][A l/secret 0]");
}
END_TEST

/* Neither is opened: a FIFO would wait for a writer, a device has effects. */
START_TEST(test_special_files)
{
	ck_assert_int_eq(mkfifo("base/fifo", 0644) | mkfifo("0/upper/fifo", 0644) | mkfifo("0/upper/file", 0644), 0);
	set_time("base/fifo", 1);
	set_time("0/upper/fifo", 1);
	put("base/file", "f");
	if (mknod("0/upper/device", S_IFCHR | 0600, makedev(1, 5)) < 0)
		put("0/upper/device", "");
	ck_assert_str_eq(find(USER, false), "[A device 0][T file 0]");
}
END_TEST

START_TEST(test_sparse)
{
	put("base/sparse", "x");
	put("0/upper/sparse", "x");
	if (truncate("base/sparse", 1LL << 42) < 0 || truncate("0/upper/sparse", 1LL << 42) < 0)
		return;
	set_time("base/sparse", 1);
	set_time("0/upper/sparse", 2);
	ck_assert_str_eq(find(USER, false), "[M sparse 10]");
}
END_TEST

START_TEST(test_names)
{
	char path[16] = "0/upper/_";

	for (int byte = 1; byte < 256; byte++) {
		path[8] = (char)byte;
		if (byte != '/' && byte != '.')
			put(path, "");
	}
	ck_assert(strlen(find(USER, false)) == 253 * strlen("[A _ 0]"));
}
END_TEST

/* Deeper than a path can say: the rest is told as unread. */
START_TEST(test_depth)
{
	int fd = open("0/upper", O_PATH | O_CLOEXEC);

	for (int i = 0; i < 2100; i++) {
		int next;

		ck_assert_int_eq(mkdirat(fd, "d", 0755), 0);
		next = openat(fd, "d", O_PATH | O_CLOEXEC);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	(void)find(USER, true);
	ck_assert_int_eq(last_error, -ENAMETOOLONG);
}
END_TEST

/* A layer that does not say which attributes are the overlay's is not read. */
START_TEST(test_unmarked)
{
	struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	const char *why;
	char base[80];
	int fd = io_open_dir(AT_FDCWD, ".");

	(void)snprintf(base, sizeof(base), "%s/base", top);
	ck_assert_int_eq(workspace_layer_open(fd, 0, base, &layer, &why), -ENOENT);
	put("0/user", "");
	ck_assert_int_eq(workspace_layer_open(fd, 0, base, &layer, &why), 0);
	ck_assert_str_eq(layer.prefix, USER);
	workspace_layer_release(&layer);
	ck_assert_int_eq(rename("base", "moved") | symlink("moved", "base"), 0);
	ck_assert_int_eq(workspace_layer_open(fd, 0, base, &layer, &why), -ELOOP);
	(void)close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("changes");
	TCase *tests = tcase_create("layers");

	tcase_add_checked_fixture(tests, start, end);
	tcase_add_test(tests, test_kinds);
	tcase_add_test(tests, test_renames);
	tcase_add_test(tests, test_opaque);
	tcase_add_test(tests, test_below_opaque);
	tcase_add_test(tests, test_no_whole_content);
	tcase_add_test(tests, test_links_are_not_followed);
	tcase_add_test(tests, test_special_files);
	tcase_add_test(tests, test_sparse);
	tcase_add_test(tests, test_names);
	tcase_add_test(tests, test_depth);
	tcase_add_test(tests, test_unmarked);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
