/*
 * Finds the directory that a relative path starts from: the cwd of the task, or a descriptor. The kernel lets the
 * program change both, so each call asks by statx(2) which directory it is. Its path is cached by mount and inode.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/private.h"
#include "view/tree.h"

#define START_DIR_CACHE_VALID_NS 10000000u /* how long a path is used after it was confirmed */

void view_note_name_change(const struct view *view)
{
	if (view->start_dir_cache)
		view->start_dir_cache->name_change_count++;
}

/* Reads what identifies a directory: mount, device and inode. */
static int start_dir_stat_identity(int dirfd, const char *path, int flags, struct statx *ret_object)
{
	const unsigned mask = STATX_TYPE | STATX_INO | STATX_NLINK | STATX_MNT_ID;

	if (statx(dirfd, path, flags | AT_NO_AUTOMOUNT, mask, ret_object) < 0)
		return -errno;
	return 0;
}

/* Writes PID and `leaf`. snprintf(3) would be too slow: every relative path needs it. */
static void start_dir_write_proc_link(char link[64], pid_t pid, const char *leaf)
{
	char digits[16];
	size_t at = sizeof(digits), len = strlen(leaf) + 1;

	do
		digits[--at] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0);
	memcpy(link, digits + at, sizeof(digits) - at);
	memcpy(link + sizeof(digits) - at, leaf, len);
}

/*
 * Identifies the directory of descriptor fd or, for AT_FDCWD, the cwd. link: the directory's link below /proc, or "" if
 * *ret_copy can be used. *ret_copy: a duplicate of the task's descriptor, owned by the caller, or -1. If a pidfd gave
 * the duplicate, the task is alive and its pid was not reused.
 */
static int start_dir_identify(const struct view *view, const struct task *task, int fd, struct statx *ret_object,
			     char link[64], int *ret_copy)
{
	struct start_dir_cache_state *cache = view->start_dir_cache;
	int r;

	if (fd == AT_FDCWD) {
		start_dir_write_proc_link(link, task->tid, "/cwd");
		return start_dir_stat_identity(view->proc_fd, link, 0, ret_object);
	}
	if (fd < 0)
		return -EBADF;
	if (task->pidfd >= 0 && cache && !cache->pidfd_getfd_is_refused) {
		*ret_copy = (int)syscall(SYS_pidfd_getfd, task->pidfd, fd, 0);
		link[0] = '\0';
		if (*ret_copy >= 0)
			return start_dir_stat_identity(*ret_copy, "", AT_EMPTY_PATH, ret_object);
		if (errno == EBADF)
			return -EBADF;
		cache->pidfd_getfd_is_refused = errno == EPERM || errno == ENOSYS;
	}
	(void)snprintf(link, 64, "%d/fd/%d", task->tid, fd);
	r = start_dir_stat_identity(view->proc_fd, link, 0, ret_object);
	return r < 0 ? -EBADF : r;
}

/* The only slot that may have this directory; it may have another one. */
static struct start_dir *start_dir_get_cache_slot(const struct view *view, const struct statx *object)
{
	uint64_t mixed = (object->stx_ino ^ object->stx_mnt_id << 32) * UINT64_C(0x9e3779b97f4a7c15);

	return view->start_dir_cache && object->stx_mask & STATX_MNT_ID
		       ? &view->start_dir_cache->cached_dir[mixed >> 58]
		       : NULL;
}
_Static_assert(VIEW_START_DIRS_CACHED == 1u << (64 - 58), "the slot is the hash's highest bits");

/* Whether the path still leads to the directory that it was remembered for. */
static bool start_dir_is_at_path(const struct view *view, const char *virt, const struct statx *object)
{
	struct stat expected = {.st_dev = makedev(object->stx_dev_major, object->stx_dev_minor),
				.st_ino = object->stx_ino};

	return view_path_leads_to_object(view, virt, &expected);
}

/*
 * Uses the cached path. It is confirmed again after the run has changed a name, and after 10 ms, since other processes
 * may move the directory. Security does not depend on this path: the object that it leads to is judged and opened.
 */
