/*
 * The extended attribute calls: by path, by link, by descriptor and by *at, one performer for each of the four
 * actions.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/disk.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/file/xattr.h"

#include "base/banned.h"

#define NAME_BYTES_MAX 255     /* XATTR_NAME_MAX */
#define VALUE_BYTES_MAX 65536u /* XATTR_SIZE_MAX, and XATTR_LIST_MAX */
#define AT_KNOWN ((unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))

/*
 * All that a run may have in attributes, whatever its limits. A file system in memory keeps them apart from its blocks and
 * without a bound of its own; and since the supervisor sets them, no control group of the run's pays for that memory.
 */
#define RUN_BYTES_MAX (UINT64_C(16) << 20)
#define ATTRIBUTE_BYTES 256 /* a name and the kernel's own part, besides the value */

bool xattr_check_name(struct call *call)
{
	if (!call->text_error && call->text_len >= 1 && call->text_len <= NAME_BYTES_MAX)
		return true;
	call_fail(call, call->text_error == -EFAULT ? -EFAULT : -ERANGE);
	return false;
}

bool xattr_check_at(struct call *call, unsigned flags)
{
	if (!(flags & ~AT_KNOWN))
		return true;
	call_fail(call, -EINVAL);
	return false;
}

/* The new *at calls treat an empty path as a descriptor, for which O_PATH is not enough. */
static int pin(struct call *call, const struct xattr_target *target, bool write)
{
	const struct call_path *path = &call->path[0];
	bool empty =
		target->at_flags & AT_EMPTY_PATH && call->paths && path->len == 0 && !path->error && path->dirfd >= 0;
	int fd = target->by_fd ? target->fd : path->dirfd;

	if (!target->by_fd && !empty)
		return write ? file_pin_meta(call, target->at_flags)
			     : file_pin_at(call, 0, POLICY_READ, target->at_flags);
	if (write)
		return file_pin_meta_fd(call, fd);
	if (file_fd_is_path(call, fd)) {
		call_fail(call, -EBADF);
		return -1;
	}
	return file_pin_fd(call, fd, POLICY_READ);
}

/* What the attribute takes now; 0: there is none. */
static uint64_t bytes_of(const struct call *call, int fd)
{
	ssize_t size = getxattr(file_link(fd).path, call->text, NULL, 0);

	return size < 0 ? 0 : (uint64_t)size + ATTRIBUTE_BYTES;
}

/* After a success. What was there before the run is given back as well, but no more than the run has added. */
static void count(struct call *call, uint64_t before, uint64_t now)
{
	uint64_t *sum = &call->sandbox->attribute_bytes;

	*sum += now;
	*sum -= before < *sum ? before : *sum;
	disk_attributes(call, *sum);
}

/* False: the call is refused. */
static bool admit(struct call *call, uint64_t before, uint64_t now)
{
	uint64_t sum = call->sandbox->attribute_bytes;

	if (now <= before)
		return true;
	if (sum + now - before <= RUN_BYTES_MAX)
		return disk_admit(call, now - before) == 0;
	call_refuse(call, -ENOSPC, NULL, "attributes_limit");
	return false;
}

void xattr_set(struct call *call, const struct xattr_target *target, uint64_t addr, uint64_t size, unsigned flags)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ void *value = NULL;
	uint64_t before;

	/* The order of setxattr_copy() in fs/xattr.c, all of it before the path is looked at. */
	if (flags & ~(unsigned)(XATTR_CREATE | XATTR_REPLACE)) {
		call_fail(call, -EINVAL);
		return;
	}
	if (!xattr_check_name(call))
		return;
	if (size > VALUE_BYTES_MAX) {
		call_fail(call, -E2BIG);
		return;
	}
	value = malloc(size ? size : 1);
	if (!value) {
		call_fail(call, -ENOMEM);
		return;
	}
	if (size && decode_at(call, addr, value, size) < 0) {
		call_fail(call, -EFAULT);
		return;
	}
	fd = pin(call, target, true);
	if (fd < 0)
		return;
	before = bytes_of(call, fd);
	/* A value may take a block, which the file has then. */
	if (!admit(call, before, size + ATTRIBUTE_BYTES) || disk_watch(call, fd, false) < 0 || file_begin(call, 0) < 0)
		return;
	file_end(call, setxattr(file_link(fd).path, call->text, value, size, (int)flags));
	if (file_error(call) == 0)
		count(call, before, size + ATTRIBUTE_BYTES);
	disk_changed(call, fd);
}

void xattr_remove(struct call *call, const struct xattr_target *target)
{
	_cleanup_close_ int fd = -1;
	uint64_t before;

	if (!xattr_check_name(call))
		return;
	fd = pin(call, target, true);
	if (fd < 0)
		return;
	before = bytes_of(call, fd);
	if (file_begin(call, 0) < 0)
		return;
	file_end(call, removexattr(file_link(fd).path, call->text));
	if (file_error(call) == 0)
		count(call, before, 0);
}

/* getxattr (with a name) and listxattr differ in nothing but the kernel's call. */
void xattr_read(struct call *call, const struct xattr_target *target, bool list, uint64_t addr, uint64_t size)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *value = NULL;
	ssize_t len;

	if (!list && !xattr_check_name(call))
		return;
	size = size < VALUE_BYTES_MAX ? size : VALUE_BYTES_MAX;
	value = malloc(size ? size : 1);
	if (!value) {
		call_fail(call, -ENOMEM);
		return;
	}
	fd = pin(call, target, false);
	if (fd < 0)
		return;
	if (list)
		len = listxattr(file_link(fd).path, value, size);
	else
		len = getxattr(file_link(fd).path, call->text, value, size);
	if (len < 0)
		call_fail(call, -errno);
	else
		file_end_output(call, addr, value, size ? (size_t)len : 0, len);
}
