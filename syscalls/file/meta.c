/*
 * Metadata of objects that may be written, by path or descriptor: chmod(2), chown(2), utime(2), utimes(2),
 * futimesat(2), utimensat(2), file_getattr(2), file_setattr(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"
#include "syscalls/file/terminal.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/numbers.h"

/* AT_* flags that chmod, chown and utime calls may have */
#define META_AT_FLAGS ((unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))

/*
 * Refuses set-id bits, except for directories. There only set-group-ID has a meaning: new files get the directory's
 * group. The kernel grants it only to an owner who is in that group (setattr_copy() in fs/attr.c).
 */
static bool chmod_refuse_setid(struct call *call, int object, mode_t mode)
{
	struct stat status;

	if (mode & (S_ISUID | S_ISGID) && fstat(object, &status) == 0 && S_ISDIR(status.st_mode))
		return false;
	return file_refuse_setid(call, mode);
}

/* Takes fd. Uses the link in /proc, because fchmod(2) takes no O_PATH descriptor. A symbolic link: EOPNOTSUPP. */
static void chmod_pinned_object(struct call *call, int fd, mode_t mode)
{
	_cleanup_close_ int object = fd;

	if (object >= 0 && !chmod_refuse_setid(call, object, mode & 07777) &&
	    !terminal_refuse_mode_open_to_others(call, mode) && file_record_before_change(call, 0) == 0)
		file_end_call(call, chmod(io_proc_fd_path(object).path, mode & 07777));
}

static void chmod_path(struct call *call, mode_t mode, unsigned flags)
{
	if (flags & ~META_AT_FLAGS)
		call_fail(call, -EINVAL);
	else
		chmod_pinned_object(call, file_pin_for_metadata_change(call, flags), mode);
}

HANDLER(sys_chmod, chmod_path(call, call_get_uint(call, 1), 0))
HANDLER(sys_fchmodat, chmod_path(call, call_get_uint(call, 2), 0))
HANDLER(sys_fchmodat2, chmod_path(call, call_get_uint(call, 2), call_get_uint(call, 3)))

void sys_fchmod(struct call *call)
{
	chmod_pinned_object(call, file_pin_fd_for_metadata_change(call, call_get_int(call, 0)), call_get_uint(call, 1));
}

/* Changes the owner. Takes fd. */
static void chown_pinned_object(struct call *call, int fd, uid_t owner, gid_t group)
{
	_cleanup_close_ int object = fd;

	if (object >= 0 && file_record_before_change(call, 0) == 0)
		file_end_call(call, fchownat(object, "", owner, group, AT_EMPTY_PATH));
}

static void chown_path(struct call *call, unsigned owner_arg, unsigned flags)
{
	if (flags & ~META_AT_FLAGS)
		call_fail(call, -EINVAL);
	else
		chown_pinned_object(call, file_pin_for_metadata_change(call, flags), call_get_uint(call, owner_arg),
			  call_get_uint(call, owner_arg + 1));
}

HANDLER(sys_chown, chown_path(call, 1, 0))
HANDLER(sys_lchown, chown_path(call, 1, AT_SYMLINK_NOFOLLOW))
HANDLER(sys_fchownat, chown_path(call, 2, call_get_uint(call, 4)))
HANDLER(sys_fchown, chown_pinned_object(call, file_pin_fd_for_metadata_change(call, call_get_int(call, 0)),
					call_get_uint(call, 1), call_get_uint(call, 2)))

/* times NULL: the present time. If the path is NULL, dirfd itself is meant: do_utimes() in fs/utimes.c. */
static void times_set_timespecs(struct call *call, const struct timespec *times, unsigned flags)
{
	const struct call_path *path = &call->path[0];
	_cleanup_close_ int fd = -1;

	if (path->is_null_pointer && path->dirfd != AT_FDCWD)
		fd = flags ? call_fail(call, -EINVAL) : file_pin_fd_for_metadata_change(call, path->dirfd);
	else if (flags & ~META_AT_FLAGS || path->is_null_pointer)
		call_fail(call, flags & ~META_AT_FLAGS ? -EINVAL : -EFAULT);
	else
		fd = file_pin_for_metadata_change(call, flags);
	if (fd >= 0 && file_record_before_change(call, 0) == 0)
		file_end_call(call, utimensat(fd, "", times, AT_EMPTY_PATH));
}

