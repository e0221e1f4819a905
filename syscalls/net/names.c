/* getsockname(2) and getpeername(2): where the kernel's name is not the program's it is translated. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

typedef int ask_name(int socket_fd, struct sockaddr *address, socklen_t *len);

/* As move_addr_to_user() in net/socket.c. */
static void give_address(struct call *call, const struct sockaddr_storage *address, socklen_t len)
{
	int32_t room, told = (int32_t)len;
	int r = decode_struct(call, 2, &room, sizeof(room));

	if (r == 0 && room < 0)
		r = -EINVAL;
	if (r == 0 && room > told)
		room = told;
	if (r == 0)
		r = decode_output(call, call->arg[2], &told, sizeof(told));
	if (r == 0 && room > 0)
		r = decode_output(call, call->arg[1], address, (size_t)room);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

static int ask_own(int socket_fd, struct sockaddr *address, socklen_t *len)
{
	return getsockname(socket_fd, address, len);
}

static int ask_peer(int socket_fd, struct sockaddr *address, socklen_t *len)
{
	return getpeername(socket_fd, address, len);
}

/* True: the program knows it by another name, which it is now. */
static bool restore_name(const struct call *call, int socket_fd, bool peer, struct sockaddr_storage *address,
			 socklen_t *len)
{
	struct sockaddr_un name;

	if (address->ss_family != AF_UNIX)
		return call->sandbox->inet && inet_translate(call->sandbox->inet, socket_fd, peer, address, len);
	memcpy(&name, address, sizeof(name));
	if (!sockets_restore(&name, *len))
		return false;
	memcpy(address, &name, sizeof(name));
	return true;
}

/* Nothing is granted by it: a name that needs no translation is left to the kernel. */
static void tell_name(struct call *call, ask_name *ask)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(address);
	_cleanup_close_ int copy = -1;
	int domain;

	target_allow(call);
	if ((!call->sandbox->inet && !sockets_renamed(call->sandbox->sockets)) || net_check_socket(call) < 0) {
		call_continue(call);
		return;
	}
	copy = net_copy_any(call, &domain);
	if (copy < 0)
		return;
	if (ask(copy, (struct sockaddr *)&address, &len) == 0 &&
	    restore_name(call, copy, ask == ask_peer, &address, &len))
		give_address(call, &address, len);
	else
		call_continue(call);
}

void sys_getsockname(struct call *call)
{
	tell_name(call, ask_own);
}

void sys_getpeername(struct call *call)
{
	tell_name(call, ask_peer);
}
