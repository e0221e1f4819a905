/* Shared by the files of namespaces only. */
#ifndef CALLGATE_CONFINE_NAMESPACES_PRIVATE_H
#define CALLGATE_CONFINE_NAMESPACES_PRIVATE_H

#include "confine/namespaces.h"

enum note_kind {
	NOTE_MAP,     /* to the keeper: the user namespace is there, write its maps */
	NOTE_MAPPED,  /* from the keeper: value is 0 or -errno */
	NOTE_CHILD,   /* value is the supervisor's pid outside */
	NOTE_REFUSED, /* from the intermediate: the layers cannot be had; why; the sender ends, and nobody was forked */
	NOTE_WITHDREW, /* the same from the supervisor */
	NOTE_SETTLED,  /* from the supervisor: it has all it needs */
};

struct note {
	enum note_kind kind;
	int value;
	unsigned layers;
	char why[160];
};

/* One whole note, or false: the other end is gone. */
bool note_send(int fd, const struct note *note);
bool note_receive(int fd, struct note *ret_note);
/*
 * The same in the keeper, from namespaces->peer_fd. False also when the process of pidfd has ended without a note, or
 * the run is to end. pidfd -1: no other process has the other end.
 */
bool note_await(const struct namespaces *namespaces, int pidfd, struct note *ret_note);
/* Sends NOTE_REFUSED or NOTE_WITHDREW. */
__attribute__((format(printf, 4, 5))) void note_refuse(int fd, enum note_kind kind, unsigned layers, const char *format,
						       ...);

/*
 * As fork(2), into all that are wanted at once: -errno when that cannot be done. In the child the maps are written, and
 * namespaces->made and the layers set. A network namespace is left for namespaces_begin_network() where that is
 * possible.
 */
pid_t namespaces_clone(struct namespaces *namespaces, unsigned wanted);

/* In the supervisor: makes that namespace beside whatever is done meanwhile; enters it. Failure shows in the layer. */
void namespaces_begin_network(struct namespaces *namespaces);
void namespaces_enter_network(struct namespaces *namespaces);

/* In the intermediate: leaves the keeper's namespaces. Sets namespaces->made and the layers; false when it must end. */
bool namespaces_unshare(struct namespaces *namespaces);

/* A descriptor of our pid namespace, for host_pidns_fd, when a new one is wanted. -1: it cannot be had. */
int namespaces_own_pidns(unsigned wanted);

/* LAYER_BITs that may be tried; says why for the rest. */
unsigned namespaces_wanted(struct namespaces *namespaces);

/* Writes the maps of the process's new user namespace: all ids when we may, else our own alone. 0 or -errno. */
int namespaces_map(pid_t pid);
/* The same for just these; `process`: its name in /proc. */
int namespaces_map_one(const char *process, uid_t uid, gid_t gid);

/* CLONE_NEW* of LAYER_BITs. */
unsigned long namespaces_flags(unsigned layers);

/* Adds LAYER_BITs to namespaces->made and says so in the layers. */
void namespaces_note_made(struct namespaces *namespaces, unsigned made);

/*
 * So that a program can talk to itself; its policy has a say in that as well. By a socket of the network namespace, or
 * by one of its own, with what came of it in the layer. 0 or -errno.
 */
int namespaces_raise_loopback(int socket_fd);
void namespaces_raise_own(struct namespaces *namespaces);
void namespaces_note_network(struct namespaces *namespaces, int loopback);

#endif
