/*
 * Stand-in directories, for readdir(3) where the listing of the host would show too much: /proc, directories in
 * which only globs grant, and those in which "libraries" hides packages. The entries are empty files, directories and
 * links; only their names and types matter. A stand-in directory is brought up to date each time that it is opened.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/tree.h"
#include "policy/paths/libraries.h"
#include "view/private.h"

/* Makes one entry. The target of a link does not matter: readlink(2) goes through the view. */
static void listing_make_entry(int dirfd, const char *name, mode_t type)
{
	struct stat old;

	if (fstatat(dirfd, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if ((old.st_mode & S_IFMT) == type)
			return;
		(void)io_remove_tree(dirfd, name);
	}
	(void)view_make_entry(dirfd, name, type, name); /* on failure the listing lacks the entry */
}

#define LISTING_PROCESSES_MAX 4096 /* processes of the run that a listing of /proc shows */

/* The update of a stand-in directory's entries. */
struct listing {
	const struct view *view;
	const struct place *place;
	int fd;                    /* the stand-in directory */
	pid_t run_process[LISTING_PROCESSES_MAX]; /* for /proc: the first processes of the run, in ascending order */
	size_t run_process_count;                 /* used entries of run_process[] */
};

static int listing_compare_pids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

/* True when the policy shows this entry of a directory in which only globs grant. */
static bool listing_shows_name(const struct listing *listing, const char *name, mode_t type)
{
	char path[PATH_MAX];
	int len = view_join_path(listing->place->virt, name, path, sizeof(path));

	if (len < 0)
		return false;
	if (policy_get_rights(listing->view->policy, path, (size_t)len) != 0 ||
	    policy_lists_hidden_name(listing->view->policy, path, (size_t)len))
		return true;
	return type == S_IFDIR && policy_may_grant_below(listing->view->policy, path, (size_t)len);
}

/* Makes an entry of the stand-in directory for a name that the host has and the policy grants. */
static void listing_add_host_entry(const struct listing *listing, int host_fd, const char *name)
{
	struct stat entry;

	if (fstatat(host_fd, name, &entry, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (listing_shows_name(listing, name, entry.st_mode & S_IFMT))
		listing_make_entry(listing->fd, name,
			  S_ISDIR(entry.st_mode) || S_ISLNK(entry.st_mode) ? entry.st_mode & S_IFMT : S_IFREG);
}

static void listing_add_entry(void *ctx, const char *name, mode_t type)
{
	const struct listing *listing = ctx;

	listing_make_entry(listing->fd, name, type);
}

/* Adds the entries of /proc itself. */
static void listing_add_processes(struct listing *listing)
{
	char name[16];

	for (size_t i = 0; i < listing->run_process_count; i++) {
		(void)snprintf(name, sizeof(name), "%d", listing->run_process[i]);
		listing_make_entry(listing->fd, name, S_IFDIR);
	}
	proc_visit_machine_entries("", listing_add_entry, listing);
	proc_visit_machine_links(listing_add_entry, listing);
	listing_make_entry(listing->fd, "self", S_IFLNK);
	listing_make_entry(listing->fd, "thread-self", S_IFLNK);
}

/* True for an entry that must be removed. In /proc only processes come and go. */
static bool listing_entry_is_stale(const struct listing *listing, int host_fd, const char *name)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct stat there;

	if (listing->place->mount->flags & MOUNT_PROC)
		return name[0] >= '1' && name[0] <= '9' &&
		       !bsearch(&pid, listing->run_process, listing->run_process_count, sizeof(pid),
				listing_compare_pids);
	if (listing->place->mount->flags & MOUNT_DEV_PTS)
		return !terminals_dev_pts_has_name(listing->view, name);
	return fstatat(host_fd, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	       !listing_shows_name(listing, name, there.st_mode & S_IFMT);
}

/* Removes entries of a stand-in directory that the host or the policy no longer has. 0 or -errno. */
static int listing_drop_stale_entries(const struct listing *listing, int host_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(listing->fd, "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		if (listing_entry_is_stale(listing, host_fd, entry->d_name))
			(void)io_remove_tree(listing->fd, entry->d_name);
	return r;
}

int view_open_standin(const struct place *place, int flags)
{
	return openat2_retry(place->mount->view->standin_fd, place->virt_len > 1 ? place->virt + 1 : ".", flags, 0,
			    IO_RESOLVE_BELOW);
}

int view_refresh_standin(const struct place *place)
{
	const struct view *view = place->mount->view;
	struct listing listing;
	_cleanup_closedir_ DIR *host = NULL;
	_cleanup_close_ int fd = -1;
	const struct dirent *entry;
	mode_t old;
	int r = view_skeleton_mkdir(view, place->virt);

	if (r < 0)
		return r;
	fd = view_open_standin(place, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	host = io_take_dir_stream(openat2_retry(place->mount->fd, place->path_below_mount_fd, O_RDONLY | O_DIRECTORY, 0,
						IO_RESOLVE_BELOW));
	if (!host)
		return -errno;
	listing.view = view;
	listing.place = place;
	listing.fd = fd;
	listing.run_process_count = 0; /* the array stays uninitialised, because it is large */
	if (place->mount->flags & MOUNT_PROC && view->run_root)
		listing.run_process_count =
			proctree_list_descendants(view->run_root, listing.run_process, LISTING_PROCESSES_MAX);
	if (listing.run_process_count > LISTING_PROCESSES_MAX)
		listing.run_process_count = LISTING_PROCESSES_MAX;
	listing.run_process_count = view_drop_hidden_processes(view, listing.run_process, listing.run_process_count);
	old = umask(022); /* the umask is that of the task for which this thread last made a file */
	r = listing_drop_stale_entries(&listing, dirfd(host));
	if (place->mount->flags & MOUNT_PROC && proc_path_is_directory(view_get_path_below_proc(place)))
		proc_visit_machine_entries(view_get_path_below_proc(place), listing_add_entry, &listing);
	else if (place->mount->flags & MOUNT_PROC && proc_path_is_net(view_get_path_below_proc(place)))
		proc_visit_net_entries(listing_add_entry, &listing);
	else if (place->mount->flags & MOUNT_PROC)
		listing_add_processes(&listing);
	else if (place->mount->flags & MOUNT_DEV_PTS)
		terminals_visit_entries(view, listing_add_entry, &listing);
	else
		while (r == 0 && (entry = io_read_entry(host, &r)))
			listing_add_host_entry(&listing, dirfd(host), entry->d_name);
	(void)umask(old);
	return r;
}
