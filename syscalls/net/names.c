/* getsockname(2) and getpeername(2): names that the supervisor has changed are translated back for the program. */
#include <errno.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/*
 * Writes a socket name and its length to target memory (arguments 1 and 2), as move_addr_to_user() in net/socket.c
 * does.
 */
static void names_write_address(struct call *call, const struct sockaddr_storage *address, socklen_t len)
{
	int32_t room, told = (int32_t)len;
	int r = decode_struct(call, 2, &room, sizeof(room));

	if (r == 0 && room < 0)
		r = -EINVAL;
	if (r == 0 && room > told)
		room = told;
	if (r == 0)
		r = decode_write_output(call, call->arg[2], &told, sizeof(told));
	if (r == 0 && room > 0)
		r = decode_write_output(call, call->arg[1], address, (size_t)room);
	call_return_result(call, r);
}

/* Translates a name into the name that the target knows. False: the kernel's name is right. */
static bool names_restore_name(const struct call *call, int socket_fd, bool peer, struct sockaddr_storage *address,
			 socklen_t *len)
{
	struct sockaddr_un name;

	if (address->ss_family != AF_UNIX)
		return call->sandbox->inet &&
		       inet_translate_name_for_target(call->sandbox->inet, socket_fd, peer, address, len);
	memcpy(&name, address, sizeof(name));
	if (!sockets_restore_name(&name, len))
		return false;
	memcpy(address, &name, sizeof(name));
	return true;
}

/* Answers getsockname(2); peer: getpeername(2). Continuing is safe, because a name grants nothing. */
static void names_answer_getsockname(struct call *call, bool peer)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(address);
	_cleanup_close_ int copy = -1;
	int domain, r;

	target_allow_without_rule(call);
	if (netlink_get_name(call, peer, &address, &len)) {
		names_write_address(call, &address, len);
		return;
	}
	if ((!call->sandbox->inet && !sockets_names_need_restoring(call->sandbox->unix_sockets)) ||
	    net_check_fd_is_socket(call) < 0) {
		call_continue(call);
		return;
	}
	copy = net_copy_socket_of_any_family(call, &domain);
	if (copy < 0)
		return;
	r = (peer ? getpeername : getsockname)(copy, (struct sockaddr *)&address, &len);
	if (r == 0 && names_restore_name(call, copy, peer, &address, &len))
		names_write_address(call, &address, len);
	else
		call_continue(call);
}

HANDLER(sys_getsockname, names_answer_getsockname(call, false))
HANDLER(sys_getpeername, names_answer_getsockname(call, true))
