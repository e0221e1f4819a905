/* What is held back because it runs later outside; what a journal says after a crash; how entries are replaced. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tests/unit/unit.h"
#include "workspace/beside.h"
#include "workspace/conflict.h"
#include "workspace/executed.h"
#include "workspace/journal.h"
#include "workspace/place.h"

static char top[64];
static struct workspace_layer layer;

static void start(void)
{
	(void)snprintf(top, sizeof(top), "/var/tmp/test_apply.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	ck_assert_int_eq(mkdir("base", 0755) | mkdir("upper", 0755), 0);
	layer = (struct workspace_layer){.base_fd = io_open_dir(AT_FDCWD, "base"),
					 .upper_fd = io_open_dir(AT_FDCWD, "upper"),
					 .prefix = "user.overlay."};
}

static void end(void)
{
	workspace_layer_release(&layer);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

static struct workspace_entry entry(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return (struct workspace_entry){.exists = true,
					.mode = st.st_mode,
					.uid = st.st_uid,
					.gid = st.st_gid,
					.size = (uint64_t)st.st_size,
					.ino = st.st_ino,
					.mtime = st.st_mtim,
					.ctime = st.st_ctim};
}

/* ---- what runs later outside ---- */

/* Whether a path is held back, as an empty file or, with a target, as a link. */
static bool held(const char *path, const char *target)
{
	struct executed executed = {0};
	char text[PATH_MAX], name[PATH_MAX];
	struct workspace_change change = {.path = text, .kind = WORKSPACE_ADDED};
	const char *reason;

	(void)snprintf(text, sizeof(text), "%s", path);
	(void)snprintf(name, sizeof(name), "upper/%s", path);
	for (char *slash = name; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		ck_assert(mkdir(name, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	(void)unlink(name);
	if (target)
		ck_assert_int_eq(symlink(target, name), 0);
	else
		put(name, "");
	change.upper = entry(name);
	ck_assert_int_eq(executed_init(&executed), 0);
	reason = executed_find_reason(&executed, &layer, &change);
	executed_release(&executed);
	return reason != NULL;
}

START_TEST(test_executed_names)
{
	static const char *const yes[] = {".git/hooks/pre-commit",
					  "a/b/.GIT/Config",
					  "sub/.git",
					  "Makefile",
					  "a/package.json",
					  "conftest.py",
					  "a/__pycache__/x.cpython-311.pyc",
					  "x.pth",
					  "a/.envrc",
					  ".bashrc",
					  ".vscode/tasks.json",
					  ".github/workflows/ci.yml",
					  ".venv/bin/python",
					  "SiteCustomize.py",
					  "a/Gulpfile.mjs",
					  "tasks.py",
					  ".zed/tasks.json",
					  ".tekton/run.yaml",
					  "BUILD",
					  "a/Build",
					  "WORKSPACE",
					  "a/rules.bzl",
					  "MODULE.bazel",
					  ".bazelrc",
					  "src/dune",
					  "binding.gyp",
					  "mise.local.toml",
					  "Taskfile.dist.yml",
					  ".vs/tasks.vs.json",
					  "jest.config.js",
					  "tailwind.config.mts",
					  ".lvimrc",
					  "Package.swift",
					  ".kube/config"};
	/* of names for files, directories are none */
	static const char *const no[] = {
		"README.md",           "src/main.c", "git/config",    ".git/objects/ab/cdef", "makefil",
		"package.json5",       "agit",       "out/build/x.o", "Workspace/a.c",        "targets/x/y",
		"bootstrap/css/a.css", "rebuild",    "build.txt"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		ck_assert_msg(held(yes[i], NULL), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ck_assert_msg(!held(no[i], NULL), "%s", no[i]);
}
END_TEST

START_TEST(test_executed_dirs)
{
	static const struct {
		const char *dir;
		bool is_executed;
	} cases[] = {
		{"/usr/local", true},
		{"/etc", true},
		{"/var", true},
		{"/home/a/.config/foo", true},
		{"/", true},
		{"/home/a/.local/bin", true},
		{"/srv/p/.git/hooks", true},
		{"/var/www", false},
		{"/usrx", false},
		{"/home/a/project", false},
		{"/home/a/configure-it", false},
		{"/home/a/workspace/build", false},
		{"/var/tmp/x", false},
	};
	_cleanup_executed_ struct executed executed = {0};

	ck_assert_int_eq(executed_init(&executed), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(!!executed_find_reason_of_dir(&executed, cases[i].dir) == cases[i].is_executed, "%s",
			      cases[i].dir);
}
END_TEST

START_TEST(test_executed_links)
{
	ck_assert(held("l", "/etc") && held("l", "..") && held("l", "../x") && held("d/l", "../../x"));
	ck_assert(held("d/l", "x/../../.."));
	ck_assert(held("d/l", "..//../x") && held("d/l", "x/.."));
	ck_assert(!held("l", "x") && !held("d/l", "../x") && !held("d/e/l", "../../x") && !held("l", "..x/y..z"));
}
END_TEST

START_TEST(test_executed_set_id)
{
	struct executed executed = {0};
	struct workspace_change change = {.upper = {.exists = true, .mode = S_IFREG | 02755}};
	char path[] = "x";

	put("upper/x", "");
	change.path = path;
	ck_assert_int_eq(executed_init(&executed), 0);
	ck_assert_ptr_nonnull(executed_find_reason(&executed, &layer, &change));
	change.upper.mode = S_IFREG | 0755;
	ck_assert_ptr_null(executed_find_reason(&executed, &layer, &change));
	executed_release(&executed);
}
END_TEST

/* ---- the journal ---- */

static char visited[256];

static int visit(void *ctx, const char *path, size_t number, bool is_done)
{
	size_t len = strlen(visited);

	(void)ctx;
	(void)snprintf(visited + len, sizeof(visited) - len, "[%s%s]", path, is_done ? "" : "?");
	if (number > 0)
		(void)snprintf(visited + strlen(visited), sizeof(visited) - strlen(visited), "%zu", number);
	return 0;
}

static int visit_dir(void *ctx, const char *path, uint64_t inode, mode_t mode)
{
	size_t len = strlen(visited);

	(void)ctx;
	(void)snprintf(visited + len, sizeof(visited) - len, "[%s %d %o]", path, (int)inode, (unsigned)mode);
	return 0;
}

/* Values that no number of fewer bits holds. */
static const struct dir_id id = {UINT64_MAX - 5, {-3, 999999999}, UINT64_MAX - 7};

START_TEST(test_journal_dirs)
{
	int dir = io_open_dir(AT_FDCWD, "."), fd;
	struct dir_id found;

	visited[0] = '\0';
	ck_assert_int_eq(journal_visit_dirs(dir, visit_dir, NULL), -ENOENT);
	fd = journal_create(dir, &id);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(journal_note_dir(fd, "", 6, 0555), 0);
	ck_assert_int_eq(journal_note_dir(fd, "a\n\\\xff\"", 7, 02000), 0);
	ck_assert_int_eq(journal_begin(fd, "b", 0, false), 0);
	ck_assert_int_eq(journal_end(fd, true), 0);
	ck_assert_int_eq(io_write_all(fd, "{\"dir\":\"to", 10), 0);
	ck_assert_int_eq(journal_visit_dirs(dir, visit_dir, NULL), 0);
	ck_assert_str_eq(visited, "[ 6 555][a\n\\\xff\" 7 2000]");
	visited[0] = '\0';
	ck_assert_int_eq(journal_visit(dir, visit, NULL), 0);
	ck_assert_str_eq(visited, "[b]");
	journal_read_dir_id(dir, &found);
	ck_assert_mem_eq(&found, &id, sizeof(id));
	ck_assert_int_eq(journal_remove(dir), 0);
	(void)close(fd);
	(void)close(dir);
}
END_TEST

/* Which numbers tell that a directory is another one. */
START_TEST(test_dir_id)
{
	int dir = io_open_dir(AT_FDCWD, ".");
	struct dir_id now, other;

	ck_assert_int_eq(dir_id_read(dir, &now), 0);
	ck_assert(dir_id_is_of(&now, dir));
	other = now;
	other.inode++;
	ck_assert(!dir_id_is_of(&other, dir));
	other = now;
	other.fsid = 0x800001; /* of a device: an overlay has it from xfs, and after a reboot it may be another one */
	ck_assert(dir_id_is_of(&other, dir));
	other = (struct dir_id){.inode = now.inode}; /* of an older version */
	ck_assert(dir_id_is_of(&other, dir));
	(void)close(dir);
}
END_TEST

START_TEST(test_journal)
{
	int dir = io_open_dir(AT_FDCWD, "."), fd;
	struct dir_id found;

	visited[0] = '\0';
	ck_assert_int_eq(journal_visit(dir, visit, NULL), -ENOENT);
	fd = journal_create(dir, &id);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(journal_create(dir, &id), -EEXIST);
	journal_read_dir_id(dir, &found);
	ck_assert_mem_eq(&found, &id, sizeof(id));
	ck_assert_int_eq(journal_begin(fd, "a\n\\\xff\"done\n", 0, false), 0);
	ck_assert_int_eq(journal_end(fd, true), 0);
	ck_assert_int_eq(journal_begin(fd, "failed", 6, false), 0);
	ck_assert_int_eq(journal_end(fd, false), 0);
	ck_assert_int_eq(journal_begin(fd, "done", 7, true), 0);
	ck_assert_int_eq(journal_visit(dir, visit, NULL), 0);
	ck_assert_str_eq(visited, "[a\n\\\xff\"done\n][done?]7");
	ck_assert_int_eq(journal_end(fd, true), 0);
	ck_assert_int_eq(io_write_all(fd, "\"tor", 4), 0); /* the crash was in the middle of a line */
	visited[0] = '\0';
	ck_assert_int_eq(journal_visit(dir, visit, NULL), 0);
	ck_assert_str_eq(visited, "[a\n\\\xff\"done\n][done]7");
	ck_assert_int_eq(journal_remove(dir), 0);
	(void)close(fd);
	(void)close(dir);
}
END_TEST

/* ---- putting ---- */

START_TEST(test_place)
{
	char path[] = "f", name[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_MODIFIED};

	place_format_name("0123456789abcdef", 0, name);
	put("base/f", "old");
	put("upper/f", "new!");
	ck_assert_int_eq(chmod("upper/f", 0640), 0);
	change.base = entry("base/f");
	change.upper = entry("upper/f");
	put("base/f", "other");
	ck_assert_int_eq(place_put(&layer, &change, name), -ESTALE);
	ck_assert_int_eq(place_remove(&layer, &change), -ESTALE);
	change.base = entry("base/f");
	put("base/.callgate-0123456789abcdef", "");
	ck_assert_int_eq(place_put(&layer, &change, name), -EBUSY);
	ck_assert_int_eq(place_remove_temporary(&layer, path, name), 0);
	ck_assert_int_eq(place_put(&layer, &change, name), 0);
	ck_assert_int_eq(entry("base/f").mode, S_IFREG | 0640);
	ck_assert_uint_eq(entry("base/f").size, 4);
	ck_assert_int_lt(access("base/.callgate-0123456789abcdef", F_OK), 0);
	change.base = (struct workspace_entry){.exists = false}; /* it was not there when it was compared */
	ck_assert_int_eq(place_put(&layer, &change, name), -EEXIST);
	ck_assert_int_lt(access("base/.callgate-0123456789abcdef", F_OK), 0);
}
END_TEST

/* A file system that shows another owner than who has made an entry: nothing of it is left. */
START_TEST(test_place_of_other_owner)
{
	char path[] = "link", name[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_ADDED};

	if (geteuid() != 0)
		return;
	place_format_name("0123456789abcdef", 0, name);
	ck_assert_int_eq(symlink("a", "upper/link") | chmod("base", 0777), 0);
	change.upper = entry("upper/link");
	(void)setfsuid(12345);
	ck_assert_int_eq(place_put(&layer, &change, name), -EPERM);
	(void)setfsuid(0);
	ck_assert_int_lt(faccessat(layer.base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(place_put(&layer, &change, name), 0);
}
END_TEST

START_TEST(test_place_below_link)
{
	char path[] = "d/f", name[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_ADDED};

	place_format_name("0123456789abcdef", 0, name);
	ck_assert_int_eq(mkdir("upper/d", 0755) | mkdir("outside", 0755) | symlink("../outside", "base/d"), 0);
	put("upper/d/f", "x");
	change.upper = entry("upper/d/f");
	ck_assert_int_lt(place_put(&layer, &change, name), 0);
	change.path[1] = '\0'; /* "d" */
	ck_assert_int_lt(place_set_attributes(&layer, &change), 0);
	ck_assert_int_eq(rmdir("outside"), 0); /* empty */
}
END_TEST

START_TEST(test_beside)
{
	char path[] = "f", found[NAME_MAX + 1], name[NAME_MAX + 1], temporary[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_MODIFIED};
	_cleanup_close_ int from = -1;

	place_format_name("0123456789abcdef", 0, temporary);
	put("base/f", "x");
	put("upper/f", "new");
	put("upper/f.theirs.3", ""); /* another apply may put it there */
	ck_assert_int_eq(chmod("base/f", 06711) | chmod("upper/f", 0777), 0);
	change.base = entry("base/f");
	change.upper = entry("upper/f");
	from = workspace_open_entry(layer.upper_fd, "f");
	ck_assert_int_eq(symlink("f", "base/f.theirs"), 0);
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "theirs", from, temporary, found), 0);
	ck_assert_str_eq(found, "f.theirs.2");
	ck_assert_int_eq(entry("base/f.theirs.2").mode & 07777, 0711);
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "theirs", from, temporary, found), 0);
	ck_assert_str_eq(found, "f.theirs.2");
	ck_assert_int_eq(truncate("base/f.theirs.2", 1), 0);
	for (int i = 4; i <= BESIDE_NUMBERS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "base/f.theirs.%d", i);
		ck_assert_int_eq(mkdir(name, 0755), 0);
	}
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "theirs", from, temporary, found), -EEXIST);
	put("base/.callgate-0123456789abcdef", "another's");
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "theirs", from, temporary, found), -EBUSY);
	ck_assert_int_eq((int)entry("base/.callgate-0123456789abcdef").size, 9);
	ck_assert_int_eq((int)entry("base/f").size, 1);
}
END_TEST

