/*
 * The unix sockets that the run has bound. The program sees a socket file in the view, on which no socket listens. The
 * socket itself is bound to a name in the scratch space, which is removed at once. connect(2) finds the socket by the
 * file. So processes outside the run cannot connect, and descriptors are passed only between processes of the run. Used
 * by bind.c, connect.c and names.c. Threads of supervisor/blocking.c use sockets_connect() too.
 */
#ifndef CALLGATE_SYSCALLS_NET_UNIX_SOCKETS_H
#define CALLGATE_SYSCALLS_NET_UNIX_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SOCKETS_MAX 1024 /* bound sockets at a time; each costs the supervisor two descriptors */

struct sockets;

/* scratch_fd: the run's scratch directory, borrowed. 0 or -ENOMEM. */
int sockets_create(int scratch_fd, struct sockets **ret_sockets);
void sockets_free(struct sockets *sockets);

/* To be called before a socket file is made. Makes room: forgets closed and unlinked sockets. 0 or -ENOSPC. */
int sockets_make_room(struct sockets *sockets);

/* Binds socket_fd and registers it as the socket of file node_fd (taken). text: the path in the call. 0 or -errno. */
int sockets_bind(struct sockets *sockets, int socket_fd, int node_fd, const char *text);

/*
 * An O_PATH descriptor of the inode that the socket of file `node` is bound to, borrowed. -ENOENT: not bound by the
 * run.
 */
int sockets_find_bound_inode(const struct sockets *sockets, const struct stat *node);

/* connect(2) to the socket that is bound to the inode of pin_fd (O_PATH). 0 or -errno. May wait. */
int sockets_connect(int socket_fd, int pin_fd);

/* Whether an open socket is bound to the inode of pin_fd. Has no effect on that socket. */
bool sockets_is_open(int pin_fd);

/* Whether the run has bound a name with a '/', so that getsockname(2) needs sockets_restore_name(). */
bool sockets_have_renamed(const struct sockets *sockets);

/* Turns an address of getsockname(2) into the address that the program has bound. True: it was changed. */
bool sockets_restore_name(struct sockaddr_un *address, socklen_t len);

#endif
