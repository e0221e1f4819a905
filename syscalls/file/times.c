/* utime(2), utimes(2), futimesat(2), utimensat(2): four shapes of two times. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

/* times NULL: now. Without a path the descriptor in its place is meant: do_utimes() in fs/utimes.c. */
static void set_times(struct call *call, const struct timespec *times, unsigned flags)
{
	const struct call_path *path = &call->path[0];
	_cleanup_close_ int fd = -1;

	if (path->null && path->dirfd != AT_FDCWD) {
		if (flags)
			call_fail(call, -EINVAL);
		else
			fd = file_pin_meta_fd(call, path->dirfd);
	} else if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
	} else if (path->null) {
		call_fail(call, -EFAULT);
	} else {
		fd = file_pin_meta(call, flags);
	}
	if (fd >= 0 && file_begin(call, 0) == 0)
		file_end(call, utimensat(fd, "", times, AT_EMPTY_PATH));
}

void sys_utime(struct call *call)
{
	struct timespec times[2] = {{0}};
	struct utimbuf given;

	if (call->arg[1] == 0) {
		set_times(call, NULL, 0);
	} else if (decode_struct(call, 1, &given, sizeof(given)) < 0) {
		call_fail(call, -EFAULT);
	} else {
		times[0].tv_sec = given.actime;
		times[1].tv_sec = given.modtime;
		set_times(call, times, 0);
	}
}

/* The times of utimes and futimesat, with the range checked before the path: do_futimesat() in fs/utimes.c. */
static void set_timevals(struct call *call, unsigned arg)
{
	struct timespec times[2];
	struct timeval given[2];

	if (call->arg[arg] == 0) {
		set_times(call, NULL, 0);
		return;
	}
	if (decode_struct(call, arg, given, sizeof(given)) < 0) {
		call_fail(call, -EFAULT);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (given[i].tv_usec < 0 || given[i].tv_usec >= 1000000) {
			call_fail(call, -EINVAL);
			return;
		}
		times[i] = (struct timespec){.tv_sec = given[i].tv_sec, .tv_nsec = given[i].tv_usec * 1000};
	}
	set_times(call, times, 0);
}

void sys_utimes(struct call *call)
{
	set_timevals(call, 1);
}

void sys_futimesat(struct call *call)
{
	set_timevals(call, 2);
}

void sys_utimensat(struct call *call)
{
	struct timespec times[2];

	if (call->arg[2] == 0) {
		set_times(call, NULL, call_uint(call, 3));
	} else if (decode_struct(call, 2, times, sizeof(times)) < 0) {
		call_fail(call, -EFAULT);
	} else if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT) {
		call->decision.verdict = VERDICT_ALLOW;
		call_return(call, 0); /* the kernel does not even look at the path */
	} else {
		set_times(call, times, call_uint(call, 3));
	}
}
