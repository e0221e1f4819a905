/*
 * A second view of a run, which shows what the first one hides, for calls that an answer has allowed ("on_deny":
 * "ask-file"). The kernel has no mounts for it: its objects are opened below the host's "/".
 */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "view/private.h"

/* The first mount at /proc. Later ones have only the files that belong to no process. */
static struct mount *second_view_find_proc_mount(const struct view *view)
{
	for (size_t i = 0; i < view->mount_count; i++)
		if (view->mount[i]->flags & MOUNT_PROC)
			return view->mount[i];
	return NULL;
}

int view_share_proc_of_first_view(struct view *view, const struct view *first)
{
	struct mount *own = second_view_find_proc_mount(view);
	const struct mount *proc = second_view_find_proc_mount(first);
	int proc_fd, mount_fd;

	if (!own || !proc)
		return -ENOENT;
	proc_fd = fcntl(first->proc_fd, F_DUPFD_CLOEXEC, 3);
	mount_fd = fcntl(proc->fd, F_DUPFD_CLOEXEC, 3);
	if (proc_fd < 0 || mount_fd < 0) {
		close_fd(&proc_fd);
		close_fd(&mount_fd);
		return -EMFILE;
	}
	close_fd(&view->proc_fd);
	view->proc_fd = proc_fd;
	view_replace_mount_fd(own, mount_fd, NULL);
	view->proc_files_of_no_process = first->proc_files_of_no_process;
	view->first_view = first;
	return 0;
}
