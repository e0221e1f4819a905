/* Declarations shared by the source files of `callgate session`. */
#ifndef CALLGATE_CLI_SESSION_SESSION_H
#define CALLGATE_CLI_SESSION_SESSION_H

#include "cli/cli.h"

/* Opens the directory of the sessions' sockets. A descriptor owned by the caller; -1 with a message. */
int session_open_directory(void);

/*
 * Connects to the session whose id begins with `id`. A descriptor, and the name of its socket, both owned by the
 * caller; -1 with a message.
 */
int session_connect(int dir_fd, const char *id, char **ret_name);

int session_main_create(int argc, char **argv);
int session_main_exec(int argc, char **argv);
int session_main_inspect(int argc, char **argv);
int session_main_checkpoint(int argc, char **argv);
int session_main_restore(int argc, char **argv);
int session_main_list(int argc, char **argv);
int session_main_stop(int argc, char **argv);

#endif
