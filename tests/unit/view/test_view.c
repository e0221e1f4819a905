/* What paths of the view lead to. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "tests/unit/view/view-rig.h"
#include "view/tree.h"

struct walk_case {
	const char *path;
	unsigned flags;
	int want; /* 0 or -errno */
	const char *virt;
};

static const struct walk_case walks[] = {
	{"/", 0, 0, "/"},
	{"/data/file", 0, 0, "/data/file"},
	{"sub/inner", 0, 0, "/data/sub/inner"},
	{"./sub/../file", 0, 0, "/data/file"},
	{"/data/link", 0, 0, "/data/link"},
	{"/data/link", VIEW_FOLLOW_LAST_LINK, 0, "/data/sub"},
	{"/data/link/", 0, 0, "/data/sub"},
	{"/data/link/inner", 0, 0, "/data/sub/inner"},
	{"/data/link/../file", 0, 0, "/data/file"},
	{"/data/absolute", VIEW_FOLLOW_LAST_LINK, 0, "/data/file"},
	{"/data/outside", 0, 0, "/data/outside"},
	{"/data/outside", VIEW_FOLLOW_LAST_LINK, -ENOENT, NULL},
	{"/data/upward", VIEW_FOLLOW_LAST_LINK, -ENOENT, NULL},
	{"/data/loop", VIEW_FOLLOW_LAST_LINK, -ELOOP, NULL},
	{"/data/loop/x", 0, -ELOOP, NULL},
	{"/data/dangling", VIEW_FOLLOW_LAST_LINK, -ENOENT, NULL},
	{"/data/dangling", VIEW_FOLLOW_LAST_LINK | VIEW_LAST_MAY_BE_ABSENT, 0, "/data/nowhere"},
	{"/data/new", VIEW_LAST_MAY_BE_ABSENT, 0, "/data/new"},
	{"/data/new", 0, -ENOENT, NULL},
	{"/data/new/er", VIEW_LAST_MAY_BE_ABSENT, -ENOENT, NULL},
	{"/data/file/", 0, -ENOTDIR, NULL},
	{"/data/file/x", 0, -ENOTDIR, NULL},
	{"/data/file/..", 0, -ENOTDIR, NULL},
	{"/../../data/file", 0, 0, "/data/file"},
	{"/data/../etc/motd", 0, 0, "/etc/motd"},
	{"/etc/motd/x", 0, -ENOTDIR, NULL},
	{"/etc/passwd", 0, -ENOENT, NULL},
	{"/dev/fd", 0, 0, "/dev/fd"},
	{"/globs/a.csv", 0, 0, "/globs/a.csv"},
};

START_TEST(walk_resolves)
{
	const struct walk_case *walk = &walks[_i];
	static struct place place;

	ck_assert_int_eq(view_walk_path(view_rig.view, NULL, "/data", walk->path, walk->flags, &place), walk->want);
	if (walk->want == 0)
		ck_assert_str_eq(place.virt, walk->virt);
}
END_TEST

/* What locate promises by text alone and openat2 accepts must be what the walk finds. */
START_TEST(locate_agrees_with_walk)
{
	const struct walk_case *walk = &walks[_i];
	static struct place place;
	_cleanup_close_ int fd = -1;

	if (view_locate_path(view_rig.view, NULL, "/data", walk->path, walk->flags, &place) < 0)
		return;
	fd = view_open_place(&place, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || path_requires_directory(walk->path) || (walk->flags & VIEW_FOLLOW_LAST_LINK && walk->want < 0))
		return;
	ck_assert_int_eq(walk->want, 0);
	if (!(walk->flags & VIEW_FOLLOW_LAST_LINK))
		ck_assert_str_eq(place.virt, walk->virt);
}
END_TEST

START_TEST(open_follows_nothing)
{
	static struct place place;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/data/link/inner", VIEW_FOLLOW_LAST_LINK, &place),
			 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ELOOP);
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/data/outside", VIEW_FOLLOW_LAST_LINK, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ELOOP);
}
END_TEST

START_TEST(names_map_back)
{
	char path[PATH_MAX], virt[PATH_MAX];
	struct stat status;

	view_rig_path_to(path, view_rig.data, "sub/inner");
	ck_assert_int_gt(view_find_virtual_path(view_rig.view, path, strlen(path), virt, sizeof(virt)), 0);
	ck_assert_str_eq(virt, "/data/sub/inner");
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert(view_path_leads_to_object(view_rig.view, virt, &status));
	ck_assert(!view_path_leads_to_object(view_rig.view, "/data/file", &status));
	ck_assert(!view_path_leads_to_object(view_rig.view, "/data/sub/inner (deleted)", &status));
	ck_assert_int_eq(view_find_virtual_path(view_rig.view, "/etc/shadow", 11, virt, sizeof(virt)), -ENOENT);
}
END_TEST