/* The program has replaced the directory by a link: no name in it is taken. */
START_TEST(test_beside_in_replaced_dir)
{
	char path[] = "d/f", found[NAME_MAX + 1], temporary[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_DELETED};
	_cleanup_close_ int from = -1;

	place_format_name("0123456789abcdef", 0, temporary);
	ck_assert_int_eq(mkdir("base/d", 0755) | symlink("..", "upper/d"), 0);
	put("base/d/f", "ours");
	change.base = entry("base/d/f");
	from = workspace_open_entry(layer.base_fd, "d/f");
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "ours", from, temporary, found), 0);
	ck_assert_str_eq(found, "f.ours");
	ck_assert_int_eq((int)entry("base/d/f.ours").size, 4);
}
END_TEST

/* Root copies what one user has beside another user's file: it stays root's. */
START_TEST(test_beside_owner)
{
	char path[] = "f", found[NAME_MAX + 1], temporary[PLACE_NAME_SIZE];
	struct workspace_change change = {.path = path, .kind = WORKSPACE_MODIFIED};
	_cleanup_close_ int from = -1;
	struct stat st;

	if (geteuid() != 0)
		return;
	place_format_name("0123456789abcdef", 0, temporary);
	put("base/f", "mine");
	put("upper/f", "new");
	ck_assert_int_eq(chmod("base/f", 0644) | chmod("upper/f", 0644), 0);
	change.base = entry("base/f");
	change.upper = entry("upper/f");
	change.base.uid = change.upper.uid = 12345; /* it was another user's when it was compared */
	from = workspace_open_entry(layer.base_fd, "f");
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "ours", from, temporary, found), 0);
	ck_assert_int_eq(stat("base/f.ours", &st), 0);
	ck_assert_int_eq(st.st_uid, 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(workspace_write_beside(&layer, &change, "base", from, temporary, found), 0);
	ck_assert_int_eq(stat("base/f.base", &st), 0);
	ck_assert_int_eq(st.st_uid, 12345);
	ck_assert_int_eq(st.st_mode & 07777, 0644);
}
END_TEST

