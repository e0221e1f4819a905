/*
 * Copies POSIX ACLs from outside the run's user namespace, by a process that the keeper forks before it makes the
 * namespace. Within, getxattr(2) shows a user or group without a number there as -1, which setxattr(2) refuses
 * (EINVAL; acl(5), user_namespaces(7)). The process has the rights of the user. The supervisor uses it before the
 * program starts, and it ends when the supervisor is ready.
 */
#ifndef CALLGATE_VIEW_COPY_ACLS_H
#define CALLGATE_VIEW_COPY_ACLS_H

/*
 * Asks the process to give one entry the ACLs of another one; both may be of O_PATH. socket_fd: the other end of
 * acls_serve(), a SOCK_SEQPACKET, or -1. 0; -EINVAL: there is no such process; or -errno.
 */
int acls_copy(int socket_fd, int from_fd, int to_fd);

/* Does what acls_copy() asks for, until all its ends of the socket are closed. */
void acls_serve(int socket_fd);

#endif
