/*
 * Looks at programs of a session before they start (--inspect, and "inspect" of the session's policy), with the files
 * as the session has them.
 */
#ifndef CALLGATE_CLI_SESSION_LOOKING_H
#define CALLGATE_CLI_SESSION_LOOKING_H

#include <stdbool.h>

#include "cli/inspect/program.h"
#include "cli/session/request.h"
#include "cli/session/session.h"

#define LOOK_FILES_MAX 256 /* files of a session that are found; that there were more is told */

/* What is looked at in a session. */
struct session_inspection {
	int socket_fd;   /* the connection to the session; borrowed */
	const char *cwd; /* NULL: the workdir; borrowed, as env */
	const json_t *env;
	int file_fd[LOOK_FILES_MAX];
	size_t file_count;
	bool is_lost; /* the session has not answered: what there was to look at is not known */
	char lost_why[200]; /* what it says of that; "": nothing */
	struct inspect_program program;
};

/*
 * Asks the session what its policy says of inspecting; the default of --inspect otherwise. env: of the program's
 * request. 0 or -errno. session_inspection_release() releases in any case.
 */
int session_inspection_init(struct session_inspection *look, int socket_fd, const struct exec_options *options,
			    const json_t *env);

/*
 * Looks at a program, with the variables of its environment that make it run further files. argv: NULL-ended, not
 * empty. The findings are printed, or become look->program.findings. 0 or -errno.
 */
int session_inspection_find(struct session_inspection *look, char *const *argv);

/* The same for code of a type, which an interpreter gets. */
int session_inspection_find_in_code(struct session_inspection *look, const char *code, enum inspect_type type);

/*
 * The same before the program is started, through the connection by which it is then asked for. A refusal is put on
 * record by the session. CLI_EXIT_OK, or the exit status with a message.
 */
int session_inspection_look(struct session_inspection *look, char *const *argv);

/*
 * Tells which files were changed since, or that it is not known, and has the session put it on record, by a new
 * connection: its socket is `name` in dir_fd. What is known of them, as of inspect_program_make_changes(), owned by the
 * caller; with "changes_unknown" if that is not all. NULL: nothing was looked at, or no memory.
 */
json_t *session_inspection_tell_changes(struct session_inspection *look, int dir_fd, const char *name);

void session_inspection_release(struct session_inspection *look);

#endif
