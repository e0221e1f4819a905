/*
 * The namespaces that supervisor and program share: user, mount, pid, ipc, uts, net, cgroup. Made around the
 * supervisor itself, so that what a number, a name or an owner means is the same for both. Whatever cannot be had is
 * left out, with its reason in the table of layers.
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
	unsigned made;         /* LAYER_BITs; in the supervisor: what it is in */
	uint64_t tasks_most;   /* what the run's uid 0 may have, by pidmax.h; 0: that is held otherwise */
	bool tasks_bound;      /* in the supervisor: it is */
	bool net_may_wait;     /* nobody needs the network namespace before namespaces_enter */
	bool net_later;        /* it is made then: see namespaces-net.c */
	pthread_t net_thread;
	int net_fd, loopback; /* what came of it; -errno */
	bool singly;          /* all at once cannot be had */
	int peer_fd;          /* between keeper and supervisor until the latter is settled; -1: none */
	/*
	 * In the keeper: what the supervisor has said before the intermediate told of it: scheduling decides who is
	 * first.
	 */
	bool settled, withdrew;
	/* In the keeper, while it waits: readable when the run is to end, and when its time is over (0: never). */
	int end_fd;
	uint64_t until_ns;
	bool lost; /* the intermediate was killed: see namespaces_fork */
	/* In the supervisor, from namespaces_prepare on: */
	int tmpfs_fd, proc_fd; /* detached mounts; -1: no mount namespace */
	bool narrow_proc;      /* the program's procfs is to show its processes alone */
	int program_proc_fd;   /* that, when it can be had; -1: it is the supervisor's */
	int host_root_fd;      /* the keeper's "/"; -1: no mount namespace */
	int host_proc_fd; /* the caller's /proc, to learn the numbers processes have there; -1: they are the same */
	/* the caller's pid namespace, for the same; -1: there is no new one, or no such descriptor */
	int host_pidns_fd;
};

#define NAMESPACES_NONE                                                                              \
	{                                                                                            \
		.peer_fd = -1, .end_fd = -1, .tmpfs_fd = -1, .proc_fd = -1, .program_proc_fd = -1,   \
		.host_root_fd = -1, .host_proc_fd = -1, .host_pidns_fd = -1                          \
	}

/* Capabilities that keeper and supervisor need while namespaces are being made: see privs_keep. */
extern const int namespaces_caps[];
#define NAMESPACES_CAPS 8u
#define NAMESPACES_SUPERVISOR_CAPS 2u /* the first of them, inside */
#define NAMESPACES_LOOPBACK_CAPS 3u   /* with a network namespace that is still to be made */
#define NAMESPACES_NETWORK_CAPS 4u    /* with a network namespace that is to have addresses */

/*
 * As fork(2), into whatever can be had of the namespaces that are wanted and not refused: the child's pid in the
 * keeper, 0 in the child, -errno. The keeper must be a subreaper with one thread and without other children that may
 * end meanwhile; it writes the id maps, so it must not have given up its capabilities. With namespaces->lost the pid is
 * that of a child that was killed, and a supervisor may be left that nobody is to serve: killtree ends it.
 */
pid_t namespaces_fork(struct namespaces *namespaces);

/*
 * In the keeper: waits until the child has said whether its mounts could be made, or stop_fd is readable, or it died.
 * True when it could not and is reaped: fork again, what failed is refused by now.
 */
bool namespaces_again(struct namespaces *namespaces, pid_t child, int stop_fd);

/*
 * In the child, first thing: a tmpfs for the view, a procfs, private mounts. 0, or -errno: the keeper is told to fork
 * again, and the process must exit.
 */
int namespaces_prepare(struct namespaces *namespaces);

/* In the child: makes the view its root (view_attach) and gives up what that took. 0; or -errno as above. */
int namespaces_enter(struct namespaces *namespaces, struct view *view);

/*
 * In the child, afterwards: tells the keeper that it need not fork again. It then gives up its own capabilities and
 * installs its filter, so this is best said when there is nothing to do but to wait.
 */
void namespaces_settle(struct namespaces *namespaces);

void namespaces_done(struct namespaces *namespaces);

#endif
