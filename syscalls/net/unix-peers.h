/*
 * Which process is at the other end of a unix socket, for SO_PEERCRED. The kernel remembers who called connect(2) and
 * listen(2). For sockets with a name that is the supervisor, which performs these calls, so it keeps a record of the
 * processes that asked for them. Used by connect.c, socket.c and getsockopt.c, in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_UNIX_PEERS_H
#define CALLGATE_SYSCALLS_NET_UNIX_PEERS_H

#include <sys/types.h>

#include "syscalls/net/unix-sockets.h"

/*
 * Only the newest listeners and connections are kept: peers_find_peer_process() does not know the processes of older
 * ones.
 */
#define PEERS_LISTENERS_MAX 1024u
#define PEERS_CONNECTIONS_MAX 4096u /* the last connections between unix sockets of the run that are remembered */

struct peers;

/* To be called before the supervisor installs its own filter, which refuses the socket that this makes. 0 or -errno. */
int peers_create(struct peers **ret_peers);
void peers_free(struct peers *peers);

/* Notes that process pid makes a bound socket listen. */
void peers_note_listener(struct peers *peers, int socket_fd, pid_t pid);
/* Notes that process pid connects socket_fd to a listener. */
void peers_note_connection(struct peers *peers, int socket_fd, const struct sockets_address *address, pid_t pid);

/*
 * The process at the other end of a socket that the supervisor has connected; of a listening socket the process that
 * made it listen. 0: not known, because the client has closed its socket, or because its entry was overwritten by newer
 * ones.
 */
pid_t peers_find_peer_process(struct peers *peers, int socket_fd);

#endif
