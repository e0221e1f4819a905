/* access(2): the kernel's answer on the pinned object, narrowed by what the policy grants. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

/*
 * What the policy takes away: writing as on a read-only mount (EROFS; pipes, sockets and devices are not the mount's
 * affair), running as on a noexec one (EACCES, regular files only).
 */
static int access_granted(const struct call *call, int fd, int mode)
{
	const struct place *place = &call->place[0];
	struct policy_decision decision;
	struct stat status;

	if (!place->mount || place->magic || !(mode & (W_OK | X_OK)))
		return 0;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (mode & X_OK && S_ISREG(status.st_mode)) {
		decision = view_judge(call->sandbox->view, call->task, place, POLICY_EXEC);
		if (decision.verdict == VERDICT_DENY)
			return -EACCES;
	}
	if (mode & W_OK && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode))) {
		decision = view_judge(call->sandbox->view, call->task, place, POLICY_WRITE);
		if (decision.verdict == VERDICT_DENY)
			return decision.error == EACCES ? -EACCES : -EROFS;
	}
	return 0;
}

static void access_path(struct call *call, int mode, unsigned flags)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (mode & ~(R_OK | W_OK | X_OK) || flags & ~(unsigned)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
		return;
	}
	fd = file_pin_at(call, 0, POLICY_READ, flags);
	if (fd < 0)
		return;
	if (syscall(SYS_faccessat2, fd, "", mode, (flags & AT_EACCESS) | AT_EMPTY_PATH) < 0)
		r = -errno;
	else
		r = access_granted(call, fd, mode);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

void sys_access(struct call *call)
{
	access_path(call, call_int(call, 1), 0);
}

void sys_faccessat(struct call *call)
{
	access_path(call, call_int(call, 2), 0);
}

void sys_faccessat2(struct call *call)
{
	access_path(call, call_int(call, 2), call_uint(call, 3));
}
