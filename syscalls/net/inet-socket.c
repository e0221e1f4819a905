/*
 * socket(2) of UDP in a run without a network namespace of its own: made here, fenced (inet-fence.h) before the program
 * has it. In a namespace, where nobody else is, programs make their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

bool inet_makes(const struct call *call)
{
	int domain = call_int(call, 0), protocol = call_int(call, 2);

	return call->sandbox->inet && !inet_bounded(call->sandbox->inet) && descriptor_direct() &&
	       (domain == AF_INET || domain == AF_INET6) &&
	       (call_int(call, 1) & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_DGRAM &&
	       (protocol == 0 || protocol == IPPROTO_UDP);
}

void inet_make(struct call *call)
{
	_cleanup_close_ int fd = -1;
	int type = call_int(call, 1), r;

	target_allow(call);
	if (call_commit(call) < 0)
		return;
	fd = socket(call_int(call, 0), type | SOCK_CLOEXEC, IPPROTO_UDP);
	r = fd < 0 ? -errno : inet_fence_close(fd);
	if (r < 0)
		call_fail(call, r);
	else
		call_give_fd(call, steal_fd(&fd), type & SOCK_CLOEXEC);
}
