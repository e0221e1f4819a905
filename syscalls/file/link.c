/* link(2): a second name for an object, which has to be as writable as the first one. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/disk.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

/*
 * The new name could be granted more than the old one, so the old one needs the write right as well. Between two
 * mounts of the view the kernel would say EXDEV, and cp -l falls back to copying then. An object without a name in
 * the view may only get one when it has none at all: an O_TMPFILE file.
 */
static bool source_allowed(struct call *call, int object)
{
	const struct place *from = &call->place[0], *to = &call->place[1];
	struct policy_decision decision;
	struct stat status;

	if (fstat(object, &status) < 0) {
		call_fail(call, -errno);
		return false;
	}
	if (!from->mount || from->magic) {
		if (status.st_nlink == 0)
			return true;
		call_refuse(call, -EXDEV, NULL, "not_granted");
		return false;
	}
	decision = view_judge(call->sandbox->view, call->task, from, POLICY_WRITE);
	if (decision.verdict == VERDICT_DENY) {
		call_refuse(call, from->mount == to->mount ? -decision.error : -EXDEV, decision.rule, decision.reason);
		return false;
	}
	/* Devices and /proc are mounts of the host's, whatever the name judged. */
	if (from->mount->flags & (MOUNT_DEVICE | MOUNT_PROC)) {
		call_fail(call, -EXDEV);
		return false;
	}
	return !S_ISLNK(status.st_mode) || file_check_link(call, to, object, "") == 0;
}

/* Between two mounts of the view that are one of the host. */
static int link_on_host(const struct call *call, int object, int parent, const char *name)
{
	_cleanup_close_ int from = view_host_twin(&call->place[0], object, false);
	_cleanup_close_ int to = view_host_twin(&call->place[1], parent, true);

	errno = EXDEV;
	return from < 0 || to < 0 ? -1 : linkat(AT_FDCWD, file_link(from).path, to, name, AT_SYMLINK_FOLLOW);
}

static void link_path(struct call *call, unsigned flags)
{
	_cleanup_close_ int object = -1, parent = -1;
	const char *name;
	int r;

	if (flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
		return;
	}
	object = file_pin_at(call, 0, POLICY_READ,
			     (flags & AT_EMPTY_PATH) | (flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW));
	if (object < 0)
		return;
	parent = file_pin_new(call, 1, &name);
	if (parent < 0 || !source_allowed(call, object) || disk_admit(call, DISK_NAME_BYTES) < 0 ||
	    file_begin(call, 1) < 0)
		return;
	r = linkat(AT_FDCWD, file_link(object).path, parent, name, AT_SYMLINK_FOLLOW);
	file_end(call, r < 0 && errno == EXDEV ? link_on_host(call, object, parent, name) : r);
	disk_made(call, S_IFREG);
}

void sys_link(struct call *call)
{
	link_path(call, 0);
}

void sys_linkat(struct call *call)
{
	link_path(call, call_uint(call, 4));
}
