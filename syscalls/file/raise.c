#include "syscalls/file/raise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/call/work.h"
#include "view/copy/copy.h"
#include "view/copy/leftover.h"

/* True when the upper layer has nothing at the place, so that the file is as it was. */
static bool raise_is_in_lower_only(const struct place *place)
{
	const struct view_layer *layer = place->mount->layer;
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "upper/%s", place->path_below_mount_fd) >= sizeof(path))
		return false;
	fd = openat2_retry(layer->dir_fd, path, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	if (fd >= 0)
		(void)close(fd);
	return fd == -ENOENT;
}

/*
 * Copies the file into a directory, and puts it into its place. acls_fd: -1 or COPY_WITHOUT_ACLS. 0; -EINVAL: its ACL
 * cannot be copied; -ECANCELED: it is not to go on; or -errno.
 */
static int raise_by_copy(int parent_fd, const char *name, const struct stat *st, int dir_fd, int acls_fd,
			 const struct io_go_on *go_on)
{
	struct copy_context context = {.acls_fd = acls_fd, .go_on = go_on};
	struct stat copied;
	const char *what;
	int r = copy_entry(parent_fd, name, st, dir_fd, &context, NULL, &what);

	if (r == 0 && fstatat(dir_fd, name, &copied, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && (copied.st_uid != st->st_uid || copied.st_gid != st->st_gid || copied.st_mode != st->st_mode))
		r = -EPERM;
	if (r == 0 && renameat(dir_fd, name, parent_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, name, 0); /* as far as it was made */
	return r;
}

/*
 * Notes where the directory for the copy will be, for when this process is killed, after what an earlier note tells has
 * been removed: of a `callgate session restore` that was killed. 0 or -errno.
 */
static int raise_note_dir(const struct place *place, int parent_fd)
{
	const int layer_fd = place->mount->layer->dir_fd;
	char dir[PATH_MAX], path[PATH_MAX];
	const char *name;
	struct stat st;
	int r = leftover_remove(layer_fd, place->mount->fd);

	if (r < 0)
		return r;
	if (fstatat(parent_fd, LEFTOVER_LINK_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST; /* not ours */
	r = path_split(place->path_below_mount_fd, dir, &name);
	if (r == 0)
		r = path_append_name(dir, LEFTOVER_LINK_NAME, path);
	return r < 0 ? r : leftover_note(layer_fd, path);
}

/*
 * Puts a file into its place that has capabilities or an ACL which this process may not give to its copy. The kernel
 * may: it copies the file up for a link, whose inode in a user namespace is another one that no lower file belongs to
 * (names_check_linked()). rename(2) to another name of the same upper inode does nothing, so a copy that lacks these is
 * put there between. 0, also when both names have one inode and nothing has to be done, or -errno.
 */
static int raise_by_link(int parent_fd, const char *name, const struct stat *st, int dir_fd,
			 const struct io_go_on *go_on)
{
	struct stat linked;
	int r = 0;

	if (linkat(parent_fd, name, dir_fd, LEFTOVER_LINK_NAME, 0) < 0)
		return -errno;
	if (fstatat(dir_fd, LEFTOVER_LINK_NAME, &linked, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if (linked.st_ino != st->st_ino) {
		r = raise_by_copy(parent_fd, name, st, dir_fd, COPY_WITHOUT_ACLS, go_on);
		if (r == 0 && renameat(dir_fd, LEFTOVER_LINK_NAME, parent_fd, name) < 0)
			r = -errno;
	}
	(void)unlinkat(dir_fd, LEFTOVER_LINK_NAME, 0); /* where it is still there */
	return r;
}

/* Makes the directory for the copy, and removes it again. The times of the one above stay. 0 or -errno. */
static int raise_in_dir(int parent_fd, const char *name, const struct stat *st, bool has_capabilities,
			const struct io_go_on *go_on)
{
	_cleanup_close_ int dir = -1;
	struct stat parent;
	int r;

	if (fstat(parent_fd, &parent) < 0 || mkdirat(parent_fd, LEFTOVER_LINK_NAME, 0700) < 0)
		return -errno;
	/* the umask may be that of the target */
	(void)!fchmodat(parent_fd, LEFTOVER_LINK_NAME, 0700, AT_SYMLINK_NOFOLLOW);
	dir = io_open_dir(parent_fd, LEFTOVER_LINK_NAME);
	if (dir >= 0)
		(void)fremovexattr(dir, "system.posix_acl_default"); /* which the copy would inherit */
	r = dir < 0 ? dir : has_capabilities ? -EINVAL : raise_by_copy(parent_fd, name, st, dir, -1, go_on);
	if (r == -EINVAL)
		r = raise_by_link(parent_fd, name, st, dir, go_on);
	(void)unlinkat(parent_fd, LEFTOVER_LINK_NAME, AT_REMOVEDIR);
	(void)futimens(parent_fd, (const struct timespec[2]){parent.st_atim, parent.st_mtim});
	return r;
}

static bool raise_is_same_dir(int dir_fd, int other_fd)
{
	struct stat dir, other;

	return fstat(dir_fd, &dir) == 0 && fstat(other_fd, &other) == 0 && dir.st_ino == other.st_ino &&
	       dir.st_dev == other.st_dev;
}

int raise_open_dir(const struct call *call, int parent_fd, int object_fd)
{
	const struct place *place = &call->resolved_place[0];
	_cleanup_close_ int dir = -1;
	const char *name;
	struct stat st;

	if (!place->mount || place->mount != call->resolved_place[1].mount || !place->mount->layer ||
	    !(place->mount->flags & MOUNT_OVERLAY) || place->is_magic_link || fstat(object_fd, &st) < 0 ||
	    !S_ISREG(st.st_mode) || !raise_is_in_lower_only(place))
		return -1;
	dir = io_open_parent_below(place->mount->fd, place->path_below_mount_fd, O_RDONLY, RESOLVE_NO_XDEV, &name);
	return dir >= 0 && raise_is_same_dir(dir, parent_fd) ? steal_fd(&dir) : -1;
}

/* Raises the file. The new one, open with O_PATH and owned by the caller; -EXDEV: it is not there; or -errno. */
static int raise_now(const struct place *place, int dir_fd, int object_fd, const struct io_go_on *go_on)
{
	const bool has_capabilities = getxattr(io_proc_fd_path(object_fd).path, "security.capability", NULL, 0) >= 0;
	char above[PATH_MAX];
	struct stat st, named;
	const char *name;
	int r;

	if (path_split(place->path_below_mount_fd, above, &name) < 0 || fstat(object_fd, &st) < 0 ||
	    fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_ino != st.st_ino ||
	    named.st_dev != st.st_dev)
		return -EXDEV;
	r = raise_note_dir(place, dir_fd);
	if (r < 0)
		return r;
	r = raise_in_dir(dir_fd, name, &st, has_capabilities, go_on);
	leftover_forget(place->mount->layer->dir_fd);
	if (r < 0)
		return r;
	r = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

void raise_file(const struct call *call, int dir_fd, int *object_fd)
{
	const int fd = raise_now(&call->resolved_place[0], dir_fd, *object_fd, NULL);

	if (fd < 0)
		return;
	(void)close(*object_fd);
	*object_fd = fd;
}

void raise_count_copy(const struct call *call, int object_fd)
{
	if (!raise_is_in_lower_only(&call->resolved_place[0]))
		disk_count_copied_file(call->sandbox->disk, object_fd);
}

/* ---- large files, in a worker thread ---- */

struct raise_work {
	struct call_work work;
	struct sandbox *sandbox; /* borrowed */
	struct place place;
	int dir_fd;    /* owned */
	int raised_fd; /* of the new file, owned; -1: none */
};

static int64_t raise_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct raise_work *raise = (struct raise_work *)work;
	const int r = raise_now(&raise->place, raise->dir_fd, fd, &(const struct io_go_on){go_on, ctx});

	raise->raised_fd = r < 0 ? -1 : r;
	return r < 0 ? r : 0;
}

static void raise_end_work(struct call_work *work, int fd, int64_t result)
{
	struct raise_work *raise = (struct raise_work *)work;
	struct stat first, raised;

	if (result < 0)
		return;
	/* here, as the call may have been killed meanwhile */
	disk_count_copied_file(raise->sandbox->disk, raise->raised_fd);
	if (fstat(fd, &first) == 0 && fstat(raise->raised_fd, &raised) == 0)
		copying_note(&raise->sandbox->copied_files, &first, &raised, false);
}

static void raise_free_work(struct call_work *work)
{
	struct raise_work *raise = (struct raise_work *)work;

	raise->sandbox->is_filling = false;
	close_fd(&raise->dir_fd);
	close_fd(&raise->raised_fd);
	free(raise);
}

/* Lets a worker raise the file. -1 with the outcome. */
static int raise_give_to_worker(struct call *call, int dir_fd, int object_fd)
{
	struct raise_work *raise = malloc(sizeof(*raise));
	_cleanup_close_ int dir = raise ? fcntl(dir_fd, F_DUPFD_CLOEXEC, 0) : -1;
	const int object = dir < 0 ? -1 : fcntl(object_fd, F_DUPFD_CLOEXEC, 0);

	if (object < 0) {
		free(raise);
		return call_fail(call, -ENOMEM);
	}
	raise->work = (struct call_work){.run = raise_run_work, .end = raise_end_work, .free = raise_free_work};
	raise->sandbox = call->sandbox;
	place_copy(&raise->place, &call->resolved_place[0]);
	raise->dir_fd = steal_fd(&dir);
	raise->raised_fd = -1;
	call->sandbox->is_filling = true;
	call->outcome.kind = OUTCOME_COPY_FIRST;
	call->outcome.fd = object;
	call->outcome.blocking_work = &raise->work;
	return -1;
}

int raise_begin(struct call *call, int dir_fd, int object_fd)
{
	const int r = call->fill_error;
	struct stat st;
	bool is_large;

	if (call_is_only_judged(call) || fstat(object_fd, &st) < 0)
		return 0;
	is_large = st.st_size >= COPYING_INLINE_BYTES_MAX && !call->copies_inline;
	if (is_large && r < 0)
		return call_fail(call, copying_lacks_room(r) ? r : -EXDEV);
	if (disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME + (uint64_t)st.st_blocks * 512) < 0)
		return -1;
	return is_large ? raise_give_to_worker(call, dir_fd, object_fd) : 0;
}
