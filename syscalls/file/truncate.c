/* truncate(2) and fallocate(2), within the program's RLIMIT_FSIZE. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

/* As inode_newsize_ok() in fs/attr.c: growing beyond RLIMIT_FSIZE fails with EFBIG and raises SIGXFSZ. */
static bool truncate_exceeds_limit(struct call *call, const struct stat *status, int64_t length)
{
	struct rlimit limit;

	if (length <= status->st_size)
		return false;
	if (prlimit(call->tid, RLIMIT_FSIZE, NULL, &limit) < 0 || !call_thread_still_waits(call))
		return call_end_without_response(call) < 0;
	if (limit.rlim_cur == RLIM_INFINITY || (uint64_t)length <= limit.rlim_cur)
		return false;
	call->sandbox->rlimit_usage.file_size_limit_hit = true;
	/* The task still waits for this response, so its tid was not reused. */
	(void)syscall(SYS_tgkill, call->task->tgid, call->tid, SIGXFSZ); /* fails for a dead thread */
	call_fail(call, -EFBIG);
	return true;
}

/* Pins the file and checks the new length. Returns a descriptor, or -1 with the outcome set. */
static int truncate_pin_file(struct call *call, int64_t length)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (length < 0)
		return call_fail(call, -EINVAL);
	fd = file_pin_path_at(call, 0, POLICY_WRITE, 0);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return call_fail(call, -errno);
	if (!S_ISREG(status.st_mode))
		return call_fail(call, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL);
	fd = file_refuse_foreign_object(call, steal_fd(&fd));
	return fd < 0 || truncate_exceeds_limit(call, &status, length) ? -1 : steal_fd(&fd);
}

void sys_truncate(struct call *call)
{
	int64_t length = (int64_t)call->arg[1];
	_cleanup_close_ int fd = truncate_pin_file(call, length);
	struct filling_emptied emptied = {NULL, NULL};
	int r;

	if (fd < 0 ||
	    (!(length == 0 && filling_find_emptied(call, fd, &emptied)) && filling_complete_file(call, fd, true) < 0) ||
	    disk_count_copy(call, 0, fd, DISK_OPENS) < 0 || disk_watch_file(call, fd, false) < 0 ||
	    file_record_before_change(call, 0) < 0)
		return;
	r = truncate(io_proc_fd_path(fd).path, length);
	file_end_call(call, r);
	if (r == 0)
		filling_end_emptied(&emptied, fd);
	disk_measure_changed_file(call, fd);
}

/* The most bytes that the range can add. A file whose blocks cover its size has no holes to fill. */
static uint64_t fallocate_get_growth_bytes(const struct stat *status, int mode, int64_t offset, int64_t len)
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

/* Checks in the order of vfs_fallocate() in fs/open.c. False with the outcome set. */
static bool fallocate_arguments_are_valid(struct call *call, int pin, struct stat *status)
{
	int mode = call_get_int(call, 1);
	int64_t offset = (int64_t)call->arg[2], len = (int64_t)call->arg[3], end;

	if (fstat(pin, status) < 0)
		call_fail(call, -errno);
	else if (offset < 0 || len <= 0)
		call_fail(call, -EINVAL);
	else if (!file_fd_is_open_for_writing(call, call_get_int(call, 0), pin))
		call_fail(call, -EBADF);
	else if (!S_ISREG(status->st_mode))
		call_fail(call, S_ISFIFO(status->st_mode) ? -ESPIPE : -ENODEV);
	else if (__builtin_add_overflow(offset, len, &end))
		call_fail(call, -EFBIG);
	else if (!disk_file_is_watched(call, status))
		/* the disk limit does not apply: a file that is not watched, such as a memfd, counts as memory */
		return true;
	else
		return (mode & FALLOC_FL_KEEP_SIZE || !truncate_exceeds_limit(call, status, end)) &&
		       disk_admit_bytes(call, fallocate_get_growth_bytes(status, mode, offset, len)) == 0 &&
		       disk_count_copy(call, 0, pin, DISK_COPIES) == 0 && disk_watch_file(call, pin, false) == 0;
	return false;
}

/*
 * Allocates through the supervisor's own file description. If the file's mode forbids opening it again: EOPNOTSUPP,
 * which programs know from file systems without fallocate.
 */
void sys_fallocate(struct call *call)
{
	_cleanup_close_ int pin = file_open_fd_object(call, call_get_int(call, 0)), fd = -1;
	struct stat status;

	if (pin < 0 || !fallocate_arguments_are_valid(call, pin, &status))
		return;
	fd = open(io_proc_fd_path(pin).path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		call_fail(call, -EOPNOTSUPP);
	if (fd < 0 || call_commit_record(call) < 0)
		return;
	file_end_call(call, fallocate(fd, call_get_int(call, 1), (off_t)call->arg[2], (off_t)call->arg[3]));
	disk_measure_changed_file(call, fd);
}
