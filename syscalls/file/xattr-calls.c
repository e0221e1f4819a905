/* The seventeen names of the extended attribute calls. */
#include <errno.h>
#include <fcntl.h>

#include "syscalls/call/decode.h"
#include "syscalls/file/xattr.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

static const struct xattr_target by_path = {.at_flags = 0};
static const struct xattr_target by_link = {.at_flags = AT_SYMLINK_NOFOLLOW};

static struct xattr_target by_fd(const struct call *call)
{
	return (struct xattr_target){.by_fd = true, .fd = call_int(call, 0)};
}

void sys_setxattr(struct call *call)
{
	xattr_set(call, &by_path, call->arg[2], call->arg[3], call_uint(call, 4));
}

void sys_lsetxattr(struct call *call)
{
	xattr_set(call, &by_link, call->arg[2], call->arg[3], call_uint(call, 4));
}

void sys_fsetxattr(struct call *call)
{
	struct xattr_target target = by_fd(call);

	xattr_set(call, &target, call->arg[2], call->arg[3], call_uint(call, 4));
}

void sys_removexattr(struct call *call)
{
	xattr_remove(call, &by_path);
}

void sys_lremovexattr(struct call *call)
{
	xattr_remove(call, &by_link);
}

void sys_fremovexattr(struct call *call)
{
	struct xattr_target target = by_fd(call);

	xattr_remove(call, &target);
}

void sys_getxattr(struct call *call)
{
	xattr_read(call, &by_path, false, call->arg[2], call->arg[3]);
}

void sys_lgetxattr(struct call *call)
{
	xattr_read(call, &by_link, false, call->arg[2], call->arg[3]);
}

void sys_listxattr(struct call *call)
{
	xattr_read(call, &by_path, true, call->arg[1], call->arg[2]);
}

void sys_llistxattr(struct call *call)
{
	xattr_read(call, &by_link, true, call->arg[1], call->arg[2]);
}

/* struct xattr_args of linux/xattr.h (Linux 6.13). */
struct xattr_at {
	uint64_t value __attribute__((aligned(8)));
	uint32_t size;
	uint32_t flags;
};

/* Copies it from arg[4]; its size is arg[5]. */
static bool take_args(struct call *call, struct xattr_at *ret_args)
{
	int r = decode_extensible(call, 4, ret_args, sizeof(*ret_args), call->arg[5], sizeof(*ret_args));

	if (r < 0)
		call_fail(call, r);
	return r == 0;
}

void sys_setxattrat(struct call *call)
{
	struct xattr_target target = {.at_flags = call_uint(call, 2)};
	struct xattr_at args;

	if (take_args(call, &args) && xattr_check_at(call, target.at_flags))
		xattr_set(call, &target, args.value, args.size, args.flags);
}

void sys_getxattrat(struct call *call)
{
	struct xattr_target target = {.at_flags = call_uint(call, 2)};
	struct xattr_at args;

	if (!take_args(call, &args))
		return;
	if (args.flags)
		call_fail(call, -EINVAL);
	else if (xattr_check_at(call, target.at_flags))
		xattr_read(call, &target, false, args.value, args.size);
}

void sys_listxattrat(struct call *call)
{
	struct xattr_target target = {.at_flags = call_uint(call, 2)};

	if (xattr_check_at(call, target.at_flags))
		xattr_read(call, &target, true, call->arg[3], call->arg[4]);
}

void sys_removexattrat(struct call *call)
{
	struct xattr_target target = {.at_flags = call_uint(call, 2)};

	if (xattr_check_at(call, target.at_flags))
		xattr_remove(call, &target);
}
