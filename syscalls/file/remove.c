/* Removing names: unlink(2), rmdir(2). */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/disk.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

static void remove_name(struct call *call, unsigned flags)
{
	_cleanup_close_ int parent = -1;
	struct disk_removal removal;
	const char *name;

	if (flags & ~(unsigned)AT_REMOVEDIR) {
		call_fail(call, -EINVAL);
		return;
	}
	parent = file_pin_parent(call, 0, &name);
	if (parent < 0)
		return;
	if (flags & AT_REMOVEDIR && file_holds_mount(call, &call->place[0])) {
		call_fail(call, -EBUSY);
		return;
	}
	if (file_begin(call, 0) < 0)
		return;
	removal = disk_removing(call, parent, name);
	file_end(call, unlinkat(parent, name, (int)flags));
	disk_removed(call, &removal);
}

void sys_unlink(struct call *call)
{
	remove_name(call, 0);
}

void sys_rmdir(struct call *call)
{
	remove_name(call, AT_REMOVEDIR);
}

void sys_unlinkat(struct call *call)
{
	remove_name(call, call_uint(call, 2));
}
