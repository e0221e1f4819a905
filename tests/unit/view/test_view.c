/* The view over a small host tree, with a policy of three lines in place of the real one. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "tests/unit/unit.h"
#include "view/tree.h"
#include "view/view.h"

static char host[PATH_MAX], data[PATH_MAX], globs[PATH_MAX], scratch[PATH_MAX], runs[PATH_MAX];
static struct policy_mount grants[3];
static struct view *view;

/* ---- the policy: /data is granted, /globs only for *.csv, /etc/motd is provided ---- */

const struct policy_mount *policy_get_mounts(const struct policy *policy, size_t *ret_count)
{
	(void)policy;
	*ret_count = 3;
	return grants;
}

const struct policy_link *policy_get_links(const struct policy *policy, size_t *ret_count)
{
	(void)policy;
	*ret_count = 0;
	return NULL;
}

unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	if (path_is_below(path, "/data") || strcmp(path, "/etc/motd") == 0)
		return POLICY_READ | POLICY_WRITE;
	return path_is_below(path, "/globs") && len > 4 && strcmp(path + len - 4, ".csv") == 0 ? POLICY_READ : 0;
}

bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	return path_is_below(path, "/globs") && !memchr(path, '.', len);
}

bool policy_hides_names(const struct policy *policy)
{
	(void)policy;
	return false;
}

bool policy_hides_names_in(const struct policy *policy, const char *path)
{
	(void)policy;
	(void)path;
	return false;
}

bool policy_lists_hidden_name(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	(void)path;
	(void)len;
	return false;
}

bool policy_may_write(const struct policy *policy, const char *path)
{
	return policy_get_rights(policy, path, strlen(path)) & POLICY_WRITE;
}

struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	unsigned rights = policy_get_rights(policy, path, len);

	if (strcmp(path, "/etc/denied") == 0)
		return (struct policy_decision){
			.verdict = VERDICT_DENY, .error = EACCES, .rule = "fake", .reason = "denied_by_rule"};
	if ((rights & want) == want)
		return (struct policy_decision){.verdict = VERDICT_ALLOW, .rule = "fake"};
	return (struct policy_decision){
		.verdict = VERDICT_DENY, .error = rights ? EROFS : ENOENT, .reason = "not_granted"};
}

struct policy_decision policy_decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					      bool shown)
{
	struct policy_decision decision = policy_decide_access(policy, path, len, want);

	if (decision.verdict != VERDICT_DENY || decision.error == EACCES || policy_get_rights(policy, path, len) != 0 ||
	    !(shown || policy_may_grant_below(policy, path, len)))
		return decision;
	if (want & (POLICY_WRITE | POLICY_EXEC))
		return (struct policy_decision){.verdict = VERDICT_DENY, .error = want & POLICY_EXEC ? EACCES : EROFS};
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = "ancestor"};
}

/* ---- the host ---- */

static void path_to(char out[PATH_MAX], const char *dir, const char *name)
{
	ck_assert_int_lt(snprintf(out, PATH_MAX, "%s/%s", dir, name), PATH_MAX);
}

