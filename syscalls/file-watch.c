/* inotify_add_watch(2): on the pinned object, through a duplicate of the program's inotify descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include "base/cleanup.h"
#include "syscalls/descriptor.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

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
	if (object < 0 || call_commit(call) < 0)
		return;
	/* The link to the pinned object has to be followed, whatever the object is. */
	file_end(call, inotify_add_watch(watch, file_link(object).path, mask & ~(unsigned)IN_DONT_FOLLOW));
}
