/*
 * inotify_add_watch(2): on the pinned object, through a duplicate of the program's inotify descriptor. What is read
 * from that natively names every entry of a watched directory, so only one whose own listing the program sees may be
 * watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "syscalls/account/memfds.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

/*
 * Where only globs grant, the listing is a stand-in's, and the pin the directory itself in a mount namespace
 * (view_open): it is for going through, and nothing that tells of entries may be done with it. A stand-in would never
 * tell of anything. EACCES, on which programs go on to look by themselves. A directory without a name in the view has a
 * listing that nobody judged.
 */
static bool may_tell_names(const struct call *call, int object)
{
	const struct place *place = &call->place[0];
	struct stat status;

	if (place->magic)
		return fstat(object, &status) == 0 && !S_ISDIR(status.st_mode);
	return !(place->mount->flags & MOUNT_FILTERED && view_own_listing(place));
}

void sys_inotify_add_watch(struct call *call)
{
	_cleanup_close_ int object = -1, watch = -1;
	unsigned mask = call_uint(call, 2);

	/* The kernel's order: no known bit, both of two exclusive bits, then the descriptor, then the path. */
	if (!(mask & (IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ONLYDIR | IN_DONT_FOLLOW |
		      IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ISDIR | IN_ONESHOT))) {
		call_fail(call, -EINVAL);
		return;
	}
	watch = descriptor_copy(call, call_int(call, 0));
	if (watch < 0)
		return;
	if ((mask & (IN_MASK_ADD | IN_MASK_CREATE)) == (IN_MASK_ADD | IN_MASK_CREATE)) {
		call_fail(call, -EINVAL);
		return;
	}
	object = file_pin(call, 0, POLICY_READ, mask & IN_DONT_FOLLOW ? 0 : VIEW_FOLLOW,
			  O_PATH | O_CLOEXEC | (mask & IN_ONLYDIR ? O_DIRECTORY : 0));
	if (object < 0)
		return;
	if (!may_tell_names(call, object)) {
		call_refuse(call, -EACCES, NULL, "names_not_granted");
		return;
	}
	if (call_commit(call) < 0)
		return;
	memfds_set_queues(call->sandbox->memfds);
	/* The link to the pinned object has to be followed, whatever the object is. */
	file_end(call, inotify_add_watch(watch, file_link(object).path, mask & ~(unsigned)IN_DONT_FOLLOW));
}
