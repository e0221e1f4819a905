/* Finds what the program may open for reading by itself: for Landlock, while the kernel judges reading. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "view/private.h"

/* True when something in a mount is granted for reading. Files of callgate and devices are granted by no rule. */
static bool readable_is_granted(const struct view *view, const struct mount *mount)
{
	const unsigned own = MOUNT_PROC | MOUNT_DEVICE | MOUNT_DEV_PTS | MOUNT_CALLGATE_FILE;

	return mount->flags & own || policy_get_rights(view->policy, mount->virt, mount->virt_len) & POLICY_READ ||
	       policy_may_grant_below(view->policy, mount->virt, mount->virt_len);
}

/* Passes one mount to visit(), by its path in the program's root. An object that has vanished is left out. */
static int readable_visit_mount(const struct view *view, const struct mount *mount, view_visit_readable_object visit,
				void *ctx)
{
	_cleanup_close_ int fd = -1;
	unsigned what = mount->flags & MOUNT_OF_SINGLE_FILE
				? VIEW_PERMITS_READING_FILES
				: VIEW_PERMITS_READING_FILES | VIEW_PERMITS_READING_DIRECTORIES;

	if (mount == view->skeleton_mount || mount == view->proc_files_of_no_process ||
	    !readable_is_granted(view, mount))
		return 0;
	if (mount->flags & MOUNT_DEVICE)
		what |= VIEW_PERMITS_READING_DEVICES;
	fd = openat2_retry(AT_FDCWD, mount->virt, O_PATH, 0, RESOLVE_NO_SYMLINKS);
	if (fd == -ENOENT || fd == -EACCES || fd == -ELOOP) /* ELOOP: a denied name, which a link covers */
		return 0;
	return fd < 0 ? fd : visit(ctx, fd, what);
}

int view_visit_readable(const struct view *view, view_visit_readable_object visit, void *ctx)
{
	int r;

	if (!view->kernel_judges_reads)
		return 0;
	r = visit(ctx, view->skeleton_mount->fd,
		  VIEW_PERMITS_READING_DIRECTORIES); /* the directories above the mounts can be listed */
	for (size_t i = 0; r == 0 && i < view->mount_count; i++)
		r = readable_visit_mount(view, view->mount[i], visit, ctx);
	return r;
}
