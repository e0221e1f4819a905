/* chmod(2), chown(2) and their kin: on the pinned object, with the write right, also through a descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define AT_KNOWN ((unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))

/*
 * Takes fd. Through the link, because fchmod(2) knows no O_PATH; on a symbolic link the kernel says EOPNOTSUPP
 * itself.
 */
static void end_chmod(struct call *call, int fd, mode_t mode)
{
	_cleanup_close_ int object = fd;

	if (object >= 0 && file_begin(call, 0) == 0)
		file_end(call, chmod(file_link(object).path, mode & 07777));
}

static void chmod_path(struct call *call, mode_t mode, unsigned flags)
{
	if (flags & ~AT_KNOWN)
		call_fail(call, -EINVAL);
	else if (!file_refuse_setid(call, mode & 07777))
		end_chmod(call, file_pin_meta(call, flags), mode);
}

void sys_chmod(struct call *call)
{
	chmod_path(call, call_uint(call, 1), 0);
}

void sys_fchmodat(struct call *call)
{
	chmod_path(call, call_uint(call, 2), 0);
}

void sys_fchmodat2(struct call *call)
{
	chmod_path(call, call_uint(call, 2), call_uint(call, 3));
}

void sys_fchmod(struct call *call)
{
	mode_t mode = call_uint(call, 1);

	if (!file_refuse_setid(call, mode & 07777))
		end_chmod(call, file_pin_meta_fd(call, call_int(call, 0)), mode);
}

/* Takes fd. */
static void end_chown(struct call *call, int fd, uid_t owner, gid_t group)
{
	_cleanup_close_ int object = fd;

	if (object >= 0 && file_begin(call, 0) == 0)
		file_end(call, fchownat(object, "", owner, group, AT_EMPTY_PATH));
}

static void chown_path(struct call *call, unsigned owner_arg, unsigned flags)
{
	if (flags & ~AT_KNOWN)
		call_fail(call, -EINVAL);
	else
		end_chown(call, file_pin_meta(call, flags), call_uint(call, owner_arg), call_uint(call, owner_arg + 1));
}

void sys_chown(struct call *call)
{
	chown_path(call, 1, 0);
}

void sys_lchown(struct call *call)
{
	chown_path(call, 1, AT_SYMLINK_NOFOLLOW);
}

void sys_fchownat(struct call *call)
{
	chown_path(call, 2, call_uint(call, 4));
}

void sys_fchown(struct call *call)
{
	end_chown(call, file_pin_meta_fd(call, call_int(call, 0)), call_uint(call, 1), call_uint(call, 2));
}
