/*
 * inotify_add_watch(2): adds the pinned object, through a duplicate of the program's inotify descriptor. Events are
 * read natively and name every entry of a watched directory, so a directory with a stand-in must not be watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

/*
 * Whether events of the object name only what the program may see. False for directories that have a stand-in, because
 * the pin may be of the host's directory (view_open_place), and for those without a virtual path. The call then fails
 * with EACCES, after which programs poll.
 */
static bool watch_events_name_only_visible_names(const struct call *call, int object)
{
	const struct place *place = &call->resolved_place[0];
	struct stat status;

	if (place->is_magic_link)
		return fstat(object, &status) == 0 && !S_ISDIR(status.st_mode);
	return !(place->mount->flags & (MOUNT_BY_GLOBS_ONLY | MOUNT_MAY_HIDE_NAMES | MOUNT_DEV_PTS) &&
		 view_has_standin(place));
}

/*
 * Checks in the kernel's order that the mask has a known bit, the descriptor, and that the mask does not have two
 * exclusive bits. Returns a duplicate of the descriptor, or -1 with the outcome set.
 */
static int watch_copy_inotify_descriptor(struct call *call, unsigned mask)
{
	_cleanup_close_ int watch = -1;

	if (!(mask & (IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ONLYDIR | IN_DONT_FOLLOW |
		      IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ISDIR | IN_ONESHOT)))
		return call_fail(call, -EINVAL);
	watch = descriptor_copy(call, call_get_int(call, 0));
	if (watch >= 0 && (mask & (IN_MASK_ADD | IN_MASK_CREATE)) == (IN_MASK_ADD | IN_MASK_CREATE))
		return call_fail(call, -EINVAL);
	return steal_fd(&watch);
}

void sys_inotify_add_watch(struct call *call)
{
	unsigned mask = call_get_uint(call, 2);
	_cleanup_close_ int object = -1, watch = watch_copy_inotify_descriptor(call, mask);
	struct stat status;

	if (watch < 0)
		return;
	object = file_pin_path(call, 0, POLICY_READ, mask & IN_DONT_FOLLOW ? 0 : VIEW_FOLLOW_LAST_LINK,
			  O_PATH | O_CLOEXEC | (mask & IN_ONLYDIR ? O_DIRECTORY : 0));
	if (object < 0 || (fstat(object, &status) == 0 && file_refuse_unless_public(call, &status, S_IROTH) < 0))
		return;
	if (!watch_events_name_only_visible_names(call, object)) {
		call_refuse(call, -EACCES, NULL, "names_not_granted");
	} else if (filling_complete_file(call, object, false) < 0 || filling_complete_directory(call, object) < 0) {
		return;
	} else if (call_commit_record(call) == 0) {
		memfds_note_kernel_queues(call->sandbox->memfds);
		/* Added without IN_DONT_FOLLOW, because the link in /proc to the pinned object must be followed. */
		file_end_call(call, inotify_add_watch(watch, io_proc_fd_path(object).path,
						      mask & ~(unsigned)IN_DONT_FOLLOW));
	}
}
