/*
 * Two procfs of the same processes. In the program's root is one that shows the kernel's own resolution processes alone, and of
 * them those the program could trace; the supervisor keeps a whole one out of everybody's reach, from which it serves the
 * files about the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "view/private.h"

#include "base/banned.h"


int view_attach_proc(struct view *view, int tmpfs_fd, int own_proc_fd)
{
	_cleanup_close_ int dir = -1, proc = -1, copy = -1;
	int r;

	if (mkdirat(tmpfs_fd, VIEW_PROC_NAME, 0700) < 0)
		return -errno;
	dir = openat(tmpfs_fd, VIEW_PROC_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || mkdirat(dir, "proc", 0) < 0)
		return -errno;
	r = mounts_attach(own_proc_fd, dir, "proc");
	if (r < 0)
		return r;
	proc = openat(dir, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	copy = fcntl(proc, F_DUPFD_CLOEXEC, 3);
	/* From a descriptor of a listing ".." leads here; without capabilities nobody gets in, also not the owner. */
	if (proc < 0 || copy < 0 || fchmodat(tmpfs_fd, VIEW_PROC_NAME, 0, 0) < 0)
		return -errno;
	r = view_add_mount(view, "/proc", "/" VIEW_PROC_NAME "/proc", steal_fd(&copy), ".", MOUNT_PROC, NULL);
	if (r < 0)
		return r;
	view->machine = view->mount[view->mounts - 1];
	return steal_fd(&proc);
}
