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

/* The namespaces of a run, and what keeper and supervisor need while they are made. */
struct namespaces {
	struct layers *layers; /* in shared memory, borrowed */
	/* LAYER_BITs of namespaces not to be tried (again); with LAYER_KERNEL_READS, every call is judged */
	unsigned refused_layers;
	/* LAYER_BITs of the namespaces that were made; in the supervisor: those of the namespaces that it is in */
	unsigned made_layers;
	uint64_t task_limit;   /* limit of tasks for pidmax.h, when uid 0 runs; 0: pidmax.h is not used */
	bool task_limit_is_set;      /* in the supervisor: the limit of tasks is in effect */
	/* a thread makes the network namespace until namespaces_enter_view(): see namespaces-inside.c */
	bool network_is_made_in_thread;
	bool view_needs_network; /* in the supervisor, input: the view was built for a network namespace of its own */
	pthread_t net_thread;
	/* results of net_thread: a descriptor of the namespace; 0 when its loopback interface is up; or -errno */
	int net_fd, loopback;
	/* clone(2) with the flags of all namespaces failed: they are made one by one */
	bool must_unshare_one_by_one;
	int start_socket_fd;          /* socket between keeper and child until the supervisor is ready; -1: none */
	/*
	 * In the keeper: messages of the supervisor, which may arrive before NS_MESSAGE_SUPERVISOR_PID of the
	 * intermediate process.
	 */
	bool supervisor_ready, supervisor_failed;
	int run_end_signal_fd;        /* in the keeper: readable when a signal ends the run; -1: none */
	uint64_t time_limit_end_ns; /* in the keeper: the end of the time limit, CLOCK_MONOTONIC; 0: no limit */
	bool intermediate_was_killed;         /* the intermediate process was killed: namespaces_fork_supervisor() */
	/* in the supervisor: detached mounts of namespaces_prepare_mounts(); -1: the run has no mount namespace */
	int tmpfs_fd, proc_fd;
	bool wants_procfs_of_run_only;      /* input: also mount a procfs that shows only the processes of the run */
	bool wants_kernel_reads; /* input: also call view_prepare_kernel_reads() */
	int program_proc_fd;   /* the procfs of wants_procfs_of_run_only; -1: none, and the program uses proc_fd */
	int devpts_mount_fd;            /* a detached devpts for the run; -1: none */
	int host_root_fd;      /* "/" of the keeper; -1: the run has no mount namespace */
	int host_proc_fd;      /* /proc of the keeper, to translate pids; -1: same pid namespace */
	int host_pidns_fd;     /* pid namespace of the keeper, to translate pids; -1: the same, or not available */
};

/* No namespace was made, and no descriptor is open. */
#define NAMESPACES_INIT                                                                                               \
	{                                                                                                             \
		.start_socket_fd = -1, .run_end_signal_fd = -1, .tmpfs_fd = -1, .proc_fd = -1, .program_proc_fd = -1, \
		.devpts_mount_fd = -1, .host_root_fd = -1, .host_proc_fd = -1, .host_pidns_fd = -1                    \
	}

/* Capabilities that keeper and supervisor need while namespaces are made: see privs_keep_capabilities(). */
extern const int namespaces_caps[];
#define NAMESPACES_CAPS_COUNT 8u               /* entries of namespaces_caps */
#define NAMESPACES_CAPS_COUNT_OF_SUPERVISOR 2u /* how many of the first namespaces_caps the supervisor needs */
#define NAMESPACES_CAPS_COUNT_BEFORE_NETNS 3u  /* how many are needed until the network namespace is made */
/* how many of the first namespaces_caps are needed to set addresses in the network namespace */
#define NAMESPACES_CAPS_COUNT_TO_SET_ADDRESSES 4u

#define NAMESPACES_CAPS_COUNT_MAX 16u /* room for namespaces_caps and the capabilities for overlays */
/*
 * Gets the capabilities that the supervisor needs until namespaces_drop_caps(): the first `count` of
 * namespaces_caps and, with overlays, those with which an overlay copies files to its upper layer, also those that have
 * capabilities themselves, such as ping(8). The overlay keeps these; the kernel first checks the rights of the program
 * itself (ovl_permission() in fs/overlayfs/inode.c). Returns their number.
 */
size_t namespaces_get_needed_caps(size_t count, bool overlays, int ret_caps[NAMESPACES_CAPS_COUNT_MAX]);

/*
 * As fork(2), into the wanted namespaces that can be made. Returns the pid of the child in the keeper, 0 in the child,
 * or -errno. The keeper must be a subreaper with one thread, and without other children that may end meanwhile. It
 * writes the id maps, so it must still have its capabilities. If namespaces->intermediate_was_killed is set, the pid is
 * that of the intermediate process, which was killed; it may have left a supervisor, which killtree() ends.
 */
pid_t namespaces_fork_supervisor(struct namespaces *namespaces);

/* In the keeper: waits until the supervisor is ready, failed or died, or stop_fd is readable. True: fork again. */
bool namespaces_await_supervisor_or_retry(struct namespaces *namespaces, pid_t child, int stop_fd);

/* The first step in the child: makes all mounts private, then makes a tmpfs and a procfs. 0; -errno: it must exit. */
int namespaces_prepare_mounts(struct namespaces *namespaces);

/*
 * The second step in the child: makes the view its root directory (view_attach_mounts), and enters the network
 * namespace if a thread made it. 0; -errno: the child must exit.
 */
int namespaces_enter_view(struct namespaces *namespaces, struct view *view);

/* In the child, after namespaces_prepare_mounts(): true when the run has the layers that kernel reads need. */
bool namespaces_can_have_kernel_reads(const struct namespaces *namespaces);

/*
 * In the child: asks the keeper for another child that judges every call, without the covers of this one. why: as
 * view_prepare_kernel_reads. True: this child must exit. False: the keeper does not wait any more.
 */
bool namespaces_give_up_kernel_reads(struct namespaces *namespaces, const char *why);

/* The third step in the child: drops all capabilities. 0; -errno: the child must exit. */
int namespaces_drop_caps(struct namespaces *namespaces);

/*
 * The last step in the child: tells the keeper that the supervisor is ready. The keeper then drops its capabilities and
 * installs its filter, which takes CPU time. So call this when the supervisor is about to sleep.
 */
void namespaces_report_ready(struct namespaces *namespaces);

void namespaces_release(struct namespaces *namespaces);

/* Writes the id maps of a new user namespace: all ids with CAP_SETUID and CAP_SETGID, else the own. 0 or -errno. */
int namespaces_write_id_maps(pid_t pid);
/* Maps only this uid and gid. `process`: its name in /proc. 0 or -errno, as namespaces_write_id_maps. */
int namespaces_write_own_id_map(const char *process, uid_t uid, gid_t gid);

/* Raises the loopback interface, by any socket of its network namespace. 0 or -errno. */
int namespaces_raise_loopback(int socket_fd);

#endif
