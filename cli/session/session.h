/* Declarations shared by the source files of `callgate session`. */
#ifndef CALLGATE_CLI_SESSION_SESSION_H
#define CALLGATE_CLI_SESSION_SESSION_H

#include "cli/cli.h"

/* Opens the directory of all runs, in which the sockets are. A descriptor owned by the caller; -1 with a message. */
int session_open_directory(void);

/* Connects to the session whose id begins with `id`. A descriptor owned by the caller; -1 with a message. */
int session_connect(const char *id);

int session_main_create(int argc, char **argv);
int session_main_exec(int argc, char **argv);
int session_main_list(int argc, char **argv);
int session_main_stop(int argc, char **argv);

#endif
