/*
 * What this machine offers a run, found out by trying it: in child processes with a time limit each, so that nothing of
 * it stays and a trial that hangs or is killed is an answer, too.
 */
#ifndef CALLGATE_DOCTOR_EXAMINE_H
#define CALLGATE_DOCTOR_EXAMINE_H

#include <stdbool.h>

#include "policy/parse/layer-names.h"

/* In the order in which they are shown. */
enum probe {
	PROBE_KERNEL,
	PROBE_OUTER,    /* filters that are on this process already */
	PROBE_FILTER,   /* a seccomp filter can be installed */
	PROBE_LISTENER, /* a call received, answered, given a descriptor */
	PROBE_MEMORY,   /* process_vm_readv and _writev of a child */
	PROBE_TRACE,    /* an exec seized, its event seen */
	PROBE_BENEATH,  /* openat2 */
	PROBE_LANDLOCK,
	PROBE_USERNS,
	PROBE_MOUNTNS,
	PROBE_FRESHPROC, /* a proc of its own can be mounted */
	PROBE_PIDNS,
	PROBE_IPCNS,
	PROBE_UTSNS,
	PROBE_NETNS,
	PROBE_CGROUPNS,
	PROBE_CGROUPS,
	PROBE_PROC,    /* /proc as it is */
	PROBE_SCRATCH, /* $TMPDIR */
	PROBE_CORE,    /* core_pattern */
	PROBE_LIBRARIES,
	PROBE_MAX,
};

enum finding_state {
	FINDING_NONE, /* the trial said nothing */
	FINDING_WORKS,
	FINDING_LACKS,
	FINDING_WARNS, /* works, and is to be known about */
	FINDING_STATE_MAX,
};

struct finding {
	enum finding_state state;
	int error;      /* errno of what failed; 0 */
	char text[240]; /* what it means, without a full stop */
};

/* What advice rests on beyond the findings. */
enum trait {
	TRAIT_FILTERED = 1 << 0, /* a seccomp filter is on us */
	TRAIT_LISTENER = 1 << 1, /* and one of them has a listener */
	TRAIT_CALLGATE = 1 << 2, /* which behaves as callgate's */
	TRAIT_DOCKER = 1 << 3,
	TRAIT_PODMAN = 1 << 4,
	TRAIT_KUBERNETES = 1 << 5,
	TRAIT_WSL = 1 << 6,
	TRAIT_GVISOR = 1 << 7,
	TRAIT_YAMA = 1 << 8,          /* ptrace_scope is above 1 */
	TRAIT_APPARMOR = 1 << 9,      /* AppArmor keeps user namespaces from programs without a profile */
	TRAIT_MAX_USERNS = 1 << 10,   /* user.max_user_namespaces is 0 */
	TRAIT_USERNS_CLONE = 1 << 11, /* kernel.unprivileged_userns_clone is 0 */
	TRAIT_CHROOT = 1 << 12,       /* our root is no mount: no user namespace in there */
	TRAIT_CGROUP2 = 1 << 13,      /* there is a v2 hierarchy with controllers */
	TRAIT_SYSTEMD = 1 << 14,      /* a systemd runs here and could delegate one */
};
#define TRAITS_CONTAINER (TRAIT_DOCKER | TRAIT_PODMAN | TRAIT_KUBERNETES)

struct doctor {
	struct finding finding[PROBE_MAX];
	unsigned traits;          /* enum trait */
	unsigned expected;        /* LAYER_BITs a run should have */
	bool refused_pidfd_getfd; /* by the filters that are on us */
};

/*
 * Tries everything. The calling process must have no other children and becomes a subreaper. In memory shared with the
 * trials: doctor_free. NULL with errno.
 */
struct doctor *doctor_examine(void);
void doctor_free(struct doctor *doctor);

/* The probe's name in messages and --json, and the words for a state. Static. */
const char *probe_name(enum probe probe);
const char *finding_state_name(enum finding_state state);

/* What tells whether a run would have the layer. */
enum probe doctor_probe_of(enum layer layer);

/* True when what no run can do without was found. */
bool doctor_can_run(const struct doctor *doctor);

#endif
