/* Finds the inodes that the policy lets be executed. The Landlock domain knows nothing else of the policy. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/elf-machine.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/paths/glob.h"
#include "view/private.h"

/* Bounds for the matches of one glob. Beyond them, its literal directory is taken as a whole. */
#define EXECS_FILES_PER_GLOB_MAX 64      /* executables that one glob may match */
#define EXECS_GLOB_ENTRIES_READ_MAX 4096 /* directory entries compared with a glob */

/* A visit of all files that the policy, or an answer to a question, lets the program execute. */
struct exec_files_visit {
	const struct view *view;
	const struct policy *policy; /* in which what is asked about may be executed */
	int (*visit)(void *ctx, int fd);
	void *ctx;
};

static bool execs_locate_path(const struct view *view, const char *virt, struct place *ret_place)
{
	return view_locate_path(view, NULL, "/", virt, VIEW_FOLLOW_LAST_LINK, ret_place) == 0;
}

/* Opens the object of the host (O_PATH), not its stand-in directory. */
static int execs_open_object(const struct place *place)
{
	return openat2_retry(place->mount->fd, place->path_below_mount_fd, O_PATH, 0, IO_RESOLVE_BELOW);
}

/*
 * Moves the place up to an inode that the program cannot replace. In a directory that it may write, the program can
 * remove a name and make it again. It cannot replace the root of a mount (EBUSY).
 */
static void execs_move_up_to_irreplaceable_inode(const struct view *view, struct place *place)
{
	while (place->virt_len > place->mount->virt_len && place->virt_len > 1) {
		char *slash = strrchr(place->virt, '/');
		size_t len = slash == place->virt ? 1 : (size_t)(slash - place->virt);

		if (!(policy_get_rights(view->policy, place->virt, len) & POLICY_WRITE))
			return;
		place->virt[len] = '\0';
		place->virt_len = len;
		if (view_set_mount_of_place(view, place) < 0)
			return; /* cannot happen: all ancestors of a place are places */
	}
}

