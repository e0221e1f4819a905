/* truncate(2), within the program's own file size limit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

/* inode_newsize_ok() in fs/attr.c: growing past RLIMIT_FSIZE is EFBIG and a signal. */
static bool past_limit(struct call *call, const struct stat *status, int64_t length)
{
	struct rlimit limit;

	if (length <= status->st_size)
		return false;
	if (prlimit(call->tid, RLIMIT_FSIZE, NULL, &limit) < 0 || !call_valid(call)) {
		call->outcome.kind = OUTCOME_GONE;
		return true;
	}
	if (limit.rlim_cur == RLIM_INFINITY || (uint64_t)length <= limit.rlim_cur)
		return false;
	/* The task waits for this very answer, so tid is its own still. */
	(void)syscall(SYS_tgkill, call->task->tgid, call->tid, SIGXFSZ); /* it may have died; then nobody cares */
	call_fail(call, -EFBIG);
	return true;
}

void sys_truncate(struct call *call)
{
	int64_t length = (int64_t)call->arg[1];
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (length < 0) {
		call_fail(call, -EINVAL);
		return;
	}
	fd = file_pin_at(call, 0, POLICY_WRITE, 0);
	if (fd < 0)
		return;
	if (fstat(fd, &status) < 0) {
		call_fail(call, -errno);
		return;
	}
	if (!S_ISREG(status.st_mode)) {
		call_fail(call, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL);
		return;
	}
	fd = file_refuse_foreign(call, fd);
	if (fd >= 0 && !past_limit(call, &status, length) && file_begin(call, 0) == 0)
		file_end(call, truncate(file_link(fd).path, length));
}
