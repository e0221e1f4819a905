/* stat(2), statx(2), statfs(2): what is there, seen through the view. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

#define STATX_BYTES 256 /* struct statx has had this size since its start: spare room is part of it */
#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)

static void end_stat(struct call *call, int fd, uint64_t buffer)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		call_fail(call, -errno);
	else
		file_end_output(call, buffer, &status, sizeof(status), 0);
}

static void stat_path(struct call *call, unsigned follow)
{
	_cleanup_close_ int fd = file_pin(call, 0, POLICY_READ, follow, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		end_stat(call, fd, call->arg[1]);
}

void sys_stat(struct call *call)
{
	stat_path(call, VIEW_FOLLOW);
}

void sys_lstat(struct call *call)
{
	stat_path(call, 0);
}

/*
 * The object of newfstatat and statx. An empty or NULL path with AT_EMPTY_PATH is fstat(2) of a descriptor the program
 * holds: nothing to judge, and the kernel does not even look at other flags then (vfs_fstatat() in fs/stat.c).
 */
static int pin_stat(struct call *call, unsigned flags)
{
	const struct call_path *path = &call->path[0];
	bool empty = path->len == 0 && flags & AT_EMPTY_PATH && !path->error;

	if (empty && path->dirfd >= 0) {
		call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
		return file_open_fd(call, path->dirfd);
	}
	if (flags & ~(unsigned)STAT_FLAGS)
		call_fail(call, -EINVAL);
	else
		return file_pin_at(call, 0, POLICY_READ, flags);
	return -1;
}

void sys_newfstatat(struct call *call)
{
	_cleanup_close_ int fd = pin_stat(call, call_uint(call, 3));

	if (fd >= 0)
		end_stat(call, fd, call->arg[2]);
}

void sys_statx(struct call *call)
{
	unsigned flags = call_uint(call, 2), mask = call_uint(call, 3);
	uint64_t status[STATX_BYTES / sizeof(uint64_t)] = {0};
	_cleanup_close_ int fd = -1;

	/* Before the path (do_statx() in fs/stat.c); bit 31 is STATX__RESERVED. */
	if (mask & 0x80000000u || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE) {
		call_fail(call, -EINVAL);
		return;
	}
	fd = pin_stat(call, flags);
	if (fd < 0)
		return;
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | (flags & AT_STATX_SYNC_TYPE), mask, status) < 0)
		call_fail(call, -errno);
	else
		file_end_output(call, call->arg[4], status, sizeof(status), 0);
}

void sys_statfs(struct call *call)
{
	_cleanup_close_ int fd = file_pin(call, 0, POLICY_READ, VIEW_FOLLOW, O_PATH | O_CLOEXEC);
	struct statfs status;

	if (fd < 0)
		return;
	if (fstatfs(fd, &status) < 0)
		call_fail(call, -errno);
	else
		file_end_output(call, call->arg[1], &status, sizeof(status), 0);
}
