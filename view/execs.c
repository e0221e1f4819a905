/*
 * Where the policy lets programs be executed, as objects of the host: what the second lock, which knows inodes and no
 * policy, must leave open.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/elf-machine.h"
#include "policy/paths/glob.h"
#include "view/private.h"

#include "base/banned.h"

/* What one glob may cost: past either its literal directory is taken whole. */
#define GLOB_FILES_MAX 64
#define GLOB_ENTRIES_MAX 4096

struct execs {
	const struct view *view;
	int (*take)(void *ctx, int fd);
	void *ctx;
};

/* A place of a canonical virtual path; false when the view has none there. */
static bool locate(const struct view *view, const char *virt, struct place *ret_place)
{
	return view_locate(view, NULL, "/", virt, VIEW_FOLLOW, ret_place) == 0;
}

/* The host's own object, also where the view has a listing of its own. O_PATH. */
static int open_host(const struct place *place)
{
	return openat2_call(place->mount->fd, place->rest, O_PATH, 0,
			    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/*
 * Moves the place up to what the program cannot replace by another inode: a name in a directory it may write can be
 * removed and made again, or not be there yet. A mount's own root is safe from that (EBUSY).
 */
static void anchor(const struct view *view, struct place *place)
{
	while (place->virt_len > place->mount->virt_len && place->virt_len > 1) {
		char *slash = strrchr(place->virt, '/');
		size_t len = slash == place->virt ? 1 : (size_t)(slash - place->virt);

		if (!(policy_rights(view->policy, place->virt, len) & POLICY_WRITE))
			return;
		place->virt[len] = '\0';
		place->virt_len = len;
		if (view_place(view, place) < 0)
			return; /* cannot be: what lies above a place of a tree has one */
	}
}

/* 0 also when nothing is there. */
static int take_place(const struct execs *execs, const struct place *place)
{
	_cleanup_close_ int fd = open_host(place);

	if (fd == -ENOENT || fd == -EACCES || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* nothing the kernel could execute by that name either */
	return fd < 0 ? fd : execs->take(execs->ctx, fd);
}

/* ---- globs ---- */

/* Matches found so far, so that nothing is taken of a glob that turns out to be too wide. */
struct matches {
	const struct execs *execs;
	const struct glob *glob;
	const char *literal;
	size_t entries, files;
	int fd[GLOB_FILES_MAX]; /* owned */
};

static void matches_done(struct matches *matches)
{
	for (size_t i = 0; i < matches->files; i++)
		cleanup_close(&matches->fd[i]);
}

static bool name_of(const struct matches *matches, const char *rest, char virt[PATH_MAX])
{
	const char *dir = matches->literal[1] ? matches->literal : "";

	return (size_t)snprintf(virt, PATH_MAX, "%s/%s", dir, rest) < PATH_MAX;
}

/* -E2BIG when there are too many, or when the program can make more of them. */
static int add_match(struct matches *matches, const char *virt)
{
	const struct policy *policy = matches->execs->view->policy;
	_cleanup_close_ int fd = -1;
	struct place place;
	struct stat st;

	if (policy_rights(policy, virt, (size_t)(strrchr(virt, '/') - virt)) & POLICY_WRITE)
		return -E2BIG;
	if (!(policy_rights(policy, virt, strlen(virt)) & POLICY_EXEC) || !locate(matches->execs->view, virt, &place))
		return 0;
	fd = open_host(&place);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* of links the target's own name has to match as well */
	if (matches->files == GLOB_FILES_MAX)
		return -E2BIG;
	matches->fd[matches->files++] = steal_fd(&fd);
	return 0;
}

static int scan(struct matches *matches, const char *rest);

static int scan_entry(struct matches *matches, const char *dir, const struct dirent *entry)
{
	char rest[PATH_MAX], virt[PATH_MAX];
	int r = 0;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return 0;
	if (++matches->entries > GLOB_ENTRIES_MAX)
		return -E2BIG;
	if ((size_t)snprintf(rest, sizeof(rest), "%s%s%s", dir, *dir ? "/" : "", entry->d_name) >= sizeof(rest) ||
	    !name_of(matches, rest, virt))
		return 0; /* no path names it */
	if (glob_match(matches->glob, rest, strlen(rest)))
		r = add_match(matches, virt);
	if (r == 0 && entry->d_type != DT_REG && entry->d_type != DT_LNK &&
	    glob_may_match_below(matches->glob, rest, strlen(rest)))
		r = scan(matches, rest);
	return r;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern has parts */
static int scan(struct matches *matches, const char *rest)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int pin = -1, fd = -1;
	const struct dirent *entry;
	struct place place;
	char virt[PATH_MAX];
	int r = 0;

	if (!(*rest ? name_of(matches, rest, virt) : (size_t)snprintf(virt, sizeof(virt), "%s", matches->literal) > 0) ||
	    !locate(matches->execs->view, virt, &place))
		return 0;
	pin = open_host(&place);
	fd = pin < 0 ? pin : openat(pin, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* what cannot be listed: its names cannot be known beforehand, and Landlock refuses them */
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1;
	while (r == 0 && (entry = readdir(dir)))
		r = scan_entry(matches, rest, entry);
	return r;
}

static bool is_wide(const struct glob *glob)
{
	for (size_t i = 0; i < glob->parts; i++)
		if (glob->part[i].kind == GLOB_DEEP || glob->part[i].kind == GLOB_ANY)
			return true;
	return false;
}

/* Single files where the program cannot make more of them. -E2BIG: the directory has to do. */
static int take_matches(const struct execs *execs, const struct policy_exec *exec)
{
	struct matches matches = {.execs = execs, .glob = exec->glob, .literal = exec->virt};
	int r;

	if (is_wide(exec->glob) || policy_rights(execs->view->policy, exec->virt, strlen(exec->virt)) & POLICY_WRITE)
		return -E2BIG;
	r = scan(&matches, "");
	for (size_t i = 0; r == 0 && i < matches.files; i++)
		r = execs->take(execs->ctx, matches.fd[i]);
	matches_done(&matches);
	return r;
}

static int take_exec(const struct execs *execs, const struct policy_exec *exec)
{
	struct place place;
	int r;

	if (exec->glob) {
		r = take_matches(execs, exec);
		if (r != -E2BIG)
			return r;
	}
	if (!locate(execs->view, exec->virt, &place))
		return 0;
	anchor(execs->view, &place);
	return take_place(execs, &place);
}

/* A redirect may be executed when its target may; in a mount namespace it is no longer below what grants that. */
static int take_redirects(const struct execs *execs)
{
	const struct view *view = execs->view;
	struct place place;
	int r = 0;

	for (size_t i = 0; r == 0 && i < view->mounts; i++)
		if (view->mount[i]->flags & MOUNT_REDIRECT &&
		    policy_rights(view->policy, view->mount[i]->virt, view->mount[i]->virt_len) & POLICY_EXEC &&
		    locate(view, view->mount[i]->virt, &place))
			r = take_place(execs, &place);
	return r;
}

/* ---- loaders ---- */

/* As exec-judge.c has it: the system's own loader needs no right but that to be read. */
static int take_loaders(const struct execs *execs)
{
	static const char *const own[] = ELF_LOADERS;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++) {
		struct place place;

		if (view_walk(execs->view, NULL, "/", own[i], VIEW_FOLLOW, &place) == 0 &&
		    policy_rights(execs->view->policy, place.virt, place.virt_len) & POLICY_READ)
			r = take_place(execs, &place);
	}
	return r;
}

int view_each_exec(const struct view *view, int (*take)(void *ctx, int fd), void *ctx)
{
	const struct execs execs = {view, take, ctx};
	struct policy_exec exec;
	size_t at = 0;
	int r = 0;

	while (r == 0 && policy_next_exec(view->policy, &at, &exec))
		r = take_exec(&execs, &exec);
	if (r == 0)
		r = take_redirects(&execs);
	return r == 0 ? take_loaders(&execs) : r;
}
