/*
 * getsockopt(2) of SO_PEERCRED. Other options are native, or refused. If the kernel names the supervisor, which has
 * performed the connect(2) or listen(2), the answer names the process that made that call instead.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* Writes the credentials and their length to target memory, as sk_getsockopt() in net/core/sock.c does. */
static void getsockopt_write_credentials(struct call *call, const struct ucred *credentials)
{
	int32_t len;
	int r = decode_struct(call, 4, &len, sizeof(len));

	if (r == 0 && len < 0)
		r = -EINVAL;
	if (r == 0 && (size_t)len > sizeof(*credentials))
		len = sizeof(*credentials);
	if (r == 0 && len > 0)
		r = decode_write_output(call, call->arg[3], credentials, (size_t)len);
	if (r == 0)
		r = decode_write_output(call, call->arg[4], &len, sizeof(len));
	call_return_result(call, r);
}

/*
 * Answers SO_PEERCRED if the kernel would name the supervisor; else continues the call. That is safe even if another
 * thread replaces the socket, because the process ids of a run are no secret to it.
 */
static void getsockopt_answer_peercred(struct call *call)
{
	struct ucred credentials = {0};
	socklen_t len = sizeof(credentials);
	_cleanup_close_ int copy = -1;
	int domain;

	if (!net_allow_if_fd_is_socket(call))
		return;
	copy = net_copy_socket_of_any_family(call, &domain);
	if (copy < 0)
		return;
	if (domain != AF_UNIX || getsockopt(copy, SOL_SOCKET, SO_PEERCRED, &credentials, &len) < 0 ||
	    credentials.pid != getpid()) {
		call_continue(call);
		return;
	}
	credentials.pid = peers_find_peer_process(call->sandbox->unix_peers, copy);
	getsockopt_write_credentials(call, &credentials);
}

void sys_getsockopt(struct call *call)
{
	if (call_get_int(call, 1) == SOL_SOCKET && call_get_int(call, 2) == SO_PEERCRED)
		getsockopt_answer_peercred(call);
	else
		call_refuse(call, -ENOPROTOOPT, NULL, "refused_syscall");
}
