/*
 * Finds out by trials what this machine offers a run. Each trial runs in a child process with a time limit, because a
 * trial may hang or be killed. A trial leaves nothing behind.
 */
#ifndef CALLGATE_DOCTOR_EXAMINE_H
#define CALLGATE_DOCTOR_EXAMINE_H

#include <stdbool.h>

#include "policy/parse/layer-names.h"

/* The probes, with their names in messages and --json, in the order of the output. */
#define FOR_EACH_PROBE(PROBE)                                                                               \
	PROBE(KERNEL, "kernel")                                                                             \
	PROBE(OUTER, "outer_filter")      /* seccomp filters that are already on this process */            \
	PROBE(FILTER, "seccomp_filter")   /* a seccomp filter can be installed */                           \
	PROBE(LISTENER, "seccomp_notify") /* receives a notification, responds, injects a descriptor */     \
	PROBE(MEMORY, "process_memory")   /* process_vm_readv(2) and process_vm_writev(2) of a child */     \
	PROBE(TRACE, "exec_tracing")      /* PTRACE_SEIZE, and a stop at an exec */                         \
	PROBE(BENEATH, "openat2")                                                                           \
	PROBE(LANDLOCK, "landlock")                                                                         \
	PROBE(USERNS, "userns")                                                                             \
	PROBE(MOUNTNS, "mountns")                                                                           \
	PROBE(FRESHPROC, "fresh_proc") /* a new procfs can be mounted */                                    \
	PROBE(PIDNS, "pidns")                                                                               \
	PROBE(IPCNS, "ipcns")                                                                               \
	PROBE(UTSNS, "utsns")                                                                               \
	PROBE(NETNS, "netns")                                                                               \
	PROBE(CGROUPNS, "cgroupns")                                                                         \
	PROBE(COW, "cow") /* whether --cow mounts an overlay, or copies the directory */                    \
	PROBE(CGROUPS, "cgroups")                                                                           \
	PROBE(PROC, "proc")        /* /proc of this process */                                              \
	PROBE(LASTPID, "last_pid") /* the pid that the kernel has given last can be read: for after_read */ \
	PROBE(SCRATCH, "scratch")  /* the place for scratch directories, in $TMPDIR */                      \
	PROBE(CORE, "core_pattern")                                                                         \
	PROBE(LIBRARIES, "libraries")

#define PROBE_ENUMERATOR_OF_LIST(name, text) PROBE_##name, /* makes the enumerator of an entry of FOR_EACH_PROBE */
enum probe { FOR_EACH_PROBE(PROBE_ENUMERATOR_OF_LIST) PROBE_MAX };

enum finding_state {
	FINDING_NOT_REPORTED, /* the first state: no trial has reported the probe yet */
	FINDING_WORKS,
	FINDING_FAILS,
	FINDING_WORKS_WITH_CAVEAT,
	FINDING_STATE_MAX,
};

/* What was found out about one probe. */
struct finding {
	enum finding_state state;
	int error_number; /* errno of the call that failed, or 0 */
	char explanation[240]; /* what the finding means, without a full stop */
};

/* Traits of the machine that the advice depends on, besides the findings. */
enum machine_trait {
	TRAIT_SECCOMP_FILTER = 1 << 0,   /* this process has a seccomp filter */
	TRAIT_SECCOMP_LISTENER = 1 << 1, /* this process has a seccomp filter with a listener */
	TRAIT_IN_CALLGATE = 1 << 2,      /* this process has a seccomp filter like callgate's */
	TRAIT_DOCKER = 1 << 3,
	TRAIT_PODMAN = 1 << 4,
	TRAIT_KUBERNETES = 1 << 5,
	TRAIT_WSL = 1 << 6,
	TRAIT_GVISOR = 1 << 7,
	TRAIT_YAMA_RESTRICTS_PTRACE = 1 << 8,     /* ptrace_scope is above 1 */
	TRAIT_APPARMOR_DENIES_USERNS = 1 << 9,    /* AppArmor denies user namespaces to programs without a profile */
	TRAIT_USER_NAMESPACES_MAX_IS_0 = 1 << 10, /* user.max_user_namespaces is 0 */
	TRAIT_UNPRIVILEGED_USERNS_CLONE_IS_0 = 1 << 11, /* kernel.unprivileged_userns_clone is 0 */
	TRAIT_IN_CHROOT = 1 << 12,            /* the root directory is not a mount point: no user namespaces */
	TRAIT_CGROUP2 = 1 << 13,              /* there is a cgroup v2 hierarchy with controllers */
	TRAIT_SYSTEMD = 1 << 14,              /* systemd runs, and could delegate a control group */
	TRAIT_SECCOMP_FILTER_KILLS = 1 << 15, /* a seccomp filter kills this process for calls that it does not list */
	TRAIT_FLATPAK = 1 << 16,              /* in an application of Flatpak */
	TRAIT_SYSTEMD_SERVICE = 1 << 17,      /* started by a systemd service, or by a program that one started */
};
#define TRAITS_CONTAINER (TRAIT_DOCKER | TRAIT_PODMAN | TRAIT_KUBERNETES)

/* What `callgate doctor` has found out about the machine. */
struct doctor {
	struct finding findings[PROBE_MAX];
	unsigned traits;          /* bits of enum machine_trait */
	unsigned expected_layers;        /* LAYER_BITs of the layers that a run should have */
	bool pidfd_getfd_is_refused; /* a filter on this process refuses pidfd_getfd(2) */
};

/*
 * Runs all trials. The calling process must have no other children, and becomes a subreaper. Returns the findings,
 * which doctor_free releases, or NULL with errno.
 */
struct doctor *doctor_run_all_trials(void);
void doctor_free(struct doctor *doctor);

/* Return the names of a probe and of the state of a finding, for messages and --json. Static. */
const char *probe_get_name(enum probe probe);
const char *finding_get_state_name(enum finding_state state);

/* Returns the probe that tells whether a run would have the layer. */
enum probe doctor_get_layer_probe(enum layer layer);

/* Returns the first probe of what every run needs that failed, or PROBE_MAX. */
enum probe doctor_find_missing_need(const struct doctor *doctor);
/* True when the machine has everything that every run needs. */
bool doctor_can_run(const struct doctor *doctor);

#endif
