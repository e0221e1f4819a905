/* Extended attributes: set, remove, get and list, each by path, by link, by descriptor and by *at. */
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#define XATTR_NAME_BYTES_MAX 255     /* XATTR_NAME_MAX */
#define XATTR_VALUE_BYTES_MAX 65536u /* XATTR_SIZE_MAX and XATTR_LIST_MAX */

/*
 * Most bytes of the extended attributes that a run adds. A file system in memory does not limit them, and since the
 * supervisor sets them, their memory is not charged to a control group of the run.
 */
#define XATTR_BYTES_OF_RUN_MAX (UINT64_C(16) << 20)
/* memory of an attribute in addition to its value: the name and the kernel's data */
#define XATTR_KERNEL_BYTES_PER_ATTRIBUTE 256

/* The object of a call: path[0] with these AT_* flags, or the descriptor fd. */
struct xattr_target {
	unsigned at_flags; /* AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH */
	bool is_by_fd;     /* the object is that of `fd` */
	int fd;
};

/* Checks *at flags and, if the call names an attribute, the name. 0, or -1 with the outcome set. */
static int xattr_check_arguments(struct call *call, const struct xattr_target *target, bool named)
{
	if (target->at_flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return call_fail(call, -EINVAL);
	if (named && (call->text_arg_error || call->text_arg_len < 1 || call->text_arg_len > XATTR_NAME_BYTES_MAX))
		return call_fail(call, call->text_arg_error == -EFAULT ? -EFAULT : -ERANGE);
	return 0;
}

/*
 * Pins the object of the call. With AT_EMPTY_PATH an empty path means the descriptor path[0].dirfd. An O_PATH
 * descriptor is EBADF.
 */
static int xattr_pin_target(struct call *call, const struct xattr_target *target, bool write)
{
	const struct call_path *path = &call->path[0];
	bool empty = target->at_flags & AT_EMPTY_PATH && call->path_count && path->len == 0 && !path->error &&
		     path->dirfd >= 0;
	int fd = target->is_by_fd ? target->fd : path->dirfd;

	if (!target->is_by_fd && !empty)
		return write ? file_pin_for_metadata_change(call, target->at_flags)
			     : file_pin_path_at(call, 0, POLICY_READ, target->at_flags);
	if (write)
		return file_pin_fd_for_metadata_change(call, fd);
	if (file_fd_is_opath(call, fd))
		return call_fail(call, -EBADF);
	return file_pin_fd(call, fd, POLICY_READ);
}

/* The bytes that the attribute takes now; 0: the attribute does not exist. */
static uint64_t xattr_measure_bytes(const struct call *call, int fd)
{
	ssize_t size = getxattr(io_proc_fd_path(fd).path, call->text_arg, NULL, 0);

	return size < 0 ? 0 : (uint64_t)size + XATTR_KERNEL_BYTES_PER_ATTRIBUTE;
}

/*
 * Counts the bytes of an attribute that was set or removed. The removal of an attribute from before the run counts too,
 * but the sum never falls below 0.
 */
static void xattr_count_changed_bytes(struct call *call, uint64_t before, uint64_t now)
{
	uint64_t *sum = &call->sandbox->added_xattr_bytes;

	*sum += now;
	*sum -= before < *sum ? before : *sum;
	disk_set_xattr_bytes(call, *sum);
}

/* Checks the limit for an attribute's bytes. False: the outcome is set. */
static bool xattr_admit_bytes(struct call *call, uint64_t before, uint64_t now)
{
	uint64_t sum = call->sandbox->added_xattr_bytes;

	if (now <= before)
		return true;
	if (sum + now - before <= XATTR_BYTES_OF_RUN_MAX)
		return disk_admit_bytes(call, now - before) == 0;
	call_refuse(call, -ENOSPC, NULL, "attributes_limit");
	return false;
}

/* Copies the new value, before the path is resolved, with checks in the order of setxattr_copy() in fs/xattr.c. */
static int xattr_copy_value(struct call *call, const struct xattr_target *target, uint64_t addr, uint64_t size,
		      unsigned flags, void **ret_value)
{
	if (flags & ~(unsigned)(XATTR_CREATE | XATTR_REPLACE))
		return call_fail(call, -EINVAL);
	if (xattr_check_arguments(call, target, true) < 0)
		return -1;
	if (size > XATTR_VALUE_BYTES_MAX)
		return call_fail(call, -E2BIG);
	*ret_value = malloc(size ? size : 1);
	if (!*ret_value)
		return call_fail(call, -ENOMEM);
	return size && decode_memory_at(call, addr, *ret_value, size) < 0 ? call_fail(call, -EFAULT) : 0;
}

static void xattr_set(struct call *call, struct xattr_target target, uint64_t addr, uint64_t size, unsigned flags)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ void *value = NULL;
	uint64_t before;

	if (xattr_copy_value(call, &target, addr, size, flags, &value) < 0 ||
	    (fd = xattr_pin_target(call, &target, true)) < 0)
		return;
	before = xattr_measure_bytes(call, fd);
	if (!xattr_admit_bytes(call, before, size + XATTR_KERNEL_BYTES_PER_ATTRIBUTE) ||
	    disk_count_copy(call, 0, fd, DISK_COPIES) < 0 || disk_watch_file(call, fd, false) < 0 ||
	    file_record_before_change(call, 0) < 0)
		return;
	file_end_call(call, setxattr(io_proc_fd_path(fd).path, call->text_arg, value, size, (int)flags));
	if (file_get_outcome_error(call) == 0)
		xattr_count_changed_bytes(call, before, size + XATTR_KERNEL_BYTES_PER_ATTRIBUTE);
	disk_measure_changed_file(call, fd);
}

