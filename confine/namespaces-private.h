/* Shared by the files of namespaces only. */
#ifndef CALLGATE_CONFINE_NAMESPACES_PRIVATE_H
#define CALLGATE_CONFINE_NAMESPACES_PRIVATE_H

#include "confine/namespaces.h"

/* ---- namespaces-note.c: messages between the keeper and its child while the namespaces are made ---- */

enum note_kind {
	NOTE_MAP,    /* to the keeper: the user namespace is made; write its id maps */
	NOTE_MAPPED, /* from the keeper: value is 0 or -errno */
	NOTE_CHILD,  /* from the intermediate: value is the supervisor's pid in the keeper's pid namespace */
	NOTE_INTERMEDIATE_FAILED, /* the intermediate cannot make `layers`, forked nothing and exits */
	NOTE_SUPERVISOR_FAILED,   /* the supervisor cannot use `layers`, and exits */
	NOTE_SUPERVISOR_READY,
};

struct note {
	enum note_kind kind;
	int value;
	unsigned layers;
	char why[160];
};

/* Receives one whole note. flags: of recv(2). False when the other end is closed. */
bool namespaces_send_note(int fd, const struct note *note);
bool namespaces_receive_note(int fd, int flags, struct note *ret_note);
/*
 * In the keeper: receives from namespaces->peer_fd. False without a note when the process of pidfd (-1: none) ended,
 * stop_fd is readable, most_ms (-1: no limit) or the run's time limit is over.
 */
bool namespaces_await_note(const struct namespaces *namespaces, int pidfd, int stop_fd, int most_ms,
			   struct note *ret_note);
/* Sends NOTE_INTERMEDIATE_FAILED or NOTE_SUPERVISOR_FAILED with a reason. */
__attribute__((format(printf, 4, 5))) void namespaces_send_failure(int fd, enum note_kind kind, unsigned layers,
							     const char *format, ...);

/* As fork(2), or clone(2) with these flags, with namespaces->peer_fd between both. In the child the host_* are open. */
pid_t namespaces_fork_with_peer(struct namespaces *namespaces, unsigned long flags);

/*
 * As fork(2), into all wanted namespaces with one clone(2); -errno when that fails. In the child the id maps are
 * written and namespaces->made and the layers are set. The network namespace is left to namespaces_prepare_mounts()
 * where nothing needs it earlier.
 */
pid_t namespaces_clone_wanted(struct namespaces *namespaces, unsigned wanted);

/* In the intermediate: unshares what can be. Sets namespaces->made and the layers. False: the process must exit. */
bool namespaces_unshare_wanted(struct namespaces *namespaces);

/* LAYER_BITs that may be tried; notes in the layers why the rest is not. */
unsigned namespaces_find_wanted(struct namespaces *namespaces);

/* Maps these two ids only. `process` is its name in /proc. 0 or -errno, as namespaces_write_id_maps. */
int namespaces_write_own_id_map(const char *process, uid_t uid, gid_t gid);

/* The CLONE_NEW* flags of LAYER_BITs. */
unsigned long namespaces_get_flags(unsigned layers);

/* Adds LAYER_BITs to namespaces->made and marks these layers as active. */
void namespaces_set_made(struct namespaces *namespaces, unsigned made);

/* Raises the loopback interface of this process's network namespace, which is then marked as made. */
void namespaces_raise_own_loopback(struct namespaces *namespaces);
/* Marks the network namespace as made; loopback: 0, or -errno when the interface stays down. */
void namespaces_set_network(struct namespaces *namespaces, int loopback);

#endif
