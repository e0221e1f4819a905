/* Declarations shared by the source files of `callgate session`. */
#ifndef CALLGATE_CLI_SESSION_SESSION_H
#define CALLGATE_CLI_SESSION_SESSION_H

#include <jansson.h>
#include <sys/types.h>

#include "cli/cli.h"

#define SESSION_SOCKET_PREFIX "session-" /* name of the socket in the directory of all runs, before the session's id */

/* Opens the directory of all runs, in which the sockets are. A descriptor owned by the caller; -1 with a message. */
int session_open_directory(void);

/* Connects to the session whose id begins with `id`. A descriptor owned by the caller; -1 with a message. */
int session_connect(const char *id);
/* As session_connect, for the socket `name` in the directory. -errno without a message. */
int session_connect_at(int dir_fd, const char *name);

/* Sends one message, with the three descriptors of fd unless that is NULL. Takes the reference. 0 or -errno. */
int session_send(int socket_fd, json_t *message, const int fd[3]);
/* Receives one message. Owned by the caller; NULL: the session has hung up, or the message is none. */
json_t *session_receive(int socket_fd);

int session_main_create(int argc, char **argv);
int session_main_exec(int argc, char **argv);
int session_main_list(int argc, char **argv);
int session_main_stop(int argc, char **argv);

#endif
