/* stat(2), statx(2), statfs(2): what is there, seen through the view. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define STATX_BYTES 256 /* struct statx has had this size since its start: spare room is part of it */
#ifndef STATX_MNT_ID_UNIQUE /* Linux 6.8 */
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif
#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)

static int ask_stat(void *ctx, int dirfd, const char *path, int at_flags)
{
	return fstatat(dirfd, path, ctx, at_flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

struct statx_question {
	unsigned flags; /* AT_STATX_* */
	unsigned mask;
	int still_fd; /* of the view's second mounts, see view_ask */
	bool by_name; /* asked there */
	union {
		struct statx known;
		char all[STATX_BYTES];
	} status;
};

static int ask_statx(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct statx_question *question = ctx;

	if (syscall(SYS_statx, dirfd, path, at_flags | AT_NO_AUTOMOUNT | (int)question->flags, question->mask, &question->status) < 0)
		return -errno;
	question->by_name = dirfd == question->still_fd;
	return 0;
}

/*
 * The object of newfstatat and statx. An empty or NULL path with AT_EMPTY_PATH is fstat(2) of a descriptor the program
 * holds: nothing to judge, and the kernel does not even look at other flags then (vfs_fstatat() in fs/stat.c). pin: the
 * question is about more than the name.
 */
static int ask_object(struct call *call, unsigned flags, bool pin, const struct file_question *question)
{
	const struct call_path *path = &call->path[0];
	bool empty = path->len == 0 && flags & AT_EMPTY_PATH && !path->error;
	_cleanup_close_ int fd = -1;
	int r;

	if (empty && path->dirfd >= 0) {
		call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
		return file_ask_fd(call, path->dirfd, question);
	}
	if (flags & ~(unsigned)STAT_FLAGS) {
		call_fail(call, -EINVAL);
	} else if (!pin) {
		return file_ask(call, 0, POLICY_READ, flags, question);
	} else {
		fd = file_pin_at(call, 0, POLICY_READ, flags);
	}
	if (fd < 0)
		return -1;
	r = question->ask(question->ctx, fd, "", AT_EMPTY_PATH);
	if (r < 0)
		call_fail(call, r);
	return r;
}

static void stat_object(struct call *call, unsigned flags, uint64_t buffer)
{
	struct stat status;
	const struct file_question question = {.ask = ask_stat, .ctx = &status};

	if (ask_object(call, flags, false, &question) == 0)
		file_end_output(call, buffer, &status, sizeof(status), 0);
}

void sys_stat(struct call *call)
{
	stat_object(call, 0, call->arg[1]);
}

void sys_lstat(struct call *call)
{
	stat_object(call, AT_SYMLINK_NOFOLLOW, call->arg[1]);
}

void sys_newfstatat(struct call *call)
{
	stat_object(call, call_uint(call, 3), call->arg[2]);
}

/*
 * The kernel tells the mount's number, asked for or not, and a name was asked of the view's second mount of the same. What
 * number stands for that is found out once, by a descriptor. False: the outcome is set.
 */
static bool number_mount(struct call *call, unsigned flags, const struct file_question *question)
{
	struct statx_question *statx = question->ctx;
	uint64_t still = statx->status.known.stx_mnt_id;

	if (!(statx->status.known.stx_mask & STATX_MNT_ID))
		return true;
	statx->status.known.stx_mnt_id = view_mount_number(call->sandbox->view, still);
	if (statx->status.known.stx_mnt_id)
		return true;
	if (ask_object(call, flags, true, question) < 0)
		return false;
	view_note_mount(call->sandbox->view, still, statx->status.known.stx_mnt_id);
	return true;
}

void sys_statx(struct call *call)
{
	unsigned flags = call_uint(call, 2);
	struct statx_question statx = {.flags = flags & AT_STATX_SYNC_TYPE, .mask = call_uint(call, 3),
				       .still_fd = view_still_fd(call->sandbox->view)};
	const struct file_question question = {.ask = ask_statx, .ctx = &statx};

	/* Before the path (do_statx() in fs/stat.c); bit 31 is STATX__RESERVED. */
	if (statx.mask & 0x80000000u || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE) {
		call_fail(call, -EINVAL);
		return;
	}
	if (ask_object(call, flags, statx.mask & STATX_MNT_ID_UNIQUE, &question) == 0 &&
	    (!statx.by_name || number_mount(call, flags, &question)))
		file_end_output(call, call->arg[4], &statx.status, sizeof(statx.status), 0);
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