/* Passes one object to execs->visit. Also returns 0 when nothing exists there. */
static int execs_visit_object(const struct exec_files_visit *execs, const struct place *place)
{
	_cleanup_close_ int fd = execs_open_object(place);

	if (fd == -ENOENT || fd == -EACCES || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* the kernel cannot execute an object that cannot be opened by path */
	return fd < 0 ? fd : execs->visit(execs->ctx, fd);
}

/* The files that match one glob. They are passed to the visitor one by one, unless there are too many. */
struct execs_glob_matches {
	const struct exec_files_visit *execs;
	const struct glob *glob;
	const char *literal; /* the rule's path before the glob */
	size_t entries, files;
	int fd[EXECS_FILES_PER_GLOB_MAX]; /* owned */
};

/* Adds a file that matches the glob. -E2BIG: too many files match, or the program can make more of them. */
static int execs_add_glob_match(struct execs_glob_matches *matches, const char *virt)
{
	const struct policy *policy = matches->execs->policy;
	_cleanup_close_ int fd = -1;
	struct place place;
	struct stat st;

	if (policy_get_rights(policy, virt, (size_t)(strrchr(virt, '/') - virt)) & POLICY_WRITE)
		return -E2BIG;
	if (!(policy_get_rights(policy, virt, strlen(virt)) & POLICY_EXEC) ||
	    !execs_locate_path(matches->execs->view, virt, &place))
		return 0;
	fd = execs_open_object(&place);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* no regular file; the target of a link must match by its own name */
	if (matches->files == EXECS_FILES_PER_GLOB_MAX)
		return -E2BIG;
	matches->fd[matches->files++] = steal_fd(&fd);
	return 0;
}

static int execs_match_directory(struct execs_glob_matches *matches, const char *dir);

static int execs_match_directory_entry(struct execs_glob_matches *matches, const char *dir, const struct dirent *entry)
{
	char virt[PATH_MAX];
	const char *rest;
	int r = 0;

	if (++matches->entries > EXECS_GLOB_ENTRIES_READ_MAX)
		return -E2BIG;
	if (view_join_path(dir, entry->d_name, virt, sizeof(virt)) < 0)
		return 0; /* the path is longer than PATH_MAX */
	rest = path_get_rest_below(virt, matches->literal);
	if (glob_matches(matches->glob, rest, strlen(rest)))
		r = execs_add_glob_match(matches, virt);
	if (r == 0 && entry->d_type != DT_REG && entry->d_type != DT_LNK &&
	    glob_may_match_below(matches->glob, rest, strlen(rest)))
		r = execs_match_directory(matches, virt);
	return r;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern has parts */
static int execs_match_directory(struct execs_glob_matches *matches, const char *dir)
{
	_cleanup_closedir_ DIR *entries = NULL;
	_cleanup_close_ int pin = -1;
	const struct dirent *entry;
	struct place place;
	int fd, r;

	if (!execs_locate_path(matches->execs->view, dir, &place))
		return 0;
	pin = execs_open_object(&place);
	fd = pin < 0 ? pin : io_open_dir(pin, ".");
	if (fd < 0)
		return 0; /* a directory that cannot be listed: Landlock refuses its files */
	entries = io_take_dir_stream(fd);
	r = entries ? 0 : -errno;
	while (r == 0 && (entry = io_read_entry(entries, &r)))
		r = execs_match_directory_entry(matches, dir, entry);
	return r;
}

/* Whether the glob has "**" or "*" as a whole name, so that too many files could match. */
static bool execs_glob_is_too_wide(const struct glob *glob)
{
	for (size_t i = 0; i < glob->part_count; i++)
		if (glob->part[i].kind == GLOB_ANY_NAMES || glob->part[i].kind == GLOB_ONE_ANY_NAME)
			return true;
	return false;
}

/*
 * Passes the files that match a glob to execs->visit. -E2BIG: there are too many, so its literal directory has to be
 * passed instead.
 */
static int execs_visit_glob_matches(const struct exec_files_visit *execs, const struct policy_exec *exec)
{
	struct execs_glob_matches matches = {.execs = execs, .glob = exec->glob, .literal = exec->virt};
	int r;

	if (execs_glob_is_too_wide(exec->glob) ||
	    policy_get_rights(execs->view->policy, exec->virt, strlen(exec->virt)) & POLICY_WRITE)
		return -E2BIG;
	r = execs_match_directory(&matches, matches.literal);
	for (size_t i = 0; r == 0 && i < matches.files; i++)
		r = execs->visit(execs->ctx, matches.fd[i]);
	for (size_t i = 0; i < matches.files; i++)
		cleanup_close(&matches.fd[i]);
	return r;
}

/* Visits the files of one exec rule; a glob with too many matches counts as its directory. */
static int execs_visit_rule(const struct exec_files_visit *execs, const struct policy_exec *exec)
{
	struct place place;
	int r;

	if (exec->glob) {
		r = execs_visit_glob_matches(execs, exec);
		if (r != -E2BIG)
			return r;
	}
	if (!execs_locate_path(execs->view, exec->virt, &place))
		return 0;
	execs_move_up_to_irreplaceable_inode(execs->view, &place);
	return execs_visit_object(execs, &place);
}

/*
 * Passes redirects whose target may be executed to execs->visit: in a mount namespace they are not below the grant of
 * the target.
 */
static int execs_visit_redirects(const struct exec_files_visit *execs)
{
	const struct view *view = execs->view;
	struct place place;
	int r = 0;

	for (size_t i = 0; r == 0 && i < view->mount_count; i++)
		if (view->mount[i]->flags & MOUNT_REDIRECT &&
		    policy_get_rights(execs->policy, view->mount[i]->virt, view->mount[i]->virt_len) & POLICY_EXEC &&
		    execs_locate_path(view, view->mount[i]->virt, &place))
			r = execs_visit_object(execs, &place);
	return r;
}

/*
 * Passes the system's loaders to execs->visit, for which POLICY_READ is enough: exec_get_right_required_of_loader() in
 * syscalls/exec/execve.c.
 */
static int execs_visit_system_loaders(const struct exec_files_visit *execs)
{
	static const char *const own[] = ELF_LOADERS;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++) {
		struct place place;

		if (view_walk_path(execs->view, NULL, "/", own[i], VIEW_FOLLOW_LAST_LINK, &place) == 0 &&
		    policy_get_rights(execs->view->policy, place.virt, place.virt_len) & POLICY_READ)
			r = execs_visit_object(execs, &place);
	}
	return r;
}

int view_visit_executable_files(const struct view *view, int (*visit)(void *ctx, int fd), void *ctx)
{
	const struct exec_files_visit execs = {view, policy_get_with_asked_execs(view->policy), visit, ctx};
	struct policy_exec exec;
	size_t at = 0;
	int r = 0;

	while (r == 0 && policy_get_next_exec(view->policy, &at, &exec))
		r = execs_visit_rule(&execs, &exec);
	if (r == 0)
		r = execs_visit_redirects(&execs);
	return r == 0 ? execs_visit_system_loaders(&execs) : r;
}