static int start_dir_use_cached_path(const struct view *view, struct start_dir *slot, const struct statx *object,
				     char *out, size_t cap)
{
	uint64_t now = io_read_clock_ns();

	if (!slot->virt || slot->ino != object->stx_ino || slot->mount != object->stx_mnt_id || slot->len >= cap ||
	    slot->major != object->stx_dev_major || slot->minor != object->stx_dev_minor)
		return -ENOENT;
	if (slot->name_change_count_when_confirmed != view->start_dir_cache->name_change_count ||
	    now - slot->last_confirmed_ns > START_DIR_CACHE_VALID_NS) {
		if (!start_dir_is_at_path(view, slot->virt, object))
			return -ENOENT;
		slot->name_change_count_when_confirmed = view->start_dir_cache->name_change_count;
		slot->last_confirmed_ns = now;
	}
	memcpy(out, slot->virt, slot->len + 1);
	return (int)slot->len;
}

/* Remembers where a directory is in the view. */
static void start_dir_cache_path(const struct view *view, struct start_dir *slot, const struct statx *object,
			   const char *virt, size_t len)
{
	char *copy = strdup(virt);

	if (!copy)
		return;
	free(slot->virt);
	*slot = (struct start_dir){.mount = object->stx_mnt_id,
				   .ino = object->stx_ino,
				   .major = object->stx_dev_major,
				   .minor = object->stx_dev_minor,
				   .last_confirmed_ns = io_read_clock_ns(),
				   .name_change_count_when_confirmed = view->start_dir_cache->name_change_count,
				   .len = len,
				   .virt = copy};
}

int view_get_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held)
{
	_cleanup_close_ int copy = -1;
	char link[64], host[PATH_MAX];
	struct start_dir *slot;
	struct statx object;
	ssize_t len;
	int r = start_dir_identify(view, task, fd, &object, link, &copy);

	*ret_held = copy >= 0;
	if (r < 0)
		return r;
	if (!S_ISDIR(object.stx_mode))
		return -ENOTDIR;
	slot = start_dir_get_cache_slot(view, &object);
	r = slot ? start_dir_use_cached_path(view, slot, &object, out, cap) : -ENOENT;
	if (r >= 0)
		return r;
	if (!link[0])
		(void)snprintf(link, sizeof(link), "self/fd/%d", copy);
	len = readlinkat(view->proc_fd, link, host, sizeof(host) - 1);
	if (len < 0)
		return fd == AT_FDCWD ? -errno : -EBADF;
	host[len] = '\0';
	r = view_find_virtual_path(view, host, (size_t)len, out, cap);
	if (r < 0)
		return r;
	/* The link can be misleading ("x (deleted)", a rename at the same time): the path must lead to this object. */
	if (!start_dir_is_at_path(view, out, &object))
		return strncmp(out, "/proc/", 6) == 0 ? -ESRCH : -ENOENT; /* ESRCH: the process was reaped */
	if (slot)
		start_dir_cache_path(view, slot, &object, out, (size_t)r);
	return r;
}

int view_get_deleted_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap,
			       bool *ret_held)
{
	static const char deleted[] = " (deleted)"; /* d_path() in the kernel appends it */
	_cleanup_close_ int copy = -1;
	struct statx object, parent;
	char link[64], above[72], host[PATH_MAX];
	ssize_t len;
	int r = start_dir_identify(view, task, fd, &object, link, &copy);

	*ret_held = copy >= 0;
	if (r < 0)
		return r;
	if (!link[0])
		(void)snprintf(link, sizeof(link), "self/fd/%d", copy);
	(void)snprintf(above, sizeof(above), "%s/..", link);
	len = readlinkat(view->proc_fd, link, host, sizeof(host) - 1);
	if (len < 0 || !S_ISDIR(object.stx_mode) || object.stx_nlink > 0 ||
	    start_dir_stat_identity(view->proc_fd, above, 0, &parent) < 0)
		return -ENOENT;
	host[len] = '\0';
	if ((size_t)len < sizeof(deleted) || strcmp(host + len - (sizeof(deleted) - 1), deleted) != 0)
		return -ENOENT;
	host[len - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	*strrchr(host, '/') = '\0';
	r = view_find_virtual_path(view, *host ? host : "/", *host ? strlen(host) : 1, out, cap);
	return r < 0 || start_dir_is_at_path(view, out, &parent) ? r : -ENOENT;
}
