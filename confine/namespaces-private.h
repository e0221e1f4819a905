/* Declarations that the files namespaces-*.c and namespaces.c share. */
#ifndef CALLGATE_CONFINE_NAMESPACES_PRIVATE_H
#define CALLGATE_CONFINE_NAMESPACES_PRIVATE_H

#include "confine/namespaces.h"

/* ---- namespaces-note.c: messages between the keeper and its child while the namespaces are made ---- */

enum namespaces_message_kind {
	NS_MESSAGE_WRITE_ID_MAPS,   /* to the keeper: the user namespace is made; write its id maps */
	NS_MESSAGE_ID_MAPS_WRITTEN, /* from the keeper: value is the result of writing the id maps, 0 or -errno */
	/* from the intermediate process: value is the pid of the supervisor as the keeper sees it */
	NS_MESSAGE_SUPERVISOR_PID,
	/* the intermediate process cannot make `layers`; it has forked nothing, and exits */
	NS_MESSAGE_INTERMEDIATE_FAILED,
	NS_MESSAGE_SUPERVISOR_FAILED, /* the supervisor cannot use `layers`, and exits */
	NS_MESSAGE_SUPERVISOR_READY,  /* the supervisor is set up, and is about to wait for calls */
};

/* A message between keeper, intermediate process and supervisor while namespaces are made. */
struct namespaces_message {
	enum namespaces_message_kind kind;
	int result_or_pid; /* by kind: 0 or -errno, or a pid */
	unsigned layers; /* LAYER_BITs of the namespaces that it is about */
	char why[256]; /* long enough for a reason of view_prepare_kernel_reads() */
};

/* Send and receive one message between keeper and child. flags: of recv(2). False when the other end is closed. */
bool namespaces_send_message(int fd, const struct namespaces_message *note);
bool namespaces_receive_message(int fd, int flags, struct namespaces_message *ret_note);
/*
 * In the keeper: receives a message from namespaces->start_socket_fd. False without one: the process of pidfd (-1:
 * none) has ended, stop_fd is readable, or most_ms (-1: no limit) or the time limit of the run is over.
 */
bool namespaces_await_message(const struct namespaces *namespaces, int pidfd, int stop_fd, int most_ms,
			   struct namespaces_message *ret_note);
/* Sends NS_MESSAGE_INTERMEDIATE_FAILED or NS_MESSAGE_SUPERVISOR_FAILED. False: the other end is closed. */
__attribute__((format(printf, 4, 5))) bool namespaces_send_failure(int fd, enum namespaces_message_kind kind,
								   unsigned layers, const char *format, ...);

/*
 * As fork(2), or clone(2) with flags. namespaces->start_socket_fd connects parent and child. The child also has the
 * host_* descriptors of `namespaces`.
 */
pid_t namespaces_fork_with_start_socket(struct namespaces *namespaces, unsigned long flags);

/*
 * As fork(2), into all wanted namespaces by one clone(2); -errno when that fails. When it returns in the child, the id
 * maps are written, and namespaces->made_layers and the layers are set. Where nothing needs the network namespace
 * earlier, namespaces_prepare_mounts() makes it.
 */
pid_t namespaces_clone_child(struct namespaces *namespaces, unsigned wanted);

/*
 * In the intermediate process: unshares the namespaces that it can, and sets namespaces->made_layers and the layers.
 * False: it must exit.
 */
bool namespaces_unshare_wanted_layers(struct namespaces *namespaces);

/* Returns the LAYER_BITs of the namespaces that may be tried; stores in the layers why the others may not. */
unsigned namespaces_find_layers_to_try(struct namespaces *namespaces);

/* Returns the CLONE_NEW* flags of LAYER_BITs. */
unsigned long namespaces_get_flags(unsigned layers);

/* Adds LAYER_BITs to namespaces->made_layers and marks these layers as active. */
void namespaces_mark_layers_made(struct namespaces *namespaces, unsigned made);

/* Raises the loopback interface of the network namespace of this process, and marks that namespace as made. */
void namespaces_raise_own_loopback(struct namespaces *namespaces);
/* Marks the network namespace as made; loopback: 0, or -errno when the interface stays down. */
void namespaces_mark_network_made(struct namespaces *namespaces, int loopback);

#endif
