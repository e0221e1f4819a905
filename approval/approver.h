/*
 * The approver: puts questions of the supervisor to a front, and passes answers on. A process of its own, which
 * callgate forks before the run begins; nothing that the program controls makes it wait.
 */
#ifndef CALLGATE_APPROVAL_APPROVER_H
#define CALLGATE_APPROVAL_APPROVER_H

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors are borrowed: they are those of the process that calls approver_start(). */
struct approver_options {
	int socket_fd;       /* connected to the front's Unix socket; -1: there is none */
	uid_t socket_uid;    /* user id of the process at its other end */
	bool socket_is_starters; /* the socket was inherited from the process that has started callgate */
	int terminal_fd;     /* the caller's terminal, opened with O_NONBLOCK; -1: it is not the front */
	const char *command; /* the front is this command, by a shell, once a question; NULL: it is another */
	int remembered_fd;   /* the file of --approvals; -1: none, so nothing can be remembered */
	bool is_in_background; /* of a session: the process does not keep standard error, for which a caller may wait */
	const char *remembered_path; /* its canonical path; NULL: it is not opened again when another one is there */
};

/*
 * Starts the process, not as a child of the caller. *ret_fd: the supervisor's end of the channel, with O_NONBLOCK,
 * owned by the caller. 0 or -errno.
 */
int approver_start(const struct approver_options *options, int *ret_fd);

#endif
