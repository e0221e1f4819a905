/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_SANDBOX_PRIVATE_H
#define CALLGATE_AGENTS_SANDBOX_PRIVATE_H

#include <limits.h>
#include <sys/resource.h>

#include "agents/sandbox/sandbox.h"
#include "base/cleanup-json.h"

struct launcher;

/* A session that callgate-agents has started and holds. */
struct sandbox {
	struct loop *loop;
	struct sandbox_options options; /* without `arguments` and `callgate_path`, which are not kept */
	int session_hold_fd;            /* the connection that keeps the session alive; -1: the session has ended */
	struct loop_source *hold_source;
	struct launcher *launcher;              /* NULL: the launcher has exited */
	struct loop_timer *start_timeout_timer; /* NULL: the sandbox is ready, or could not be made */
	char *id, *workdir;                     /* owned; NULL: the sandbox is not ready */
	bool wants_looks;                       /* as sandbox_wants_looks() says */
	bool is_paused;                         /* as sandbox_is_paused() says */
	uint64_t paused_since_ms;               /* when the pause of the sandbox began; valid if is_paused */
	uint64_t ended_pauses_ms;               /* total duration of the pauses that have ended */
	struct sandbox_program *programs;       /* list */
};

/* ---- launcher.c: the process `callgate session create` ---- */

/*
 * Starts `callgate session create`, which inherits holder_fd (borrowed), the session's end of the connection that keeps
 * it alive. When the process has exited, on_exit gets what it wrote to stderr, unless launcher_detach() was called, and
 * the launcher is freed. 0 or -errno.
 */
int launcher_start(struct loop *loop, const struct sandbox_options *options, int holder_fd,
		   void (*on_exit)(void *data, const char *text), void *data, struct launcher **ret_launcher);
void launcher_detach(struct launcher *launcher);
/* Kills the process. on_exit is called as after any exit. */
void launcher_kill(struct launcher *launcher);

/* ---- open-files.c ---- */

/* Counts descriptors that are about to be opened. 0, or -EMFILE: there may not be so many. */
int open_files_take(unsigned count);
void open_files_give_back(unsigned count); /* they are closed */
/* Sets the soft limit that was there before sandbox_raise_open_files_limit(), for a child process to inherit. */
void open_files_set_former_limit(struct rlimit *ret_present);
void open_files_restore_limit(const struct rlimit *present);

/* ---- connect.c ---- */

/* Connects to the sandbox' session. A descriptor (O_NONBLOCK) owned by the caller, or -errno. */
int sandbox_connect(const struct sandbox *sandbox);

/* ---- fileop.c ---- */

/* Finds callgate-files, which each sandbox may execute. 0, or -EPERM: others could have replaced it. */
int fileop_find_program(char ret_path[PATH_MAX]);

#endif
