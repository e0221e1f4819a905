/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_SANDBOX_PRIVATE_H
#define CALLGATE_AGENTS_SANDBOX_PRIVATE_H

#include <limits.h>

#include "agents/sandbox/sandbox.h"
#include "base/cleanup-json.h"

struct launcher;

struct sandbox {
	struct loop *loop;
	struct sandbox_options options; /* `arguments` and `callgate` are not kept */
	int session_hold_fd;            /* the connection that holds the session; -1: it has ended */
	struct loop_source *hold_source;
	struct launcher *launcher;      /* NULL: it has exited */
	struct loop_timer *start_timeout_timer; /* NULL: it is ready, or could not be made */
	char *id, *workdir;             /* owned; NULL: it is not ready */
	struct sandbox_program *programs; /* list */
};

/* ---- launcher.c: callgate session create, while it runs ---- */

/*
 * Starts it with holder_fd, borrowed. It frees itself when it has exited, and calls on_exit before, with what it has
 * printed on stderr, unless launcher_detach() was called. 0 or -errno.
 */
int launcher_start(struct loop *loop, const struct sandbox_options *options, int holder_fd,
		   void (*on_exit)(void *data, const char *text), void *data, struct launcher **ret_launcher);
void launcher_detach(struct launcher *launcher);
/* Kills it. on_exit is called as if it had exited by itself. */
void launcher_kill(struct launcher *launcher);

/* ---- connect.c ---- */

/* Connects to the sandbox' session. A descriptor (O_NONBLOCK) owned by the caller, or -errno. */
int sandbox_connect(const struct sandbox *sandbox);

/* ---- fileop.c ---- */

/* Finds callgate-files, which each sandbox may execute. 0, or -EPERM: others could have replaced it. */
int fileop_find_program(char ret_path[PATH_MAX]);

#endif