static void make_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int fd;

	path_to(path, dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static void make_dir(const char *dir, const char *name, char out[PATH_MAX])
{
	char path[PATH_MAX];

	path_to(path, dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	if (out)
		memcpy(out, path, sizeof(path));
}

static void make_link(const char *target, const char *dir, const char *name)
{
	char path[PATH_MAX];

	path_to(path, dir, name);
	ck_assert_int_eq(symlink(target, path), 0);
}

/*
 * Of the run: where nothing is granted, in place of what the policy provides, within a granted tree, and denied by a
 * rule.
 */
static const struct view_provided_file provides[] = {
	{(char *)"/etc/resolv.conf", (char *)"run", 3},
	{(char *)"/etc/motd", (char *)"run", 3},
	{(char *)"/data/sub/given", (char *)"run", 3},
	{(char *)"/data/sub/made", (char *)"run", 3},
	{(char *)"/etc/denied", (char *)"run", 3},
};

static void make_view(struct view **ret_view)
{
	struct view_options options = {.scratch_host = scratch,
				       .scratch_base = runs,
				       .scratch_fd = -1,
				       .root_fd = -1,
				       .tmpfs_fd = -1,
				       .pts_fd = -1,
				       .provided_file = provides,
				       .provided_file_count = sizeof(provides) / sizeof(provides[0])};
	struct policy_error error;

	options.scratch_fd = open(scratch, O_PATH | O_DIRECTORY);
	ck_assert_int_eq(io_remove_tree(options.scratch_fd, "provided"), 0);
	ck_assert_int_eq(view_create(NULL, &options, ret_view, &error), 0);
	(void)close(options.scratch_fd);
}

static void set_up(void)
{
	(void)snprintf(host, sizeof(host), "/tmp/test-view-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(host));
	make_dir(host, "data", data);
	make_dir(host, "globs", globs);
	make_dir(data, "sub", NULL);
	make_dir(data, "runs", runs);
	make_dir(runs, "one", scratch);
	make_file(data, "file");
	make_file(data, "sub/inner");
	make_file(data, "sub/given");
	make_link("sub", data, "link");
	make_link("/data/file", data, "absolute");
	make_link("/etc/shadow", data, "outside");
	make_link("../../../../../../etc/shadow", data, "upward");
	make_link("loop", data, "loop");
	make_link("nowhere", data, "dangling");
	make_dir(globs, "deep", NULL);
	make_file(globs, "a.csv");
	make_file(globs, "secret.txt");
	make_file(globs, "deep/b.csv");
	grants[0] =
		(struct policy_mount){.kind = POLICY_MOUNT_TREE, .virt = "/data", .host_path = data};
	grants[1] = (struct policy_mount){
		.kind = POLICY_MOUNT_TREE, .virt = "/globs", .host_path = globs, .is_granted_by_globs_only = true};
	grants[2] = (struct policy_mount){
		.kind = POLICY_MOUNT_PROVIDE, .virt = "/etc/motd", .provided_text = "hello", .provided_text_len = 5};
	make_view(&view);
}

static void tear_down(void)
{
	view_free(view);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, host), 0);
}

/* ---- tests ---- */

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

	ck_assert_int_eq(view_walk_path(view, NULL, "/data", walk->path, walk->flags, &place), walk->want);
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

	if (view_locate_path(view, NULL, "/data", walk->path, walk->flags, &place) < 0)
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

	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/data/link/inner", VIEW_FOLLOW_LAST_LINK, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ELOOP);
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/data/outside", VIEW_FOLLOW_LAST_LINK, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ELOOP);
}
END_TEST

START_TEST(names_map_back)
{
	char path[PATH_MAX], virt[PATH_MAX];
	struct stat status;

	path_to(path, data, "sub/inner");
	ck_assert_int_gt(view_find_virtual_path(view, path, strlen(path), virt, sizeof(virt)), 0);
	ck_assert_str_eq(virt, "/data/sub/inner");
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert(view_path_leads_to_object(view, virt, &status));
	ck_assert(!view_path_leads_to_object(view, "/data/file", &status));
	ck_assert(!view_path_leads_to_object(view, "/data/sub/inner (deleted)", &status));
	ck_assert_int_eq(view_find_virtual_path(view, "/etc/shadow", 11, virt, sizeof(virt)), -ENOENT);
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
		ck_assert_int_eq(view_locate_path(view, NULL, "/", cases[i].path, 0, &place), 0);
		ck_assert_msg(view_skeleton_place_is_absent(&place) == cases[i].lacks, "%s", cases[i].path);
		ck_assert_msg(!cases[i].lacks || view_open_place(&place, O_PATH | O_NOFOLLOW, 0) == -ENOENT, "%s",
			      cases[i].path);
		if (cases[i].lacks)
			ck_assert_msg(view_is_absent_on_host(view, place.virt, place.virt_len) == !cases[i].host, "%s",
				      cases[i].path);
	}
}
END_TEST

/* What the host said of a name is not said for long. */
START_TEST(host_is_asked_again)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/var/tmp/cg-test-host-%d", getpid());
	ck_assert(view_is_absent_on_host(view, path, strlen(path)));
	ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
	(void)usleep(12000);
	ck_assert(!view_is_absent_on_host(view, path, strlen(path)));
	ck_assert_int_eq(unlink(path), 0);
	(void)usleep(12000);
	ck_assert(view_is_absent_on_host(view, path, strlen(path)));
}
END_TEST

