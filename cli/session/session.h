/* Declarations shared by the source files of `callgate session`. */
#ifndef CALLGATE_CLI_SESSION_SESSION_H
#define CALLGATE_CLI_SESSION_SESSION_H

#include "cli/cli.h"
#include "keeper/scratch.h"

/* Opens the directories of the sessions' sockets. 0, or -1 with a message. */
int session_open_directories(struct scratch_bases *ret_bases);

/*
 * Connects to the session whose id begins with `id`. A descriptor, the name of its socket and the directory that it is
 * in, all owned by the caller; -1 with a message.
 */
int session_connect(const char *id, char **ret_name, int *ret_dir_fd);

int session_main_create(int argc, char **argv);
int session_main_exec(int argc, char **argv);
int session_main_inspect(int argc, char **argv);
int session_main_checkpoint(int argc, char **argv);
int session_main_restore(int argc, char **argv);
int session_main_list(int argc, char **argv);
int session_main_stop(int argc, char **argv);

#endif
