/* Sizes: truncate(2) and fallocate(2), within the program's own file size limit. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "syscalls/account/disk.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

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
	call->sandbox->notes.file_size_passed = true;
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
	if (fd < 0 || past_limit(call, &status, length) || disk_watch(call, fd, false) < 0 || file_begin(call, 0) < 0)
		return;
	file_end(call, truncate(file_link(fd).path, length));
	disk_changed(call, fd);
}

/* Whether the program may write through its descriptor, which must be of the pinned object still. */
static bool holds_for_writing(const struct call *call, int pin)
{
	struct fdinfo held, own;

	if (fdinfo_read(call->tid, call_int(call, 0), &held) < 0 || fdinfo_read(0, pin, &own) < 0)
		return false;
	return fdinfo_same(&held, &own) && (held.flags & O_ACCMODE) != O_RDONLY && !(held.flags & O_PATH);
}

/* What the range may add to the file at most. A file without holes has blocks for all it holds. */
static uint64_t growth(const struct stat *status, int mode, int64_t offset, int64_t len)
{
	bool dense = (uint64_t)status->st_blocks * 512 >= (uint64_t)status->st_size;
	int64_t end, beyond;

	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE))
		return 0;
	if (!dense || mode & FALLOC_FL_INSERT_RANGE || __builtin_add_overflow(offset, len, &end))
		return (uint64_t)len;
	beyond = end - status->st_size;
	if (beyond <= 0)
		return 0;
	return (uint64_t)(beyond < len ? beyond : len);
}

/* Everything that speaks against it, in the order of vfs_fallocate() in fs/open.c. */
static bool may_allocate(struct call *call, int pin, struct stat *status)
{
	int mode = call_int(call, 1);
	int64_t offset = (int64_t)call->arg[2], len = (int64_t)call->arg[3], end;

	if (fstat(pin, status) < 0)
		call_fail(call, -errno);
	else if (offset < 0 || len <= 0)
		call_fail(call, -EINVAL);
	else if (!holds_for_writing(call, pin))
		call_fail(call, -EBADF);
	else if (!S_ISREG(status->st_mode))
		call_fail(call, S_ISFIFO(status->st_mode) ? -ESPIPE : -ENODEV);
	else if (__builtin_add_overflow(offset, len, &end))
		call_fail(call, -EFBIG);
	else if (!disk_counts(call, status))
		return true; /* in memory, which others count */
	else
		return (mode & FALLOC_FL_KEEP_SIZE || !past_limit(call, status, end)) &&
		       disk_admit(call, growth(status, mode, offset, len)) == 0 && disk_watch(call, pin, false) == 0;
	return false;
}

/*
 * Performed through a second opening of the object, which has the same blocks. One that its own mode forbids to open
 * again cannot be allocated: EOPNOTSUPP, which callers know from file systems without it.
 */
void sys_fallocate(struct call *call)
{
	_cleanup_close_ int pin = file_open_fd(call, call_int(call, 0)), fd = -1;
	struct stat status;

	if (pin < 0 || !may_allocate(call, pin, &status))
		return;
	fd = open(file_link(pin).path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		call_fail(call, -EOPNOTSUPP);
		return;
	}
	if (call_commit(call) < 0)
		return;
	file_end(call, fallocate(fd, call_int(call, 1), (off_t)call->arg[2], (off_t)call->arg[3]));
	disk_changed(call, fd);
}