void sys_utime(struct call *call)
{
	struct timespec times[2] = {{0}};
	struct utimbuf given;

	if (call->arg[1] == 0) {
		times_set_timespecs(call, NULL, 0);
	} else if (decode_struct(call, 1, &given, sizeof(given)) < 0) {
		call_fail(call, -EFAULT);
	} else {
		times[0].tv_sec = given.actime;
		times[1].tv_sec = given.modtime;
		times_set_timespecs(call, times, 0);
	}
}

/*
 * Sets the times from the struct timeval array in argument `arg`, for utimes and futimesat, which check their range
 * before the path: do_futimesat() in fs/utimes.c.
 */
static void times_set_timevals(struct call *call, unsigned arg)
{
	struct timespec times[2];
	struct timeval given[2];
	int r = call->arg[arg] && decode_struct(call, arg, given, sizeof(given)) < 0 ? -EFAULT : 0;

	for (unsigned i = 0; r == 0 && call->arg[arg] && i < 2; i++) {
		if (given[i].tv_usec < 0 || given[i].tv_usec >= 1000000)
			r = -EINVAL;
		else
			times[i] = (struct timespec){given[i].tv_sec, given[i].tv_usec * 1000};
	}
	if (r < 0)
		call_fail(call, r);
	else
		times_set_timespecs(call, call->arg[arg] ? times : NULL, 0);
}

HANDLER(sys_utimes, times_set_timevals(call, 1))
HANDLER(sys_futimesat, times_set_timevals(call, 2))

void sys_utimensat(struct call *call)
{
	struct timespec times[2];

	if (call->arg[2] == 0) {
		times_set_timespecs(call, NULL, call_get_uint(call, 3));
	} else if (decode_struct(call, 2, times, sizeof(times)) < 0) {
		call_fail(call, -EFAULT);
	} else if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT) {
		call->decision.verdict = VERDICT_ALLOW;
		/* UTIME_OMIT for both times changes nothing, so the kernel does not even look at the path */
		call_return(call, 0);
	} else {
		times_set_timespecs(call, times, call_get_uint(call, 3));
	}
}

/* First version of struct file_attr in linux/fs.h (Linux 6.17). */
struct file_attr_ver0 {
	uint64_t xflags;
	uint32_t extsize;
	uint32_t nextents;
	uint32_t projid;
	uint32_t cowextsize;
};
_Static_assert(sizeof(struct file_attr_ver0) == 24, "FILE_ATTR_SIZE_VER0");

#define FILE_ATTR_BYTES_MAX 4096u /* a page, as the kernel's maximum */

/* Checks flags and size. False with the outcome set. */
static bool file_attr_arguments_are_valid(struct call *call, unsigned flags, uint64_t size)
{
	if (flags & ~META_AT_FLAGS || size < sizeof(struct file_attr_ver0))
		call_fail(call, -EINVAL);
	else if (size > FILE_ATTR_BYTES_MAX)
		call_fail(call, -E2BIG);
	else
		return true;
	return false;
}

void sys_file_getattr(struct call *call)
{
	unsigned flags = call_get_uint(call, 4);
	uint64_t size = call->arg[3];
	char out[FILE_ATTR_BYTES_MAX] = {0};
	_cleanup_close_ int fd = -1;

	if (!file_attr_arguments_are_valid(call, flags, size))
		return;
	fd = file_pin_path_at(call, 0, POLICY_READ, flags);
	if (fd >= 0) /* a newer program may have a longer struct, the rest of which is set to zeros */
		file_end_call_with_output(call, call->arg[2], out, size,
				syscall(__SNR_file_getattr, AT_FDCWD, io_proc_fd_path(fd).path, out,
					sizeof(struct file_attr_ver0), 0));
}

void sys_file_setattr(struct call *call)
{
	unsigned flags = call_get_uint(call, 4);
	struct file_attr_ver0 attr;
	_cleanup_close_ int fd = -1;
	int r;

	if (!file_attr_arguments_are_valid(call, flags, call->arg[3]))
		return;
	r = decode_extensible_struct(call, 2, &attr, sizeof(attr), call->arg[3], sizeof(attr));
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	fd = file_pin_for_metadata_change(call, flags);
	if (fd >= 0 && file_record_before_change(call, 0) == 0)
		file_end_call(call, syscall(__SNR_file_setattr, AT_FDCWD, io_proc_fd_path(fd).path, &attr,
					    sizeof(attr), 0));
}
