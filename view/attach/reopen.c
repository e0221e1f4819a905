/* Has the view open its objects through the mounts that were attached. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "view/attach/private.h"

/*
 * Attaches a procfs for the supervisor in a directory that no process can enter. The procfs of the program shows only
 * processes that the program could trace. From this one the supervisor serves the files that belong to no process. An
 * O_PATH descriptor owned by the caller, or -errno.
 */
static int attach_second_procfs(struct attach_state *attach)
{
	_cleanup_close_ int dir = -1, proc = -1, copy = -1;
	struct view *view = attach->view;
	int r;

	if (mkdirat(attach->tmpfs_fd, VIEW_PROC_DIR_NAME, 0700) < 0)
		return -errno;
	dir = openat(attach->tmpfs_fd, VIEW_PROC_DIR_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || mkdirat(dir, "proc", 0) < 0)
		return -errno;
	r = mounts_attach_copy(attach->own_proc_fd, dir, "proc");
	if (r < 0)
		return r;
	proc = openat(dir, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	copy = fcntl(proc, F_DUPFD_CLOEXEC, 3);
	/* ".." of an injected descriptor can lead here. Without capabilities not even the owner can enter. */
	if (proc < 0 || copy < 0 || fchmodat(attach->tmpfs_fd, VIEW_PROC_DIR_NAME, 0, 0) < 0)
		return -errno;
	r = view_add_mount(view, "/proc", "/" VIEW_PROC_DIR_NAME "/proc", steal_fd(&copy), ".", MOUNT_PROC, NULL);
	if (r < 0)
		return r;
	view->proc_files_of_no_process = view->mount[view->mount_count - 1];
	return steal_fd(&proc);
}

/* Finds or makes the held directory of a single file at its new path. */
static int attach_find_or_make_held_dir(struct attach_state *attach, const struct attach_mount_state *mount_state,
					const char *name, struct held_dir **ret_held)
{
	char key[PATH_MAX + 1];
	int len = (int)(strrchr(name, '/') - name), fd;

	(void)snprintf(key, sizeof(key), "@%.*s", len, name); /* no host path begins with "@" */
	*ret_held = view_find_held_dir(attach->view, key);
	if (*ret_held)
		return 0;
	if (mount_state->has_no_virtual_path)
		fd = fcntl(attach->pathless_mounts_fd, F_DUPFD_CLOEXEC, 3);
	else
		fd = openat2_retry(attach->root_fd, len ? key + 2 : ".", O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	if (fd < 0)
		return fd;
	*ret_held = view_add_held_dir(attach->view, key, fd);
	return *ret_held ? 0 : -ENOMEM;
}

/* Lets the view open the mount's objects through the attached mount from now on. */
static int attach_use_attached_descriptor(struct attach_state *attach, struct attach_mount_state *mount_state,
					  const char *name)
{
	struct held_dir *held = NULL;
	int r = 0;

	if (mount_state->is_skeleton_file || mount_state->mount_owns_copy_fd)
		return 0; /* mount->fd already refers to the attached mount */
	if (mount_state->mount->flags & MOUNT_OF_SINGLE_FILE)
		r = attach_find_or_make_held_dir(attach, mount_state, name, &held);
	if (r < 0)
		return r;
	view_replace_mount_fd(mount_state->mount, mount_state->copy_fd, held);
	mount_state->mount_owns_copy_fd = !held;
	return 0;
}

/* Replaces an owned text by a copy of another. 0 or -ENOMEM. */
static int attach_replace_string(char **slot, size_t *ret_len, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*slot);
	*slot = copy;
	if (ret_len)
		*ret_len = strlen(copy);
	return 0;
}

/* Replaces a mount's descriptor and paths by those of the attached mount. */
static int attach_reopen_mount(struct attach_state *attach, struct attach_mount_state *mount_state)
{
	struct mount *mount = mount_state->mount;
	const char *name = mount_state->has_no_virtual_path ? mount->host_path : mount->virt;
	int r;

	if ((mount_state->copy_fd < 0 && !mount_state->is_skeleton_file) || mount_state->has_no_virtual_path) {
		attach->view->some_mount_is_unattached = true;
		if (!attach->view->first_unattached_mount)
			attach->view->first_unattached_mount = mount;
	}
	if (mount_state->copy_fd < 0 && !mount_state->is_skeleton_file)
		return 0; /* opening below the old descriptor still fails with ENOENT */
	r = attach_use_attached_descriptor(attach, mount_state, name);
	if (r == 0 && mount->flags & MOUNT_OF_SINGLE_FILE)
		r = attach_replace_string(&mount->path_below_fd, NULL, strrchr(name, '/') + 1);
	if (r == 0)
		r = attach_replace_string(&mount->host_path, &mount->host_path_len, name);
	return r < 0 ? attach_note_failure(attach, r, "open a mount again") : 0;
}

int attach_reopen_mounts(struct attach_state *attach)
{
	struct view *view = attach->view;
	const char *skeleton = view->top == view->skeleton_mount ? "/" : "/" VIEW_ROOT_DIR_NAME;
	_cleanup_close_ int standin =
		openat(attach->tmpfs_fd, VIEW_STANDINS_DIR_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int proc = attach->own_proc_fd >= 0 ? attach_second_procfs(attach)
							    : openat2_retry(attach->root_fd, "proc",
									    O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	int r = 0;

	if (standin < 0 || proc < 0)
		return attach_note_failure(attach, -ENOENT, "open /proc again");
	(void)close(view->standin_fd);
	view->standin_fd = steal_fd(&standin);
	(void)close(view->proc_fd);
	view->proc_fd = steal_fd(&proc);
	for (size_t i = 0; r == 0 && i < attach->mount_state_count; i++)
		r = attach_reopen_mount(attach, &attach->mount_state[i]);
	if (r == 0 && (attach_replace_string(&view->skeleton_host, NULL, skeleton) < 0 ||
		       attach_replace_string(&view->standin_host, NULL, "/" VIEW_STANDINS_DIR_NAME) < 0 ||
		       attach_replace_string(&view->skeleton_mount->host_path, &view->skeleton_mount->host_path_len,
					     skeleton) < 0))
		r = attach_note_failure(attach, -ENOMEM, "name the mounts again");
	view->is_attached = r == 0;
	return r;
}

void attach_make_nosymfollow_copy(struct attach_state *attach)
{
	struct view *view = attach->view;
	_cleanup_close_ int copy = mounts_clone_restricted(attach->root_fd, "", MOUNTS_NO_SYMLINKS);

	if (copy < 0)
		return;
	/* The copy is attached: a detached mount would cost another RCU grace period when the run ends. */
	if (mkdirat(attach->tmpfs_fd, VIEW_NOSYMFOLLOW_ROOT_DIR_NAME, 0700) == 0)
		(void)mounts_attach_copy(copy, attach->tmpfs_fd,
					 /* if this fails, the copy is not attached, and close(2) frees it */
					 VIEW_NOSYMFOLLOW_ROOT_DIR_NAME);
	view->nosymfollow_root_fd = steal_fd(&copy);
	if (view->top == view->skeleton_mount)
		view->skeleton_mount->flags |= MOUNT_HAS_NOSYMFOLLOW_COPY;
	for (size_t i = 0; i < attach->mount_state_count; i++) {
		const struct attach_mount_state *mount_state = &attach->mount_state[i];

		/*
		 * Without /proc and /dev/pts, whose names depend on the process that reads them, and without mounts
		 * that have no path below the root (has_no_virtual_path), such as the terminal of --tty.
		 */
		if ((mount_state->copy_fd >= 0 || mount_state->is_skeleton_file) && !mount_state->has_no_virtual_path &&
		    !(mount_state->mount->flags & (MOUNT_PROC | MOUNT_DEV_PTS)))
			mount_state->mount->flags |= MOUNT_HAS_NOSYMFOLLOW_COPY;
	}
}