static void expect_base(const struct task *task, int fd, const char *want)
{
	char name[PATH_MAX];
	bool held;
	int r = view_get_start_dir(view, task, fd, name, sizeof(name), &held);

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

	ck_assert_int_eq(task_table_create(getpid(), view, -1, &tree), 0);
	view_set_supervisor_pid(view, getpid());
	path_to(sub, data, "sub");
	path_to(moved, data, "moved");
	fd = open(sub, O_RDONLY | O_DIRECTORY);
	other = open(data, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	for (int i = 0; i < 3; i++)
		expect_base(&task, fd, "/data/sub");
	/* By a call of the run's: at once. */
	view_note_name_change(view);
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
	view_note_name_change(view);
	path_to(name, sub, "inner");
	ck_assert_int_eq(unlink(name), 0);
	path_to(name, sub, "given");
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_eq(rmdir(sub), 0);
	ck_assert_int_eq(view_get_start_dir(view, &task, AT_FDCWD, name, sizeof(name), &held), -ENOENT);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(view_get_start_dir(view, &task, AT_FDCWD, name, sizeof(name), &held), -ENOENT);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(view_get_start_dir(view, &task, fd, name, sizeof(name), &held), -EBADF);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), fd);
	ck_assert_int_eq(view_get_start_dir(view, &task, fd, name, sizeof(name), &held), -ENOTDIR);
	(void)close(fd);
	(void)close(other);
	view_set_supervisor_pid(view, 0);
	task_table_free(tree);
}
END_TEST

START_TEST(roots_of_mounts_stay)
{
	static struct place place;
	const char *name;

	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/data", 0, &place), 0);
	ck_assert_int_eq(view_open_parent(&place, &name), -EBUSY);
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/etc/motd", 0, &place), 0);
	ck_assert_int_eq(view_open_parent(&place, &name), -EBUSY);
}
END_TEST

START_TEST(the_runs_files_are_shown)
{
	static struct place place;
	struct policy_decision decision;

	for (size_t i = 0; i < sizeof(provides) / sizeof(provides[0]); i++) {
		_cleanup_close_ int fd = -1;
		char text[8] = "";

		ck_assert_int_eq(view_locate_path(view, NULL, "/", provides[i].virt, 0, &place), 0);
		fd = view_open_place(&place, O_RDONLY, 0);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(read(fd, text, sizeof(text) - 1), 3);
		ck_assert_str_eq(text, "run");
		decision = view_judge_place(view, NULL, &place, POLICY_WRITE);
		ck_assert_msg(decision.verdict == VERDICT_DENY, "%s may be written", provides[i].virt);
		decision = view_judge_place(view, NULL, &place, POLICY_EXEC);
		ck_assert_msg(decision.verdict == VERDICT_DENY, "%s may be executed", provides[i].virt);
		decision = view_judge_place(view, NULL, &place, POLICY_READ);
		ck_assert_msg(decision.verdict ==
				      (strcmp(provides[i].virt, "/etc/denied") == 0 ? VERDICT_DENY : VERDICT_PROVIDE),
			      "%s: %d", provides[i].virt, decision.verdict);
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

	path_to(etc, scratch, "view/etc");
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, etc), 0);
	make_dir(host, "outside", outside);
	make_link(outside, scratch, "view/etc");
	make_view(&again);
	ck_assert_int_eq(rmdir(outside), 0); /* empty */
	ck_assert_int_eq(view_locate_path(again, NULL, "/", "/etc/resolv.conf", 0, &place), 0);
	fd = view_open_place(&place, O_RDONLY, 0);
	ck_assert_int_eq(read(fd, text, sizeof(text) - 1), 3);
	(void)close(fd);
	view_free(again);

	path_to(motd, etc, "motd");
	ck_assert_int_eq(unlink(motd), 0);
	make_file(host, "outside");
	make_link(outside, etc, "motd");
	make_view(&again);
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

	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/etc/motd", 0, &one), 0);
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/etc/resolv.conf", 0, &other), 0);
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/data/sub/given", 0, &granted), 0);
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

	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/data/runs/one", 0, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_PATH, 0), -ENOENT);
}
END_TEST