/* What the skeleton is said to lack must not be there; what is there must not be said to lack. */
START_TEST(skeleton_lacks_what_is_absent)
{
	static const struct {
		const char *path;
		bool lacks, host;
	} cases[] = {
		{"/", false, true},
		{"/etc", false, true},
		{"/data", false, false},
		{"/data/nowhere", false, false},
		{"/nowhere-at-all", true, false},
		{"/nowhere-at-all/below", true, false},
		{"/usr", true, true},
		{"/usr/nowhere-at-all", true, false},
		{"/etc/passwd", true, true},
		{"/etc/passwd/below", true, false},
		{"/etc/nowhere-at-all", true, false},
		{"/dev/fd", false, true},
		{"/dev/full", false, true},
		{"/dev/mem-or-so", true, false},
		{"/dev/fd/below", false, false},
		{"/et", true, false},
		{"/etcetera", true, false},
		{"/etc/mo", true, false},
	};
	static struct place place;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", cases[i].path, 0, &place), 0);
		ck_assert_msg(view_skeleton_place_is_absent(&place) == cases[i].lacks, "%s", cases[i].path);
		ck_assert_msg(!cases[i].lacks || view_open_place(&place, O_PATH | O_NOFOLLOW, 0) == -ENOENT, "%s",
			      cases[i].path);
		if (cases[i].lacks)
			ck_assert_msg(view_is_absent_on_host(view_rig.view, place.virt, place.virt_len) ==
					      !cases[i].host,
				      "%s", cases[i].path);
	}
}
END_TEST

/* What the host said of a name is not said for long. */
START_TEST(host_is_asked_again)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/var/tmp/cg-test-host-%d", getpid());
	ck_assert(view_is_absent_on_host(view_rig.view, path, strlen(path)));
	ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
	(void)usleep(12000);
	ck_assert(!view_is_absent_on_host(view_rig.view, path, strlen(path)));
	ck_assert_int_eq(unlink(path), 0);
	(void)usleep(12000);
	ck_assert(view_is_absent_on_host(view_rig.view, path, strlen(path)));
}
END_TEST

static void expect_base(const struct task *task, int fd, const char *want)
{
	char name[PATH_MAX];
	bool held;
	int r = view_get_start_dir(view_rig.view, task, fd, name, sizeof(name), &held);

	ck_assert_msg(r == (int)strlen(want) && strcmp(name, want) == 0, "%s, not %s", r < 0 ? strerror(-r) : name,
		      want);
	ck_assert(held == (fd >= 0 && task->pidfd >= 0));
}

/* A descriptor's number, and a directory's name, mean what they mean now, however often they were asked for before. */
START_TEST(bases_are_asked_anew)
{
	struct task task = {
		.tid = getpid(), .tgid = getpid(), .pidfd = _i ? (int)syscall(SYS_pidfd_open, getpid(), 0) : -1};
	char sub[PATH_MAX], moved[PATH_MAX], name[PATH_MAX];
	struct task_table *tree;
	int fd, other;
	bool held;

	ck_assert_int_eq(task_table_create(getpid(), view_rig.view, -1, &tree), 0);
	view_set_supervisor_pid(view_rig.view, getpid());
	view_rig_path_to(sub, view_rig.data, "sub");
	view_rig_path_to(moved, view_rig.data, "moved");
	fd = open(sub, O_RDONLY | O_DIRECTORY);
	other = open(view_rig.data, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	for (int i = 0; i < 3; i++)
		expect_base(&task, fd, "/data/sub");
	/* By a call of the run's: at once. */
	view_note_name_change(view_rig.view);
	ck_assert_int_eq(rename(sub, moved), 0);
	expect_base(&task, fd, "/data/moved");
	/* By another process: before long. */
	ck_assert_int_eq(rename(moved, sub), 0);
	(void)usleep(50000);
	expect_base(&task, fd, "/data/sub");
	/* The same number, another directory. */
	ck_assert_int_eq(dup2(other, fd), fd);
	expect_base(&task, fd, "/data");
	ck_assert_int_eq(fchdir(fd), 0);
	expect_base(&task, AT_FDCWD, "/data");
	ck_assert_int_eq(chdir(sub), 0);
	expect_base(&task, AT_FDCWD, "/data/sub");
	/* Gone, or never one. */
	view_note_name_change(view_rig.view);
	view_rig_path_to(name, sub, "inner");
	ck_assert_int_eq(unlink(name), 0);
	view_rig_path_to(name, sub, "given");
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_eq(rmdir(sub), 0);
	ck_assert_int_eq(view_get_start_dir(view_rig.view, &task, AT_FDCWD, name, sizeof(name), &held), -ENOENT);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(view_get_start_dir(view_rig.view, &task, AT_FDCWD, name, sizeof(name), &held), -ENOENT);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(view_get_start_dir(view_rig.view, &task, fd, name, sizeof(name), &held), -EBADF);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), fd);
	ck_assert_int_eq(view_get_start_dir(view_rig.view, &task, fd, name, sizeof(name), &held), -ENOTDIR);
	(void)close(fd);
	(void)close(other);
	view_set_supervisor_pid(view_rig.view, 0);
	task_table_free(tree);
}
END_TEST

