/*
 * The namespaces that supervisor and program share: user, mount, pid, ipc, uts, net, cgroup. The keeper forks the
 * supervisor into them, so that pids, paths and uids mean the same to supervisor and program. A namespace that cannot
 * be made is left out, with the reason in struct layers.
 */
#ifndef CALLGATE_CONFINE_NAMESPACES_H
#define CALLGATE_CONFINE_NAMESPACES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "confine/layers.h"
#include "confine/privs.h"
#include "view/view.h"

struct namespaces {
	struct layers *layers; /* shared page, borrowed */
	unsigned refused;      /* LAYER_BITs not to be tried (again) */
	unsigned made;         /* LAYER_BITs; in the supervisor: the namespaces it is in */
	uint64_t tasks_most;   /* limit of tasks for uid 0, by pidmax.h; 0: another mechanism limits them */
	bool tasks_bound;      /* in the supervisor: the limit of tasks is set */
	bool net_may_wait;     /* nothing needs the network namespace before namespaces_enter_view() */
	bool net_later;        /* a thread makes the network namespace: see namespaces-inside.c */
	pthread_t net_thread;
	int net_fd, loopback; /* results of net_thread, or -errno */
	bool singly;          /* one clone(2) of all failed: namespaces are made one by one */
	int peer_fd;          /* keeper <-> child until the supervisor is ready; -1: none */
	/* In the keeper: these notes of the supervisor may arrive before the intermediate's NOTE_CHILD. */
	bool supervisor_ready, supervisor_failed;
	int end_fd;        /* in the keeper: readable when a signal ends the run; -1: none */
	uint64_t until_ns; /* in the keeper: the run's time limit, CLOCK_MONOTONIC; 0: none */
	bool lost;         /* the intermediate was killed: see namespaces_fork_supervisor() */
	/* In the supervisor, from namespaces_prepare_mounts() on: */
	int tmpfs_fd, proc_fd; /* detached mounts; -1: no mount namespace */
	bool narrow_proc;      /* set by the caller: mount a second procfs that shows the run's processes only */
	int program_proc_fd;   /* the second procfs; -1: none, the program sees the supervisor's */
	int pts_fd;            /* a detached devpts of the run's own; -1: none */
	int host_root_fd;      /* the keeper's "/"; -1: no mount namespace */
	int host_proc_fd;      /* the keeper's /proc, to translate pids; -1: same pid namespace */
	int host_pidns_fd;     /* the keeper's pid namespace, to translate pids; -1: the same one, or not available */
};

#define NAMESPACES_NONE                                                                              \
	{                                                                                            \
		.peer_fd = -1, .end_fd = -1, .tmpfs_fd = -1, .proc_fd = -1, .program_proc_fd = -1,   \
		.pts_fd = -1, .host_root_fd = -1, .host_proc_fd = -1, .host_pidns_fd = -1                          \
	}

/* Capabilities that keeper and supervisor need while namespaces are made: see privs_keep_capabilities(). */
extern const int namespaces_caps[];
#define NAMESPACES_CAPS 8u
#define NAMESPACES_SUPERVISOR_CAPS 2u /* so many of them are enough in the supervisor */
#define NAMESPACES_LOOPBACK_CAPS 3u   /* so many when a network namespace is still to be made */
#define NAMESPACES_NETWORK_CAPS 4u    /* so many when addresses are to be set in it */

/*
 * As fork(2), into the wanted namespaces that can be made. Returns the child's pid in the keeper, 0 in the child, or
 * -errno. The keeper must be a subreaper with one thread and no other children that may end meanwhile. It writes the
 * id maps, so it must still have its capabilities. With namespaces->lost the pid is that of the killed intermediate,
 * and a supervisor without a keeper may be left: killtree() ends it.
 */
pid_t namespaces_fork_supervisor(struct namespaces *namespaces);

/* In the keeper: waits until the supervisor is ready, failed or died, or stop_fd is readable. True: fork again. */
bool namespaces_must_fork_again(struct namespaces *namespaces, pid_t child, int stop_fd);

/* In the child, first: makes a tmpfs, a procfs, and all mounts private. 0; -errno: the child must exit. */
int namespaces_prepare_mounts(struct namespaces *namespaces);

/* In the child: makes the view its root (view_attach_mounts) and drops all capabilities. 0, or -errno as above. */
int namespaces_enter_view(struct namespaces *namespaces, struct view *view);

/*
 * In the child, afterwards: tells the keeper that it is ready. The keeper then drops its own capabilities and installs
 * its filter, which takes CPU time; so this is best called when the supervisor is about to sleep.
 */
void namespaces_report_ready(struct namespaces *namespaces);

void namespaces_release(struct namespaces *namespaces);

/* Writes the id maps of a new user namespace: all ids with CAP_SETUID and CAP_SETGID, else our own. 0 or -errno. */
int namespaces_write_id_maps(pid_t pid);

/* Brings the loopback interface up, through any socket of the network namespace. 0 or -errno. */
int namespaces_raise_loopback(int socket_fd);

#endif
