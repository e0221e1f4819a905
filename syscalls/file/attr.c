/* file_getattr(2), file_setattr(2): inode flags by path (Linux 6.17). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/numbers.h"

#include "base/banned.h"

/* struct file_attr of linux/fs.h, first version. */
struct file_attr_1 {
	uint64_t xflags;
	uint32_t extsize;
	uint32_t nextents;
	uint32_t projid;
	uint32_t cowextsize;
};
_Static_assert(sizeof(struct file_attr_1) == 24, "FILE_ATTR_SIZE_VER0");

#define ATTR_BYTES_MAX 4096u /* a page: what the kernel takes at most */

static bool check(struct call *call, unsigned flags, uint64_t size)
{
	int error = 0;

	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) || size < sizeof(struct file_attr_1))
		error = -EINVAL;
	if (error == 0 && size > ATTR_BYTES_MAX)
		error = -E2BIG;
	if (error < 0)
		call_fail(call, error);
	return error == 0;
}

void sys_file_getattr(struct call *call)
{
	unsigned flags = call_uint(call, 4);
	uint64_t size = call->arg[3];
	char out[ATTR_BYTES_MAX] = {0};
	_cleanup_close_ int fd = -1;

	if (!check(call, flags, size))
		return;
	fd = file_pin_at(call, 0, POLICY_READ, flags);
	if (fd < 0)
		return;
	if (syscall(__SNR_file_getattr, AT_FDCWD, file_link(fd).path, out, sizeof(struct file_attr_1), 0) < 0)
		call_fail(call, -errno);
	else
		file_end_output(call, call->arg[2], out, size, 0); /* a newer caller's tail is zeroed */
}

void sys_file_setattr(struct call *call)
{
	unsigned flags = call_uint(call, 4);
	struct file_attr_1 attr;
	_cleanup_close_ int fd = -1;
	int r;

	if (!check(call, flags, call->arg[3]))
		return;
	r = decode_extensible(call, 2, &attr, sizeof(attr), call->arg[3], sizeof(attr));
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	fd = file_pin_meta(call, flags);
	if (fd >= 0 && file_begin(call, 0) == 0)
		file_end(call, syscall(__SNR_file_setattr, AT_FDCWD, file_link(fd).path, &attr, sizeof(attr), 0));
}