START_TEST(roots_of_mounts_stay)
{
	static struct place place;
	const char *name;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/data", 0, &place), 0);
	ck_assert_int_eq(view_open_parent(&place, &name), -EBUSY);
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/etc/motd", 0, &place), 0);
	ck_assert_int_eq(view_open_parent(&place, &name), -EBUSY);
}
END_TEST

START_TEST(the_runs_files_are_shown)
{
	static struct place place;
	struct policy_decision decision;

	for (size_t i = 0; i < VIEW_RIG_PROVIDED_FILES; i++) {
		_cleanup_close_ int fd = -1;
		char text[8] = "";

		ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", view_rig_provides[i].virt, 0, &place), 0);
		fd = view_open_place(&place, O_RDONLY, 0);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(read(fd, text, sizeof(text) - 1), 3);
		ck_assert_str_eq(text, "run");
		decision = view_judge_place(view_rig.view, NULL, &place, POLICY_WRITE);
		ck_assert_msg(decision.verdict == VERDICT_DENY, "%s may be written", view_rig_provides[i].virt);
		decision = view_judge_place(view_rig.view, NULL, &place, POLICY_EXEC);
		ck_assert_msg(decision.verdict == VERDICT_DENY, "%s may be executed", view_rig_provides[i].virt);
		decision = view_judge_place(view_rig.view, NULL, &place, POLICY_READ);
		ck_assert_msg(decision.verdict == (strcmp(view_rig_provides[i].virt, "/etc/denied") == 0
							   ? VERDICT_DENY
							   : VERDICT_PROVIDE),
			      "%s: %d", view_rig_provides[i].virt, decision.verdict);
	}
}
END_TEST

/* A view is made anew when mounts cannot be had: what the first attempt left, or a process put there, leads nowhere. */
START_TEST(another_attempt_follows_no_link)
{
	static struct place place;
	char etc[PATH_MAX], motd[PATH_MAX], outside[PATH_MAX], text[8] = "";
	struct view *again;
	int fd;

	view_rig_path_to(etc, view_rig.scratch, "view/etc");
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, etc), 0);
	view_rig_make_dir(view_rig.host, "outside", outside);
	view_rig_make_link(outside, view_rig.scratch, "view/etc");
	view_rig_make_view(&again);
	ck_assert_int_eq(rmdir(outside), 0); /* empty */
	ck_assert_int_eq(view_locate_path(again, NULL, "/", "/etc/resolv.conf", 0, &place), 0);
	fd = view_open_place(&place, O_RDONLY, 0);
	ck_assert_int_eq(read(fd, text, sizeof(text) - 1), 3);
	(void)close(fd);
	view_free(again);

	view_rig_path_to(motd, etc, "motd");
	ck_assert_int_eq(unlink(motd), 0);
	view_rig_make_file(view_rig.host, "outside");
	view_rig_make_link(outside, etc, "motd");
	view_rig_make_view(&again);
	fd = open(outside, O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 0);
	(void)close(fd);
	view_free(again);
}
END_TEST

/* Files of one directory are held by one descriptor of it, and those of the skeleton lie in it. */
START_TEST(files_share_their_directory)
{
	static struct place one, other, granted;
	struct stat st;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/etc/motd", 0, &one), 0);
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/etc/resolv.conf", 0, &other), 0);
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/data/sub/given", 0, &granted), 0);
	ck_assert_int_eq(one.mount->fd, other.mount->fd);
	ck_assert(one.mount->flags & MOUNT_SKELETON_FILE && !(granted.mount->flags & MOUNT_SKELETON_FILE));
	ck_assert_ptr_nonnull(strstr(one.mount->host_path, "/view/etc/motd"));
	ck_assert_int_eq(stat(one.mount->host_path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0444);
}
END_TEST

START_TEST(scratch_is_nowhere)
{
	static struct place place;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/data/runs/one", 0, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_PATH, 0), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view");
	TCase *tests = tcase_create("view");
	int count = (int)(sizeof(walks) / sizeof(walks[0]));

	tcase_add_checked_fixture(tests, view_rig_set_up, view_rig_tear_down);
	tcase_add_loop_test(tests, walk_resolves, 0, count);
	tcase_add_loop_test(tests, locate_agrees_with_walk, 0, count);
	tcase_add_test(tests, open_follows_nothing);
	tcase_add_test(tests, names_map_back);
	tcase_add_test(tests, skeleton_lacks_what_is_absent);
	tcase_add_test(tests, host_is_asked_again);
	tcase_add_loop_test(tests, bases_are_asked_anew, 0, 2);
	tcase_add_test(tests, roots_of_mounts_stay);
	tcase_add_test(tests, the_runs_files_are_shown);
	tcase_add_test(tests, another_attempt_follows_no_link);
	tcase_add_test(tests, files_share_their_directory);
	tcase_add_test(tests, scratch_is_nowhere);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
