/* The four things done with extended attributes, whichever call asks for them. */
#ifndef CALLGATE_SYSCALLS_FILE_XATTR_H
#define CALLGATE_SYSCALLS_FILE_XATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* Of what: the descriptor fd, or path[0] with AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH of at_flags. */
struct xattr_target {
	bool by_fd;
	int fd;
	unsigned at_flags;
};

/* Each ends the call. The attribute's name is call->text; addr and size are the program's buffer. */
void xattr_set(struct call *call, const struct xattr_target *target, uint64_t addr, uint64_t size, unsigned flags);
void xattr_remove(struct call *call, const struct xattr_target *target);
void xattr_read(struct call *call, const struct xattr_target *target, bool list, uint64_t addr, uint64_t size);

/* False with the outcome set: a name of no or too many bytes (ERANGE), unknown *at flags (EINVAL). */
bool xattr_check_name(struct call *call);
bool xattr_check_at(struct call *call, unsigned flags);

#endif