START_TEST(test_conflict)
{
	char path[] = "f";
	const struct workspace_bases bases = {.text = NULL};
	struct workspace_change change = {.path = path, .kind = WORKSPACE_MODIFIED};

	layer.mounted = (struct timespec){1000, 500};
	change.base = (struct workspace_entry){.exists = true, .mode = S_IFREG, .ctime = {1000, 499}};
	ck_assert_int_eq(workspace_is_conflict(&layer, &bases, &change), 0);
	change.base.ctime.tv_nsec = 500; /* within one tick */
	ck_assert_int_eq(workspace_is_conflict(&layer, &bases, &change), 1);
	change.base.ctime = (struct timespec){999, 999};
	ck_assert_int_eq(workspace_is_conflict(&layer, &bases, &change), 0);
	change.base.ctime = (struct timespec){1000, 0}; /* whole seconds: later within this one, perhaps */
	ck_assert_int_eq(workspace_is_conflict(&layer, &bases, &change), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("apply");
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, start, end);
	tcase_add_test(tests, test_executed_names);
	tcase_add_test(tests, test_executed_dirs);
	tcase_add_test(tests, test_executed_links);
	tcase_add_test(tests, test_executed_set_id);
	tcase_add_test(tests, test_dir_id);
	tcase_add_test(tests, test_journal);
	tcase_add_test(tests, test_journal_dirs);
	tcase_add_test(tests, test_place);
	tcase_add_test(tests, test_place_of_other_owner);
	tcase_add_test(tests, test_place_of_other_owner);
	tcase_add_test(tests, test_place_below_link);
	tcase_add_test(tests, test_beside);
	tcase_add_test(tests, test_beside_in_replaced_dir);
	tcase_add_test(tests, test_beside_owner);
	tcase_add_test(tests, test_conflict);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
