/* Makes another connection to the session of a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "keeper/scratch.h"
#include "keeper/session-client.h"

int sandbox_connect(const struct sandbox *sandbox)
{
	char name[sizeof(SESSION_SOCKET_PREFIX) + SCRATCH_ID_SIZE];
	struct policy_error error = {""};
	_cleanup_close_ int dir_fd = -1;

	if (!sandbox->id || sandbox->session_hold_fd < 0 ||
	    snprintf(name, sizeof(name), SESSION_SOCKET_PREFIX "%s", sandbox->id) >= (int)sizeof(name))
		return -ENOTCONN;
	dir_fd = scratch_open_directory_of_runs(&error);
	return dir_fd < 0 ? dir_fd : session_client_connect(dir_fd, name, SOCK_NONBLOCK);
}
