/*
 * Stand-in directories: what readdir sees where the host's listing would show too much. The entries are empty files,
 * directories and links that only lend their names and types; each is looked up through the view when it is used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/private.h"
#include "view/tree.h"

#include "base/banned.h"

/* The text of a link here is never read (readlink goes through the view), so it leads nowhere. */
static void put_entry(int dirfd, const char *name, mode_t type)
{
	struct stat old;
	int r;

	if (fstatat(dirfd, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if ((old.st_mode & S_IFMT) == type)
			return;
		(void)io_remove_tree(dirfd, name);
	}
	if (type == S_IFDIR)
		r = mkdirat(dirfd, name, 0755);
	else if (type == S_IFLNK)
		r = symlinkat(name, dirfd, name);
	else
		r = mknodat(dirfd, name, S_IFREG | 0444, 0);
	(void)r; /* a name that cannot be made is only missing from a listing */
}

#define MEMBERS_MAX 4096

struct listing {
	const struct view *view;
	const struct place *place;
	int fd;                    /* the stand-in */
	pid_t member[MEMBERS_MAX]; /* of /proc: who is in the run, ascending. A run of more lists these */
	size_t members;
};

static void list_members(struct listing *listing)
{
	struct tree *tree = listing->view->tree;
	size_t count = tree ? tree_list(tree, listing->member, MEMBERS_MAX) : 0;

	listing->members = count < MEMBERS_MAX ? count : MEMBERS_MAX;
}

static int by_pid(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

static bool is_member(const struct listing *listing, pid_t pid)
{
	return bsearch(&pid, listing->member, listing->members, sizeof(pid), by_pid);
}

/* Which entry of a filtered directory may be seen. */
static bool entry_visible(const struct listing *listing, const char *name, mode_t type)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", listing->place->virt_len > 1 ? listing->place->virt : "", name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return false;
	if (policy_rights(listing->view->policy, path, (size_t)len) != 0)
		return true;
	return type == S_IFDIR && policy_may_hold(listing->view->policy, path, (size_t)len);
}

static void add_host_entry(const struct listing *listing, int host_fd, const char *name)
{
	struct stat entry;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || fstatat(host_fd, name, &entry, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (entry_visible(listing, name, entry.st_mode & S_IFMT))
		put_entry(listing->fd, name,
			  S_ISDIR(entry.st_mode) || S_ISLNK(entry.st_mode) ? entry.st_mode & S_IFMT : S_IFREG);
}

static void add_proc_entry(void *ctx, const char *name, mode_t type)
{
	const struct listing *listing = ctx;

	put_entry(listing->fd, name, type);
}

/* Of /proc, the names of processes alone come and go: one that ended, its number used again by an outsider or not. */
static bool is_stale(const struct listing *listing, int host_fd, const char *name)
{
	struct stat there;

	if (listing->place->mount->flags & MOUNT_PROC)
		return name[0] >= '1' && name[0] <= '9' && !is_member(listing, (pid_t)strtol(name, NULL, 10));
	return fstatat(host_fd, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	       !entry_visible(listing, name, there.st_mode & S_IFMT);
}

/* Empties the stand-in of what is no longer there. */
static void drop_stale(const struct listing *listing, int host_fd)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fcntl(listing->fd, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (is_stale(listing, host_fd, entry->d_name))
			(void)io_remove_tree(listing->fd, entry->d_name);
	}
}

int view_refresh(const struct place *place)
{
	const struct view *view = place->mount->view;
	struct listing listing;
	_cleanup_closedir_ DIR *host = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *entry;
	mode_t program;
	int host_fd, r = view_skeleton_mkdir(view, place->virt);

	if (r < 0)
		return r;
	fd = openat2_call(view->standin_fd, place->virt_len > 1 ? place->virt + 1 : ".", O_RDONLY | O_DIRECTORY, 0,
			  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return fd;
	host_fd = openat2_call(place->mount->fd, place->rest, O_RDONLY | O_DIRECTORY, 0,
			       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (host_fd < 0)
		return host_fd;
	host = fdopendir(host_fd);
	if (!host) {
		r = -errno;
		(void)close(host_fd);
		return r;
	}
	listing.view = view;
	listing.place = place;
	listing.fd = fd;
	listing.members = 0;
	if (place->mount->flags & MOUNT_PROC)
		list_members(&listing);
	program = umask(022); /* this thread's is the one of whoever created something last */
	drop_stale(&listing, host_fd);
	if (place->mount == view->machine)
		proc_each_below(place->rest, add_proc_entry, &listing);
	else if (place->mount->flags & MOUNT_PROC)
		proc_each_name(listing.member, listing.members, add_proc_entry, &listing);
	else
		while ((entry = readdir(host)))
			add_host_entry(&listing, host_fd, entry->d_name);
	(void)umask(program);
	return 0;
}
