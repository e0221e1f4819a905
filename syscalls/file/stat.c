/* stat(2), lstat(2), newfstatat(2), statx(2), statfs(2), access(2), faccessat2(2): questions about an object. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#define STATX_BYTES 256 /* struct statx with its spare fields */
#ifndef STATX_MNT_ID_UNIQUE /* Linux 6.8 */
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif
/* AT_* flags that stat calls may have */
#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)

static int stat_by_name(void *ctx, int dirfd, const char *path, int at_flags)
{
	return fstatat(dirfd, path, ctx, at_flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

/* Asks the kernel for statx(2) of an object. */
struct statx_query {
	unsigned flags; /* AT_STATX_* */
	unsigned mask;  /* STATX_*: the fields asked for */
	/* the root of the view's nosymfollow mount, below which objects are asked about by name; -1: there is none */
	int no_symlinks_dir_fd;
	bool is_by_name; /* the object was asked about by name below no_symlinks_dir_fd, and not by a descriptor */
	union {
		struct statx known;
		char all[STATX_BYTES];
	} status;
};

static int statx_by_name(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct statx_query *question = ctx;

	if (syscall(SYS_statx, dirfd, path, at_flags | AT_NO_AUTOMOUNT | (int)question->flags, question->mask,
		    &question->status) < 0)
		return -errno;
	question->is_by_name = dirfd == question->no_symlinks_dir_fd;
	return 0;
}

/*
 * Asks about the object of newfstatat or statx. An empty or NULL path with AT_EMPTY_PATH is fstat(2) of a descriptor
 * that the program holds. It needs no right, and the kernel ignores other flags then (vfs_fstatat() in fs/stat.c). pin:
 * the question must not be asked by name.
 */
static int stat_judge_and_query_object(struct call *call, unsigned flags, bool pin, const struct file_query *question)
{
	const struct call_path *path = &call->path[0];
	bool empty = path->len == 0 && flags & AT_EMPTY_PATH && !path->error;
	_cleanup_close_ int fd = -1;
	int r;

	if (empty && path->dirfd >= 0) {
		call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
		return file_query_fd_unjudged(call, path->dirfd, question);
	}
	if (flags & ~(unsigned)STAT_FLAGS)
		return call_fail(call, -EINVAL);
	if (!pin)
		return file_judge_and_query_path(call, 0, POLICY_READ, flags, question);
	fd = file_pin_path_at(call, 0, POLICY_READ, flags);
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
	const struct file_query question = {.ask = stat_by_name, .ctx = &status};

	if (stat_judge_and_query_object(call, flags, false, &question) < 0)
		return;
	status.st_blocks = (blkcnt_t)filling_get_blocks(call, &status);
	file_end_call_with_output(call, buffer, &status, sizeof(status), 0);
}

HANDLER(sys_stat, stat_object(call, 0, call->arg[1]))
HANDLER(sys_lstat, stat_object(call, AT_SYMLINK_NOFOLLOW, call->arg[1]))
HANDLER(sys_newfstatat, stat_object(call, call_get_uint(call, 3), call->arg[2]))

/*
 * statx always returns the mount's id. Asked by name, it is the id of the view's second copy of the mount. So the id of
 * the first copy is read once, by a descriptor. False: the outcome is set.
 */
static bool statx_set_mount_id(struct call *call, unsigned flags, const struct file_query *question)
{
	struct statx_query *statx = question->ctx;
	uint64_t still = statx->status.known.stx_mnt_id;

	if (!(statx->status.known.stx_mask & STATX_MNT_ID))
		return true;
	statx->status.known.stx_mnt_id = view_get_mount_id_for_copy(call->sandbox->view, still);
	if (statx->status.known.stx_mnt_id)
		return true;
	if (stat_judge_and_query_object(call, flags, true, question) < 0)
		return false;
	view_set_mount_id_for_copy(call->sandbox->view, still, statx->status.known.stx_mnt_id);
	return true;
}

/* Sets the blocks of a file without its content. */
static void statx_set_blocks(const struct call *call, struct statx *statx)
{
	const struct stat status = {.st_dev = makedev(statx->stx_dev_major, statx->stx_dev_minor),
				    .st_ino = statx->stx_ino,
				    .st_mode = statx->stx_mode,
				    .st_size = (off_t)statx->stx_size,
				    .st_blocks = (blkcnt_t)statx->stx_blocks};

	if ((statx->stx_mask & (STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BLOCKS)) ==
	    (STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BLOCKS))
		statx->stx_blocks = filling_get_blocks(call, &status);
}

void sys_statx(struct call *call)
{
	unsigned flags = call_get_uint(call, 2);
	struct statx_query statx = {.flags = flags & AT_STATX_SYNC_TYPE, .mask = call_get_uint(call, 3),
				       .no_symlinks_dir_fd = view_get_nosymfollow_root_fd(call->sandbox->view)};
	const struct file_query question = {.ask = statx_by_name, .ctx = &statx};

	/* Checked before the path, as in do_statx() in fs/stat.c. Bit 31 is STATX__RESERVED. */
	if (statx.mask & 0x80000000u || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE) {
		call_fail(call, -EINVAL);
		return;
	}
	if (stat_judge_and_query_object(call, flags, statx.mask & STATX_MNT_ID_UNIQUE, &question) == 0 &&
	    (!statx.is_by_name || statx_set_mount_id(call, flags, &question))) {
		statx_set_blocks(call, &statx.status.known);
		file_end_call_with_output(call, call->arg[4], &statx.status, sizeof(statx.status), 0);
	}
}

void sys_statfs(struct call *call)
{
	_cleanup_close_ int fd = file_pin_path(call, 0, POLICY_READ, VIEW_FOLLOW_LAST_LINK, O_PATH | O_CLOEXEC);
	struct statfs status;

	if (fd >= 0)
		file_end_call_with_output(call, call->arg[1], &status, sizeof(status), fstatfs(fd, &status));
}

/* Asks the kernel whether an object permits access(2). */
struct access_query {
	int mode;       /* R_OK, W_OK, X_OK or F_OK */
	unsigned flags; /* AT_EACCESS */
	int result;     /* 0 or -errno */
	struct stat status; /* the object's status; unset for F_OK, and for R_OK by name */
};

/* Asks access(2) about an object. Calls fstatat first, so that an error of the path is not taken for the answer. */
static int access_check_by_name(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct access_query *question = ctx;

	/*
	 * The policy's answer depends on the status for W_OK and X_OK. For R_OK it does so only where the public alone
	 * is granted, and there no object is asked about by name.
	 */
	if (question->mode & (*path ? W_OK | X_OK : R_OK | W_OK | X_OK) &&
	    fstatat(dirfd, path, &question->status, at_flags) < 0)
		return -errno;
	if (syscall(SYS_faccessat2, dirfd, path, question->mode, at_flags | (int)question->flags) == 0)
		return 0;
	if (errno == ELOOP || errno == ENOENT)
		return -errno;
	question->result = -errno;
	return 0;
}

/*
 * Access that the policy does not grant is answered as on a read-only mount (EROFS; not for pipes, sockets and devices)
 * and as on a noexec mount (EACCES; for regular files only).
 */
static int access_judge_by_policy(const struct call *call, const struct access_query *question)
{
	const struct place *place = &call->resolved_place[0];
	const mode_t type = question->status.st_mode;
	struct policy_decision decision;

	if (!place->mount || place->is_magic_link || !(question->mode & (W_OK | X_OK)))
		return 0;
	if (question->mode & X_OK && S_ISREG(type) &&
	    view_judge_place(call->sandbox->view, call->task, place, POLICY_EXEC).verdict == VERDICT_DENY)
		return -EACCES;
	if (question->mode & W_OK && (S_ISREG(type) || S_ISDIR(type) || S_ISLNK(type))) {
		decision = view_judge_place(call->sandbox->view, call->task, place, POLICY_WRITE);
		if (decision.verdict == VERDICT_DENY)
			return decision.error == EACCES ? -EACCES : -EROFS;
	}
	return 0;
}

/*
 * If only the public is granted, everybody must be allowed to read or enter the object. 0, or -1 with the outcome set.
 */
static int access_check_public_object(struct call *call, const struct access_query *question)
{
	const bool enters = question->mode & X_OK && S_ISDIR(question->status.st_mode);

	if (question->result < 0)
		return 0;
	return file_refuse_unless_public(call, &question->status,
				    (question->mode & R_OK ? S_IROTH : 0) | (enters ? S_IXOTH : 0));
}

/* Judges access(2), and answers by the policy and the host's permissions. */
static void access_judge_path(struct call *call, int mode, unsigned flags)
{
	struct access_query access = {.mode = mode, .flags = flags & AT_EACCESS};
	const struct file_query question = {.ask = access_check_by_name, .ctx = &access};

	if (mode & ~(R_OK | W_OK | X_OK) || flags & ~(unsigned)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
		return;
	}
	if (file_judge_and_query_path(call, 0, POLICY_READ, flags, &question) == 0 &&
	    access_check_public_object(call, &access) == 0)
		call_return_result(call, access.result < 0 ? access.result : access_judge_by_policy(call, &access));
}

HANDLER(sys_access, access_judge_path(call, call_get_int(call, 1), 0))
HANDLER(sys_faccessat, access_judge_path(call, call_get_int(call, 2), 0))
HANDLER(sys_faccessat2, access_judge_path(call, call_get_int(call, 2), call_get_uint(call, 3)))