START_TEST(listings_show_what_is_granted)
{
	static struct place place;
	_cleanup_close_ int fd = -1;

	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/globs", 0, &place), 0);
	ck_assert(view_has_standin(&place));
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(faccessat(fd, "a.csv", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "deep", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, "secret.txt", F_OK, 0), 0);
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/globs/secret.txt", 0, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ENOENT);
	ck_assert_int_eq(view_judge_place(view, NULL, &place, POLICY_READ).error, ENOENT);
}
END_TEST

/* A number in the stand-in of /proc whose process is not the run's (any more) goes, even if another has it now. */
START_TEST(proc_lists_the_run)
{
	static struct place place;
	_cleanup_close_ int fd = -1;
	char mine[16], parent[16];
	struct task_table *tree;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	(void)snprintf(mine, sizeof(mine), "%d", pid);
	(void)snprintf(parent, sizeof(parent), "%d", getppid());
	ck_assert_int_eq(task_table_create(getpid(), NULL, -1, &tree), 0);
	view_set_supervisor_pid(view, getpid());
	ck_assert_int_eq(view_locate_path(view, NULL, "/", "/proc", 0, &place), 0);
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(faccessat(fd, mine, F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "meminfo", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, parent, F_OK, 0), 0);
	ck_assert_int_eq(mkdirat(fd, parent, 0755), 0);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void)close(fd);
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(faccessat(fd, mine, F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, parent, F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "meminfo", F_OK, 0), 0);
	view_set_supervisor_pid(view, 0);
	task_table_free(tree);
}
END_TEST

/* Opens a name of /dev/pts, or says what view_judge_place or view_open_place says. */
static int open_terminal(const char *name, int flags)
{
	static struct place place;
	struct policy_decision decision;

	ck_assert_int_eq(view_locate_path(view, NULL, "/", name, VIEW_FOLLOW_LAST_LINK, &place), 0);
	decision = view_judge_place(view, NULL, &place, POLICY_READ | POLICY_WRITE);
	return decision.verdict == VERDICT_DENY ? -decision.error : view_open_place(&place, flags, 0);
}

static unsigned terminal_number(int master)
{
	unsigned number = 0;
	int unlocked = 0;

	ck_assert_int_eq(ioctl(master, TIOCGPTN, &number), 0);
	ck_assert_int_eq(ioctl(master, TIOCSPTLCK, &unlocked), 0);
	return number;
}

/* Where there is no devpts of the run's own: of the host's pairs those that the view has made, and no others. */
START_TEST(terminals_are_the_runs)
{
	int foreign = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), own, slave;
	char name[32], path[64];
	struct stat first, second;

	if (foreign < 0)
		return; /* there is no devpts here */
	(void)snprintf(name, sizeof(name), "/dev/pts/%u", terminal_number(foreign));
	ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	ck_assert_int_eq(open_terminal(name, O_PATH), -ENOENT);
	ck_assert_int_eq(open_terminal("/dev/pts/99999", O_RDWR), -ENOENT);
	ck_assert_int_eq(open_terminal("/dev/pts", O_RDONLY), -EROFS);
	own = open_terminal("/dev/ptmx", O_RDWR);
	ck_assert_int_ge(own, 0);
	(void)snprintf(name, sizeof(name), "/dev/pts/%u", terminal_number(own));
	slave = open_terminal(name, O_RDWR);
	ck_assert_int_ge(slave, 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", slave);
	ck_assert_int_eq(stat(path, &first), 0);
	ck_assert_int_eq(stat(name, &second), 0);
	ck_assert_uint_eq(first.st_rdev, second.st_rdev);
	ck_assert_int_eq(write(slave, "x", 1), 1);
	(void)close(slave);
	(void)close(own);
	ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	(void)close(foreign);
	/* The number goes to another process: its name still leads nowhere. */
	for (int i = 0; i < 4; i++) {
		foreign = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
		(void)terminal_number(foreign);
		ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	}
	ck_assert_int_eq(view_open_terminal(view, 4000, O_RDWR), -ENXIO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view");
	TCase *tests = tcase_create("view");
	int count = (int)(sizeof(walks) / sizeof(walks[0]));

	tcase_add_checked_fixture(tests, set_up, tear_down);
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
	tcase_add_test(tests, listings_show_what_is_granted);
	tcase_add_test(tests, proc_lists_the_run);
	tcase_add_test(tests, terminals_are_the_runs);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
