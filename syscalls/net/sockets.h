/*
 * The unix sockets the run has bound to names. What stands in a granted directory under such a name is a socket file nobody
 * listens on; the socket itself is bound to a name of its own in the scratch space, which is removed at once. Members of
 * the run are led from the one to the other by connect(2). So nobody outside can connect in, and a descriptor can be
 * passed between members only.
 */
#ifndef CALLGATE_SYSCALLS_NET_SOCKETS_H
#define CALLGATE_SYSCALLS_NET_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SOCKETS_MAX 1024 /* bound, open and with a name at a time; two descriptors of ours each */

struct sockets;

/* scratch_fd: the run's own directory, borrowed; the first bind makes one in it. 0 or -ENOMEM. */
int sockets_create(int scratch_fd, struct sockets **ret_sockets);
void sockets_free(struct sockets *sockets);

/*
 * Makes room for one more: forgets those that are closed or whose file is gone. 0, or -ENOSPC. To be called before anything
 * is made.
 */
int sockets_make_room(struct sockets *sockets);

/*
 * Binds a socket (a duplicate of the program's) that connect(2) shall find behind the socket file node_fd, which is taken.
 * text: the name as the program wrote it. 0 or -errno of bind(2).
 */
int sockets_bind(struct sockets *sockets, int socket_fd, int node_fd, const char *text);

/* The pinned inode of the socket behind a socket file: borrowed; or -ENOENT: the run has not bound it. */
int sockets_find(const struct sockets *sockets, const struct stat *node);

/* connect(2) to the socket whose inode pin_fd holds (O_PATH). 0 or -errno. May wait, as that call does. */
int sockets_connect(int socket_fd, int pin_fd);

/* Whether somebody has a socket bound to the inode that pin_fd holds. Nobody notices being asked. */
bool sockets_alive(int pin_fd);

/* Whether any name was bound that reads differently from how the kernel knows it. */
bool sockets_renamed(const struct sockets *sockets);

/* Makes an address of getsockname(2) what the program has bound. True when that changed it. */
bool sockets_restore(struct sockaddr_un *address, socklen_t len);

#endif
