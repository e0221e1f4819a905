#include "keeper/acls.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "confine/descriptors.h"
#include "confine/privs.h"
#include "view/copy/acls.h"

int keeper_fork_acls_process(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	/* With these, the user namespace gets all ids that this one has. */
	const bool has_all_ids = privs_have_capability(CAP_SETUID) && privs_have_capability(CAP_SETGID);
	_cleanup_close_ int serving = -1;
	int pair[2];
	pid_t pid;

	if (options->overlay != VIEW_OVERLAY_WORKSPACE || has_all_ids ||
	    !layers_wants_layer(options->layers, LAYER_USERNS) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	serving = pair[1];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		descriptors_detach_stdio(true);
		descriptors_close_all_but(&serving, 1);
		if (privs_drop_all() == 0)
			acls_serve(serving);
		exit_quickly(0);
	}
	if (pid > 0) {
		keeper->acls_pid = pid;
		keeper->acls_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		return pair[0];
	}
	(void)close(pair[0]);
	return -1;
}
