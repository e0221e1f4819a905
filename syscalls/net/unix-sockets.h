/*
 * The unix sockets that the run has bound. The program sees a socket file in the view, on which no socket listens. The
 * socket itself is bound to a name in the scratch space, which is removed at once. connect(2) finds the socket by the
 * file. So processes outside the run cannot connect, and descriptors are passed only between processes of the run.
 *
 * The kernel keeps abstract names by network namespace. If the run has its own, they are bound natively. Otherwise the
 * socket is bound in the scratch space too, and connect(2) finds it by a table of the run's names.
 *
 * Used by bind.c, connect.c, socket.c and names.c. Threads of supervisor/workers/blocking.c use sockets_connect() too.
 */
#ifndef CALLGATE_SYSCALLS_NET_UNIX_SOCKETS_H
#define CALLGATE_SYSCALLS_NET_UNIX_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SOCKETS_BOUND_MAX 1024 /* bound sockets at a time; each costs the supervisor one or two descriptors */
/* longest path or abstract name: 108 bytes */
#define SOCKETS_NAME_BYTES_MAX sizeof(((struct sockaddr_un *)NULL)->sun_path)

struct sockets;

/* The address of a unix socket as the kernel knows it. */
struct sockets_address {
	struct sockaddr_un name;
	socklen_t len;
	ino_t ino; /* inode number of the socket that has the address, as fstat(2) tells it; 0: not known */
};

/* scratch_fd: the run's scratch directory, borrowed. own_netns: the run has a network namespace. 0 or -ENOMEM. */
int sockets_create(int scratch_fd, bool own_netns, struct sockets **ret_sockets);
void sockets_free(struct sockets *sockets);

/* To be called before a socket file is made. Makes room: forgets closed and unlinked sockets. 0 or -ENOSPC. */
int sockets_make_room(struct sockets *sockets);

/* Binds socket_fd and registers it as the socket of file node_fd (taken). text: the path in the call. 0 or -errno. */
int sockets_bind_file(struct sockets *sockets, int socket_fd, int node_fd, const char *text);
/* Binds socket_fd to an abstract name; if the address has only a family, to a name that is chosen. 0 or -errno. */
int sockets_bind_abstract(struct sockets *sockets, int socket_fd, const struct sockets_address *address);

/*
 * Finds the socket of the file `node`. Returns an O_PATH descriptor, owned by the caller, which must stay open while
 * *ret_address is used. -ENOENT: the run has not bound that file. -EAGAIN: no descriptor is left.
 */
int sockets_find_path(const struct sockets *sockets, const struct stat *node, struct sockets_address *ret_address);
/*
 * Finds the socket of an abstract name and of socket_fd's type. *address is the name, and then the address to connect
 * to. *ret_pin_fd, owned by the caller, must stay open while it is used; -1: there is nothing to keep open. 0;
 * -ECONNREFUSED: no socket of the run has the name; -EAGAIN: no descriptor is left.
 */
int sockets_find_abstract(const struct sockets *sockets, int socket_fd, struct sockets_address *address,
			  int *ret_pin_fd);

/* Performs connect(2), which may wait. 0 or -errno. */
int sockets_connect(int socket_fd, const struct sockets_address *address);

/* Whether an open socket is bound to the inode of pin_fd (O_PATH). Has no effect on that socket. */
bool sockets_inode_has_open_socket(int pin_fd);
/* Whether the unix socket is bound to a path or an abstract name. */
bool sockets_has_name(int socket_fd);

/*
 * Whether only processes of the run can find a socket by `name`. A name that the kernel has chosen can be found by
 * every process of the network namespace.
 */
bool sockets_name_is_of_run_only(const struct sockets *sockets, const struct sockaddr_un *name);

/*
 * Whether the run has bound a name for which getsockname(2) returns another one, so that names from getsockname(2) have
 * to pass sockets_restore_name().
 */
bool sockets_names_need_restoring(const struct sockets *sockets);

/* Turns a name of getsockname(2) into the name that the program has bound. True: it was changed. */
bool sockets_restore_name(struct sockaddr_un *name, socklen_t *len);

#endif