static void xattr_remove(struct call *call, struct xattr_target target)
{
	_cleanup_close_ int fd = -1;
	uint64_t before;

	if (xattr_check_arguments(call, &target, true) < 0 || (fd = xattr_pin_target(call, &target, true)) < 0)
		return;
	before = xattr_measure_bytes(call, fd);
	if (file_record_before_change(call, 0) < 0)
		return;
	file_end_call(call, removexattr(io_proc_fd_path(fd).path, call->text_arg));
	if (file_get_outcome_error(call) == 0)
		xattr_count_changed_bytes(call, before, 0);
}

/* getxattr or, with `list`, listxattr, which has no name. */
static void xattr_get_or_list(struct call *call, struct xattr_target target, bool list, uint64_t addr, uint64_t size)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *value = NULL;
	struct stat status;
	ssize_t len;

	if (xattr_check_arguments(call, &target, !list) < 0)
		return;
	size = size < XATTR_VALUE_BYTES_MAX ? size : XATTR_VALUE_BYTES_MAX;
	value = malloc(size ? size : 1);
	if (!value) {
		call_fail(call, -ENOMEM);
		return;
	}
	fd = xattr_pin_target(call, &target, false);
	/* Natively user attributes need a readable object; a list of names does not. */
	if (fd < 0 || (!list && (fstat(fd, &status) < 0 || file_refuse_unless_public(call, &status, S_IROTH) < 0)))
		return;
	if (list)
		len = listxattr(io_proc_fd_path(fd).path, value, size);
	else
		len = getxattr(io_proc_fd_path(fd).path, call->text_arg, value, size);
	file_end_call_with_output(call, addr, value, size && len > 0 ? (size_t)len : 0, len);
}

/*
 * The kinds of targets of the calls below: path[0], path[0] without following a link, a descriptor, path[0] with AT_*
 * flags.
 */
#define xattr_by_path ((struct xattr_target){.at_flags = 0})
#define xattr_by_link ((struct xattr_target){.at_flags = AT_SYMLINK_NOFOLLOW})
#define xattr_by_fd(call) ((struct xattr_target){.is_by_fd = true, .fd = call_get_int(call, 0)})
#define xattr_at(call) ((struct xattr_target){.at_flags = call_get_uint(call, 2)})

HANDLER(sys_setxattr, xattr_set(call, xattr_by_path, call->arg[2], call->arg[3], call_get_uint(call, 4)))
HANDLER(sys_lsetxattr, xattr_set(call, xattr_by_link, call->arg[2], call->arg[3], call_get_uint(call, 4)))
HANDLER(sys_fsetxattr, xattr_set(call, xattr_by_fd(call), call->arg[2], call->arg[3], call_get_uint(call, 4)))
HANDLER(sys_removexattr, xattr_remove(call, xattr_by_path))
HANDLER(sys_lremovexattr, xattr_remove(call, xattr_by_link))
HANDLER(sys_fremovexattr, xattr_remove(call, xattr_by_fd(call)))
HANDLER(sys_removexattrat, xattr_remove(call, xattr_at(call)))
HANDLER(sys_getxattr, xattr_get_or_list(call, xattr_by_path, false, call->arg[2], call->arg[3]))
HANDLER(sys_lgetxattr, xattr_get_or_list(call, xattr_by_link, false, call->arg[2], call->arg[3]))
HANDLER(sys_listxattr, xattr_get_or_list(call, xattr_by_path, true, call->arg[1], call->arg[2]))
HANDLER(sys_llistxattr, xattr_get_or_list(call, xattr_by_link, true, call->arg[1], call->arg[2]))
HANDLER(sys_listxattrat, xattr_get_or_list(call, xattr_at(call), true, call->arg[3], call->arg[4]))

/* struct xattr_args of linux/xattr.h (Linux 6.13). */
struct xattr_args_of_call {
	uint64_t value __attribute__((aligned(8)));
	uint32_t size;  /* bytes at `value` */
	uint32_t flags; /* XATTR_CREATE, XATTR_REPLACE */
};

/* Copies struct xattr_args from argument 4; argument 5 is its size. False: the outcome is set. */
static bool xattr_copy_args(struct call *call, struct xattr_args_of_call *ret_args)
{
	int r = decode_extensible_struct(call, 4, ret_args, sizeof(*ret_args), call->arg[5], sizeof(*ret_args));

	if (r < 0)
		call_fail(call, r);
	return r == 0;
}

void sys_setxattrat(struct call *call)
{
	struct xattr_target target = xattr_at(call);
	struct xattr_args_of_call args;

	if (xattr_copy_args(call, &args) && xattr_check_arguments(call, &target, false) == 0)
		xattr_set(call, target, args.value, args.size, args.flags);
}

void sys_getxattrat(struct call *call)
{
	struct xattr_args_of_call args;

	if (!xattr_copy_args(call, &args))
		return;
	if (args.flags)
		call_fail(call, -EINVAL);
	else
		xattr_get_or_list(call, xattr_at(call), false, args.value, args.size);
}
